"""Bounds and costs of arms from kept states, in numpy.

Rewards need a top and no lower bound.  These functions work on all arms at once: a loop in Python
over hundreds of kept states would take longer than the rest of a decision.
"""

from __future__ import annotations

from math import exp, inf, log
from typing import Any

import numpy as np

from onepull.arrays import Array

STEPS = 60
CLOSE = 1e-9  # accuracy of a bound, as a share of the way from the mean to the top
NEAREST = 1e-12  # to the top, in units of the way from the mean to the top


def likely_means(rewards: Array, shares: Array, budgets: Array, tops: Any, exact: bool) -> Array:  # noqa: FBT001
    """Return, for each row, the highest mean that is likely: the empirical-likelihood bound.

    It is the minimum over λ ≥ top of λ - exp(E ln(λ - X) - budget), as in `likely_mean`.  Whatever
    λ is, the value is at least the bound.  So if not `exact`, only the highest values are improved
    until one is the bound and above all others.

    >>> from onepull.index.empirical_likelihood import likely_mean
    >>> rewards, shares = np.array([[0.0, 0.5, 1.0]]), np.array([[0.2, 0.5, 0.3]])
    >>> bound = likely_means(rewards, shares, np.array([0.05]), 1.0, True)[0]
    >>> abs(bound - likely_mean(rewards[0], shares[0], 3, 1.0, 0.05)) < 1e-8
    True
    """
    high = np.asarray(tops, np.float64)
    each = high[:, None] if high.ndim else high
    gaps = np.maximum(each - rewards, 0.0)
    units = np.einsum("js,js->j", shares, gaps)
    found = np.array(np.broadcast_to(high, len(rewards)))
    rows = np.flatnonzero(units > 0.0)
    if len(rows) < len(units):
        if not len(rows):
            return found
        gaps, shares, units, budgets = gaps[rows], shares[rows], units[rows], budgets[rows]
    gaps /= units[:, None]
    beyond = guesses(gaps, shares, budgets)
    away = gaps + beyond[:, None]
    falls = np.exp(np.einsum("js,js->j", shares, np.log(away)) - budgets) - beyond
    found[rows] -= units * np.clip(falls, 0.0, 1.0)
    if exact:
        for row, place in enumerate(rows.tolist()):
            fall = _nearest(gaps[row], shares[row], float(budgets[row]), float(beyond[row]))
            found[place] -= (fall - min(max(falls[row], 0.0), 1.0)) * units[row]
        return found
    return _refined(found, rows, gaps, shares, budgets, beyond, falls, units)


def _refined(
    found: Array,
    rows: Array,
    gaps: Array,
    shares: Array,
    budgets: Array,
    beyond: Array,
    falls: Array,
    units: Array,
) -> Array:
    """Improve the highest value until it is a bound."""
    row_of = {place: row for row, place in enumerate(rows.tolist())}
    while True:
        place = int(np.argmax(found))
        row = row_of.pop(place, None)
        if row is None:
            return found
        fall = _nearest(gaps[row], shares[row], float(budgets[row]), float(beyond[row]))
        found[place] -= (fall - min(max(float(falls[row]), 0.0), 1.0)) * units[row]


def guesses(gaps: Array, shares: Array, budgets: Array) -> Array:
    """Return about how far the best λ is from the top, from the variance.

    >>> guesses(np.array([[0.0, 2.0]]), np.array([[0.5, 0.5]]), np.array([0.005])).round(6)
    array([9.])
    """
    spread = np.maximum(np.einsum("js,js,js->j", shares, gaps, gaps) - 1.0, 0.0)
    return np.asarray(np.maximum(np.sqrt(0.5 * spread / budgets) - 1.0, 0.01))


def _nearest(gaps: Array, shares: Array, budget: float, beyond: float) -> float:
    """Return how far the bound is below the top, by Newton's method in ln(λ - top)."""
    low, high, fall = 0.0, inf, inf
    for _ in range(STEPS):
        away = gaps + beyond
        parts = shares / away
        one, two = float(parts.sum()), float((parts / away).sum())
        logs = float(shares @ np.log(away))
        before, fall = fall, exp(logs - budget) - beyond
        if abs(before - fall) <= CLOSE or beyond <= NEAREST:
            break
        wrong = logs + log(one) - budget
        if wrong > 0.0:
            low = beyond
        else:
            high = beyond
        slope = (one - two / one) * beyond
        step = beyond * exp(min(max(-wrong / slope, -20.0), 20.0)) if slope < 0.0 else low
        if not low < step < high:
            step = 0.5 * (low + high) if high < inf else 2.0 * beyond
        beyond = max(step, NEAREST)
    return min(max(fall, 0.0), 1.0)


def drifting_costs(
    means: Array, errors: Array, waiting: Array, noise: Array, freedom: Array, leader: int
) -> Array:
    """Return the cost of each arm if arms change, by Student's t, in units of log-likelihood.

    The arm with the lowest cost is played, as in IMED (Honda and Takemura 2015).  `errors` are the
    variances of the means in units of the noise, which grow while an arm is not pulled.  `noise`
    is the variance of each arm's noise, known from `freedom` observations.

    >>> costs = drifting_costs(
    ...     np.array([1.0, 0.5]), np.array([0.1, 0.5]), np.zeros(2), np.array([1.0, 1.0]),
    ...     np.array([8.0, 4.0]), 0,
    ... )
    >>> bool(costs[1] < costs[0])
    True
    """
    precision = 1.0 / errors + waiting
    gaps = means[leader] - means
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        off = precision * gaps * gaps / (freedom * noise)
    off = np.where(gaps > 0.0, np.nan_to_num(off, nan=np.inf), 0.0)
    costs = 0.5 * (freedom + 1.0) * np.log1p(off) + np.log(precision) + np.log(len(means))
    # Arms with the same mean lead together, so that their order does not matter.
    return np.asarray(np.where(gaps <= 0.0, np.log(precision), costs))
