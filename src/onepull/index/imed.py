"""The rule of IMED: the least divergence from the best arm."""

from __future__ import annotations

from math import log
from typing import Any

from onepull.index.empirical_likelihood import NEXT_TO_NOTHING, divergence
from onepull.index.rules import StateRule


def no_exploration(trial: float) -> float:
    """Return 0: the exploration of a rule that does not depend on the trial."""
    return 0.0


def divergence_index(
    values: Any, weights: Any, pulls: float, mean: float, best: float, low: float, high: float,
    exploration: float,
) -> float:  # fmt: skip
    """Return -(m·K(F̂, θ̂*) + ln m), the index of IMED."""
    return -(pulls * divergence(values, weights, len(values), best, high) + log(pulls))


def divergence_cap(
    pulls: float, mean: float, best: float, low: float, high: float, exploration: float
) -> float:
    """Return -(2m(Δ/G)² + ln m), which the index never exceeds apart from rounding."""
    short = (best - mean) / (high - low) if high > low else 0.0
    return -(2.0 * pulls * short * short * (1.0 - NEXT_TO_NOTHING) + log(pulls))


def imed() -> StateRule:
    """Return the rule of IMED (Honda and Takemura 2015): the least m·K(F̂, θ̂*) + ln m.

    >>> imed().index([0.0, 1.0], [0.5, 0.5], 1, 0.5, 0.5, 0.0, 1.0, 0.0)
    -0.0
    """
    return StateRule(exploration=no_exploration, index=divergence_index, cap=divergence_cap)
