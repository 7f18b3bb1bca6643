"""What logs in databases have in common."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, ClassVar

from onepull.errors import StoreError
from onepull.store.events import Event, Slot, decode, storable
from onepull.store.forgetting import horizon_of, is_old
from onepull.store.group_commit import GroupCommit, Rows
from onepull.store.store import EVENTS_AT_ONCE, KEPT_SNAPSHOTS, Appended, Follower, Snapshot, Store
from onepull.store.tables import Statements


class SQLStore(Store):
    """A log in tables; a database says how to reach them.

    One thread of the process writes, and all calls that wait share its next commit.  A subclass
    defines how to commit, to read, and to make other changes, and makes `_group` when it is ready.
    """

    _tables: ClassVar[Statements]
    _group: GroupCommit

    @abstractmethod
    def _commit(self, jobs: list[Rows]) -> list[list[Appended]]:
        """Store the events of several calls in one transaction, while nobody else appends."""

    @abstractmethod
    def _all(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a query."""

    @abstractmethod
    def _change(self, change: Callable[[Any], Any]) -> Any:
        """Call a function with a cursor in a transaction, while nobody else appends."""

    @abstractmethod
    def _one_of(self, ids: Sequence[str]) -> tuple[str, Any]:
        """Return the end of a condition that an id is one of several, and its parameter."""

    # Writing

    def submit(self, events: Sequence[Event]) -> Future[list[Appended]]:
        """Store events; the future has its result when they are on disk."""
        return self._group.submit(events)

    def record(self, event: Event) -> None:
        """Store an event in the background."""
        self._group.record(event)

    def follow(self, problem: str, follower: Follower) -> None:
        """Call a method with what was stored here of a problem, before `append` returns."""
        self._group.follow(problem, follower)

    @property
    def unrecorded(self) -> int:
        """How many recorded events were lost."""
        return self._group.lost

    @property
    def trouble(self) -> str:
        """Why the last attempt to write failed; an empty text if it did not."""
        return self._group.trouble

    # Reading

    def read(
        self, problem: str, *, after: int = 0, until: int | None = None, limit: int = EVENTS_AT_ONCE
    ) -> list[Any]:
        """Return the events of a problem in order, at most `limit`."""
        end = 2**62 if until is None else until
        rows = self._all(self._tables.READ, (after, end, problem, limit))
        return [decode(body, seq=seq, problem=problem) for seq, body in rows]

    @property
    def last_sequence(self) -> int:
        """The sequence number of the newest event of any problem."""
        return self._all(self._tables.LAST)[0][0] or 0

    def first_sequence(self, problem: str) -> int:
        """Return the number after which all events of a problem are kept."""
        rows = self._all(self._tables.FIRST, (problem,))
        return rows[0][0] if rows else 0

    def of_id(self, problem: str, id_: str) -> dict[Slot, Any]:
        """Return the events of an id by slot."""
        return self.of_ids(problem, (id_,)).get(id_, {})

    def of_ids(self, problem: str, ids: Sequence[str]) -> dict[str, dict[Slot, Any]]:
        """Return the events of several ids by slot; ids without events are left out."""
        condition, parameter = self._one_of([id_ for id_ in ids if storable(id_)])
        found: dict[str, dict[Slot, Any]] = {}
        rows = self._all(self._tables.OF_IDS + condition, (problem, parameter))
        for id_, slot, seq, body in rows:
            found.setdefault(id_, {})[Slot(slot)] = decode(body, seq=seq, problem=problem)
        return found

    def problems(self) -> list[str]:
        """Return the names of the problems that have or had events."""
        return sorted(name for (name,) in self._all(self._tables.PROBLEMS))

    # Snapshots and retention

    def put_snapshot(self, problem: str, snapshot: Snapshot) -> None:
        """Keep a snapshot, durably; only the newest few are kept."""

        def put(cursor: Any) -> None:
            row = problem, snapshot.seq, snapshot.checksum, snapshot.body
            cursor.execute(self._tables.PUT_SNAPSHOT, row)
            cursor.execute(self._tables.DROP_SNAPSHOTS, (problem, problem, KEPT_SNAPSHOTS))

        self._change(put)

    def snapshots(self, problem: str) -> list[Snapshot]:
        """Return the undamaged snapshots of a problem, the newest first."""
        rows = self._all(self._tables.SNAPSHOTS, (problem,))
        found = [(Snapshot(seq, bytes(body)), checksum) for seq, checksum, body in rows]
        return [snapshot for snapshot, checksum in found if snapshot.checksum == checksum]

    def forget(self, problem: str, *, until: int) -> int:
        """Delete the events of a problem up to a number; return how many were deleted."""
        tables = self._tables

        def delete(cursor: Any) -> int:
            last = cursor.execute(tables.LAST).fetchone()[0] or 0
            end = min(until, last - 1)  # the newest stays, so that its number is not given again
            outcomes = end, problem, int(Slot.OUTCOME)
            # Row by row: there may be many.
            times = (
                decode(body, seq=seq, problem=problem).time
                for seq, body in cursor.execute(tables.OUTCOMES, outcomes)
            )
            horizon = horizon_of(times, time.time())
            ids = cursor.execute(tables.OUTCOME_IDS, outcomes)
            named = [(problem, id_) for (id_,) in ids if not is_old(id_, horizon)]
            split = cursor.execute(tables.SPLIT_IDS, (*outcomes, end))
            named += [(problem, id_) for (id_,) in split if is_old(id_, horizon)]
            cursor.executemany(tables.SETTLE, named)
            cursor.execute(tables.MOVE_HORIZON, (problem, end, horizon))
            return int(cursor.execute(tables.DELETE, (end, problem)).rowcount)

        return int(self._change(delete))

    # Operating

    def integrity(self) -> list[str]:
        """Return what is wrong with the stored data, an empty list if nothing is."""
        found = [
            f"the snapshot of {problem!r} after event {seq} is damaged"
            for problem, seq, checksum, body in self._all(self._tables.ALL_SNAPSHOTS)
            if Snapshot(seq, bytes(body)).checksum != checksum
        ]
        for problem in self.problems():
            try:
                for _ in self.events(problem):
                    pass
            except StoreError as error:
                found.append(str(error))
        return found
