"""Bounds and costs of arms from kept states, in numpy.

Rewards need a top and no lower bound.  These functions work on all arms at once: a loop in Python
over hundreds of kept states would take longer than the rest of a decision.
"""

from __future__ import annotations

from math import exp, inf, log
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.payoff.reward import NARROWEST

STEPS = 60
CLOSE = 1e-8  # accuracy of a bound, as a share of the way from the mean to the top
NEAREST = 1e-12  # to the top, in the same unit
SIZES = 1e-100, 1e100  # of the way to the top that need no other unit


def likely_means(rewards: Array, shares: Array, budgets: Array, tops: Any, exact: bool) -> Array:  # noqa: FBT001
    """Return, for each row, the highest mean that is likely: the empirical-likelihood bound.

    It is the minimum over λ ≥ top of λ - exp(E ln(λ - X) - budget), as in `likely_mean`.  Whatever
    λ is, the value is at least the bound.  So if not `exact`, only the highest values are improved
    until one is the bound and above all others.

    >>> from onepull.index.empirical_likelihood import likely_mean
    >>> rewards, shares = np.array([[0.0, 0.5, 1.0]]), np.array([[0.2, 0.5, 0.3]])
    >>> bound = likely_means(rewards, shares, np.array([0.05]), 1.0, True)[0]
    >>> bool(abs(bound - likely_mean(rewards[0], shares[0], 3, 1.0, 0.05)) < 1e-7)
    True
    """
    high = np.asarray(tops, np.float64)
    gaps = (high[:, None] if high.ndim else high) - rewards
    np.maximum(gaps, 0.0, out=gaps)
    weighted = shares * gaps
    means = weighted.sum(axis=1)  # of the way to the top
    farthest = float(means.max())
    if not farthest > 0.0:
        return np.array(np.broadcast_to(high, len(rewards)))
    scale = 1.0
    if not SIZES[0] < farthest < SIZES[1]:  # so that no square overflows or vanishes
        scale = max(farthest, NARROWEST)
        gaps, means = gaps / scale, means / scale
        weighted = shares * gaps
    squares = np.einsum("js,js->j", weighted, gaps)
    units = np.maximum(means, SIZES[0])
    spread = np.maximum(squares / (units * units) - 1.0, 0.0)
    beyond = np.maximum(np.sqrt(0.5 * spread / budgets) - 1.0, 0.01)
    away = gaps + (beyond * units)[:, None]
    logs = np.einsum("js,js->j", shares, np.log(away)) - np.log(units)
    falls = np.minimum(np.maximum(np.exp(logs - budgets) - beyond, 0.0), 1.0)
    falls[means <= 0.0] = 0.0
    values = -falls * means * scale + high
    unsure = means > 0.0  # where λ may not be the best one, so that the value is too high
    while True:
        rows = np.flatnonzero(unsure if exact else unsure & (values >= values.max()))
        if not len(rows):
            return np.asarray(values)
        for row in rows.tolist():
            gap = gaps[row] / units[row]
            fall = _nearest(gap, shares[row], float(budgets[row]), float(beyond[row]))
            top = float(high[row]) if high.ndim else float(high)
            values[row] = top - fall * float(means[row]) * scale
        unsure[rows] = False


def _nearest(gaps: Array, shares: Array, budget: float, beyond: float) -> float:
    """Return how far the bound is below the top, by Newton's method in ln(λ - top)."""
    low, high, fall = 0.0, inf, inf
    for _ in range(STEPS):
        away = gaps + beyond
        logs = float(shares @ np.log(away))
        before, fall = fall, exp(logs - budget) - beyond
        if abs(before - fall) <= CLOSE or beyond <= NEAREST:
            break
        np.reciprocal(away, out=away)
        one = float(shares @ away)
        away *= away
        wrong = logs + log(one) - budget
        if wrong > 0.0:
            low = beyond
        else:
            high = beyond
        slope = (one - float(shares @ away) / one) * beyond
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
