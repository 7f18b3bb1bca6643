"""Bounds on the regret of each candidate that hold for any gaps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from onepull.factor import partition
from onepull.problem import Problem
from onepull.spaces import Interval
from onepull.theory import bounds as theory
from onepull.theory.bounds import gap_free

Delta: TypeAlias = float | dict[str, float] | None
Bound: TypeAlias = Callable[[int], float]


def joint_bound(problem: Problem, alpha: float, delta: Delta) -> Bound:
    """Bound the regret of DCB or CCB by a horizon: δLT + 4G√(αKT ln T).

    >>> from onepull.environment import channel_selection
    >>> round(joint_bound(channel_selection().problem, 2.01, None)(100_000))
    64396
    """
    return lambda horizon: gap_free(problem, alpha=alpha, delta=delta, horizon=horizon)


def factored_bound(problem: Problem, alpha: float, error: float) -> Bound:
    """Bound the regret with estimates that have an error: 2·error·T + 4G√(αKT ln T).

    An arm may look better by the error than it is, and the best arm worse.  The range G grows
    by twice the error.

    >>> from onepull.environment import energy_harvesting
    >>> round(factored_bound(energy_harvesting().problem, 2.01, 0.0)(100_000))
    19586
    """
    intervals = any(isinstance(space, Interval) for space in problem.context.values())
    low, high = problem.payoff.whole_range
    wider = 1.0 if high == low else 1.0 + 2.0 * error / (high - low)

    def bound(horizon: int) -> float:
        delta = 0.0 if intervals else None
        learning = gap_free(problem, alpha=alpha, delta=delta, horizon=horizon)
        return wider * learning + 2.0 * error * horizon if len(problem.arms) > 1 else 0.0

    return bound


def per_context_bound(problem: Problem, delta: Delta) -> Bound:
    """Bound the regret of Multi-UCB by a horizon: δLT + 4G√(2MKT ln T) + (1 + π²/3)·MKG.

    Each of the M cells runs its own UCB1, cell i for T_i trials: at most 4G√(2K·T_i ln T) for
    small gaps, and (1 + π²/3)·G per arm for the deviations of lemma 1.  The T_i sum to T, so by
    the Cauchy–Schwarz inequality their roots sum to at most √(MT).  Using one arm in a whole
    cell costs at most δL per trial.

    >>> from onepull.environment import channel_selection
    >>> round(per_context_bound(channel_selection().problem, None)(100_000))
    128952
    """
    cells, arms = partition(problem, delta).features, len(problem.arms)
    low, high = problem.payoff.whole_range
    deviations = (1 + math.pi**2 / 3) * cells * arms * (high - low)

    def bound(horizon: int) -> float:
        return deviations + gap_free(problem, alpha=2.0 * cells, delta=delta, horizon=horizon)

    return bound


def doubling_bound(problem: Problem, alpha: float, growth: float) -> Bound:
    """Bound the regret of CCB with the doubling trick: the sum of the bounds of its phases.

    Phase k has 2^k trials and cells of δ_k = (2^k)^-(1-growth) of the width.

    >>> from onepull.environment import energy_harvesting
    >>> round(doubling_bound(energy_harvesting().problem, 2.01, 0.5)(100_000))
    52051
    """
    return lambda horizon: theory.doubling_ccb(problem, alpha=alpha, growth=growth, horizon=horizon)
