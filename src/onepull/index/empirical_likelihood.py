"""Empirical likelihood: divergences of observed distributions, and bounds on their means.

A distribution is given as `count` values with weights that sum to one; `top` is the highest
possible value.  These are plain functions of one arm.  CPython calls them with lists or arrays,
and the simulator compiles them.
"""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import Any

from onepull.payoff.reward import NARROWEST, REWARD_ROUNDING

MOST_STEPS = 60  # enough for bisection; Newton's method takes about six
RELATIVE_TOLERANCE = 1e-13
NEXT_TO_NOTHING = 1e-12
THINNEST = 1e-100  # smallest unit, as a share of the range
FARTHEST_FROM_TOP = 1e150  # largest distance to the top, in units
NEAR_POLE = 1e-3
AT_TOP = 1e-50  # a mean this close to the top, in units, is the top


def rounding(low: float, high: float) -> float:
    """Return the rounding error of mean rewards in [low, high].

    >>> rounding(0.0, 2.0) < 2.1e-12, rounding(1e9 - 2.0, 1e9) < 1e-5
    (True, True)
    """
    return NEXT_TO_NOTHING * (high - low) + REWARD_ROUNDING * max(abs(low), abs(high))


def exploration(trial: float, c: float) -> float:
    """Return f(n) = ln n + c ln ln n, the exploration at trial n.

    >>> round(exploration(1000, 0.0), 6), round(exploration(1000, 3.0), 6)
    (6.907755, 12.705689)
    """
    if trial <= 1:
        return 0.0
    once = log(trial)
    return max(once + c * log(once), 0.0) if c != 0.0 and once > 1.0 else once


def divergence(  # noqa: C901, PLR0912 - plain loops, so that they can be compiled
    values: Any, weights: Any, count: int, level: float, top: float
) -> float:
    """Return K(F, θ), the least KL(F, F') over distributions F' up to `top` with a mean above θ.

    It is the maximum over 0 ≤ λ ≤ 1 of E ln(1 - λ (X - θ)/(top - θ)) (Honda and Takemura 2010).
    It is 0 if the mean of F is at least θ, the `level`, and infinite if θ is at least `top`.

    >>> kl = 0.7 * log(0.7 / 0.4) + 0.3 * log(0.3 / 0.6)
    >>> abs(divergence([0.0, 1.0], [0.7, 0.3], 2, 0.6, 1.0) - kl) < 1e-12
    True
    """
    mean, reach = 0.0, 0.0
    near = top - THINNEST * (top - level)
    for s in range(count):
        mean += weights[s] * values[s]
        if values[s] >= near:
            reach = max(reach, weights[s])
    if mean >= level:
        return 0.0
    if level >= top:
        return inf
    scale = 1.0 / max(float(top - level), NARROWEST)
    # Solved for 1 - λ, since there is a pole near λ = 1 if there is weight at the top.
    low, high = 0.0, 1.0
    free = 0.5 if reach > 0.0 else 0.0
    for _ in range(MOST_STEPS):
        slope, bend = 0.0, 0.0
        for s in range(count):
            if weights[s] > 0.0:
                short = min((top - values[s]) * scale, FARTHEST_FROM_TOP)
                part = (1.0 - short) / (free + (1.0 - free) * short)
                slope += weights[s] * part
                bend -= weights[s] * part * part
        if slope > 0.0:
            low = free
        else:
            high = free
        if slope == 0.0 or (free == 0.0 and slope < 0.0):
            break
        step = free - slope / bend if bend < 0.0 else high  # tiny weights may underflow
        # With values next to the top, steps away from the pole only double: too many of them.
        if not low < step < high or (free == 0.0 and step < NEAR_POLE):
            step = 0.5 * (low + high)
        if abs(step - free) <= RELATIVE_TOLERANCE * free:
            break
        free = step
    found = 0.0
    for s in range(count):
        if weights[s] > 0.0:
            short = min((top - values[s]) * scale, FARTHEST_FROM_TOP)
            found += weights[s] * log(free + (1.0 - free) * short)
    return max(found, 0.0)


def likely_mean(  # noqa: C901, PLR0912 - plain loops, so that they can be compiled
    values: Any, weights: Any, count: int, top: float, budget: float
) -> float:
    """Return the highest mean θ with K(F, θ) ≤ budget: the empirical-likelihood bound.

    It is the minimum over λ ≥ top of λ - exp(E ln(λ - X) - budget), which is convex (the dual of
    Cappé et al. 2013).

    >>> bound = likely_mean([0.0, 0.5, 1.0], [0.2, 0.5, 0.3], 3, 1.0, 0.05)
    >>> abs(divergence([0.0, 0.5, 1.0], [0.2, 0.5, 0.3], 3, bound, 1.0) - 0.05) < 1e-9
    True
    """
    short, lowest = 0.0, top
    for s in range(count):
        short += weights[s] * (top - values[s])
        lowest = min(lowest, values[s])
    mean = min(top - short, top)
    if budget <= 0.0:
        return mean
    # From here on in units of about top - mean, so that no power of a reward overflows.
    unit = max(short, THINNEST * (top - lowest), NARROWEST)
    per_unit = 1.0 / unit
    short *= per_unit
    square, reach = 0.0, 0.0
    for s in range(count):
        if weights[s] > 0.0:  # rounding in a window may leave a negative weight
            gap = (top - values[s]) * per_unit
            square += weights[s] * (gap - short) * (gap - short)
            if gap <= 0.0:
                reach += weights[s]
    # Weights sum to one up to rounding.
    if reach >= 1.0 - NEXT_TO_NOTHING or short <= AT_TOP:
        return top
    if budget <= NEXT_TO_NOTHING:  # too small for the precision of logarithms
        return min(mean + unit * sqrt(2.0 * square * budget), top)
    # The derivative has the sign of budget - E ln(λ - X) - ln E 1/(λ - X), which grows with λ.
    if reach == 0.0:
        logs, one, two = log_moments(values, weights, count, top, per_unit, 0.0)
        if logs + log(one) <= budget:
            return top - unit * exp(logs - budget)
    low, high = 0.0, inf  # of λ - top
    least = THINNEST * short
    beyond = max(sqrt(0.5 * square / budget) - short, 1e-9 * short)
    fall = 0.0  # how far the bound is below the top
    for _ in range(MOST_STEPS):
        logs, one, two = log_moments(values, weights, count, top, per_unit, beyond)
        fall = exp(logs - budget) - beyond
        wrong = logs + log(one) - budget
        if wrong > 0.0:
            low = beyond
        else:
            high = beyond
        # A Newton step in the logarithm of λ - top, within the bracket.
        slope = (one - two / one) * beyond
        step = beyond * exp(min(max(-wrong / slope, -20.0), 20.0)) if slope < 0.0 else low
        if not low < step < high:
            step = 0.5 * (low + high) if high < inf else 2.0 * beyond
        if abs(step - beyond) <= 1e-11 * beyond or step < least:
            break
        beyond = step
    return min(max(top - unit * fall, mean), top, mean + (top - lowest) * sqrt(0.5 * budget))


def log_moments(
    values: Any, weights: Any, count: int, top: float, per_unit: float, beyond: float
) -> tuple[float, float, float]:
    """Return E ln(λ - X), E 1/(λ - X) and E 1/(λ - X)² in units, with λ = top + beyond.

    >>> log_moments([0.0, 1.0], [0.5, 0.5], 2, 1.0, 1.0, 1.0) == (0.5 * log(2.0), 0.75, 0.625)
    True
    """
    logs, one, two = 0.0, 0.0, 0.0
    for s in range(count):
        if weights[s] > 0.0:
            part = 1.0 / ((top - values[s]) * per_unit + beyond)
            one += weights[s] * part
            two += weights[s] * part * part
            logs -= weights[s] * log(part)
    return logs, one, two


def likely_share(mean: float, budget: float) -> float:
    """Return the highest q with kl(mean, q) ≤ budget: the kl-UCB bound for Bernoulli rewards.

    The result is exactly 1 if it is 1 up to rounding.

    >>> round(likely_share(0.3, 0.7 * log(0.7 / 0.4) + 0.3 * log(0.3 / 0.6)), 9)
    0.6
    """
    mean = min(max(mean, 0.0), 1.0)
    if budget <= 0.0:
        return mean
    if mean == 0.0:
        return 1.0 - exp(-budget)
    if mean >= 1.0 - NEXT_TO_NOTHING:
        return 1.0
    low, high = mean, min(1.0, mean + sqrt(0.5 * budget))
    share = 0.5 * (low + high)
    for _ in range(MOST_STEPS):
        if share <= mean or share >= 1.0:  # equal up to rounding
            break
        wrong = mean * log(mean / share) + (1.0 - mean) * log((1.0 - mean) / (1.0 - share)) - budget
        if wrong > 0.0:
            high = share
        else:
            low = share
        step = share - wrong * share * (1.0 - share) / (share - mean)
        if not low < step < high:
            step = 0.5 * (low + high)
        if abs(step - share) < RELATIVE_TOLERANCE:
            break
        share = step
    return share if share < 1.0 - NEXT_TO_NOTHING else 1.0
