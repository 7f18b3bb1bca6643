"""Append events to tables: number them, and find those whose place is taken."""

from __future__ import annotations

from typing import Any

from onepull.store.events import Event, Slot, decode
from onepull.store.forgetting import is_old
from onepull.store.group_commit import Rows
from onepull.store.store import FORGOTTEN, Appended
from onepull.store.tables import Tables


class Appending:
    """Events that get their numbers in one transaction and are then written together.

    Nobody else appends meanwhile, so the next number is that of the last event plus one.
    """

    def __init__(self, cursor: Any, tables: Tables) -> None:
        self._cursor, self._tables = cursor, tables
        rows = cursor.execute(tables.HORIZONS).fetchall()
        self._horizons: dict[str, float] = dict(rows)
        self._last: int = cursor.execute(tables.LAST).fetchone()[0] or 0
        self._rows: list[tuple[Any, ...]] = []
        self._mine: dict[tuple[str, str, int], tuple[int, bytes]] = {}

    def all(self, jobs: list[Rows]) -> list[list[Appended]]:
        """Append the events of several calls; return what became of each."""
        done = [[self._put(*row) for row in rows] for rows in jobs]
        if self._rows:
            self._cursor.executemany(self._tables.INSERT, self._rows)
        return done

    def _put(self, event: Event, body: bytes) -> Appended:
        """Give an event its number, or return the one that took its place."""
        slot, problem = event.slot, event.problem
        if slot is None:
            return self._add(problem, None, None, body)
        id_: str = event.id  # type: ignore[attr-defined]  # an event with a slot has one
        key = problem, id_, int(slot)
        before = self._mine.get(key) or self._cursor.execute(self._tables.TAKEN, key).fetchone()
        if before is not None:
            seq, kept = before
            return Appended(seq, decode(kept, seq=seq, problem=problem))
        if problem in self._horizons and slot is not Slot.DEFINITION and self._is_settled(key[:2]):
            return Appended(0, FORGOTTEN)
        self._mine[key] = self._last + 1, body
        return self._add(*key, body)

    def _is_settled(self, key: tuple[str, str]) -> bool:
        """Whether an event belongs to a decision whose events were deleted."""
        if self._cursor.execute(self._tables.NAMED, key).fetchone() is not None:
            return True
        if not is_old(key[1], self._horizons[key[0]]):
            return False
        # Old, but perhaps of a decision that is still there.
        return self._cursor.execute(self._tables.LEFT, key).fetchone() is None

    def _add(self, problem: str, id_: str | None, slot: int | None, body: bytes) -> Appended:
        self._last += 1
        self._rows.append((self._last, problem, id_, slot, body))
        return Appended(self._last)
