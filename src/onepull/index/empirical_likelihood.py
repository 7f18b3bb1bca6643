"""Empirical likelihood: divergences of observed distributions, and bounds on their means.

A distribution is given as `count` values with weights that sum to one; `top` is the highest
possible value.  These are plain functions of one arm.  CPython calls them with lists or arrays,
and the simulator compiles them.
"""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import Any

STEPS = 60  # enough for bisection; Newton's method takes about six
CLOSE = 1e-13
NEXT_TO_NOTHING = 1e-12


def rounding(low: float, high: float) -> float:
    """Return the rounding error of mean rewards in [low, high].

    >>> rounding(-2.0, 1.0)
    2e-12
    """
    return NEXT_TO_NOTHING * max(abs(low), abs(high))


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
    for s in range(count):
        mean += weights[s] * values[s]
        if values[s] >= top:
            reach += weights[s]
    if mean >= level:
        return 0.0
    if level >= top:
        return inf
    scale = 1.0 / (top - level)
    # Solved for 1 - λ, since there is a pole near λ = 1 if there is weight at the top.
    low, high = 0.0, 1.0
    free = 0.5 if reach > 0.0 else 0.0
    for _ in range(STEPS):
        slope, bend = 0.0, 0.0
        for s in range(count):
            if weights[s] > 0.0:
                short = (top - values[s]) * scale
                rest = free + (1.0 - free) * short
                slope += weights[s] * (1.0 - short) / rest
                bend -= weights[s] * (1.0 - short) * (1.0 - short) / (rest * rest)
        if slope > 0.0:
            low = free
        else:
            high = free
        if free == 0.0 and slope <= 0.0:
            break
        step = free - slope / bend
        if not low < step < high:
            step = 0.5 * (low + high)
        if abs(step - free) <= CLOSE * free:
            break
        free = step
    found = 0.0
    for s in range(count):
        if weights[s] > 0.0:
            found += weights[s] * log(free + (1.0 - free) * (top - values[s]) * scale)
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
    mean, square, reach, lowest = 0.0, 0.0, 0.0, top
    for s in range(count):
        mean += weights[s] * values[s]
        lowest = min(lowest, values[s])
        if values[s] >= top:
            reach += weights[s]
    for s in range(count):
        if weights[s] > 0.0:  # rounding in a window may leave a negative weight
            square += weights[s] * (values[s] - mean) ** 2
    if budget <= 0.0:
        return mean
    if reach >= 1.0 - NEXT_TO_NOTHING or mean >= top:  # weights sum to one up to rounding
        return top
    if budget <= NEXT_TO_NOTHING:  # too small for the precision of logarithms
        return min(mean + sqrt(2.0 * square * budget), top)
    # The derivative has the sign of budget - excess(λ), and the excess falls with λ.
    if reach == 0.0 and excess(values, weights, count, top) <= budget:
        return top - exp(mean_log(values, weights, count, top, 0.0) - budget)
    low, high = 0.0, inf  # of λ - top
    least = 1e-100 * (top - mean)
    beyond = max(mean + sqrt(0.5 * square / budget) - top, 1e-9 * (top - mean))
    for _ in range(STEPS):
        one, two, logs = 0.0, 0.0, 0.0
        for s in range(count):
            if weights[s] > 0.0:
                part = 1.0 / (top - values[s] + beyond)
                one += weights[s] * part
                two += weights[s] * part * part
                logs -= weights[s] * log(part)
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
    found = top + beyond - exp(mean_log(values, weights, count, top, beyond) - budget)
    return min(max(found, mean), top, mean + (top - lowest) * sqrt(0.5 * budget))


def mean_log(values: Any, weights: Any, count: int, top: float, beyond: float) -> float:
    """Return E ln(λ - X) with λ = top + beyond.

    >>> mean_log([0.0, 1.0], [0.5, 0.5], 2, 1.0, 1.0) == 0.5 * log(2.0)
    True
    """
    total = 0.0
    for s in range(count):
        if weights[s] > 0.0:
            total += weights[s] * log(top - values[s] + beyond)
    return total


def excess(values: Any, weights: Any, count: int, top: float) -> float:
    """Return E ln(top - X) + ln E 1/(top - X), which a budget must exceed for λ = top.

    >>> excess([0.0, 0.0], [0.5, 0.5], 2, 1.0)
    0.0
    """
    inverse = 0.0
    for s in range(count):
        if weights[s] > 0.0:
            inverse += weights[s] / (top - values[s])
    return mean_log(values, weights, count, top, 0.0) + log(inverse)


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
    for _ in range(STEPS):
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
        if abs(step - share) < CLOSE:
            break
        share = step
    return share if share < 1.0 - NEXT_TO_NOTHING else 1.0
