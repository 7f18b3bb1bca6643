"""Pulls in flight: what counts for an arm that was pulled but has not answered yet.

Until its first answer such an arm counts as the worst there can be.  `worst_state` is a
plain function: the library runs it, the simulator compiles it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from onepull.statistics import ArmStatistics, unanswered

# What an index rule needs for a context: the statistics whose pulls and trials count there,
# the estimate of every arm, and the lowest and highest possible reward; one of each for every arm
# if arms have attributes.
View: TypeAlias = tuple[ArmStatistics, Any, Any, Any]


def of_each_arm(bound: Any, arms: int) -> Any:
    """Return a bound of the reward for each arm, if it is one for all.

    >>> of_each_arm(2.0, 3), of_each_arm([1.0, 2.0], 2)
    ([2.0, 2.0, 2.0], [1.0, 2.0])
    """
    return [bound] * arms if isinstance(bound, float) else bound


def worst_state(values: Any) -> int:
    """Return the state with the lowest reward: what an unanswered arm counts as showing.

    >>> worst_state([2.0, 0.5, 1.0])
    1
    """
    worst = 0
    for s in range(len(values)):
        if values[s] < values[worst]:
            worst = s
    return worst


class Counted(NamedTuple):
    """The pulls that count in a context."""

    pulls: Sequence[int]  # of each arm, with those in flight that count
    trials: int
    in_flight: Sequence[int] | None  # of each arm, as far as they count; None if all do
    unanswered: Collection[int]  # the arms with pulls in flight and no observation


def counted(statistics: ArmStatistics) -> Counted:
    """Return the pulls that count where statistics count.

    >>> statistics = ArmStatistics.empty(arms=2, features=1)
    >>> statistics.update(0, [3.0])
    >>> statistics.expect(1, 2)
    >>> counted(statistics)
    Counted(pulls=[1, 2], trials=3, in_flight=[0, 2], unanswered=[1])
    """
    pulls, waiting = statistics.pulls, statistics.in_flight
    if not statistics.waiting:
        return Counted(pulls, statistics.trials, waiting, ())
    silent = [j for j in range(len(pulls)) if unanswered(pulls[j], waiting[j])]
    return Counted(statistics.counts, statistics.trials + statistics.waiting, waiting, silent)


def answered_view(statistics: ArmStatistics, estimates: Any, low: Any, high: Any) -> View:
    """Return the view of a context with the lowest reward as estimate of unanswered arms.

    So such an arm no longer comes first, and its pulls in flight narrow its bound.  An arm that
    never answers is explored as rarely as the worst arm, instead of at every trial.

    >>> statistics = ArmStatistics.empty(arms=3, features=1)
    >>> statistics.update(0, [3.0])
    >>> statistics.expect(1, 2)
    >>> answered_view(statistics, statistics.means[0], 0.5, 4.0)[1]
    [3.0, 0.5, inf]
    """
    lows = of_each_arm(low, len(estimates))
    arms = zip(estimates, statistics.pulls, statistics.in_flight, lows, strict=True)
    told = [
        lowest if unanswered(pulls, waiting) else estimate
        for estimate, pulls, waiting, lowest in arms
    ]
    return statistics, np.array(told) if isinstance(estimates, np.ndarray) else told, low, high
