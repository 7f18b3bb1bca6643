"""The types that stand for rules in compiled loops.

A kernel is compiled for the type of its rule.  Each type stands for the functions of one rule.
The rules of the package have named types, so that kernels compiled for them can be cached on disk.
A user's own rule gets a type when it is first used.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.index import bernstein, empirical_kl, hoeffding, imed, kl_ucb, schedules
from onepull.index.rules import MeanRule, PosteriorRule, Rule, StateRule, TurnRule

LOCK = Lock()  # simulations may be prepared in several threads


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


class EpsilonGreedyTurns(NamedTuple):
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

_TYPES: dict[Functions, type[Any]] = {}
FUNCTIONS_BY_TYPE: dict[type[Any], Functions] = {}


def _name(functions: Functions, kind: type[Any]) -> None:
    _TYPES[functions], FUNCTIONS_BY_TYPE[kind] = kind, functions


def functions_of(rule: Rule) -> Functions:
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


_name(functions_of(hoeffding.hoeffding(1.0)), Ucb)
_name(functions_of(hoeffding.hoeffding(1.0, patience=1)), PatientUcb)
_name(functions_of(hoeffding.remembering(1.0, 1.0)), RememberedUcb)
_name(functions_of(kl_ucb.kl_ucb(0.0, 0.0)), KlUcb)
_name(functions_of(empirical_kl.empirical_kl(0.0, 0.0)), EmpiricalKl)
_name(functions_of(imed.imed()), Imed)
_name(functions_of(bernstein.empirical_bernstein(1.0)), Bernstein)
_name(functions_of(schedules.epsilon_greedy(1.0, 1.0)), EpsilonGreedyTurns)
_name(functions_of(schedules.dsee(1.0)), Dsee)
NAMED = frozenset(FUNCTIONS_BY_TYPE)


def is_users_rule(rule: KernelRule) -> bool:
    """Return whether a rule is a user's own, for which kernels are not cached on disk."""
    return type(rule) in FUNCTIONS_BY_TYPE and type(rule) not in NAMED


def type_of(functions: Functions) -> type[Any]:
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
    (MeanRule, False): FUNCTIONS_BY_TYPE[Ucb],
    (MeanRule, True): FUNCTIONS_BY_TYPE[PatientUcb],
    (StateRule, False): FUNCTIONS_BY_TYPE[Imed],
    (TurnRule, False): FUNCTIONS_BY_TYPE[Dsee],
}
