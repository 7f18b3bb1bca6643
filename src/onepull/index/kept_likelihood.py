"""The costs of arms in units of log-likelihood, from kept states.

The arm with the lowest cost is played, as in IMED (Honda and Takemura 2015).  Rewards need a top
and no lower bound.  These functions work on all arms at once in numpy: a loop in Python over
hundreds of kept states would take longer than the rest of a decision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepull.arrays import Array

STEPS = 60
CLOSE = 1e-10  # of the dual variable
ROUNDING = 1e-15
SUREST = 1.0 - 1e-12  # highest share of the way to the top at which a bound is computed


def shortfalls(rewards: Array, target: float, tops: Any) -> Array:
    """Return how far each reward is above the target, in units of the way to the top.

    The tops must be above the target.

    >>> shortfalls(np.array([[0.0, 1.0]]), 0.5, 1.0)
    array([[-1.,  1.]])
    """
    scale = 1.0 / (np.asarray(tops, np.float64) - target)
    each = scale[:, None] if scale.ndim else scale
    return np.asarray(np.minimum((rewards - target) * each, 1.0))


def divergences(above: Array, shares: Array) -> Array:
    """Return, for each row, the divergence from the nearest law with a mean at the target.

    It is max over λ in [0, 1] of E ln(1 - λ·u) for the shortfalls u (Honda and Takemura).

    >>> above = shortfalls(np.array([[0.0, 1.0]]), 0.75, 1.0)
    >>> divergences(above, np.array([[0.5, 0.5]])).round(6)   # kl(0.5, 0.75)
    array([0.143841])
    """
    low, high = np.zeros(len(above)), np.ones(len(above))
    at = guesses(above, shares)
    for _ in range(STEPS):
        parts = above / (1.0 - at[:, None] * above)
        slope = -np.einsum("js,js->j", shares, parts)
        bend = np.einsum("js,js,js->j", shares, parts, parts)
        rising = slope > 0.0
        low, high = np.where(rising, at, low), np.where(rising, high, at)
        step = at + np.divide(slope, bend, out=np.zeros_like(slope), where=bend > 0.0)
        inside = (step > low) & (step < high)
        new = np.where(inside, step, 0.5 * (low + high))
        done = np.abs(new - at) <= CLOSE
        at = np.minimum(new, SUREST)
        if done.all():
            break
    return np.asarray(np.maximum(likelihoods(above, shares, at), 0.0))


def likelihoods(above: Array, shares: Array, at: Array) -> Array:
    """Return E ln(1 - λ·u) for each row: at most the divergence, whatever λ is.

    >>> above = shortfalls(np.array([[0.0, 1.0]]), 0.75, 1.0)
    >>> bool(likelihoods(above, np.array([[0.5, 0.5]]), np.array([0.3]))[0] < 0.143841)
    True
    """
    return np.asarray(np.einsum("js,js->j", shares, np.log1p(-at[:, None] * above)))


def guesses(above: Array, shares: Array) -> Array:
    """Return the best λ of the quadratic around 0, which is close to the best one if it is small.

    >>> guesses(np.array([[-1.0, 0.5]]), np.array([[0.5, 0.5]]))
    array([0.4])
    """
    mean = np.einsum("js,js->j", shares, above)
    square = np.einsum("js,js,js->j", shares, above, above)
    with np.errstate(invalid="ignore", over="ignore"):
        found = np.divide(-mean, square, out=np.zeros_like(mean), where=square > 0.0)
    return np.asarray(np.clip(np.nan_to_num(found), 0.0, 0.999))


def steady_costs(
    rewards: Array,
    shares: Array,
    pulls: Array,
    means: Array,
    tops: Any,
    best: float,
    exact: bool,  # noqa: FBT001
) -> Array:
    """Return m·K(F̂, θ̂*) + ln m of each arm, with the best estimate θ̂*.

    If not `exact`, the cost of an arm that cannot be the lowest is only a lower bound.

    >>> rewards = np.array([[0.0, 1.0], [1.0, 0.5]])
    >>> shares = np.full((2, 2), 0.5)
    >>> steady_costs(rewards, shares, np.array([2.0, 2.0]), np.array([0.5, 0.75]), 1.0, 0.75, True)
    array([0.98082925, 0.69314718])
    """
    costs = np.log(pulls)
    behind = means < best
    # Apart from rounding: what is left of the way to the top is divided by.
    left = np.subtract(tops, best) > ROUNDING * np.maximum(np.abs(tops), abs(best))
    reachable = np.broadcast_to(left, len(means))
    costs[behind & ~reachable] = np.inf  # nothing can be as good
    rows = np.flatnonzero(behind & reachable)
    if not len(rows):
        return costs
    above = shortfalls(rewards[rows], best, tops[rows] if np.ndim(tops) else tops)
    if not exact:
        limit = float(np.min(costs[~behind]))
        bound = likelihoods(above, shares[rows], guesses(above, shares[rows]))
        costs[rows] += pulls[rows] * np.maximum(bound, 0.0)
        close = np.flatnonzero(costs[rows] <= limit)
        if not len(close):
            return costs
        rows, above = rows[close], above[close]
    costs[rows] = pulls[rows] * divergences(above, shares[rows]) + np.log(pulls[rows])
    return costs


def drifting_costs(
    means: Array, errors: Array, waiting: Array, noise: Array, freedom: Array, leader: int
) -> Array:
    """Return the cost of each arm if arms change, by Student's t.

    `errors` are the variances of the means in units of the noise, which grow while an arm is not
    pulled.  `noise` is the variance of each arm's noise, known from `freedom` observations.

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
