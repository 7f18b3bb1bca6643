"""Index rules: from an estimate, its pulls and the trial to an optimistic value.

Each formula is one plain function of one arm.  CPython calls it on numbers, numpy on
arrays, and a compiler may take it as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from typing import Any


def hoeffding_width(low: float, high: float, trial: float, alpha: float) -> float:
    """Return G·√(α ln n), the width of the confidence interval after one pull."""
    return (high - low) * sqrt(alpha * log(trial))


def remembered_width(low: float, high: float, trial: int, alpha: float, memory: float) -> float:
    """Return G·√(α ln min(n, N)), where no more than about N trials are remembered."""
    return hoeffding_width(low, high, min(trial, memory), alpha)


def optimistic(mean: Any, root: Any, width: float) -> Any:
    """Return θ̂ + width/√m, with `root` = 1/√m: numbers or arrays."""
    return mean + width * root


@dataclass(frozen=True, slots=True)
class IndexRule:
    """A rule in two parts: what all arms have in common at a decision, and the rest.

    `aim(low, high, trial, *parameters)` is called once a decision, with the bounds on the
    reward and the trial n; `index(estimate, root, aim)` once an arm, with 1/√m as its root.
    """

    aim: Callable[..., Any]
    index: Callable[..., Any]
    parameters: tuple[float, ...]


def hoeffding(alpha: float) -> IndexRule:
    """Return the rule of UCB1 and of the paper: θ̂ + G·√(α ln n / m).

    α is 2 for UCB1, 2+ε for DCB(ε), and 0 for greed.

    >>> rule = hoeffding(2.0)
    >>> width = rule.aim(0.0, 4.0, 100, *rule.parameters)
    >>> round(rule.index(1.5, 0.1, width), 6)   # 1.5 + 4·√(2 ln 100 / 100)
    2.713942
    """
    return IndexRule(hoeffding_width, optimistic, (alpha,))


def remembering(alpha: float, memory: float) -> IndexRule:
    """Return the same rule for statistics that remember about N trials: ln min(n, N) for ln n.

    >>> rule = remembering(2.0, 50.0)
    >>> rule.aim(0.0, 4.0, 100, *rule.parameters) == hoeffding_width(0.0, 4.0, 50, 2.0)
    True
    """
    return IndexRule(remembered_width, optimistic, (alpha, memory))
