"""Traffic and rewards over time, folded from the log: seconds, half minutes and ten minutes."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from onepull.problem import Problem
from onepull.store import Decided, Expired, Failed, GaveUp, Observed

# Width of a bucket in seconds, and how many are kept: 15 minutes, a day, thirty days.
LEVELS = ((1, 900), (30, 2880), (600, 4320))
MOST_ARMS = 1000  # per bucket; further ones are counted together
OTHERS = "(others)"


class Counts(msgspec.Struct):
    """What happened to an arm in a bucket."""

    decisions: int = 0
    observations: int = 0
    failures: int = 0
    expired: int = 0
    rewards: int = 0
    reward: float = 0.0


class Timeline:
    """Counts by time and arm.  The same log gives the same timeline.

    Examples
    --------
    >>> from onepull import Interval
    >>> problem = Problem(arms=["a"], state={"x": Interval(0, 1)}, reward="2 * x")
    >>> timeline = Timeline(problem)
    >>> timeline.fold(Decided(id="1", arm="a", time=100.0))
    >>> timeline.fold(Observed(id="1", arm="a", state={"x": 0.5}, time=100.5))
    >>> counts = timeline.buckets(99, 102)[1]["a"]
    >>> counts.decisions, counts.observations, counts.reward
    (1, 1, 1.0)
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._levels: list[dict[int, dict[str, Counts]]] = [{} for _ in LEVELS]
        self._newest = [0 for _ in LEVELS]
        # Most events are of the same second as the one before, and so of the same buckets.
        self._second = -1
        self._of_second: dict[str, list[Counts]] = {}

    def fold(self, event: Any) -> None:
        """Count an event."""
        kind = type(event)
        if kind is Decided:
            for counts in self._at(event):
                counts.decisions += 1
        elif kind is Observed or kind is Failed:
            earned = self._reward(event)
            for counts in self._at(event):
                counts.observations += 1
                counts.failures += kind is Failed
                if earned is not None:
                    counts.rewards += 1
                    counts.reward += earned
        elif kind is Expired or kind is GaveUp:
            for counts in self._at(event):
                counts.expired += 1

    def _at(self, event: Any) -> list[Counts]:
        """Return the counts of an event's arm at its time, on every level."""
        if not 0.0 <= event.time < 1e12:
            return []
        second = int(event.time)
        if second != self._second:
            self._second, self._of_second = second, {}
        found = self._of_second.get(event.arm)
        if found is None:
            found = self._of_second[event.arm] = self._found(event)
        return found

    def _found(self, event: Any) -> list[Counts]:
        found = []
        for level, (width, kept) in enumerate(LEVELS):
            bucket = int(event.time // width)
            arms = self._levels[level].get(bucket)
            if arms is None:
                if bucket <= self._newest[level] - kept:
                    continue  # too old
                arms = self._levels[level][bucket] = {}
                self._newest[level] = max(self._newest[level], bucket)
                self._prune(level, kept)
            arm = event.arm if event.arm in arms or len(arms) < MOST_ARMS else OTHERS
            if (counts := arms.get(arm)) is None:
                counts = arms[arm] = Counts()
            found.append(counts)
        return found

    def _prune(self, level: int, kept: int) -> None:
        """Forget old buckets, now and then."""
        buckets = self._levels[level]
        if len(buckets) > kept + kept // 8:
            oldest = self._newest[level] - kept
            for bucket in [number for number in buckets if number <= oldest]:
                del buckets[bucket]

    def _reward(self, event: Any) -> float | None:
        """Return what a pull earned by the present formula; None if it cannot be told."""
        if type(event) is Observed and event.reward is not None:
            return float(event.reward)
        problem = self.problem
        if event.arm not in problem.arms:
            return None
        try:
            context = problem.context.read(event.context)
            if type(event) is Observed:
                outcome = problem.outcome_of(
                    problem.arms.index(event.arm), problem.state.read(event.state or {})
                )
            else:
                outcome = problem.failed_outcome_of(problem.arms.index(event.arm))
            earned = float(problem.payoff.scalar(*context, *outcome))
        except (ValueError, TypeError, KeyError, ArithmeticError):  # of another formula or context
            return None
        return earned if math.isfinite(earned) else None

    def buckets(self, start: float, end: float) -> dict[int, dict[str, Counts]]:
        """Return the buckets of a time span by their number, of the finest level that fits."""
        level, width = self.level(end - start)
        first, last = int(start // width), int(end // width)
        found = self._levels[level]
        return {
            number - first: found[number] for number in range(first, last + 1) if number in found
        }

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


def merged(buckets: dict[int, dict[str, Counts]], width: int) -> dict[int, dict[str, Counts]]:
    """Return buckets that are several times as wide.

    >>> both = merged({0: {"a": Counts(decisions=1)}, 1: {"a": Counts(decisions=2)}}, 2)
    >>> both[0]["a"].decisions
    3
    """
    if width == 1:
        return buckets
    found: dict[int, dict[str, Counts]] = {}
    for number, arms in buckets.items():
        wide = found.setdefault(number // width, {})
        for arm, counts in arms.items():
            total = wide.setdefault(arm, Counts())
            for name in Counts.__struct_fields__:
                setattr(total, name, getattr(total, name) + getattr(counts, name))
    return found
