"""How a router follows its log, and the locks around the state that comes from it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import groupby, takewhile
from typing import Any, Self

import msgspec

from onepull.errors import OnepullError, StoreError
from onepull.router.definition.definition import RouterSettings
from onepull.router.definition.redefinition import Redefinition
from onepull.router.following.background import Background
from onepull.router.state.fold import REVISIONS, Fold
from onepull.router.state.sticky import Sticky
from onepull.store import Store
from onepull.store import events as e
from onepull.store.forks import Forkable
from onepull.store.ids import Ids
from onepull.store.store import Stored

CHUNK = 200  # outcomes folded at once, so that decisions do not wait long
DECISIONS = 2000  # decisions folded at once
REVISION = 0  # says that a change of the problem is folded alone
SHORT = 0.02  # seconds that the thread that writes waits for one that reads


class Following(Forkable):
    """Follows the log: folds what is new in it.

    `_lock` guards the fold, and is held for microseconds.  `_sync_lock` is held by the one thread
    that reads the log.
    """

    def __init__(  # noqa: PLR0913 - handed over by the router
        self,
        name: str,
        store: Store,
        fold: Fold,
        settings: RouterSettings,
        *,
        poll: float,
        owns_store: bool,
    ) -> None:
        self.name = name
        self._store, self._fold, self._settings = store, fold, settings
        self._sticky = Sticky(settings.sticky)
        self._lock = threading.RLock()
        self._sync_lock = threading.RLock()
        self._ids = Ids()
        self._background: Background | None = None
        self._poll, self._owns_store = poll, owns_store
        self._followers: tuple[Callable[[list[Any]], None], ...] = ()
        self._is_open = True
        self._error: Exception | None = None  # of the last attempt to follow the log
        self._last_snapshot = self._last_flights = 0  # its number, and decisions in flight then
        self._followed = 0.0  # when a commit of this process was folded last
        self._is_revising = False  # whether a change of the problem is being learned
        self.redefinition: Redefinition | None = None

    def _continue(self) -> None:
        """Fold what the log says."""
        self._restore(self._fold)
        self._note_snapshot(self._fold.sequence)
        self._follow_settings()
        self.sync()

    def _restore(self, fold: Fold) -> None:
        """Begin at the newest snapshot that can be read; raises if the log begins later."""
        first = self._store.first_sequence(self.name)
        for snapshot in self._store.snapshots(self.name):
            with suppress(OnepullError):
                self._sticky.restore(fold.restore(snapshot.body, snapshot.seq))
                break
        if fold.sequence < first:
            raise StoreError(
                f"the log of {self.name!r} begins after event {first}, and no snapshot from there "
                "on can be read; restore a backup"
            )

    def _check(self) -> None:
        if not self._is_open:
            raise StoreError(f"the router {self.name!r} is closed")

    # Following the log

    def sync(self) -> int:
        """Fold what others have written; return the number of the last event."""
        with self._sync_lock:
            return self._fold_new()

    def _after_commit(self, stored: Stored) -> None:
        """Fold what was just stored, on the thread that writes to the log for all problems.

        It leaves to other threads what takes long: a change of the problem.
        """
        if not self._is_revising and self._sync_lock.acquire(timeout=SHORT):
            try:
                if self._fold.sequence < stored.before:  # others have written, too
                    self._fold_new(revises=False)
                else:
                    self._fold_stored(stored)
                if self._fold.sequence >= stored.last:  # else a change of the problem waits
                    self._followed = time.monotonic()
            finally:
                self._sync_lock.release()

    def _fold_stored(self, stored: Stored) -> None:
        """Fold the newest events, which need not be read from the log."""
        done = self._fold.sequence
        new = [event for event in stored.events if event.seq > done]
        quick = _before_revision(new)
        self._take(quick)
        if len(quick) == len(new):
            with self._lock:
                self._fold.sequence = max(self._fold.sequence, stored.last)

    def _fold_new(self, *, revises: bool = True) -> int:
        last = self._store.last_sequence
        while (done := self._fold.sequence) < last:
            batch = self._store.read(self.name, after=done, until=last)
            if self._store.first_sequence(self.name) > done:
                self._begin_later()  # events that are not read yet were deleted
                continue
            if not batch:
                with self._lock:
                    self._fold.sequence = last  # the rest is of other problems
                break
            if not revises:
                batch = _before_revision(batch)
            if not batch:
                break
            self._take(batch)
        return self._fold.sequence

    def _take(self, batch: list[Any]) -> None:
        self._apply(batch)
        for follower in self._followers:
            follower(batch)

    def follow(self, follower: Callable[[list[Any]], None]) -> None:
        """Hand every event of this problem to a function after it was folded, in order.

        It is called by the threads that read the log, so it must be quick and must not raise.
        """
        with self._sync_lock:
            self._followers = (*self._followers, follower)

    def _apply(self, batch: list[Any]) -> None:
        for at_once, events in groupby(batch, _at_once):
            if at_once == REVISION:
                for event in events:
                    self._revise(event)
            else:
                self._apply_all([*events], at_once)

    def _apply_all(self, events: list[Any], at_once: int) -> None:
        for start in range(0, len(events), at_once):
            some = events[start : start + at_once]
            with self._lock:
                if at_once == DECISIONS:
                    self._fold.apply_decisions(some)
                    self._stick(some)
                else:
                    for event in some:
                        self._fold.apply(event)

    def _stick(self, decisions: list[e.Decided]) -> None:
        """Remember the arms of keys."""
        for event in decisions:
            if event.key and event.mode == "live":
                self._sticky.put(event.key, event.arm, event.time)

    def _revise(self, event: Any) -> None:
        """Apply an event that changes the problem to a copy of the fold, while decisions go on.

        Only this thread folds events, so all that changes meanwhile are the decisions in flight.
        """
        self._is_revising = True
        try:
            twin = self._twin()
            twin.apply(event)
            with self._lock:
                self._fold.replace(twin)
                if isinstance(event, e.Defined):
                    self._follow_settings()
        finally:
            self._is_revising = False

    def _follow_settings(self) -> None:
        """Apply the log's settings."""
        stated = RouterSettings.stated(self._fold.asked or {})
        self._settings = msgspec.structs.replace(self._settings, **stated)
        self._fold.flights.expires = self._settings.expires
        self._sticky.seconds = self._settings.sticky

    def _twin(self) -> Fold:
        """Return a copy of the fold as a restart would make it; the lock is held only briefly."""
        return self._at_present().copy()

    def _at_present(self) -> Fold:
        with self._lock:
            return self._fold.at_present()

    def _begin_later(self) -> None:
        """Continue from a snapshot, with the decisions in flight of this process."""
        fold = self._fold.empty()
        self._restore(fold)
        with self._lock:
            fold.take_flights(self._fold)
            self._fold = fold
            self._follow_settings()

    def _catch_up(self, seq: int) -> None:
        """Fold up to an event that was just written, unless a change of the problem is learned."""
        if self._fold.sequence < seq and not self._is_revising:
            with suppress(StoreError):  # it is in the log, and will be folded later
                self.sync()

    def _note_snapshot(self, seq: int) -> None:
        self._last_snapshot, self._last_flights = seq, len(self._fold.flights)

    def close(self) -> None:
        """Store what was recorded, and end the router's thread."""
        if not self._is_open:
            return
        if self._background is not None:
            self._background.close()
        self._is_open = False
        with suppress(StoreError):
            self._store.flush()
        if self._owns_store:
            self._store.close()

    def __enter__(self) -> Self:
        """Return the router."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the router."""
        self.close()

    # Forks

    def _before_fork(self) -> None:
        self._sync_lock.acquire()
        self._lock.acquire()

    def _after_fork_in_parent(self) -> None:
        self._lock.release()
        self._sync_lock.release()

    def _after_fork_in_child(self) -> None:
        self._lock, self._sync_lock = threading.RLock(), threading.RLock()
        self._ids = Ids()


# How many events of a kind are folded at once, if not CHUNK.  Decisions are quick to fold, and they
# come while others are made.  A thread that asks often for a lock that others need all the time
# waits for it most of the time.
_AT_ONCE: dict[type[Any], int] = {e.Decided: DECISIONS, **dict.fromkeys(REVISIONS, REVISION)}


def _at_once(event: Any) -> int:
    return _AT_ONCE.get(type(event), CHUNK)


def _before_revision(events: list[Any]) -> list[Any]:
    """Return the first events, up to one that changes the problem."""
    return list(takewhile(_at_once, events))
