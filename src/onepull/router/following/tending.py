"""What a router does from time to time: let decisions expire, and keep snapshots."""

from __future__ import annotations

import time

from onepull.router.following.background import Background
from onepull.router.following.following import Following
from onepull.router.state.expiry import Expiry
from onepull.store.store import Snapshot


class Tending(Following):
    """The part of a router that its own thread runs."""

    def tend(self) -> None:
        """Read what others wrote, let decisions expire, and keep a snapshot if one is due.

        A thread of the router calls this; there is no need to call it.
        """
        try:
            if not self._store.is_healthy:
                self._store.flush()  # tries to open it anew
            if time.monotonic() - self._followed > self._poll:  # else a commit told what is new
                self.sync()
            self.expire()
            if self._is_snapshot_due():
                self.snapshot()
            self._error = None
        except Exception as error:  # noqa: BLE001 - the thread must go on, and the router says so
            self._error = error

    def _is_snapshot_due(self) -> bool:
        """Whether neither this process nor another has kept one for a while.

        A snapshot has all decisions in flight.  After one with many of them the next waits for as
        many events, so that no event pays for more than one of them.
        """
        if self._is_overdue():
            for newest in self._store.snapshots(self.name)[:1]:
                if newest.seq > self._last_snapshot:  # another process has kept it
                    self._note_snapshot(newest.seq)
        return self._is_overdue()

    def _is_overdue(self) -> bool:
        every = max(self._settings.snapshot_every, self._last_flights)
        return self._fold.sequence >= self._last_snapshot + every

    def expire(self) -> int:
        """Write to the log which decisions have expired; return how many."""
        if not self._fold.flights.may_expire(time.monotonic()):
            return 0
        with self._lock:
            overdue = self._fold.flights.expired(time.monotonic())
            if not overdue:
                return 0
            now = time.time()
            # What was decided while the router was off is not in the log, nor is its expiry.
            recorded = [flight for flight in overdue if flight.mode != "off"]
            expiry = Expiry.read(self._settings.on_expiry, self._fold.policy.problem)
            events = [expiry.event(flight, self.name, now) for flight in recorded]
        if events:
            done = self._store.append(events)
            self._catch_up(max(each.seq for each in done))
        with self._lock:
            for flight in overdue:  # also where another process or an answer was faster
                if self._fold.flights.get(flight.id) is not None:
                    self._fold.land(flight.id)
        return len(events)

    def snapshot(self) -> int:
        """Keep a snapshot, delete events as `keep` allows, and return its sequence number."""
        self._check()
        with self._lock:
            keys = self._sticky.kept(time.time())
            kept, flights = self._fold.at_present(), iter(self._fold.flights)
        seq = kept.sequence
        # There may be many arms and decisions in flight, so others need not wait for the writing.
        self._store.put_snapshot(self.name, Snapshot(seq, kept.snapshot(flights, keys)))
        self._note_snapshot(seq)
        if (keep := self._settings.keep) is not None:
            oldest = self._store.snapshots(self.name)[-1].seq
            self._store.forget(self.name, until=min(oldest, seq - keep))
        return seq

    def _after_fork_in_child(self) -> None:
        super()._after_fork_in_child()
        if self._is_open:
            self._background = Background(self, self._poll)
