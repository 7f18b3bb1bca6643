"""Joint learning through features that mix: histograms, sketches and low rank, compiled.

Beside the rules that need means only there are those that look at the whole distribution of
the states, each a type of its own.
"""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.extending import overload
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.factor import Factorisation, Sketch
from onepull.index import empirical_likelihood as likelihood
from onepull.policies import IMED, DirichletThompson, EmpiricalBernstein
from onepull.policies.states.empirical_kl import LikelyBound
from onepull.simulation.compiled import compiled, inlined, reachable
from onepull.simulation.draws import ASIDE, atom, bits, gamma, place, show
from onepull.simulation.kernels.means import spread
from onepull.simulation.kernels.memory import take_in
from onepull.simulation.kernels.rules import Ruling, decide, ruling
from onepull.spaces import Interval

reachable(
    likelihood.divergence,
    likelihood.likely_mean,
    likelihood._mean_log,  # noqa: SLF001 - a part of the formula
    likelihood._excess,  # noqa: SLF001 - the same
)
likely_leader = compiled(likelihood.likely_leader)
least_divergent = compiled(likelihood.least_divergent)
risk_at = inlined(likelihood.exploration)
variance = inlined(likelihood.law_variance)
bernstein = inlined(likelihood.bernstein_bound)


class Likely(NamedTuple):
    """The highest empirical-likelihood bound, where so many trials are remembered."""

    c: float
    head_start: float
    memory: float


class Divergence(NamedTuple):
    """The least divergence from the best: IMED, which has no parameter."""

    none: float


class Varying(NamedTuple):
    """The highest empirical Bernstein bound."""

    zeta: float


class Posterior(NamedTuple):
    """The highest reward of a law drawn from a Dirichlet posterior."""

    key: Any
    prior: float


class Knots(NamedTuple):
    """Where the knots of a sketch are, field by field; no field if it is none."""

    lows: Array
    per_unit: Array
    counts: NDArray[np.int64]


def knots_of(factor: Factorisation) -> Knots:
    """Return the knots of a sketch over interval fields; of anything else there are none."""
    spaces = [s for s in factor.problem.state.values() if isinstance(s, Interval)]
    if not isinstance(factor, Sketch):
        return Knots(np.zeros(0), np.zeros(0), np.zeros(0, np.int64))
    return Knots(
        np.array([space.low for space in spaces]),
        np.array([(factor.knots - 1) / space.width for space in spaces]),
        np.full(len(spaces), factor.knots, np.int64),
    )


def decide_on(
    rule: Any, phi: Any, laws: Any, pulls: Any, means: Any, roots: Any, low: Any, high: Any,
    n: Any, trial: Any,
) -> Any:  # fmt: skip
    """Return the arm that a rule chooses, given φ and every arm's means of ψ."""
    raise NotImplementedError  # the compiled forms are below


def _by_means(
    rule: Any, phi: Any, laws: Any, pulls: Any, means: Any, roots: Any, low: Any, high: Any,
    n: Any, trial: Any,
) -> Any:  # fmt: skip
    return decide(rule, means, 0, roots, 0, low, high, n, trial)


def _likely(
    rule: Any, phi: Any, laws: Any, pulls: Any, means: Any, roots: Any, low: Any, high: Any,
    n: Any, trial: Any,
) -> Any:  # fmt: skip
    risk = risk_at(min(n + rule.head_start, rule.memory), rule.c)
    return likely_leader(phi, laws, pulls, means[0], low, high, risk)


def _divergence(
    rule: Any, phi: Any, laws: Any, pulls: Any, means: Any, roots: Any, low: Any, high: Any,
    n: Any, trial: Any,
) -> Any:  # fmt: skip
    return least_divergent(phi, laws, pulls, means[0], high)


def _varying(
    rule: Any, phi: Any, laws: Any, pulls: Any, means: Any, roots: Any, low: Any, high: Any,
    n: Any, trial: Any,
) -> Any:  # fmt: skip
    best = 0
    highest = -np.inf
    for j in range(pulls.size):
        bound = np.inf
        if pulls[j] > 0:
            spread_of = variance(phi, laws[j], phi.size)
            bound = bernstein(means[0, j], spread_of, high - low, pulls[j], rule.zeta * log(n))
        if bound > highest:
            highest = bound
            best = j
    return best


def _posterior(
    rule: Any, phi: Any, laws: Any, pulls: Any, means: Any, roots: Any, low: Any, high: Any,
    n: Any, trial: Any,
) -> Any:  # fmt: skip
    best = 0
    highest = -np.inf
    for j in range(pulls.size):
        if pulls[j] == 0:
            return j
        stream = bits(rule.key, place(trial, pulls.size, j)) ^ ASIDE
        used = 0
        total = 0.0
        value = 0.0
        for s in range(phi.size):
            weight, used = gamma(rule.prior + pulls[j] * laws[j, s], stream, used)
            total += weight
            value += weight * phi[s]
        value /= total
        if value > highest:
            highest = value
            best = j
    return best


_DECISIONS = {
    Likely: _likely,
    Divergence: _divergence,
    Varying: _varying,
    Posterior: _posterior,
}


@overload(decide_on)
def _decision(
    rule: Any, phi: Any, laws: Any, pulls: Any, means: Any, roots: Any, low: Any, high: Any,
    n: Any, trial: Any,
) -> Any:  # fmt: skip
    """Return the decision for the type of a rule."""
    known = isinstance(rule, (types.NamedTuple, types.NamedUniTuple))
    return _DECISIONS.get(rule.instance_class, _by_means) if known else None


@compiled
def dense(
    stretch: Any,
    chosen: Any,
    state: Any,
    phi: Any,
    rows: Any,
    lows: Any,
    highs: Any,
    rule: Any,
    laws: Any,
    features: Any,
    pivots: Any,
    knots: Any,
    g: Any,
) -> None:
    """Run a rule on the means of every feature, in a memory of any kind; an estimate is φ·mean.

    `phi[rows[i]]`, `lows` and `highs` are those of the i-th context.  `features[atom]` lists
    ψ of an atom; without atoms g is called for all pivots, or the state shared out on knots.
    """
    first, key, start, count = stretch.first, stretch.key, laws.start, laws.size
    ordered, keep, alias = laws.ordered, laws.keep, laws.alias
    means, pulls, roots = state.means.T, state.pulls, state.roots
    trials = state.trials[0]
    arms, many = means.shape
    known = features.shape[0] > 0
    at = pivots.shape[1]
    shown = np.zeros(laws.rows.shape[1])
    values = np.zeros((at + shown.size, pivots.shape[0]))
    psi = np.zeros((1, many))
    worked_out = psi[0]
    estimates = np.zeros((1, arms))
    for r in range(pivots.shape[0]):
        for f in range(at):
            values[f, r] = pivots[r, f]
    for i in range(rows.size):
        row = rows[i]
        trials += 1
        trial = first + i
        for j in range(arms):
            mean = np.inf
            if pulls[j] > 0:
                mean = 0.0
                for r in range(many):
                    mean += phi[row, r] * means[j, r]
            estimates[0, j] = mean
        best = decide_on(
            rule, phi[row], means, pulls, estimates, roots, lows[row], highs[row], trials, trial
        )
        chosen[i] = best
        at_arm = place(trial, arms, best)
        if known:
            found = atom(start[best], count[best], ordered[best], keep, alias, key, at_arm, trial)
            take_in(state, best, features, found)
            continue
        show(laws, best, key, at_arm, trial, shown)
        if pivots.shape[0] > 0:
            spread(shown, values, at)
            g(values, worked_out)
        else:
            share_out(shown, knots.lows, knots.per_unit, knots.counts, worked_out)
        take_in(state, best, psi, 0)


@inlined
def share_out(shown: Any, lows: Any, per_unit: Any, counts: Any, psi: Any) -> None:
    """Write the shares that every knot has of a state."""
    for r in range(psi.size):
        left = r
        share = 1.0
        for back in range(counts.size):
            f = counts.size - 1 - back
            knot = left % counts[f]
            left //= counts[f]
            share *= max(0.0, 1.0 - abs((shown[f] - lows[f]) * per_unit[f] - knot))
        psi[r] = share


@ruling.register
def _(policy: LikelyBound, horizon: int) -> Ruling:
    del horizon
    return lambda _: Likely(policy.c, policy.head_start, float(policy.memory))


@ruling.register
def _(policy: IMED, horizon: int) -> Ruling:
    del policy, horizon
    return lambda _: Divergence(0.0)


@ruling.register
def _(policy: EmpiricalBernstein, horizon: int) -> Ruling:
    del horizon
    return lambda _: Varying(policy.zeta)


@ruling.register
def _(policy: DirichletThompson, horizon: int) -> Ruling:
    del horizon
    return lambda own_key: Posterior(np.uint64(own_key), policy.prior)
