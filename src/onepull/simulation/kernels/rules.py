"""What compiled loops do with a rule.

The functions of a rule are compiled as they are; the library calls the same functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types

from onepull.index import bernstein, empirical_likelihood, hoeffding, rules, schedules
from onepull.index.rules import StateRule, TurnRule
from onepull.simulation.compiled import compiled, inlined, overload, reachable
from onepull.simulation.draws import ASIDE, bits, gamma, place, uniform
from onepull.simulation.kernels.by_arm import of_arm
from onepull.simulation.kernels.rule_types import FUNCTIONS_BY_TYPE, Functions, Posterior

# Functions that the plain functions call by name.
reachable(
    bernstein.bernstein_bound,
    bernstein.law_variance,
    hoeffding.hoeffding_exploration,
    empirical_likelihood.log_moments,
    empirical_likelihood.divergence,
    empirical_likelihood.exploration,
    empirical_likelihood.likely_mean,
    empirical_likelihood.likely_share,
    empirical_likelihood.rounding,
    rules.comes_before,
    schedules.drawn_evenly,
    schedules.exploration_rate,
    schedules.turn,
)
leading_mean = inlined(rules.leading_mean)
leading_capped = inlined(rules.leading_capped)
leading_law = inlined(rules.leading_law)
leading_of_arms = inlined(rules.leading_of_arms)
leading_law_of_arms = inlined(rules.leading_law_of_arms)
is_overdue = inlined(rules.is_overdue)


# Functions that kernels call.


def exploration_of(rule: Any, trial: Any) -> Any:
    """Return the exploration of a rule at a trial."""
    raise NotImplementedError  # the compiled forms are below


def decide(
    rule: Any, means: Any, cell: Any, roots: Any, row: Any, low: Any, high: Any, n: Any, trial: Any
) -> Any:
    """Return the arm that a rule plays in a cell, at trial n of the cell and `trial` in total."""
    raise NotImplementedError  # the compiled forms are below


def decide_on(
    rule: Any, phi: Any, laws: Any, pulls: Any, means: Any, roots: Any, low: Any, high: Any,
    n: Any, trial: Any,
) -> Any:  # fmt: skip
    """Return the arm that a rule plays, given φ and each arm's means of ψ."""
    raise NotImplementedError  # the compiled forms are below


@compiled
def choose_once(rule: Any, values: Any, laws: Any, pulls: Any, means: Any) -> Any:
    """Return the arm that a rule plays in a small example."""
    return decide_on(rule, values, laws, pulls, means, means, 0.0, 1.0, 2, 1)


@compiled
def fill_table(rule: Any, table: Any) -> None:
    """Write the exploration of a rule at each trial, beginning with 1, into a table."""
    for trial in range(1, table.size):
        table[trial] = exploration_of(rule, trial)


def _known(rule: Any) -> Functions | None:
    """Return the functions of a rule's type, or None if it is not a rule."""
    if not isinstance(rule, (types.NamedTuple, types.NamedUniTuple)):
        return None
    return FUNCTIONS_BY_TYPE.get(rule.instance_class)


@overload(exploration_of)
def _exploration_of(rule: Any, trial: Any) -> Any:
    functions = _known(rule)
    if functions is None:
        return None
    exploration = inlined(functions.exploration)

    def at_trial(rule: Any, trial: Any) -> Any:
        return exploration(trial, *rule.parameters)

    return at_trial


@overload(decide)
def _decide(
    rule: Any, means: Any, cell: Any, roots: Any, row: Any, low: Any, high: Any, n: Any, trial: Any
) -> Any:
    functions = _known(rule)
    if functions is None:
        return None
    if functions.kind is TurnRule:
        return _take_turns(functions)
    # If arms have attributes, each has bounds of its own.
    leading = _of_arms(functions) if isinstance(low, types.Array) else _by_mean(functions)
    return _patiently(leading) if functions.is_patient else leading


def _patiently(leading: Any) -> Any:
    """Return the choice of a rule by which an arm comes first that was not observed for long."""
    leader = inlined(leading)

    def patient(
        rule: Any, means: Any, cell: Any, roots: Any, row: Any, low: Any, high: Any, n: Any,
        trial: Any,
    ) -> Any:  # fmt: skip
        best = leader(rule, means, cell, roots, row, low, high, n, trial)
        if means[cell, best] == np.inf:
            return best
        for j in range(means.shape[1]):
            if is_overdue(rule.seen[j], n - 1, rule.patience):
                return j
        return best

    return patient


def _of_arms(functions: Functions) -> Any:
    exploration, aim, index = map(inlined, (functions.exploration, functions.aim, functions.index))
    by_pulls = functions.by_pulls

    def of_arms(
        rule: Any, means: Any, cell: Any, roots: Any, row: Any, low: Any, high: Any, n: Any,
        trial: Any,
    ) -> Any:  # fmt: skip
        found = rule.table[n] if n < rule.table.size else exploration(n, *rule.parameters)
        return leading_of_arms(means[cell], roots[row], low, high, found, aim, index, by_pulls)

    return of_arms


def _by_mean(functions: Functions) -> Any:
    exploration, aim_of, index = map(
        inlined, (functions.exploration, functions.aim, functions.index)
    )

    def plain(
        rule: Any, means: Any, cell: Any, roots: Any, row: Any, low: Any, high: Any, n: Any,
        trial: Any,
    ) -> Any:  # fmt: skip
        found = rule.table[n] if n < rule.table.size else exploration(n, *rule.parameters)
        return leading_mean(means[cell], roots[row], index, aim_of(low, high, found))

    if functions.cap is None and not functions.by_pulls:
        return plain
    cap, by_pulls = inlined(functions.cap or rules.no_mean_cap), functions.by_pulls

    def capped(
        rule: Any, means: Any, cell: Any, roots: Any, row: Any, low: Any, high: Any, n: Any,
        trial: Any,
    ) -> Any:  # fmt: skip
        found = rule.table[n] if n < rule.table.size else exploration(n, *rule.parameters)
        aim = aim_of(low, high, found)
        return leading_capped(means[cell], roots[row], index, cap, aim, by_pulls)

    return capped


@inlined
def the_mean(mean: Any, root: Any, aim: Any) -> Any:
    """Return the mean, which is the index of a rule that plays the best estimate."""
    return mean


def _take_turns(functions: Functions) -> Any:
    turn, draws = inlined(functions.turn), functions.draws

    def decide(
        rule: Any, means: Any, cell: Any, roots: Any, row: Any, low: Any, high: Any, n: Any,
        trial: Any,
    ) -> Any:  # fmt: skip
        best = leading_mean(means[cell], roots[row], the_mean, 0.0)
        if means[cell, best] == np.inf:
            return best
        u = uniform(rule.key, trial) if draws else 0.0
        arm = int(turn(u, n, means.shape[1], rule.table, *rule.parameters))
        return arm if 0 <= arm < means.shape[1] else best

    return decide


@overload(decide_on)
def _decide_on(
    rule: Any, phi: Any, laws: Any, pulls: Any, means: Any, roots: Any, low: Any, high: Any,
    n: Any, trial: Any,
) -> Any:  # fmt: skip
    if (
        isinstance(rule, (types.NamedTuple, types.NamedUniTuple))
        and rule.instance_class is Posterior
    ):
        return _posterior
    functions = _known(rule)
    if functions is None:
        return None
    if functions.kind is not StateRule:
        return _on_means
    exploration, index = inlined(functions.exploration), inlined(functions.index)
    cap, by_pulls = inlined(functions.cap or rules.no_law_cap), functions.by_pulls

    def by_law_of_arms(
        rule: Any, phi: Any, laws: Any, pulls: Any, means: Any, roots: Any, low: Any, high: Any,
        n: Any, trial: Any,
    ) -> Any:  # fmt: skip
        found = rule.table[n] if n < rule.table.size else exploration(n, *rule.parameters)
        return leading_law_of_arms(phi, laws, pulls, means[0], low, high, found, index, by_pulls)

    if phi.ndim > 1:
        return by_law_of_arms

    def by_law(
        rule: Any, phi: Any, laws: Any, pulls: Any, means: Any, roots: Any, low: Any, high: Any,
        n: Any, trial: Any,
    ) -> Any:  # fmt: skip
        found = rule.table[n] if n < rule.table.size else exploration(n, *rule.parameters)
        return leading_law(phi, laws, pulls, means[0], low, high, found, index, cap, by_pulls)

    return by_law


def _on_means(
    rule: Any, phi: Any, laws: Any, pulls: Any, means: Any, roots: Any, low: Any, high: Any,
    n: Any, trial: Any,
) -> Any:  # fmt: skip
    return decide(rule, means, 0, roots, 0, low, high, n, trial)


def _posterior(
    rule: Any, phi: Any, laws: Any, pulls: Any, means: Any, roots: Any, low: Any, high: Any,
    n: Any, trial: Any,
) -> Any:  # fmt: skip
    best = 0
    highest = -np.inf
    for j in range(pulls.size):
        if pulls[j] == 0:
            return j
        value = drawn_mean(rule, of_arm(phi, j), laws[j], pulls[j], place(trial, pulls.size, j))
        if value > highest:
            highest = value
            best = j
    return best


@inlined
def drawn_mean(rule: Any, values: Any, law: Any, pulls: Any, at: Any) -> Any:
    """Return the mean of values under a law that is drawn from an arm's posterior."""
    # The library draws from numpy's generator.  Kernels use the simulator's own random numbers:
    # the same distribution, but other draws.
    stream = bits(rule.key, at) ^ ASIDE
    used = 0
    total = 0.0
    value = 0.0
    for s in range(values.size):
        weight, used = gamma(rule.prior + pulls * law[s], stream, used)
        total += weight
        value += weight * values[s]
    return value / total
