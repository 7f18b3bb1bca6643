"""The rule of empirical KL-UCB for the known reward."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

from onepull.index.empirical_likelihood import exploration, likely_mean, rounding
from onepull.index.rules import StateRule


def remembered_risk(trial: float, c: float, head_start: float, memory: float) -> float:
    """Return f(N) with N = n + head_start, limited to the number of trials remembered.

    >>> remembered_risk(100, 0.0, 900.0, inf) == exploration(1000, 0.0)
    True
    """
    return exploration(min(trial + head_start, memory), c)


def likely_index(
    values: Any, weights: Any, pulls: float, mean: float, best: float, low: float, high: float,
    risk: float,
) -> float:  # fmt: skip
    """Return the empirical-likelihood bound of an arm; `risk` is f(n)."""
    return likely_mean(values, weights, len(values), high, risk / pulls)


def likely_cap(
    pulls: float, mean: float, best: float, low: float, high: float, risk: float
) -> float:
    """Return θ̂ + G·√(f/2m) plus rounding, which the bound never exceeds.

    >>> likely_cap(50, 0.5, 0.5, 0.0, 1.0, 4.0) > 0.7
    True
    """
    return mean + (high - low) * sqrt(0.5 * risk / pulls) + rounding(low, high)


def empirical_kl(c: float, head_start: float, memory: float = inf) -> StateRule:
    """Return the rule that plays the highest empirical-likelihood bound (Cappé et al. 2013).

    >>> rule = empirical_kl(0.0, 0.0)
    >>> risk = rule.exploration(100, *rule.parameters)
    >>> rule.index([0.0, 1.0], [0.5, 0.5], 4, 0.5, 0.5, 0.0, 1.0, risk)
    0.9743416490252569
    """
    return StateRule(
        exploration=remembered_risk,
        index=likely_index,
        parameters=(c, head_start, memory),
        cap=likely_cap,
        breaks_ties_by_pulls=True,
    )
