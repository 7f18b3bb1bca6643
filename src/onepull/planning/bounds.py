"""What the theory promises of each candidate, whatever the gaps are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from onepull.factor import partition
from onepull.policies.known_reward import tuned_delta
from onepull.problem import Problem
from onepull.theory.bounds import gap_free

Delta: TypeAlias = float | dict[str, float] | None
Bound: TypeAlias = Callable[[int], float]


def shared(problem: Problem, alpha: float, delta: Delta) -> Bound:
    """Bound the regret of DCB or CCB by a horizon: δLT + 4G√(αKT ln T).

    >>> from onepull.environment import channel_selection
    >>> round(shared(channel_selection().problem, 2.01, None)(100_000))
    64396
    """
    return lambda horizon: gap_free(problem, alpha=alpha, delta=delta, horizon=horizon)


def apart(problem: Problem, delta: Delta) -> Bound:
    """Bound the regret of Multi-UCB by a horizon: δLT + 4G√(2MKT ln T) + (1 + π²/3)·MKG.

    Cell i of the M is a UCB1 of its own, of T_i trials: at most 4G√(2K·T_i ln T) for gaps
    that are small, and (1 + π²/3)·G an arm for the deviations of lemma 1.  The T_i sum to
    T, so by Cauchy and Schwarz their roots sum to at most √(MT).  Serving a whole cell by
    one arm costs at most δL a trial.

    >>> from onepull.environment import channel_selection
    >>> round(apart(channel_selection().problem, None)(100_000))
    128952
    """
    cells, arms = partition(problem, delta).features, len(problem.arms)
    low, high = problem.payoff.whole_range
    deviations = (1 + math.pi**2 / 3) * cells * arms * (high - low)

    def bound(horizon: int) -> float:
        return deviations + gap_free(problem, alpha=2.0 * cells, delta=delta, horizon=horizon)

    return bound


def doubled(problem: Problem, alpha: float, growth: float) -> Bound:
    """Bound the regret of CCB with doubling by a horizon: the bounds of its phases, summed.

    Phase k has 2^k trials on cells of δ_k = (2^k)^-(1-growth) of the width.

    >>> from onepull.environment import energy_harvesting
    >>> round(doubled(energy_harvesting().problem, 2.01, 0.5)(100_000))
    52051
    """

    def bound(horizon: int) -> float:
        total, begun, trials = 0.0, 0, 2
        while begun < horizon:
            delta = tuned_delta(problem, trials, growth)
            total += gap_free(problem, alpha=alpha, delta=delta, horizon=trials)
            begun, trials = begun + trials, 2 * trials
        return total

    return bound
