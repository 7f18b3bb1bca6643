"""The leading arm by likelihood bounds on kept states, as plain loops for compiled code.

The sums over states are loops here and numpy in the library; the steps of the search are the
functions of `index/kept_likelihood.py`.
"""

from __future__ import annotations

from math import exp, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.index import kept_likelihood
from onepull.index.kept_likelihood import CLOSE, NEAREST, SIZES, STEPS, TIED
from onepull.simulation.compiled import compiled, inlined

explored = inlined(kept_likelihood.explored)
first_beyond = inlined(kept_likelihood.first_beyond)
first_fall = inlined(kept_likelihood.first_fall)
next_beyond = inlined(kept_likelihood.next_beyond)

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
    """Bound an arm by the mean and the variance of its rewards."""
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
    beyond = first_beyond(spread, budget)
    search.budget[j], search.beyond[j] = budget, beyond
    search.low[j], search.high[j], search.fall[j] = 0.0, np.inf, np.inf
    search.upper[j] = top - first_fall(spread, budget, beyond) * unit
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
    before = search.fall[j]
    fall = exp(logs - budget) - beyond
    search.fall[j] = fall
    search.steps[j] += 1
    search.upper[j] = top - min(max(fall, 0.0), 1.0) * unit
    if abs(before - fall) <= CLOSE or beyond <= NEAREST:
        search.steps[j] = SETTLED
        search.lower[j] = search.upper[j]
        return
    search.beyond[j], search.low[j], search.high[j], most = next_beyond(
        logs, one, two, budget, beyond, search.low[j], search.high[j]
    )
    search.lower[j] = max(search.lower[j], min(top - most * unit, search.upper[j]))


@compiled
def likely_leader(
    values: Any, weights: Any, counts: Any, pulls: Any, tops: Any, trial: Any, search: Any
) -> Any:
    """Return the arm with the highest bound; of equal ones the least pulled."""
    arms, slack = pulls.size, 0.0
    for j in range(arms):
        search.top[j] = tops[j if tops.size > 1 else 0]
        level = explored(trial, pulls[j])
        begin(search, j, values[j], weights[j], counts[j], pulls[j], level)
        slack = max(slack, TIED * search.unit[j])
    upper, lower, steps = search.upper, search.lower, search.steps
    while True:
        best, next_best = 0, -np.inf
        for j in range(1, arms):
            ahead = upper[j] - upper[best]
            if ahead > slack or (ahead >= -slack and before(search, pulls, j, best)):
                next_best = max(next_best, upper[best])
                best = j
            elif upper[j] > next_best:
                next_best = upper[j]
        if steps[best] == SETTLED or lower[best] > next_best + slack:
            return best
        improve(search, best, values[best], weights[best], counts[best], pulls[best])


@inlined
def before(search: Any, pulls: Any, j: Any, best: Any) -> Any:
    """Whether arm j goes before an arm with the same bound: an unsettled one, then by pulls."""
    settled, other = search.steps[j] == SETTLED, search.steps[best] == SETTLED
    if settled != other:
        return other
    return pulls[j] < pulls[best]
