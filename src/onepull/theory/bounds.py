"""The paper's bounds on regret, theorems 3 and 4 and what follows from them.

Each is a bound on the expected regret after n = `trial` trials, or at the horizon T, with
contexts and states drawn independently; docs/theory.md says what was put right, and why.
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
from onepull.policies.ucb.known_reward import tuned_delta
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
    "doubled",
    "doubling",
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

LEAST_ALPHA = 1.5  # for which the gap-free bound needs no further term


@dataclass(frozen=True, slots=True)
class RegretBound:
    """A bound on regret: what grows with ln n, and the rest.

    `leading` is the part with ln n in it, of the arms that are best nowhere; `rest` is what
    the paper writes as O(1), made a number.
    """

    leading: float
    rest: float

    @property
    def total(self) -> float:
        """The whole bound."""
        return self.leading + self.rest


def theorem_3(
    instance: Instance, epsilon: float, trial: float, *, printed: bool = False
) -> RegretBound:
    """Bound the regret of DCB(ε), the paper's O(1) included.

    As printed, 4(2+ε) Δ_max/Δ_o² |𝒪̄| ln n + O(1), with Δ_o over arms that are not best.
    Corrected, a never-optimal arm has cost at most Σ_s max {Δ_j^(i) : l_i ≥ s} after the
    pulls s = 1, 2, … with l_i = 4(2+ε) ln n (G_i/Δ_j^(i))², since its s-th pull is in a
    context that still asks for it; that is at most max_i l_i · max_i Δ_j^(i).

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
    # An arm never costs more than always pulling it; one that is best nowhere, no more than
    # theorem 1's argument allows; one that is best somewhere, no more than theorem 2's either.
    most = trial * (instance.probabilities @ instance.gaps)
    simple = np.minimum(climb + (1 + LAST * (1 - instance.q)) * dearest, most)
    leading = float(np.minimum(climb, most)[never].sum())
    rest = float(simple[never].sum()) - leading
    rest += float(np.minimum(wrong.bound * dearest, simple)[some].sum())
    return RegretBound(leading, rest)


def staircase(instance: Instance) -> Array:
    """Return ∫ max {Δ_j^(i) : (G_i/Δ_j^(i))² ≥ s} ds for each arm: regret for every 4(2+ε) ln n.

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
    """Bound the regret of CCB(ε, δ): δLT, and theorem 3 on the centres of the cells.

    The paper writes the latter as O(log T).  It is that for a fixed δ, but gaps and
    probabilities of the centres shrink with δ, so that the constant grows as δ is tuned to T;
    `gap_free` does not depend on them.  With several fields δL is the sum of theirs.

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
    """Bound the regret of DCB or CCB with widths G·√(α ln n / m), whatever the laws are.

    δLT + 4G·√(α K T ln T) for α ≥ 3/2, with G the greatest range of a context; the first term
    is nothing for finitely many contexts (`delta` not given).  It does not depend on how many
    contexts or cells there are.

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
    """Return δL, summed over the interval fields."""
    fields = [name for name, space in problem.context.items() if not isinstance(space, Finite)]
    if delta is None:
        if fields:
            raise ParameterError(
                f"context field {fields[0]!r} is an interval: give delta, the width of its cells"
            )
        return 0.0
    if not fields:
        raise ParameterError("every context field is finite: there are no cells, and no delta")
    widths = delta if isinstance(delta, Mapping) else dict.fromkeys(fields, delta)
    if set(widths) != set(fields):
        raise ParameterError(
            f"delta is for the interval fields {', '.join(fields)}, given for "
            f"{', '.join(map(str, widths)) or 'none'}"
        )
    return sum(problem.payoff.lipschitz[name].value * widths[name] for name in fields)


def doubling(bound: Callable[[int], float], horizon: int) -> float:
    """Bound the regret of fresh starts after 2, 4, 8, … trials: Σ_k bound(2^k).

    The paper's recurrence ℜ_𝒞(T) = ℜ_𝒞(T/2) + ℜ_ℬ(T/2), unrolled over the phases that begin
    by the horizon; an unfinished one counts whole, since regret never falls.  Where the bound
    is of order T^a with a > 0 the sum is geometric, at most 2^a/(2^a - 1) times its last
    term: there is no further factor ln T.

    >>> doubling(lambda trials: trials**0.5, 6) == 2**0.5 + 4**0.5
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


def doubled(problem: Problem, *, alpha: float, growth: float, horizon: int) -> float:
    """Bound the regret of CCB with fresh starts: phase k of 2^k trials, δ_k = (2^k)^-(1-growth).

    >>> from onepull.environment import energy_harvesting
    >>> round(doubled(energy_harvesting().problem, alpha=2.01, growth=0.5, horizon=100_000))
    52051
    """

    def phase(trials: int) -> float:
        delta = tuned_delta(problem, trials, growth)
        return gap_free(problem, alpha=alpha, delta=delta, horizon=trials)

    return doubling(phase, horizon)


def multi_ucb(instance: Instance, trial: float) -> float:
    """Bound the regret of Multi-UCB on finitely many contexts: UCB1's bound in each.

    Σ_ij Δ_j^(i) (8 ln(1 + p_i n) (G_i/Δ_j^(i))² + 1 + π²/3) over the arms that are not best;
    the mean of ln N_i is at most ln(1 + p_i n).

    >>> from onepull.environment import channel_selection
    >>> round(multi_ucb(Instance.of(channel_selection(7)), 1e5))
    38379
    """
    apart = instance.gaps > 0
    steep = np.where(apart, instance.steepness, 0.0)
    logs = 8 * np.log1p(instance.probabilities * trial)
    return float(np.sum(instance.gaps * np.where(apart, logs[:, None] * steep + 1 + LAST, 0.0)))


def ucb1(instance: Instance, trial: float, epsilon: float = 0.0) -> tuple[float, float]:
    """Return a lower and an upper bound on the regret of UCB1, which is blind to the context.

    An arm chosen blindly loses d_j = Σ_i p_i Δ_j^(i) a trial, so regret is at least
    n·min d_j, which is linear wherever no arm is best in all contexts; the other arms add at
    most (d_j - min d)(4(2+ε) ln n (G/(d_j - min d))² + 1 + π²/3), with G the range over all
    contexts; ε is that of UCB1(ε), and 0 for UCB1.

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
