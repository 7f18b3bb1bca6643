"""The leading arm by likelihood bounds on kept states, as plain loops for compiled code.

`likely_means` bounds all arms at once in numpy.  A kernel can do less: it bounds an arm as closely
as is needed to tell which arm leads, beginning with a bound from mean and variance alone.  It takes
the same steps as `likely_means`, so both find the same bound.
"""

from __future__ import annotations

from math import exp, log, log1p, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.index.kept_likelihood import AT_LEAST, CLOSE, NEAREST, SIZES, STEPS
from onepull.policies.kept_states.adaptive_kl import HEAD_START
from onepull.simulation.compiled import compiled, inlined

SETTLED = STEPS
VANISHING = 1e-290  # a distance to the top that counts as none


class Search(NamedTuple):
    """What is known of the bound of each arm while the highest is searched."""

    top: Array
    unit: Array  # the mean distance to the top
    budget: Array
    beyond: Array  # how far λ is from the top, in the unit; with the ends of its interval
    low: Array
    high: Array
    fall: Array  # the newest value: how far the bound is below the top
    upper: Array  # the bound is not above this
    lower: Array  # nor below this
    steps: NDArray[np.int64]


def no_search(arms: int) -> Search:
    """Return room for a search."""
    numbers = (np.zeros(arms) for _ in range(9))
    return Search._make((*numbers, np.zeros(arms, np.int64)))


@inlined
def begin(
    search: Any, j: Any, values: Any, weights: Any, count: Any, pulls: Any, level: Any
) -> None:
    """Bound an arm by the mean and the variance of its rewards.

    With u = λ - X and β = λ - top, in units in which the mean of top - X is 1: for u ≥ β,
    ln u ≥ ln(1 + β) + (u - 1 - β)/(1 + β) - c (u - 1 - β)² with equality at u = β.
    """
    top = search.top[j]
    total, squares = 0.0, 0.0
    more, more_squares = 0.0, 0.0
    # Two sums at a time, since an addition waits for the one before.
    for s in range(0, count - 1, 2):
        gap, other = max(top - values[s], 0.0), max(top - values[s + 1], 0.0)
        total += weights[s] * gap
        more += weights[s + 1] * other
        squares += weights[s] * gap * gap
        more_squares += weights[s + 1] * other * other
    if count % 2:
        gap = max(top - values[count - 1], 0.0)
        total += weights[count - 1] * gap
        squares += weights[count - 1] * gap * gap
    unit = (total + more) / pulls
    search.unit[j] = unit
    if unit <= VANISHING:
        search.upper[j] = search.lower[j] = top
        search.steps[j] = SETTLED
        return
    squares = (squares + more_squares) / (unit * unit)
    if not SIZES[0] < unit < SIZES[1]:  # where a square overflows or vanishes
        squares = 0.0
        for s in range(count):
            squares += weights[s] * (max(top - values[s], 0.0) / unit) ** 2
    budget = level / pulls
    spread = max(squares / pulls - 1.0, 0.0)
    beyond = max(sqrt(0.5 * spread / budget) - 1.0, AT_LEAST)
    bend = max(log1p(1.0 / beyond) - 1.0 / (1.0 + beyond), 0.0)
    fall = (1.0 + beyond) * exp(-bend * spread - budget) - beyond
    search.budget[j], search.beyond[j] = budget, beyond
    search.low[j], search.high[j], search.fall[j] = 0.0, np.inf, np.inf
    search.upper[j] = top - min(max(fall, 0.0), 1.0) * unit
    search.lower[j] = top - unit
    search.steps[j] = 0


@compiled
def improve(search: Any, j: Any, values: Any, weights: Any, count: Any, pulls: Any) -> None:
    """Take one more step to the bound of an arm, as `likely_means` does."""
    top, unit, budget, beyond = search.top[j], search.unit[j], search.budget[j], search.beyond[j]
    logs, one, two = 0.0, 0.0, 0.0
    scale = 1.0 / unit
    for s in range(count):
        weight = weights[s]
        if weight > 0.0:
            away = max(top - values[s], 0.0) * scale + beyond
            part = weight / away
            one += part
            two += part / away
            logs += weight * log(away)
    logs, one, two = logs / pulls, one / pulls, two / pulls
    before, near = search.fall[j], exp(logs - budget)
    fall = near - beyond
    search.fall[j] = fall
    search.steps[j] += 1
    search.upper[j] = top - min(max(fall, 0.0), 1.0) * unit
    if abs(before - fall) <= CLOSE or beyond <= NEAREST:
        search.steps[j] = SETTLED
        search.lower[j] = search.upper[j]
        return
    wrong = logs + log(one) - budget
    if wrong > 0.0:
        search.low[j] = beyond
    else:
        search.high[j] = beyond
        # With weights in proportion to 1/(λ - X), and the rest at the top, this mean is likely.
        likely = top - near * (1.0 - beyond * one) * unit
        search.lower[j] = max(search.lower[j], min(likely, search.upper[j]))
    low, high = search.low[j], search.high[j]
    slope = (one - two / one) * beyond
    step = beyond * exp(min(max(-wrong / slope, -20.0), 20.0)) if slope < 0.0 else low
    if not low < step < high:
        step = 0.5 * (low + high) if high < np.inf else 2.0 * beyond
    search.beyond[j] = max(step, NEAREST)


@compiled
def likely_leader(
    values: Any, weights: Any, counts: Any, pulls: Any, tops: Any, trial: Any, search: Any
) -> Any:
    """Return the arm with the highest bound; of equal ones the least pulled."""
    arms = pulls.size
    for j in range(arms):
        search.top[j] = tops[j if tops.size > 1 else 0]
        level = log(trial / pulls[j] + HEAD_START / sqrt(pulls[j]))
        begin(search, j, values[j], weights[j], counts[j], pulls[j], level)
    upper, lower, steps = search.upper, search.lower, search.steps
    while True:
        best, next_best = 0, -np.inf
        for j in range(1, arms):
            if upper[j] > upper[best] or (
                upper[j] == upper[best] and before(search, pulls, j, best)
            ):
                next_best = upper[best]
                best = j
            elif upper[j] > next_best:
                next_best = upper[j]
        if steps[best] == SETTLED or lower[best] > next_best:
            return best
        improve(search, best, values[best], weights[best], counts[best], pulls[best])


@inlined
def before(search: Any, pulls: Any, j: Any, best: Any) -> Any:
    """Whether arm j goes before an arm with the same bound: an unsettled one, then by pulls."""
    settled, other = search.steps[j] == SETTLED, search.steps[best] == SETTLED
    if settled != other:
        return other
    return pulls[j] < pulls[best]
