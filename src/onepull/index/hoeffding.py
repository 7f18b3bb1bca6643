"""The upper confidence bound of UCB1, and of the paper's DCB and CCB: θ̂ + G·√(α ln n / m)."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

from onepull.index.rules import MeanRule


def hoeffding_exploration(trial: float, alpha: float) -> float:
    """Return √(α ln n), the confidence width after one pull for a range of 1."""
    return sqrt(alpha * log(trial))


def remembered_exploration(trial: float, alpha: float, memory: float) -> float:
    """Return √(α ln min(n, N)), for statistics that remember about N trials."""
    return hoeffding_exploration(min(trial, memory), alpha)


def scaled_to_range(low: float, high: float, exploration: float) -> float:
    """Return the confidence width for rewards between low and high."""
    return (high - low) * exploration


def hoeffding_width(low: float, high: float, trial: float, alpha: float) -> float:
    """Return G·√(α ln n), the confidence width after one pull."""
    return scaled_to_range(low, high, hoeffding_exploration(trial, alpha))


def optimistic(mean: Any, root: Any, width: float) -> Any:
    """Return θ̂ + width/√m, with `root` = 1/√m; takes numbers or arrays."""
    return mean + width * root


def hoeffding(alpha: float, *, patience: int = 0) -> MeanRule:
    """Return the rule of UCB1 and of the paper: θ̂ + G·√(α ln n / m).

    α is 2 for UCB1, 2+ε for DCB(ε), and 0 for the greedy policy.

    >>> rule = hoeffding(2.0)
    >>> round(rule.index(1.5, 0.1, rule.aim_at(0.0, 4.0, 100)), 6)   # 1.5 + 4·√(2 ln 100 / 100)
    2.713942
    """
    return MeanRule(
        exploration=hoeffding_exploration,
        aim=scaled_to_range,
        index=optimistic,
        parameters=(alpha,),
        patience=patience,
        vectorised=True,
    )


def remembering(alpha: float, memory: float) -> MeanRule:
    """Return the rule for statistics that remember about N trials: ln min(n, N) replaces ln n.

    >>> remembering(2.0, 50.0).aim_at(0.0, 4.0, 100) == hoeffding_width(0.0, 4.0, 50, 2.0)
    True
    """
    return MeanRule(
        exploration=remembered_exploration,
        aim=scaled_to_range,
        index=optimistic,
        parameters=(alpha, memory),
        vectorised=True,
    )
