"""From the rule of a policy to the form that kernels take.

A user's own rule is compiled once per process and not cached on disk, since numba would not notice
a change in its functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import singledispatch
from typing import Any, TypeAlias

import numba
import numpy as np
from numba.core.errors import NumbaError

from onepull.factor import Factorisation
from onepull.index.rules import MeanRule, PosteriorRule, Rule, StateRule, TurnRule
from onepull.simulation.compiled import compiled
from onepull.simulation.kernels.features import KernelPsi, is_own_psi, kernel_psi, write_once
from onepull.simulation.kernels.rule_types import (
    LOCK,
    NAMED,
    KernelRule,
    Posterior,
    functions_of,
    is_users_rule,
    type_of,
)
from onepull.simulation.kernels.rules import choose_once, fill_table

TABULATED = 1 << 20  # trials whose exploration is tabulated; for later ones it is computed
NONE = np.zeros(0, np.int64)
Ruling: TypeAlias = Callable[[int], KernelRule]  # from the random key of a policy to its rule


@singledispatch
def ruling(rule: Rule, arms: int, horizon: int) -> Ruling:
    """Return a function that makes the kernel form of a rule from a random key."""
    raise TypeError(f"{rule!r} is not a rule, given {arms} arms and {horizon} trials")


@ruling.register
def _(rule: MeanRule, arms: int, horizon: int) -> Ruling:
    kind = type_of(functions_of(rule))
    stated = _stated(kind, rule, horizon)
    if rule.patience and kind not in NAMED:
        raise CannotCompile("only the Hoeffding index has a kernel with patience")
    if rule.patience:
        return lambda _: stated._replace(patience=rule.patience, seen=np.zeros(arms, np.int64))
    return _tried(lambda _: stated)


@ruling.register
def _(rule: StateRule, arms: int, horizon: int) -> Ruling:
    del arms
    stated = _stated(type_of(functions_of(rule)), rule, horizon)
    return _tried(lambda _: stated)


@ruling.register
def _(rule: TurnRule, arms: int, horizon: int) -> Ruling:
    kind = type_of(functions_of(rule))
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
    if is_users_rule(rule):
        one, few, pulls = np.ones((1, 2)), np.ones((2, 1)), np.ones(2)
        try:
            fresh(choose_once)(rule, one[0, :1], few, pulls, one)
        except (NumbaError, TypeError) as error:
            raise CannotCompile(_cause(error)) from error
    return ruling


def try_psi(factor: Factorisation | None) -> None:
    """Compile a user's own ψ; raises CannotCompile if that fails."""
    psi = None if factor is None else kernel_psi(factor)
    if psi is None or not is_own_psi(psi):
        return
    numbers = numba.float64[::1]
    try:
        kind = numba.typeof(psi)  # type: ignore[no-untyped-call]  # numba has no types
        fresh(write_once).compile((kind, numbers, numbers))
    except (NumbaError, TypeError) as error:
        raise CannotCompile(_cause(error)) from error


class CannotCompile(Exception):  # noqa: N818 - not an error: the policy runs interpreted
    """Raised if a user's own rule or ψ does not compile, with the compiler's message."""


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


_FRESH: dict[Any, Any] = {}


def fresh(kernel: Any) -> Any:
    """Return a kernel that is compiled for this process and not cached on disk."""
    with LOCK:
        if kernel not in _FRESH:
            _FRESH[kernel] = compiled(kernel.py_func, keep=False)
        return _FRESH[kernel]


def for_rule(kernel: Any, rule: KernelRule, psi: KernelPsi | None = None) -> Any:
    """Return a kernel for a rule and a ψ; cached on disk unless one of them is a user's own."""
    own = is_users_rule(rule) or (psi is not None and is_own_psi(psi))
    return fresh(kernel) if own else kernel
