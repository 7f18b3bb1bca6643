"""The paper's bounds on pulls, theorems 1 and 2 and lemma 1: as printed and corrected.

They hold for n = `trial` trials of DCB(ε) with contexts and states that are drawn independently.
docs/theory.md lists the corrections and their reasons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from onepull.arrays import Array
from onepull.checks import LARGEST_PARAMETER, real
from onepull.errors import ParameterError
from onepull.theory.instance import Instance
from onepull.theory.series import settled_from, settled_printed, zeta

LARGEST_LOG = 690.0  # of a bound, so that a sum over contexts stays finite
LAST = math.pi**2 / 3  # ≥ 2 Σ t^(1-2α) for α ≥ 3/2: trials with a mean outside its interval


def theorem_1_printed(instance: Instance, epsilon: float, trial: float) -> Array:
    """Bound the pulls of each never-optimal arm by theorem 1 as printed.

    4(2+ε) ln n / min_i (Δ_j^(i))² + 1 + π²/3, infinite for arms that are optimal in some
    context.  It lacks the ranges G_i and can fail if they exceed 1.

    >>> from onepull.environment import channel_selection
    >>> channels = Instance.of(channel_selection(7))
    >>> theorem_1_printed(channels, 0.01, 1e5).round()
    array([ inf,  inf,  inf,  inf, 583., 375., 261.])
    """
    apart = instance.gaps > 0
    steep = np.where(apart, 1.0 / np.where(apart, instance.gaps, 1.0) ** 2, math.inf)
    return _while_steep(exploring(epsilon, trial), steep)


def theorem_1(instance: Instance, epsilon: float, trial: float) -> Array:
    """Bound the pulls of each never-optimal arm by theorem 1 with the ranges its proof needs.

    4(2+ε) ln n · max_i (G_i/Δ_j^(i))² + 1 + π²/3, but at most n, the number of trials; infinite
    for arms that are optimal in some context, which the theorem is not about.

    >>> from onepull.environment import channel_selection
    >>> channels = Instance.of(channel_selection(7))
    >>> theorem_1(channels, 0.01, 1e5).round()
    array([  inf,   inf,   inf,   inf, 9261., 2318., 1033.])
    >>> theorem_1(channels, 0.01, 2000).round()
    array([  inf,   inf,   inf,   inf, 2000., 1532.,  683.])
    """
    bound = _while_steep(exploring(epsilon, trial), instance.steepness)
    return np.where(np.isfinite(bound), np.minimum(bound, trial), math.inf)


def _while_steep(log: float, steep: Array) -> Array:
    """Return log · max_i steep + 1 + π²/3 for each arm; infinite where steep is, even at log 0."""
    worst = steep.max(axis=0)
    told = np.isfinite(worst)
    return np.where(told, log * np.where(told, worst, 0.0) + 1 + LAST, math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class WrongPulls:
    """Theorem 2: the pulls E T_j^N(n) of an arm in contexts in which it is not optimal.

    The arrays have one number for each arm, NaN for arms that are never optimal.

    Attributes
    ----------
    n_o
        The trials before the argument of the proof applies.
    under_realised
        The trials at which a context has occurred less than half as often as expected.
    under_exploited
        The trials at which its optimal arm has less than 1/K of the pulls in the context.
    dominated
        The remaining trials with a mean outside its confidence interval.
    c_epsilon
        c_ε = Σ n^-(1+2ε), infinite at ε = 0.
    bound
        The bound on E T_j^N(n): the sum of the four, or a simpler bound if it is smaller.
    """

    n_o: Array
    under_realised: Array
    under_exploited: Array
    dominated: Array
    c_epsilon: float
    bound: Array

    @property
    def total(self) -> Array:
        """The sum of the four terms, which does not depend on n."""
        return self.n_o + self.under_realised + self.under_exploited + self.dominated


def theorem_2(
    instance: Instance, epsilon: float, trial: float, *, printed: bool = False
) -> WrongPulls:
    """Bound the non-optimal pulls of the arms that are optimal in some context.

    As printed (with 𝒴_j for its 𝒴_i), the bound is n_o + Σ_𝒴j 2/p_i² +
    2^(3+2ε) K^(4+2ε) c_ε Σ_𝒴j p_i^-(2+2ε) + π²/3 (1-q_j), with n_o the least n for which
    ⌊p_o n/2K⌋ > ⌈4(2+ε) ln n / Δ_o²⌉.

    Corrected, the proof needs only one context y_i in which the arm is the only optimal one; the
    context with the smallest sum is used.  n_o is the least n from which on
    p_i n/2K - 1 ≥ 4(2+ε) ln n · S, where S is the largest (G/Δ)² of another arm in y_i or of
    this arm elsewhere.  The context is under-realised at most 1/(exp d(p_i/2, p_i) - 1) times,
    where d is the divergence of Bernoulli laws.  With m_o = ⌊p_i n_o/2K⌋ the arm is
    under-exploited at most
    (K-1) p_i ⌈2K/p_i⌉ (m_o^-(2+2ε) + m_o^-(1+2ε)/(1+2ε)) / (1+ε) times, for ε > -1/2.
    `bound` is at most n(1-q_j), and at most theorem 1's logarithm, whose proof holds for the
    non-optimal pulls of any arm.

    >>> from onepull.environment import channel_selection
    >>> channels = Instance.of(channel_selection(7))
    >>> printed = theorem_2(channels, 0.01, 1e5, printed=True)
    >>> round(printed.n_o[0]), round(printed.c_epsilon, 1), f"{printed.under_exploited[0]:.1e}"
    (599032, 50.6, '1.7e+07')
    >>> theorem_2(channels, 0.01, 1e5).n_o[:4]
    array([  599012.,   599012., 11725975., 11725975.])
    """
    alpha_of(epsilon, least=0.0 if printed else -0.5)
    return _printed_2(instance, epsilon) if printed else _corrected_2(instance, epsilon, trial)


def _printed_2(instance: Instance, epsilon: float) -> WrongPulls:
    arms, p = len(instance.arms), instance.probabilities
    best = np.where(instance.gaps == 0, 1.0, 0.0)
    never = instance.never_optimal
    start = 0.0  # all arms are always optimal
    if math.isfinite(instance.smallest_gap):
        cost = 4 * (2 + epsilon) / instance.smallest_gap**2
        start = settled_printed(instance.p_o / (2 * arms), cost)
    found = WrongPulls(
        n_o=np.full(arms, start),
        under_realised=(2 / p**2) @ best,
        under_exploited=_under_exploited(arms, epsilon, p) @ best,
        dominated=LAST * (1 - instance.q),
        c_epsilon=zeta(1 + 2 * epsilon),
        bound=np.zeros(arms),
    )
    for part in (found.n_o, found.under_realised, found.under_exploited, found.dominated):
        part[never] = math.nan
    found.bound[:] = found.total
    return found


def _under_exploited(arms: int, epsilon: float, p: Array) -> Array:
    """Return 2^(3+2ε) K^(4+2ε) c_ε p_i^-(2+2ε), or the largest number if it is larger."""
    scale = (3 + 2 * epsilon) * math.log(2) + (4 + 2 * epsilon) * math.log(arms)
    logs = scale + math.log(zeta(1 + 2 * epsilon)) - (2 + 2 * epsilon) * np.log(p)
    return np.asarray(np.exp(np.minimum(logs, LARGEST_LOG)))


def _corrected_2(instance: Instance, epsilon: float, trial: float) -> WrongPulls:
    arms = len(instance.arms)
    parts = np.full((4, arms), math.nan)
    for j in instance.optimal:
        parts[:, j] = _by_one_context(instance, epsilon, j)
    simple = np.minimum(trial * (1 - instance.q), somewhere_wrong(instance, epsilon, trial))
    return WrongPulls(
        n_o=parts[0],
        under_realised=parts[1],
        under_exploited=parts[2],
        dominated=parts[3],
        c_epsilon=zeta(1 + 2 * epsilon) if epsilon > 0 else math.inf,
        bound=np.minimum(parts.sum(axis=0), simple),
    )


def _by_one_context(instance: Instance, epsilon: float, arm: int) -> Array:
    """Return the four terms of the context with the smallest sum; infinite if there is none."""
    q = float(instance.q[arm])
    if q >= 1.0:
        return np.zeros(4)
    alone = instance.alone_in(arm)
    if not len(alone):
        return np.array([math.inf, 0.0, 0.0, LAST * (1 - q)])
    arms, steep = len(instance.arms), instance.steepness
    p = instance.probabilities[alone]
    here = np.where(np.isfinite(steep[alone]), steep[alone], 0.0).max(axis=1)
    elsewhere = float(np.where(np.isfinite(steep[:, arm]), steep[:, arm], 0.0).max())
    start = settled_from(p / (2 * arms), 4 * (2 + epsilon) * np.maximum(here, elsewhere))
    pulls = np.floor(p * start / (2 * arms))
    tail = pulls ** -(2 + 2 * epsilon) + pulls ** -(1 + 2 * epsilon) / (1 + 2 * epsilon)
    parts = np.array(
        [
            start,
            1.0 / np.expm1(np.minimum(_coins(p), 700.0)),
            (arms - 1) * p * np.ceil(2 * arms / p) * tail / (1 + epsilon),
            np.full(len(p), LAST * (1 - q)),
        ]
    )
    return np.asarray(parts[:, parts.sum(axis=0).argmin()])


def _coins(p: Array) -> Array:
    """Return d(p/2, p), the divergence of Bernoulli laws with means p/2 and p."""
    other = np.where(p < 1.0, (1 - p / 2) / np.where(p < 1.0, 1 - p, 1.0), math.inf)
    return np.asarray(p / 2 * math.log(0.5) + (1 - p / 2) * np.log(other))


def somewhere_wrong(instance: Instance, epsilon: float, trial: float) -> Array:
    """Bound the non-optimal pulls of every arm by theorem 1's argument."""
    steep = np.where(np.isfinite(instance.steepness), instance.steepness, 0.0).max(axis=0)
    wrong = np.asarray(1 + LAST * (1 - instance.q))
    return np.where(steep > 0, exploring(epsilon, trial) * steep + wrong, 0.0)


def lemma_1(instance: Instance, epsilon: float, trial: float, *, printed: bool = False) -> Array:
    """Bound the probability that UCB1(ε) pulls the optimal arm less than n/K times, per context.

    As printed, 2 K^(4+2ε) / n^(2+2ε) where ⌊n/K⌋ > 4(2+ε) ln n / min_j (Δ_j^(i))², for
    rewards in [0, 1].  With (G_i/Δ_j^(i))² in the condition it holds for any range, and
    summing the tail gives (K-1) ⌊n/K⌋^-(2+2ε) / (2+2ε), about 4K times less.
    The bound is 1 where the condition fails.  Tied optimal arms count as one.

    >>> from onepull.environment import channel_selection
    >>> lemma_1(Instance.of(channel_selection(7)), 0.01, 1e5).round(10)
    array([1.2e-08, 1.2e-08, 1.2e-08, 1.0e+00])
    """
    alpha, arms = alpha_of(epsilon, least=0.0 if printed else -0.5), len(instance.arms)
    apart = instance.gaps > 0
    unit = 1.0 / np.where(apart, instance.gaps, 1.0) ** 2
    steep = np.where(apart, unit if printed else instance.steepness, 0.0)
    power, pulls = 2 * alpha - 2, math.floor(trial / arms)
    if pulls < 1:
        return np.ones(len(steep))
    bound = (arms - 1) * pulls**-power / power
    if printed:
        bound = 2 * arms ** (power + 2) / trial**power
    holds = pulls > 4 * alpha * math.log(trial) * steep.max(axis=1)
    return np.where(holds, min(1.0, bound), 1.0)


def alpha_of(epsilon: float, *, least: float = -0.5) -> float:
    """Return 2+ε; raises ParameterError if the proof does not cover ε.

    >>> alpha_of(0.5)
    2.5
    """
    try:
        value = real(epsilon)
    except TypeError:
        value = math.nan
    if not least < value <= LARGEST_PARAMETER:
        raise ParameterError(
            f"epsilon must be a number > {least:g} and <= {LARGEST_PARAMETER:g} here, given "
            f"{epsilon!r}"
        )
    return 2 + value


def exploring(epsilon: float, trial: float) -> float:
    """Return 4(2+ε) ln n.

    >>> round(exploring(0.01, 1e5), 6)
    92.563921
    """
    if not 1 <= trial < math.inf:
        raise ParameterError(f"trial must be a number >= 1, given {trial!r}")
    return 4 * alpha_of(epsilon) * math.log(trial)
