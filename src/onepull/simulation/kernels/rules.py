"""Compiled rules.

A kernel is compiled for the type of its rule.  Each type stands for the functions of one rule,
which are compiled as they are; the library calls the same functions.  The rules of the package
have named types here, so that kernels compiled for them can be cached on disk.  A user's own rule
gets a type when it is first used, and is compiled once per process, since numba would not notice
a change in its functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import singledispatch
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba.core import types
from numba.core.errors import NumbaError
from numba.extending import overload
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.index import (
    bernstein,
    empirical_kl,
    empirical_likelihood,
    hoeffding,
    imed,
    kl_ucb,
    rules,
    schedules,
)
from onepull.index.rules import MeanRule, PosteriorRule, Rule, StateRule, TurnRule
from onepull.simulation.compiled import compiled, inlined, reachable
from onepull.simulation.draws import ASIDE, bits, gamma, place, uniform
from onepull.simulation.kernels.features import KernelPsi, is_own_psi

TABULATED = 1 << 20  # trials whose exploration is tabulated; for later ones it is computed
NONE = np.zeros(0, np.int64)
LOCK = Lock()  # simulations may be prepared in several threads

# Functions that the plain functions call by name.
reachable(
    bernstein.bernstein_bound,
    bernstein.law_variance,
    hoeffding.hoeffding_exploration,
    empirical_likelihood.excess,
    empirical_likelihood.mean_log,
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


class Functions(NamedTuple):
    """The functions of a rule, which determine its type in compiled code."""

    kind: type[Any]
    exploration: Any = None
    aim: Any = None
    index: Any = None
    cap: Any = None
    turn: Any = None
    by_pulls: bool = False
    is_patient: bool = False
    draws: bool = False


class Ucb(NamedTuple):
    """The upper confidence bound of UCB1 and of the paper."""

    parameters: Any
    table: Array


class PatientUcb(NamedTuple):
    """The same, but an arm that was not observed for `patience` trials comes first."""

    parameters: Any
    table: Array
    patience: int
    seen: NDArray[np.int64]  # the trial at which each arm was last observed


class RememberedUcb(NamedTuple):
    """The upper confidence bound for statistics that forget."""

    parameters: Any
    table: Array


class KlUcb(NamedTuple):
    """The bound of kl-UCB."""

    parameters: Any
    table: Array


class EmpiricalKl(NamedTuple):
    """The empirical-likelihood bound."""

    parameters: Any
    table: Array


class Imed(NamedTuple):
    """The least divergence from the best arm."""

    parameters: Any
    table: Array


class Bernstein(NamedTuple):
    """The bound of UCB-V."""

    parameters: Any
    table: Array


class EpsilonGreedy(NamedTuple):
    """The best estimate, or an arm drawn uniformly."""

    parameters: Any
    table: Any
    key: Any


class Dsee(NamedTuple):
    """The best estimate, or the arm whose turn it is in a batch."""

    parameters: Any
    table: Any
    key: Any


class Posterior(NamedTuple):
    """The highest mean reward under a distribution drawn from a Dirichlet posterior."""

    prior: float
    key: Any


KernelRule: TypeAlias = Any  # one of the named tuples above
Ruling: TypeAlias = Callable[[int], KernelRule]  # from the random key of a policy to its rule

_TYPES: dict[Functions, type[Any]] = {}
_FUNCTIONS: dict[type[Any], Functions] = {}


def _name(functions: Functions, kind: type[Any]) -> None:
    _TYPES[functions], _FUNCTIONS[kind] = kind, functions


def _functions(rule: Rule) -> Functions:
    """Return the functions of a rule, which determine its type."""
    if isinstance(rule, TurnRule):
        return Functions(TurnRule, turn=rule.turn, draws=rule.draws)
    assert not isinstance(rule, PosteriorRule)  # noqa: S101 - handled separately
    aim = rule.aim if isinstance(rule, MeanRule) else None
    return Functions(
        type(rule),
        exploration=rule.exploration,
        aim=aim,
        index=rule.index,
        cap=rule.cap,
        by_pulls=rule.breaks_ties_by_pulls,
        is_patient=isinstance(rule, MeanRule) and rule.patience > 0,
    )


_name(_functions(hoeffding.hoeffding(1.0)), Ucb)
_name(_functions(hoeffding.hoeffding(1.0, patience=1)), PatientUcb)
_name(_functions(hoeffding.remembering(1.0, 1.0)), RememberedUcb)
_name(_functions(kl_ucb.kl_ucb(0.0, 0.0)), KlUcb)
_name(_functions(empirical_kl.empirical_kl(0.0, 0.0)), EmpiricalKl)
_name(_functions(imed.imed()), Imed)
_name(_functions(bernstein.empirical_bernstein(1.0)), Bernstein)
_name(_functions(schedules.epsilon_greedy(1.0, 1.0)), EpsilonGreedy)
_name(_functions(schedules.dsee(1.0)), Dsee)
NAMED = frozenset(_FUNCTIONS)


def is_own(rule: KernelRule) -> bool:
    """Return whether a rule is a user's own, for which kernels are not cached on disk."""
    return type(rule) in _FUNCTIONS and type(rule) not in NAMED


def _type_of(functions: Functions) -> type[Any]:
    """Return the type for the functions of a rule, created if needed."""
    with LOCK:
        return _made_type(functions)


def _made_type(functions: Functions) -> type[Any]:
    if functions not in _TYPES:
        base = _TYPES[_LIKE[functions.kind, functions.is_patient]]
        own = NamedTuple(f"Own{len(_TYPES)}", list(base.__annotations__.items()))  # type: ignore[misc]  # made at run time
        _name(functions, own)
    return _TYPES[functions]


_LIKE = {
    (MeanRule, False): _FUNCTIONS[Ucb],
    (MeanRule, True): _FUNCTIONS[PatientUcb],
    (StateRule, False): _FUNCTIONS[Imed],
    (TurnRule, False): _FUNCTIONS[Dsee],
}


@singledispatch
def ruling(rule: Rule, arms: int, horizon: int) -> Ruling:
    """Return a function that makes the kernel form of a rule from a random key."""
    raise TypeError(f"{rule!r} is not a rule, given {arms} arms and {horizon} trials")


@ruling.register
def _(rule: MeanRule, arms: int, horizon: int) -> Ruling:
    kind = _type_of(_functions(rule))
    stated = _stated(kind, rule, horizon)
    if rule.patience and kind not in NAMED:
        raise CannotCompile("only the Hoeffding index has a kernel with patience")
    if rule.patience:
        return lambda _: stated._replace(patience=rule.patience, seen=np.zeros(arms, np.int64))
    return _tried(lambda _: stated)


@ruling.register
def _(rule: StateRule, arms: int, horizon: int) -> Ruling:
    del arms
    stated = _stated(_type_of(_functions(rule)), rule, horizon)
    return _tried(lambda _: stated)


@ruling.register
def _(rule: TurnRule, arms: int, horizon: int) -> Ruling:
    kind = _type_of(_functions(rule))
    parameters = tuple(map(float, rule.parameters))
    table = rule.table(horizon, arms, *rule.parameters) if rule.table is not None else NONE
    return _tried(lambda own_key: kind(parameters, np.asarray(table), np.uint64(own_key)))


@ruling.register
def _(rule: PosteriorRule, arms: int, horizon: int) -> Ruling:
    del arms, horizon
    return lambda own_key: Posterior(rule.prior, np.uint64(own_key))


def _stated(kind: type[Any], rule_value: MeanRule | StateRule, horizon: int) -> Any:
    """Return a kernel rule with a table of its exploration at each trial."""
    table = np.zeros(min(horizon + 2, TABULATED))
    rest = (0, NONE)[: len(kind._fields) - 2]
    parameters, exploration = rule_value.parameters, rule_value.exploration
    rule = kind(tuple(map(float, parameters)), table, *rest)
    if kind in NAMED:
        fill_table(rule, table)
        return rule
    try:  # whole numbers of a compiler overflow, those of CPython do not
        for trial in range(1, len(table)):
            table[trial] = exploration(trial, *parameters)
    except Exception as error:
        raise CannotCompile(f"exploration fails at trial {trial}: {error}") from error
    return rule


def _tried(ruling: Ruling) -> Ruling:
    """Return `ruling`; compile and call a user's own rule once, to find errors early."""
    rule = ruling(0)
    if is_own(rule):
        one, few, pulls = np.ones((1, 2)), np.ones((2, 1)), np.ones(2)
        try:
            fresh(choose_once)(rule, one[0, :1], few, pulls, one)
        except (NumbaError, TypeError) as error:
            raise CannotCompile(_cause(error)) from error
    return ruling


class CannotCompile(Exception):  # noqa: N818 - not an error: the policy runs interpreted
    """Raised if a user's own rule does not compile, with the compiler's message."""


# What tells the cause in the compiler's long messages, the most telling first.
TELLING = (
    "Untyped global name",
    "Unknown attribute",
    "Invalid use of",
    "Cannot ",
    "No implementation",
)


def _cause(error: Exception) -> str:
    """Return the line of the compiler's message that tells most, without addresses."""
    lines = [line.strip(" -\t") for line in str(error).splitlines() if line.strip()]
    for words in TELLING:
        told = [line for line in lines if line.startswith(words)]
        if told:
            return re.sub(r" at 0x[0-9a-f]+", "", told[-1])
    return lines[0] if lines else type(error).__name__


@compiled
def choose_once(rule: Any, values: Any, laws: Any, pulls: Any, means: Any) -> Any:
    """Return the arm that a rule plays in a small example."""
    return decide_on(rule, values, laws, pulls, means, means, 0.0, 1.0, 2, 1)


_FRESH: dict[Any, Any] = {}


def fresh(kernel: Any) -> Any:
    """Return a kernel that is compiled for this process and not cached on disk."""
    with LOCK:
        if kernel not in _FRESH:
            _FRESH[kernel] = compiled(kernel.py_func, keep=False)
        return _FRESH[kernel]


def for_rule(kernel: Any, rule: KernelRule, psi: KernelPsi | None = None) -> Any:
    """Return a kernel for a rule and a ψ; cached on disk unless one of them is a user's own."""
    own = is_own(rule) or (psi is not None and is_own_psi(psi))
    return fresh(kernel) if own else kernel


# Functions that kernels call; the compiled forms are below.


def explored(rule: Any, trial: Any) -> Any:
    """Return the exploration of a rule at a trial."""
    raise NotImplementedError


def decide(
    rule: Any, means: Any, cell: Any, roots: Any, row: Any, low: Any, high: Any, n: Any, trial: Any
) -> Any:
    """Return the arm that a rule plays in a cell, at trial n of the cell and `trial` in total."""
    raise NotImplementedError


def decide_on(
    rule: Any, phi: Any, laws: Any, pulls: Any, means: Any, roots: Any, low: Any, high: Any,
    n: Any, trial: Any,
) -> Any:  # fmt: skip
    """Return the arm that a rule plays, given φ and each arm's means of ψ."""
    raise NotImplementedError


@compiled
def fill_table(rule: Any, table: Any) -> None:
    """Write the exploration of a rule at each trial, beginning with 1, into a table."""
    for trial in range(1, table.size):
        table[trial] = explored(rule, trial)


def _known(rule: Any) -> Functions | None:
    """Return the functions of a rule's type, or None if it is not a rule."""
    if not isinstance(rule, (types.NamedTuple, types.NamedUniTuple)):
        return None
    return _FUNCTIONS.get(rule.instance_class)


@overload(explored)
def _explored(rule: Any, trial: Any) -> Any:
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
    return _take_turns(functions) if functions.kind is TurnRule else _by_mean(functions)


def _by_mean(functions: Functions) -> Any:
    exploration, aim_of, index = map(
        inlined, (functions.exploration, functions.aim, functions.index)
    )

    def plain(
        rule: Any,
        means: Any,
        cell: Any,
        roots: Any,
        row: Any,
        low: Any,
        high: Any,
        n: Any,
        trial: Any,
    ) -> Any:
        found = rule.table[n] if n < rule.table.size else exploration(n, *rule.parameters)
        return leading_mean(means[cell], roots[row], index, aim_of(low, high, found))

    def patient(
        rule: Any,
        means: Any,
        cell: Any,
        roots: Any,
        row: Any,
        low: Any,
        high: Any,
        n: Any,
        trial: Any,
    ) -> Any:
        best = plain_of(rule, means, cell, roots, row, low, high, n, trial)
        if means[cell, best] == np.inf:
            return best
        for j in range(means.shape[1]):
            if rule.seen[j] <= n - 1 - rule.patience:
                return j
        return best

    if functions.is_patient:
        plain_of = inlined(plain)
        return patient
    if functions.cap is None and not functions.by_pulls:
        return plain
    cap, by_pulls = inlined(functions.cap or rules.no_mean_cap), functions.by_pulls

    def capped(
        rule: Any,
        means: Any,
        cell: Any,
        roots: Any,
        row: Any,
        low: Any,
        high: Any,
        n: Any,
        trial: Any,
    ) -> Any:
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
        rule: Any,
        means: Any,
        cell: Any,
        roots: Any,
        row: Any,
        low: Any,
        high: Any,
        n: Any,
        trial: Any,
    ) -> Any:
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
    # The library draws from numpy's generator.  Kernels use the simulator's own random numbers:
    # the same distribution, but other draws.
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
