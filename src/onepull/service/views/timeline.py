"""Traffic and rewards over time, folded from the log: seconds, half minutes and ten minutes."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from onepull.arrays import Array
from onepull.problem import Problem
from onepull.service.views.buckets import Buckets
from onepull.store import Decided, Expired, Failed, GaveUp, Observed

# Width of a bucket in seconds, and how many are shown: 15 minutes, a day, thirty days.
LEVELS = ((1, 900), (30, 2880), (600, 4320))
SPARE_SHARE = 1 / 8  # of them that are kept beside, since pictures begin at a round moment
MOST_COUNTED_ARMS = 200  # that are counted apart; each takes up to 0.44 MB
OTHERS = "(others)"


class BucketCounts(msgspec.Struct):
    """What happened to an arm in a bucket."""

    decisions: float = 0.0
    observations: float = 0.0
    failures: float = 0.0
    expired: float = 0.0
    rewards: float = 0.0
    reward: float = 0.0


COUNTED_FIELDS = len(BucketCounts.__struct_fields__)


class Timeline:
    """Counts by time and arm.  The same log gives the same timeline, in memory of a fixed size.

    Examples
    --------
    >>> from onepull import Interval
    >>> problem = Problem(arms=["a"], state={"x": Interval(0, 1)}, reward="2 * x")
    >>> timeline = Timeline(problem)
    >>> timeline.fold(Decided(id="1", arm="a", time=100.0))
    >>> timeline.fold(Observed(id="1", arm="a", state={"x": 0.5}, time=100.5))
    >>> counts = timeline.columns(0, start=99, width=1, count=3)["a"][1]
    >>> counts.decisions, counts.observations, counts.reward
    (1.0, 1.0, 1.0)
    """

    def __init__(self, problem: Problem) -> None:
        self.switch(problem)
        self._levels = [
            Buckets(width, kept + int(kept * SPARE_SHARE), COUNTED_FIELDS) for width, kept in LEVELS
        ]
        self._last: dict[str, int] = {}  # the second in which an arm was counted last
        # Most events are of the same second as the one before, and go to the buckets together.
        self._second = -1
        self._of_second: dict[str, BucketCounts] = {}

    def switch(self, problem: Problem) -> None:
        """Count by another problem from now on."""
        self.problem = problem
        self._places = {arm: place for place, arm in enumerate(problem.arms)}

    def fold(self, event: Any) -> None:
        """Count an event."""
        kind = type(event)
        if kind is Decided:
            if (counts := self._at(event)) is not None:
                counts.decisions += 1.0
        elif kind is Observed or kind is Failed:
            if (counts := self._at(event)) is not None:
                counts.observations += 1.0
                counts.failures += kind is Failed
                if (earned := self._reward(event)) is not None:
                    counts.rewards += 1.0
                    counts.reward += earned
        elif (kind is Expired or kind is GaveUp) and (counts := self._at(event)) is not None:
            counts.expired += 1.0

    def _at(self, event: Any) -> BucketCounts | None:
        """Return the counts of an event's arm in its second, None if that is no time."""
        if not 0.0 <= event.time < 1e12:
            return None
        second = int(event.time)
        if second != self._second:
            self._store_second()
            self._second = second
        if (counts := self._of_second.get(event.arm)) is None:
            counts = self._of_second[event.arm] = BucketCounts()
        return counts

    def _store_second(self) -> None:
        """Add the counts of the present second to the buckets."""
        for arm, counts in self._of_second.items():
            name = self._counted_as(arm)
            for buckets in self._levels:
                buckets.add(name, self._second, msgspec.structs.astuple(counts))
        self._of_second = {}

    def _counted_as(self, arm: str) -> str:
        """Return the name under which an arm is counted; with too many, drop a removed one."""
        if arm not in self._last and len(self._last) >= MOST_COUNTED_ARMS:
            gone = [name for name in self._last if name not in self._places]
            if not gone:
                return OTHERS
            oldest = min(gone, key=self._last.__getitem__)
            del self._last[oldest]
            for buckets in self._levels:
                buckets.merge(oldest, OTHERS)
        self._last[arm] = self._second
        return arm

    def _reward(self, event: Any) -> float | None:
        """Return what a pull earned by the present formula; None if it cannot be told."""
        if type(event) is Observed and event.reward is not None:
            return float(event.reward)
        problem = self.problem
        if (place := self._places.get(event.arm)) is None:
            return None
        try:
            context = problem.context.read(event.context)
            if type(event) is Observed:
                outcome = problem.outcome_of(place, problem.state.read(event.state or {}))
            else:
                outcome = problem.failed_outcome_of(place)
            earned = float(problem.payoff.scalar(*context, *outcome))
        except (ValueError, TypeError, KeyError, ArithmeticError):  # of another formula or context
            return None
        return earned if math.isfinite(earned) else None

    def columns(
        self, level: int, start: float, width: int, count: int
    ) -> dict[str, list[BucketCounts | None]]:
        """Return the counts of each arm in columns of a width from a start on.

        Both are multiples of the width of the level.  None stands for a column without events, and
        arms without any are left out.
        """
        self._store_second()
        buckets = self._levels[level]
        each = width // buckets.width
        first = int(start // buckets.width)
        found = {}
        for arm in sorted(buckets.arms):
            rows = buckets.rows(arm, first, count * each)
            sums = rows.reshape(count, each, COUNTED_FIELDS).sum(axis=1)
            if sums.any():
                found[arm] = [_counts(row) for row in sums]
        return found

    @staticmethod
    def level(seconds: float) -> tuple[int, int]:
        """Return the number and the width of the finest level for a time span.

        >>> Timeline.level(60), Timeline.level(3600), Timeline.level(1e6)
        ((0, 1), (1, 30), (2, 600))
        """
        for level, (width, kept) in enumerate(LEVELS):
            if seconds <= width * kept:
                return level, width
        return len(LEVELS) - 1, LEVELS[-1][0]


def _counts(row: Array) -> BucketCounts | None:
    return BucketCounts(*row.tolist()) if row.any() else None
