"""What a rule sees of the arms in a context, those that have not answered yet included."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from onepull.statistics import ArmStatistics

# What an index rule needs for a context: the statistics whose pulls and trials count there,
# the estimate of every arm, and the lowest and highest reward that can be.
View: TypeAlias = tuple[ArmStatistics, Any, float, float]


def answered(statistics: ArmStatistics, estimates: Any, low: float, high: float) -> View:
    """Return a view in which an arm with pulls in flight and no answer yet has an estimate.

    It is the lowest reward there can be.  So the arm no longer comes first, its pulls in
    flight narrow its bound as those of others, and one that never answers is explored as
    rarely as the worst of arms instead of for ever.

    >>> statistics = ArmStatistics.empty(arms=3, features=1)
    >>> statistics.update(0, [3.0])
    >>> statistics.expect(1, 2)
    >>> answered(statistics, statistics.means[0], 0.5, 4.0)[1]
    [3.0, 0.5, inf]
    """
    told = [
        low if statistics.unanswered(arm) else estimate for arm, estimate in enumerate(estimates)
    ]
    return statistics, np.array(told) if isinstance(estimates, np.ndarray) else told, low, high
