"""Append events to tables: number them, and find those whose place is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeAlias

from onepull.store.events import Event, Slot, decode
from onepull.store.forgetting import is_old
from onepull.store.group_commit import Rows
from onepull.store.store import FORGOTTEN, Appended
from onepull.store.tables import Statements

# Gives the end of a condition that an id is one of several, and its parameter.
OneOf: TypeAlias = Callable[[Sequence[str]], tuple[str, Any]]


class Appending:
    """Events that get their numbers in one transaction and are then written together.

    Nobody else appends meanwhile, so the next number is that of the last event plus one.

    Attributes
    ----------
    horizons
        The time up to which ids of a problem are refused, if some of its events were deleted.
    """

    def __init__(self, cursor: Any, tables: Statements, one_of: OneOf) -> None:
        self._cursor, self._tables, self._one_of = cursor, tables, one_of
        rows = cursor.execute(tables.HORIZONS).fetchall()
        self.horizons: dict[str, float] = dict(rows)
        self._last: int = cursor.execute(tables.LAST).fetchone()[0] or 0
        self._rows: list[tuple[Any, ...]] = []
        self._taken: dict[tuple[str, str, int], tuple[int, bytes]] = {}
        self._left: set[tuple[str, str]] = set()  # ids that have events

    def all(self, jobs: list[Rows]) -> list[list[Appended]]:
        """Append the events of several calls; return what became of each."""
        self._look_up(jobs)
        done = [[self._put(*row) for row in rows] for rows in jobs]
        self._insert()
        return done

    def _insert(self) -> None:
        done = 0
        for count, statement in self._tables.INSERTS.items():
            while len(self._rows) - done >= count:
                some = self._rows[done : done + count]
                self._cursor.execute(statement, [*chain.from_iterable(some)])
                done += count

    def _look_up(self, jobs: list[Rows]) -> None:
        """Find the events that the ids have already, with one query for each problem."""
        ids: dict[str, list[str]] = {}
        for rows in jobs:
            for event, _ in rows:
                if event.slot is not None:
                    ids.setdefault(event.problem, []).append(event.id)  # type: ignore[attr-defined]  # it has one
        for problem, names in ids.items():
            condition, parameter = self._one_of(names)
            statement = self._tables.OF_IDS + condition
            for id_, slot, seq, body in self._cursor.execute(statement, (problem, parameter)):
                self._taken[problem, id_, slot] = seq, body
                self._left.add((problem, id_))

    def _put(self, event: Event, body: bytes) -> Appended:
        """Give an event its number, or return the event that is stored in its place."""
        slot, problem = event.slot, event.problem
        if slot is None:
            return self._add(problem, None, None, body)
        id_: str = event.id  # type: ignore[attr-defined]  # an event with a slot has one
        key = problem, id_, slot
        if (taken := self._taken.get(key)) is not None:
            seq, kept = taken
            return Appended(seq, decode(kept, seq=seq, problem=problem))
        if problem in self.horizons and slot is not Slot.DEFINITION and self._is_settled(key[:2]):
            return Appended(0, FORGOTTEN)
        self._taken[key] = self._last + 1, body
        return self._add(problem, id_, int(slot), body)

    def _is_settled(self, key: tuple[str, str]) -> bool:
        """Whether an event belongs to a decision whose events were deleted."""
        if self._cursor.execute(self._tables.NAMED, key).fetchone() is not None:
            return True
        if not is_old(key[1], self.horizons[key[0]]):
            return False
        # Old, but perhaps of a decision that is still there.
        return key not in self._left

    def _add(self, problem: str, id_: str | None, slot: int | None, body: bytes) -> Appended:
        self._last += 1
        self._rows.append((self._last, problem, id_, slot, body))
        return Appended(self._last)
