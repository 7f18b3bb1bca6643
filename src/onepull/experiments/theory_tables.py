"""Tables of the quantities, the bounds and the limits of a problem in its environment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from onepull.environment import Environment
from onepull.errors import ParameterError
from onepull.policies import CCB, DCB, UCB1, DoublingCCB, MultiUCB, Policy
from onepull.policies.ucb.ccb import tuned_delta
from onepull.problem import Problem
from onepull.report import Table
from onepull.spaces import Finite
from onepull.theory import (
    Instance,
    doubling_ccb,
    gap_free,
    graves_lai,
    hoeffding_constant,
    index_policy,
    lai_robbins,
    lemma_1,
    multi_ucb,
    numbers_kept,
    theorem_1,
    theorem_1_printed,
    theorem_2,
    theorem_3,
    theorem_4,
    ucb1,
)
from onepull.theory.bounds import LEAST_ALPHA

LEAST_EPSILON, MOST_EPSILON = 1e-6, 10.0
MOST_SHOWN_CONTEXTS = 16  # contexts that are listed
MOST_DIVERGENCES = 2000  # contexts whose divergences are computed
GROWTH = 0.5
N_O = (
    "n_o: the trial from which theorem 2 applies (corrected); before, theorem 1 or n(1-q_j) bounds."
)

Delta = float | Mapping[str, float] | None


def usual_policies(problem: Problem, epsilon: float, delta: Delta) -> dict[str, Policy]:
    """Return the paper's policies for a problem.

    >>> from onepull.environment import energy_harvesting
    >>> list(usual_policies(energy_harvesting().problem, 0.01, 0.1))
    ['UCB1', 'Multi-UCB', 'CCB', 'CCB, unknown T']
    """
    blind: dict[str, Policy] = {"UCB1": UCB1(problem), "Multi-UCB": MultiUCB(problem, delta=delta)}
    if delta is None:
        return {**blind, "DCB": DCB(problem, epsilon=epsilon, beyond_theory=True)}
    told: dict[str, Any] = {"epsilon": epsilon, "beyond_theory": True}
    return {
        **blind,
        "CCB": CCB(problem, delta=delta, **told),
        "CCB, unknown T": DoublingCCB(problem, growth=GROWTH, **told),
    }


def default_delta(environment: Environment, horizon: int) -> Delta:
    """Return δ = T^-1/2 of each width if contexts are intervals, else None.

    >>> from onepull.environment import energy_harvesting
    >>> default_delta(energy_harvesting(), 10**6)
    0.001
    """
    spaces = environment.problem.context.values()
    if all(isinstance(space, Finite) for space in spaces):
        return None
    return tuned_delta(environment.problem, horizon, GROWTH)


def theory_tables(
    environment: Environment,
    policies: Mapping[str, Policy],
    *,
    horizon: int,
    epsilon: float,
    delta: Delta,
) -> list[Table]:
    """Return tables of the problem, its contexts and arms, bounds, limits and storage.

    >>> from onepull.environment import channel_selection
    >>> made = theory_tables(channel_selection(), {}, horizon=1000, epsilon=0.01, delta=None)
    >>> [table.title for table in made][:3]
    ['The problem', 'Contexts', 'Arms']
    """
    if not 2 <= horizon < math.inf:
        raise ParameterError(f"horizon must be a whole number from 2, given {horizon!r}")
    # The constants of theorem 2 are powers of ε and of 1/ε, which overflow beyond.
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise ParameterError(
            f"epsilon must be from {LEAST_EPSILON:g} to {MOST_EPSILON:g}, given {epsilon!r}"
        )
    instance = Instance.of(environment, delta)
    few = len(instance.contexts) <= MOST_SHOWN_CONTEXTS
    found = [_problem(environment, instance, delta)]
    found += [_contexts(environment, instance)] if few else []
    found.append(_arms(instance))
    if instance.is_bounded:
        found.append(_pulls(instance, epsilon, horizon))
        found += [_lemma(environment, instance, epsilon, horizon)] if few else []
        found.append(_regret(environment, instance, epsilon, delta, horizon))
    found.append(_limits(environment, instance, epsilon, delta, horizon))
    return [*found, _storage(policies, horizon)] if policies else found


def _problem(environment: Environment, instance: Instance, delta: Delta) -> Table:
    low, high = instance.bounds
    rows: list[list[Any]] = [
        ["K", "arms", len(instance.arms)],
        ["M", "contexts" if delta is None else "cells", len(instance.contexts)],
        ["p_o", "probability of the rarest context", instance.p_o],
        ["Δ_o", "smallest gap", instance.smallest_gap],
        ["Δ_max", "largest gap", instance.largest_gap],
        ["G", "largest range of a context", float(instance.ranges.max())],
        ["", "range over all contexts", high - low],
    ]
    for name, width in instance.widths.items():
        rows.append([f"δ of {name}", "width of a cell", width])
        constant = environment.problem.payoff.lipschitz[name]
        rows.append([f"L of {name}", f"Lipschitz constant, {constant.how}", constant.value])
    notes = list(instance.notes)
    if instance.arm_ranges is not None and instance.is_bounded:
        rows.insert(6, ["G_ij", "largest range of an arm", float(instance.arm_ranges.max())])
        notes.append("The bounds by gaps use the range G_ij of each arm, the gap-free one G.")
    if not instance.is_bounded:
        notes.append(
            "The reward has no lowest value, so there are no bounds with ranges, only limits."
        )
    return Table("The problem", ["symbol", "meaning", "value"], rows, notes)


def _contexts(environment: Environment, instance: Instance) -> Table:
    box = environment.problem.context
    names = list(box.names) if box.has_fields else []
    rows = []
    for i, context in enumerate(instance.contexts.tolist()):
        best = [arm for arm, gap in zip(instance.arms, instance.gaps[i], strict=True) if gap == 0]
        rows.append(
            [
                *box.fields(context).values(),
                float(instance.probabilities[i]),
                float(instance.ranges[i]),
                float(instance.rewards[i].max()),
                ", ".join(best),
                *instance.gaps[i].tolist(),
            ]
        )
    columns = [*names, "p_i", "G_i", "θ_i*", "best", *(f"Δ of {arm}" for arm in instance.arms)]
    return Table("Contexts", columns, rows)


def _arms(instance: Instance) -> Table:
    never = instance.never_optimal
    positive = np.where(instance.gaps > 0, instance.gaps, np.inf).min(axis=0)
    rows: list[list[Any]] = [
        [
            arm,
            "never" if j in never else "sometimes",
            len(instance.contexts_of(j)),
            float(instance.q[j]),
            float(positive[j]) if np.isfinite(positive[j]) else None,
            float(instance.gaps[:, j].max()),
        ]
        for j, arm in enumerate(instance.arms)
    ]
    columns = ["arm", "optimal", "|𝒴_j|", "q_j", "smallest gap", "largest gap"]
    return Table(
        "Arms",
        columns,
        rows,
        ["|𝒴_j|, q_j: the number and the probability of contexts in which the arm is optimal."],
    )


def _pulls(instance: Instance, epsilon: float, horizon: int) -> Table:
    never = instance.never_optimal
    first = theorem_1_printed(instance, epsilon, horizon), theorem_1(instance, epsilon, horizon)
    second = (
        theorem_2(instance, epsilon, horizon, printed=True).total,
        theorem_2(instance, epsilon, horizon),
    )
    rows: list[list[Any]] = []
    for j, arm in enumerate(instance.arms):
        if j in never:
            rows.append([arm, "theorem 1", float(first[0][j]), float(first[1][j]), None])
        else:
            put_right, start = float(second[1].bound[j]), float(second[1].n_o[j])
            rows.append([arm, "theorem 2", float(second[0][j]), put_right, start])
    return Table(
        f"Non-optimal pulls of DCB({epsilon:g}), n = {horizon:,}",
        ["arm", "by", "printed", "corrected", "n_o"],
        rows,
        [N_O],
    )


def _regret(
    environment: Environment, instance: Instance, epsilon: float, delta: Delta, horizon: int
) -> Table:
    printed, put_right = (
        theorem_3(instance, epsilon, horizon, printed=printed) for printed in (True, False)
    )
    where = "" if delta is None else " on the centres"
    rows: list[list[Any]] = [
        [f"theorem 3{where}: with ln n", printed.leading, put_right.leading],
        [f"theorem 3{where}: the rest", printed.rest, put_right.rest],
        [f"theorem 3{where}", printed.total, put_right.total],
    ]
    problem = environment.problem
    if delta is not None:
        rows.append(["δLT", None, instance.cell_cost * horizon])
        rows.append(["theorem 4", None, theorem_4(environment, epsilon, delta, horizon).total])
    if 2 + epsilon >= LEAST_ALPHA:
        free = gap_free(problem, alpha=2 + epsilon, delta=delta, horizon=horizon)
        rows.append(["gap-free: δLT + 4G√(αKT ln T)", None, free])
        if delta is not None:
            rows.append(
                [
                    "gap-free, doubling",
                    None,
                    doubling_ccb(problem, alpha=2 + epsilon, growth=GROWTH, horizon=horizon),
                ]
            )
    if delta is None:
        rows.append(["Multi-UCB", None, multi_ucb(instance, horizon)])
        least, most = ucb1(instance, horizon)
        rows += [["UCB1, at least", None, least], ["UCB1, at most", None, most]]
    notes = ["printed: without the ranges G. corrected: with them, and with a number for the O(1)."]
    return Table(
        f"Bounds on regret, n = {horizon:,}", ["bound", "printed", "corrected"], rows, notes
    )


def _lemma(environment: Environment, instance: Instance, epsilon: float, horizon: int) -> Table:
    box = environment.problem.context
    printed, put_right = (
        lemma_1(instance, epsilon, horizon, printed=printed).tolist() for printed in (True, False)
    )
    rows = [
        [*box.fields(context).values(), *bounds]
        for context, *bounds in zip(instance.contexts.tolist(), printed, put_right, strict=True)
    ]
    return Table(
        f"Lemma 1: probability that UCB1({epsilon:g}) pulls the optimal arm less than n/K times, "
        f"n = {horizon:,}",
        [*(box.names if box.has_fields else ()), "printed", "corrected"],
        rows,
        ["For each context separately; 1 if n does not meet the condition of the lemma."],
    )


def _limits(
    environment: Environment, instance: Instance, epsilon: float, delta: Delta, horizon: int
) -> Table:
    log, alpha = math.log(horizon), 2 + epsilon
    found: dict[str, Any] = {}
    if len(instance.contexts) <= MOST_DIVERGENCES:
        found["any policy (Graves and Lai)"] = graves_lai(environment, delta)
        found["any index policy"] = index_policy(environment, delta)
        found["policies that share nothing across contexts"] = lai_robbins(environment, delta)
    notes = ["c: as n grows, regret of such policies is at least c ln n."]
    if instance.is_bounded:
        found["widths with α = 1/2"] = hoeffding_constant(instance, 0.5)
        found[f"DCB({epsilon:g}), α = {alpha:g}"] = hoeffding_constant(instance, alpha)
        notes = [f"{notes[0][:-1]}; of the last two about c ln n."]
    rows = [[name, limit.total, limit.total * log] for name, limit in found.items()]
    if delta is not None:
        notes.append(
            "For the cells: with continuous contexts exploration can be arbitrarily cheap."
        )
    return Table(f"Limits, n = {horizon:,}", ["of", "c", "c ln n"], rows, notes)


def _storage(policies: Mapping[str, Policy], horizon: int) -> Table:
    kept = numbers_kept(policies, horizon)
    rows = [[name, numbers, size] for name, (numbers, size) in kept.items()]
    return Table(f"Storage after {horizon:,} trials", ["policy", "numbers", "bytes"], rows)
