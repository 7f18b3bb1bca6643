"""Where and in which unit the rewards of kept states are compared."""

from __future__ import annotations

from math import frexp

import numpy as np

from onepull.payoff import State
from onepull.payoff.box_points import all_combinations, is_finite, listed_values, points, size
from onepull.problem import Problem

TRACKED = 8  # contexts in which predictions are compared


def tracked_contexts(problem: Problem) -> list[State]:
    """Return the contexts in which predictions are compared: all if they are few."""
    box = problem.context
    if is_finite(box) and size(box) <= TRACKED:
        columns = all_combinations(listed_values(box))
    else:
        sample = points(box, TRACKED, np.random.default_rng(0))
        columns = {name: column[-TRACKED:] for name, column in sample.items()}
    return list(zip(*(column.tolist() for column in columns.values()), strict=True))


def unit_of(size: float) -> float:
    """Return a factor that takes numbers of a size to about 1; a power of two, which is exact.

    >>> unit_of(3.0), unit_of(1e300) * 1e300 < 2.0, unit_of(0.0), unit_of(np.inf)
    (0.25, True, 1.0, 1.0)
    """
    return 2.0 ** -min(max(frexp(size)[1], -1000), 1000) if 0.0 < size < np.inf else 1.0
