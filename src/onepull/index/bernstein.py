"""UCB-V: an upper confidence bound that uses the variance of the reward."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

from onepull.index.rules import StateRule
from onepull.payoff.reward import NARROWEST, REWARD_ROUNDING


def bernstein_bound(
    mean: float, variance: float, width: float, pulls: float, budget: float
) -> float:
    """Return θ̂ + √(2V f/m) + 3G f/m, the bound of UCB-V (Audibert, Munos, Szepesvári 2009).

    >>> round(bernstein_bound(0.5, 0.01, 1.0, 100.0, 5.0), 6)
    0.681623
    """
    return mean + sqrt(2.0 * variance * budget / pulls) + 3.0 * width * budget / pulls


def law_variance(values: Any, weights: Any, count: int, mean: float, per_unit: float) -> float:
    """Return the variance, in units, of a distribution on listed values with this mean.

    >>> law_variance([0.0, 1e200], [0.5, 0.5], 2, 5e199, 1e-200)
    0.25
    """
    square = 0.0
    for s in range(count):
        away = (values[s] - mean) * per_unit
        square += weights[s] * away * away
    return max(square, 0.0)  # rounding in a window may leave a negative weight


def bernstein_exploration(trial: float, zeta: float) -> float:
    """Return ζ ln n."""
    return zeta * log(trial)


def bernstein_index(
    values: Any, weights: Any, pulls: float, mean: float, best: float, low: float, high: float,
    exploration: float,
) -> float:  # fmt: skip
    """Return the bound of UCB-V, with the variance of the observed rewards."""
    # In units of the range, so that no square overflows; not below the rounding error of a mean.
    unit = max(high - low, REWARD_ROUNDING * max(abs(low), abs(high)), NARROWEST)
    variance = law_variance(values, weights, len(values), mean, 1.0 / unit)
    return mean + unit * bernstein_bound(0.0, variance, 1.0, pulls, exploration)


def empirical_bernstein(zeta: float) -> StateRule:
    """Return the rule of UCB-V (Audibert, Munos, Szepesvári 2009).

    >>> rule = empirical_bernstein(1.2)
    >>> round(rule.index([0.0, 1.0], [0.5, 0.5], 100, 0.5, 0.5, 0.0, 1.0, 5.0), 6)
    0.808114
    """
    return StateRule(exploration=bernstein_exploration, index=bernstein_index, parameters=(zeta,))
