"""How sure the mean reward of an arm is, from its newest outcomes."""

from __future__ import annotations

import math

import numpy as np

from onepull.errors import OnepullError
from onepull.problem import Problem
from onepull.router.replay.arm_values import rewards_at
from onepull.service.views.newest import Outcomes

FEWEST_OUTCOMES = 5  # outcomes for an interval
NORMAL = 1.96  # standard errors on both sides hold 95 %


def half_widths(
    problem: Problem,
    outcomes: Outcomes,
    contexts: list[tuple[float, ...]],
    *,
    half_life: float | None = None,
) -> list[float | None]:
    """Return half the width of a 95 % interval of the mean reward at each context.

    If arms change, an outcome counts for less, the older it is, so an arm that was not pulled for
    long gets a wide interval.

    >>> from onepull import Interval
    >>> problem = Problem(arms=["a"], state={"x": Interval(0, 1)}, reward="x")
    >>> outcomes = Outcomes([(0.2,), (0.4,)] * 8, list(range(16)))
    >>> fresh, = half_widths(problem, outcomes, [(0.0,)])
    >>> faded, = half_widths(problem, outcomes, [(0.0,)], half_life=2.0)
    >>> round(fresh, 3), round(faded, 3)
    (0.051, 0.125)
    """
    count = len(outcomes.rows)
    if count < FEWEST_OUTCOMES:
        return [None] * len(contexts)
    try:
        rewards = rewards_at(problem, outcomes.rows, contexts)
    except (ArithmeticError, ValueError, OnepullError):
        return [None] * len(contexts)
    weights = outcomes.weights(half_life)
    total = float(weights.sum())
    with np.errstate(all="ignore"):
        means = rewards @ weights / total
        squares = (rewards - means[:, None]) ** 2 @ weights / total
        worth = max(total, 2.0)
        widths = NORMAL * np.sqrt(squares * worth / (worth - 1.0) / max(total, 1.0))
    return [float(width) if math.isfinite(width) else None for width in widths]
