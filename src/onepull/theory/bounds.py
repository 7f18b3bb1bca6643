"""Bounds on regret: the paper's theorems 3 and 4, and bounds that follow from them.

Each bounds the expected regret after n = `trial` trials, or at the horizon T, for contexts and
states that are drawn independently.  docs/theory.md lists the corrections and their reasons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from onepull.arrays import Array
from onepull.environment import Environment
from onepull.errors import ParameterError
from onepull.payoff import box_points as partition
from onepull.policies.ucb.ccb import tuned_delta
from onepull.problem import Problem
from onepull.spaces import Finite
from onepull.theory.instance import Instance
from onepull.theory.pulls import (
    LAST,
    WrongPulls,
    exploring,
    lemma_1,
    theorem_1,
    theorem_1_printed,
    theorem_2,
)

__all__ = [
    "RegretBound",
    "WrongPulls",
    "doubling_ccb",
    "doubling_phases",
    "gap_free",
    "lemma_1",
    "multi_ucb",
    "staircase",
    "theorem_1",
    "theorem_1_printed",
    "theorem_2",
    "theorem_3",
    "theorem_4",
    "ucb1",
]

LEAST_ALPHA = 1.5  # the gap-free bound is proven from here on


@dataclass(frozen=True, slots=True)
class RegretBound:
    """A bound on regret in two parts.

    `leading` is the part that grows with ln n, from the arms that are never optimal; `rest` is
    the number behind the paper's O(1).
    """

    leading: float
    rest: float

    @property
    def total(self) -> float:
        """The sum of both parts."""
        return self.leading + self.rest


def theorem_3(
    instance: Instance, epsilon: float, trial: float, *, printed: bool = False
) -> RegretBound:
    """Bound the regret of DCB(ε), including the paper's O(1).

    As printed: 4(2+ε) Δ_max/Δ_o² N ln n + O(1), with N never-optimal arms and the smallest positive
    gap Δ_o.  Corrected: a never-optimal arm costs at most Σ_s max {Δ_j^(i) : l_i ≥ s} over its
    pulls s = 1, 2, …, with l_i = 4(2+ε) ln n (G_i/Δ_j^(i))², because pull s happens in a context
    with l_i ≥ s.  This is at most max_i l_i · max_i Δ_j^(i).

    >>> from onepull.environment import channel_selection
    >>> channels = Instance.of(channel_selection(7))
    >>> round(theorem_3(channels, 0.01, 1e5, printed=True).leading)
    33323
    >>> found = theorem_3(channels, 0.01, 1e5)
    >>> round(found.leading), round(found.rest)
    (7354, 20874)
    """
    never = instance.never_optimal
    wrong = theorem_2(instance, epsilon, trial, printed=printed)
    some = instance.optimal
    if printed:
        each = exploring(epsilon, trial) / instance.smallest_gap**2
        pulls = float(np.sum(wrong.total[some])) + len(never) * (1 + LAST)
        return RegretBound(each * len(never) * instance.largest_gap, pulls * instance.largest_gap)
    log, dearest = exploring(epsilon, trial), instance.gaps.max(axis=0)
    climb = log * staircase(instance)
    # No arm costs more than pulling it always, or than theorem 1's argument allows; an arm that
    # is optimal in some context costs no more than theorem 2 allows either.
    most = trial * (instance.probabilities @ instance.gaps)
    simple = np.minimum(climb + (1 + LAST * (1 - instance.q)) * dearest, most)
    leading = float(np.minimum(climb, most)[never].sum())
    rest = float(simple[never].sum()) - leading
    rest += float(np.minimum(wrong.bound * dearest, simple)[some].sum())
    return RegretBound(leading, rest)


def staircase(instance: Instance) -> Array:
    """Return ∫ max {Δ_j^(i) : (G_i/Δ_j^(i))² ≥ s} ds for each arm: its regret per 4(2+ε) ln n.

    >>> from onepull.environment import channel_selection
    >>> staircase(Instance.of(channel_selection(7))).round(3)[4:]
    array([45.   , 21.111, 13.333])
    """
    steep = np.where(np.isfinite(instance.steepness), instance.steepness, 0.0)
    order = np.argsort(-steep, axis=0, kind="stable")
    steps = np.take_along_axis(steep, order, axis=0)
    dearest = np.maximum.accumulate(np.take_along_axis(instance.gaps, order, axis=0), axis=0)
    widths = steps - np.vstack([steps[1:], np.zeros(steps.shape[1])])
    return np.asarray((widths * dearest).sum(axis=0))


def theorem_4(
    environment: Environment,
    epsilon: float,
    delta: float | Mapping[str, float],
    horizon: float,
    *,
    printed: bool = False,
) -> RegretBound:
    """Bound the regret of CCB(ε, δ): δLT plus theorem 3 on the centres of the cells.

    The paper writes the second term as O(log T).  This is right for a fixed δ.  If δ is tuned
    to T, the gaps and probabilities of the centres shrink with δ and the constant grows;
    `gap_free` does not depend on them.  With several fields δL is the sum over the fields.

    >>> from onepull.environment import energy_harvesting
    >>> found = theorem_4(energy_harvesting(), 0.01, 0.001, 10**6)
    >>> round(found.leading), round(found.rest)
    (11195, 24413)
    """
    instance = Instance.of(environment, delta)
    centres = theorem_3(instance, epsilon, horizon, printed=printed)
    return RegretBound(centres.leading, centres.rest + instance.cell_cost * horizon)


def gap_free(
    problem: Problem,
    *,
    alpha: float,
    delta: float | Mapping[str, float] | None = None,
    horizon: float,
) -> float:
    """Bound the regret of DCB or CCB with widths G·√(α ln n / m) for all laws.

    δLT + 4G·√(α K T ln T) for α ≥ 3/2, where G is the largest range of a context.  Without
    `delta`, for finitely many contexts, the first term is 0.  The bound does not depend on the
    number of contexts or cells.

    >>> from onepull.environment import channel_selection
    >>> round(gap_free(channel_selection(7).problem, alpha=2.01, horizon=10**5))
    64396
    """
    if not LEAST_ALPHA <= alpha < math.inf:
        raise ParameterError(f"alpha must be a number >= {LEAST_ALPHA:g}, given {alpha!r}")
    if not 2 <= horizon < math.inf:
        raise ParameterError(f"horizon must be a number >= 2, given {horizon!r}")
    lows, highs = problem.payoff.range(partition.pieces(problem.context, 256))
    width, arms = float(np.max(highs - lows)), len(problem.arms)
    if arms == 1:
        return 0.0
    learning = 4 * width * math.sqrt(alpha * arms * horizon * math.log(horizon))
    return learning + _cells(problem, delta) * horizon


def _cells(problem: Problem, delta: float | Mapping[str, float] | None) -> float:
    """Return δL, the sum over the interval fields."""
    fields = [name for name, space in problem.context.items() if not isinstance(space, Finite)]
    if delta is None:
        if fields:
            raise ParameterError(
                f"context field {fields[0]!r} is an interval, so delta (the width of its cells) "
                "is needed"
            )
        return 0.0
    if not fields:
        raise ParameterError(
            f"delta is for interval fields, but every context field is finite; given {delta!r}"
        )
    widths = delta if isinstance(delta, Mapping) else dict.fromkeys(fields, delta)
    if set(widths) != set(fields):
        raise ParameterError(
            f"delta must have the interval fields {', '.join(fields)}, given "
            f"{', '.join(map(str, widths)) or 'none'}"
        )
    return sum(problem.payoff.lipschitz[name].value * widths[name] for name in fields)


def doubling_phases(bound: Callable[[int], float], horizon: int) -> float:
    """Bound the regret of the doubling trick with phases of 2, 4, 8, … trials: Σ_k bound(2^k).

    The paper's recurrence ℜ_𝒞(T) = ℜ_𝒞(T/2) + ℜ_ℬ(T/2), summed over the phases that begin
    before the horizon; the last counts in full, since regret does not decrease.  If the bound is
    of order T^a with a > 0, the sum is geometric and at most 2^a/(2^a - 1) times its last term,
    without another factor ln T.

    >>> doubling_phases(lambda trials: trials**0.5, 6) == 2**0.5 + 4**0.5
    True
    """
    if not 1 <= horizon < math.inf:
        raise ParameterError(f"horizon must be a number >= 1, given {horizon!r}")
    phases = math.floor(math.log2(horizon + 1))
    while 2 ** (phases + 1) - 2 < horizon:
        phases += 1
    while phases > 1 and 2**phases - 2 >= horizon:
        phases -= 1
    return math.fsum(bound(2**k) for k in range(1, phases + 1))


def doubling_ccb(problem: Problem, *, alpha: float, growth: float, horizon: int) -> float:
    """Bound the regret of CCB with the doubling trick: 2^k trials, δ_k = (2^k)^-(1-growth).

    >>> from onepull.environment import energy_harvesting
    >>> round(doubling_ccb(energy_harvesting().problem, alpha=2.01, growth=0.5, horizon=100_000))
    52051
    """

    def phase(trials: int) -> float:
        delta = tuned_delta(problem, trials, growth)
        return gap_free(problem, alpha=alpha, delta=delta, horizon=trials)

    return doubling_phases(phase, horizon)


def multi_ucb(instance: Instance, trial: float) -> float:
    """Bound the regret of Multi-UCB on finitely many contexts: UCB1's bound in each.

    Σ_ij Δ_j^(i) (8 ln(1 + p_i n) (G_i/Δ_j^(i))² + 1 + π²/3) over the non-optimal arms of each
    context; the mean of ln N_i is at most ln(1 + p_i n).

    >>> from onepull.environment import channel_selection
    >>> round(multi_ucb(Instance.of(channel_selection(7)), 1e5))
    38379
    """
    apart = instance.gaps > 0
    steep = np.where(apart, instance.steepness, 0.0)
    logs = 8 * np.log1p(instance.probabilities * trial)
    return float(np.sum(instance.gaps * np.where(apart, logs[:, None] * steep + 1 + LAST, 0.0)))


def ucb1(instance: Instance, trial: float, epsilon: float = 0.0) -> tuple[float, float]:
    """Return a lower and an upper bound on the regret of UCB1, which ignores the context.

    An arm chosen without the context loses d_j = Σ_i p_i Δ_j^(i) a trial, so regret is at least
    n·min d_j: linear, unless one arm is optimal in all contexts.  The other arms add at most
    (d_j - min d)(4(2+ε) ln n (G/(d_j - min d))² + 1 + π²/3), where G is the range over all
    contexts and ε is 0 for UCB1.

    >>> from onepull.environment import channel_selection
    >>> low, high = ucb1(Instance.of(channel_selection(7)), 1e5)
    >>> round(low), round(high)
    (12500, 55388)
    """
    losses = instance.probabilities @ instance.gaps
    least = float(losses.min())
    more = losses - least
    more = more[more > 1e-12]
    width = instance.bounds[1] - instance.bounds[0]
    pulls = exploring(epsilon, trial) * (width / more) ** 2 + 1 + LAST
    return trial * least, trial * least + float(more @ pulls)
