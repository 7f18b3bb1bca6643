"""A log in memory, for tests and for programs that may forget."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from onepull.errors import StoreError
from onepull.store.events import Event, Slot, decode, encode
from onepull.store.forks import Forkable
from onepull.store.store import EVENTS_AT_ONCE, FORGOTTEN, KEPT_SNAPSHOTS, Appended, Snapshot, Store


class MemoryStore(Store, Forkable):
    """A log that ends with its process.

    It keeps the contract of `Store`, except that nothing survives.  A forked child has a copy of
    its own.

    Examples
    --------
    >>> from onepull.store import Pinned
    >>> store = MemoryStore()
    >>> store.append([Pinned(problem="default", arm="lte")])
    [Appended(seq=1, before=None)]
    >>> store.last_sequence
    1
    """

    lasts = False

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: dict[str, list[tuple[int, bytes]]] = {}
        self._slots: dict[tuple[str, str], dict[Slot, tuple[int, bytes | None]]] = {}
        self._snapshots: dict[str, list[Snapshot]] = {}
        self._first: dict[str, int] = {}
        self._last = 0
        self._is_open = True
        self._follow_forks()

    def _after_fork_in_child(self) -> None:
        self._lock = threading.Lock()  # another thread of the parent may have held it

    def _check(self) -> None:
        if not self._is_open:
            raise StoreError("the store is closed")

    def submit(self, events: Sequence[Event]) -> Future[list[Appended]]:
        """Store events; the result is there at once."""
        self._check()
        future: Future[list[Appended]] = Future()
        with self._lock:
            bodies = [encode(event) for event in events]  # raises before anything is stored
            future.set_result([self._put(*pair) for pair in zip(events, bodies, strict=True)])
        return future

    def record(self, event: Event) -> None:
        """Store an event."""
        self._check()
        with self._lock:
            self._put(event, encode(event))

    def _put(self, event: Event, body: bytes) -> Appended:
        slot, slots = event.slot, None
        if slot is not None:
            key = event.problem, event.id  # type: ignore[attr-defined]  # an event with a slot has one
            slots = self._slots.setdefault(key, {})
            if slot in slots:
                seq, kept = slots[slot]
                if kept is None:
                    return Appended(seq, FORGOTTEN)
                return Appended(seq, decode(kept, seq=seq, problem=event.problem))
        self._last += 1
        stored = self._last, body
        self._events.setdefault(event.problem, []).append(stored)
        if slots is not None and slot is not None:
            slots[slot] = stored
        return Appended(self._last)

    def read(
        self, problem: str, *, after: int = 0, until: int | None = None, limit: int = EVENTS_AT_ONCE
    ) -> list[Any]:
        """Return the events of a problem in order, at most `limit`."""
        self._check()
        rows = self._events.get(problem, [])
        with self._lock:
            start = bisect_right(rows, after, key=_sequence)
            found = rows[start : start + limit]
        return [
            decode(body, seq=seq, problem=problem)
            for seq, body in found
            if until is None or seq <= until
        ]

    @property
    def last_sequence(self) -> int:
        """The sequence number of the newest event."""
        self._check()
        return self._last

    def first_sequence(self, problem: str) -> int:
        """Return the number after which all events of a problem are kept."""
        return self._first.get(problem, 0)

    def of_id(self, problem: str, id_: str) -> dict[Slot, Any]:
        """Return the events of an id by slot."""
        self._check()
        with self._lock:
            slots = dict(self._slots.get((problem, id_), {}))
        return {
            slot: FORGOTTEN if body is None else decode(body, seq=seq, problem=problem)
            for slot, (seq, body) in slots.items()
        }

    def problems(self) -> list[str]:
        """Return the names of the problems that have or had events."""
        return sorted(self._events)

    def put_snapshot(self, problem: str, snapshot: Snapshot) -> None:
        """Keep a snapshot."""
        with self._lock:
            kept = {each.seq: each for each in self._snapshots.get(problem, [])}
            kept[snapshot.seq] = snapshot
            self._snapshots[problem] = [
                kept[seq] for seq in sorted(kept, reverse=True)[:KEPT_SNAPSHOTS]
            ]

    def snapshots(self, problem: str) -> list[Snapshot]:
        """Return the snapshots of a problem, the newest first."""
        return list(self._snapshots.get(problem, []))

    def forget(self, problem: str, *, until: int) -> int:
        """Delete the events of a problem up to a number; return how many were deleted."""
        with self._lock:
            rows = self._events.get(problem, [])
            gone = bisect_right(rows, until, key=_sequence)
            for seq, body in rows[:gone]:
                event = decode(body, seq=seq, problem=problem)
                if event.slot is Slot.OUTCOME:
                    self._slots[problem, event.id][Slot.OUTCOME] = (seq, None)
                elif event.slot is not None:
                    self._slots[problem, event.id].pop(event.slot, None)
            del rows[:gone]
            if gone:
                self._first[problem] = until
        return gone

    @property
    def is_healthy(self) -> bool:
        """Whether the store is open."""
        return self._is_open

    def backup(self, path: Any) -> None:
        """Raise StoreError: a log in memory has no file."""
        del path
        raise StoreError("a log in memory has no backup; use SQLiteStore, or export the log")

    def integrity(self) -> list[str]:
        """Return an empty list: nothing can be damaged."""
        return []

    def close(self) -> None:
        """Close the store; what it held is gone."""
        self._is_open = False


def _sequence(row: tuple[int, bytes]) -> int:
    return row[0]
