"""Counts of the newest buckets of one width, in arrays that do not grow with time."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from onepull.arrays import Array

NEVER = -1  # the number of a place that holds no bucket yet


class Buckets:
    """Rows of counts by arm and bucket.  A new bucket takes the place of one that is too old.

    Parameters
    ----------
    width
        Of a bucket, in seconds.
    kept
        How many buckets are kept.
    counts
        How many numbers are counted in each.

    Examples
    --------
    >>> buckets = Buckets(width=10, kept=3, counts=1)
    >>> for moment in (100.0, 105.0, 121.0, 131.0):
    ...     buckets.add("a", moment, [1.0])
    >>> buckets.rows("a", first=10, count=4)[:, 0]  # the first one is forgotten
    array([0., 0., 1., 1.])
    """

    def __init__(self, width: int, kept: int, counts: int) -> None:
        self.width = width
        self._shape = kept, counts
        self._numbers = np.full(kept, NEVER, dtype=np.int64)  # of the bucket in each place
        self._rows: dict[str, Array] = {}

    def add(self, arm: str, moment: float, counts: Sequence[float]) -> None:
        """Count what happened to an arm at a moment, unless that is too long ago."""
        number = int(moment // self.width)
        place = number % len(self._numbers)
        held = int(self._numbers[place])
        if held > number and held * self.width <= time.time():
            return  # else it is of a clock that was ahead, and must not keep its place
        if held != number:
            self._numbers[place] = number
            for rows in self._rows.values():
                rows[place] = 0.0
        if arm not in self._rows:
            self._rows[arm] = np.zeros(self._shape)
        self._rows[arm][place] += counts

    @property
    def arms(self) -> list[str]:
        """The arms that were counted."""
        return list(self._rows)

    def rows(self, arm: str, first: int, count: int) -> Array:
        """Return the counts of an arm in consecutive buckets from a number on."""
        numbers = np.arange(first, first + count)
        places = numbers % len(self._numbers)
        is_held = self._numbers[places] == numbers
        found: Array = self._rows[arm][places] * is_held[:, None]
        return found

    def merge(self, arm: str, into: str) -> None:
        """Count what happened to an arm as that of another one."""
        rows = self._rows.pop(arm, None)
        if rows is not None:
            self._rows[into] = self._rows.get(into, 0.0) + rows
