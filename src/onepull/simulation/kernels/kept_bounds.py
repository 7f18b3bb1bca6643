"""The leading arm by likelihood bounds on kept states, as plain loops for compiled code.

`KeptBounds` in `index/highest_bound.py` is the same search in numpy, which is fast in CPython:
it sums over the states of several arms at once.  Compiled code is faster with a loop over the
states of one arm, which allocates nothing.  So the sums are written twice and agree to rounding.
The steps of the search are the functions of `index/kept_likelihood.py`, compiled as they are.
"""

from __future__ import annotations

from math import exp, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.index import kept_likelihood, rules
from onepull.index.kept_likelihood import (
    FALL_ACCURACY,
    MOST_IMPROVEMENTS,
    NEAREST,
    SAME_COST,
    SIZES,
    TIED,
)
from onepull.simulation.compiled import compiled, inlined

comes_before = inlined(rules.comes_before)
explored = inlined(kept_likelihood.explored)
first_beyond = inlined(kept_likelihood.first_beyond)
first_fall = inlined(kept_likelihood.first_fall)
head_start = inlined(kept_likelihood.head_start)
next_beyond = inlined(kept_likelihood.next_beyond)
relative_cost = inlined(kept_likelihood.relative_cost)

VANISHING = 1e-290  # a distance to the top that counts as none
FACTORS = 1e-150, 1e150  # between these, a product takes another factor


class Search(NamedTuple):
    """What is known of the bound of each arm while the highest is searched."""

    budget: Array  # how unlikely the bound may be, for each observation
    top: Array
    unit: Array  # the mean distance to the top
    spread: Array  # the variance, in the unit
    beyond: Array  # how far λ is from the top, in the unit; with the ends of its interval
    low: Array
    high: Array
    fall: Array  # the newest value: how far the bound is below the top
    logs: Array  # the mean of ln u for it
    upper: Array  # the bound is not above this
    lower: Array  # nor below this
    steps: NDArray[np.int64]
    is_half: NDArray[np.int64]  # whether the newest step is not finished


def no_search(arms: int) -> Search:
    """Return room for a search."""
    numbers = (np.zeros(arms) for _ in range(11))
    counts = (np.zeros(arms, np.int64) for _ in range(2))
    return Search._make((*numbers, *counts))


class Elsewhere(NamedTuple):
    """What is known of other contexts than that of a request."""

    means: Array  # [arm, compared context], in units of `1 / unit`
    unit: float
    lead: Array  # the best mean in each compared context


@inlined
def measure(search: Any, j: Any, values: Any, weights: Any, count: Any, pulls: Any) -> None:
    """Write the mean and the variance of an arm's distances to the top."""
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
    search.unit[j], search.spread[j] = unit, 0.0
    if unit <= VANISHING:
        return
    squares = (squares + more_squares) / (unit * unit)
    if not SIZES[0] < unit < SIZES[1]:  # where a square overflows or vanishes
        squares = 0.0
        for s in range(count):
            squares += weights[s] * (max(top - values[s], 0.0) / unit) ** 2
    search.spread[j] = max(squares / pulls - 1.0, 0.0)


@inlined
def leads(means: Any, lead: Any, rounding: Any) -> Any:
    """Return 1 if an arm has the best mean in some context but for rounding, else 0."""
    for c in range(lead.size):
        if lead[c] - means[c] <= rounding:
            return 1
    return 0


@inlined
def set_budgets(search: Any, allowed: Any, counts: Any, trial: Any, elsewhere: Any) -> None:
    """Write how much each arm is explored, for each of its pulls."""
    means, lead, unit = elsewhere.means, elsewhere.lead, elsewhere.unit
    best, size = -np.inf, 0.0
    for c in range(lead.size):
        lead[c] = -np.inf
    for j in allowed:
        here = (search.top[j] - search.unit[j]) * unit
        best, size = max(best, here), max(size, abs(here))
        for c in range(lead.size):
            lead[c], size = max(lead[c], means[j, c]), max(size, abs(means[j, c]))
    led, rounding = 0, 0.0
    for c in range(lead.size):
        rounding = max(rounding, SAME_COST * abs(lead[c]))
    for j in allowed:
        led += leads(means[j], lead, rounding)
    able = min(allowed.size - 1, lead.size)
    for j in allowed:
        cost = best - (search.top[j] - search.unit[j]) * unit
        least = cost
        for c in range(lead.size):
            least = min(least, lead[c] - means[j, c])
        head = head_start(led - leads(means[j], lead, rounding), able)
        relative = relative_cost(cost, least, size)
        search.budget[j] = explored(trial, counts[j], relative, head) / counts[j]


@inlined
def begin(search: Any, j: Any) -> None:
    """Bound an arm by the mean and the variance of its rewards."""
    top, unit, budget, spread = search.top[j], search.unit[j], search.budget[j], search.spread[j]
    if unit <= VANISHING:
        search.upper[j] = search.lower[j] = top
        return
    beyond = first_beyond(spread, budget)
    search.beyond[j] = beyond
    search.low[j], search.high[j], search.fall[j] = 0.0, np.inf, np.inf
    search.upper[j] = top - first_fall(spread, budget, beyond) * unit
    search.lower[j] = top - unit
    search.steps[j] = search.is_half[j] = 0


@compiled
def improve(search: Any, j: Any, values: Any, weights: Any, count: Any, pulls: Any) -> None:
    """Take half a step to the bound of an arm, as `KeptBounds.improve` does."""
    if search.is_half[j]:
        search.is_half[j] = 0
        raise_lower(search, j, values, weights, count, pulls)
    else:
        lower_upper(search, j, values, weights, count, pulls)


@inlined
def lower_upper(search: Any, j: Any, values: Any, weights: Any, count: Any, pulls: Any) -> None:
    """Improve the upper end."""
    top, unit, beyond = search.top[j], search.unit[j], search.beyond[j]
    scale = 1.0 / unit
    logs, product = 0.0, 1.0
    for s in range(count):
        weight = weights[s]
        if weight > 0.0:
            away = max(top - values[s], 0.0) * scale + beyond
            if weight == 1.0 or weight == 2.0:  # noqa: PLR1714 - a tuple would be slow
                # One logarithm of a product is faster than those of its factors.
                product *= away if weight == 1.0 else away * away
                if not FACTORS[0] < product < FACTORS[1]:
                    logs += log(product)
                    product = 1.0
            else:
                logs += weight * log(away)
    logs = (logs + log(product)) / pulls
    before, fall = search.fall[j], exp(logs - search.budget[j]) - beyond
    search.fall[j], search.logs[j] = fall, logs
    search.steps[j] += 1
    search.upper[j] = top - min(max(fall, 0.0), 1.0) * unit
    if (
        abs(before - fall) <= FALL_ACCURACY
        or beyond <= NEAREST
        or search.steps[j] == MOST_IMPROVEMENTS
    ):
        search.lower[j] = search.upper[j]
    else:
        search.is_half[j] = 1


@inlined
def raise_lower(search: Any, j: Any, values: Any, weights: Any, count: Any, pulls: Any) -> None:
    """Improve the lower end, and find the next β."""
    top, unit, beyond = search.top[j], search.unit[j], search.beyond[j]
    scale = 1.0 / unit
    one, two = 0.0, 0.0
    for s in range(count):
        part = 1.0 / (max(top - values[s], 0.0) * scale + beyond)
        one += weights[s] * part
        two += weights[s] * part * part
    search.beyond[j], search.low[j], search.high[j], most = next_beyond(
        search.logs[j],
        one / pulls,
        two / pulls,
        search.budget[j],
        beyond,
        search.low[j],
        search.high[j],
    )
    search.lower[j] = max(search.lower[j], min(top - most * unit, search.upper[j]))


@compiled
def likely_leader(
    values: Any,
    weights: Any,
    points: Any,
    pulls: Any,
    counts: Any,
    tops: Any,
    trial: Any,
    elsewhere: Any,
    allowed: Any,
    search: Any,
) -> Any:
    """Return the allowed arm with the highest bound; of equal ones that with the lowest count.

    The first `points` of an arm's values count for its bound.
    """
    upper, lower, slack = search.upper, search.lower, 0.0
    for j in allowed:
        search.top[j] = tops[j if tops.size > 1 else 0]
        measure(search, j, values[j], weights[j], points[j], pulls[j])
        slack = max(slack, TIED * search.unit[j])
    set_budgets(search, allowed, counts, trial, elsewhere)
    for j in allowed:
        begin(search, j)
    while True:
        highest, rest = -np.inf, -np.inf
        for j in allowed:
            highest = max(highest, upper[j])
        best, leading = -1, 0
        for j in allowed:
            if upper[j] >= highest - slack:
                leading += 1
                if best < 0 or before(search, counts, j, best):
                    best = j
            else:
                rest = max(rest, upper[j])
        if best < 0:  # a bound that is no number, or the loop would not end
            return allowed[0]
        is_clear = leading == 1 and lower[best] > rest + slack
        if is_clear or upper[best] <= lower[best]:
            return best
        improve(search, best, values[best], weights[best], points[best], pulls[best])


@inlined
def before(search: Any, counts: Any, j: Any, best: Any) -> Any:
    """Whether arm j goes before an arm with the same bound: an unsettled one, then by counts."""
    is_open = search.upper[j] > search.lower[j]
    if is_open != (search.upper[best] > search.lower[best]):
        return is_open
    return comes_before(j, counts[j], best, counts[best], True)
