"""The compiled loop of CoarseKL, which learns from sets of states.

Its linear algebra is loops.  The library uses numpy and LAPACK, which round differently.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.environment.environment import Environment
from onepull.index import rules
from onepull.index import set_likelihood as coarsened
from onepull.index.empirical_likelihood import exploration
from onepull.index.set_likelihood import UNKNOWN_BOUND
from onepull.policies import CoarseKL
from onepull.policies.hidden_states.level_groups import (
    alike,
    best_of_groups,
    bound_of_groups,
    group_levels,
    sets_of_groups,
)
from onepull.policies.hidden_states.told_sets import LevelSet
from onepull.policies.linear.ridge import cholesky
from onepull.simulation.compiled import compiled, inlined, overload, reachable
from onepull.simulation.draws import atom, place
from onepull.simulation.prepared import Arms, FunctionRunner, Prepared, Runner
from onepull.simulation.trials import Stretch
from onepull.simulation.world import World, WorldTables, lists_everything

factorise = inlined(cholesky)
risk_at = inlined(exploration)

reachable(
    coarsened.penalised_likelihood,
    coarsened.settled_shares,
    coarsened.likely_shares,
    coarsened.log_likelihood,
    coarsened.coarse_bound,
    rules.comes_before,
    alike,
    best_of_groups,
    bound_of_groups,
    group_levels,
    sets_of_groups,
)
cap_of = inlined(coarsened.bound_cap)
leader = inlined(coarsened.leading_bound)
likely_shares = coarsened.likely_shares


# Linear algebra as loops: compiling the calls of numpy would need scipy.


@overload(coarsened.weighted_sum)
def _weighted_sum(weights: Any, values: Any) -> Any:
    del weights, values

    def weighted_sum(weights: Any, values: Any) -> Any:
        found = 0.0
        for s in range(weights.size):
            found += weights[s] * values[s]
        return found

    return weighted_sum


@overload(coarsened.mixtures)
def _mixtures(rates: Any, shares: Any) -> Any:
    del rates, shares

    def mixtures(rates: Any, shares: Any) -> Any:
        sets, groups = rates.shape
        found = np.zeros(sets)
        for d in range(sets):
            for s in range(groups):
                found[d] += rates[d, s] * shares[s]
        return found

    return mixtures


@overload(coarsened.tangent)
def _tangent(rates: Any, counts: Any, likely: Any) -> Any:
    del rates, counts, likely

    def tangent(rates: Any, counts: Any, likely: Any) -> Any:
        sets, groups = rates.shape
        slope, bend = np.zeros(groups), np.zeros((groups, groups))
        for d in range(sets):
            for s in range(groups):
                rate = rates[d, s] / likely[d]
                part = counts[d] * rate
                if part != 0.0:
                    slope[s] += part
                    for r in range(s + 1):
                        bend[s, r] += part * rates[d, r] / likely[d]
        for s in range(groups):
            for r in range(s):
                bend[r, s] = bend[s, r]
        return slope, bend

    return tangent


@overload(coarsened.solved)
def _solved(matrix: Any, vector: Any) -> Any:
    """Solve by Cholesky factorisation."""
    del matrix, vector

    def solved(matrix: Any, vector: Any) -> Any:
        count = vector.size
        factor, found = np.empty(matrix.shape), vector.copy()
        factorise(matrix, 0.0, factor)
        for k in range(count):
            for r in range(k):
                found[k] -= factor[k, r] * found[r]
            found[k] /= factor[k, k]
        for k in range(count - 1, -1, -1):
            for r in range(k + 1, count):
                found[k] -= factor[r, k] * found[r]
            found[k] /= factor[k, k]
        return found

    return solved


class SetTotals(NamedTuple):
    """How often each arm showed each set, and what was computed from these counts."""

    seen: Array  # [arm, set]
    pulls: NDArray[np.int64]
    trials: NDArray[np.int64]
    group: NDArray[np.int64]  # [arm, level]
    groups: NDArray[np.int64]
    law: Array  # [arm, group]
    is_stale: NDArray[np.bool_]  # whether an arm was pulled since its law was computed
    bound: Array  # [arm, context]
    rise: Array
    risk: Array


class SetTables(NamedTuple):
    """The sets and rewards of the atoms of contexts and states."""

    told: Array  # [set, level]
    shown: NDArray[np.int64]  # the set observed for each context and state
    highs: Array  # [context, arm, level], the highest reward
    tops: Array  # [context, arm]


# The search is inlined: a kernel that passes a function on is kept on disk only then.  The bound
# is not: it would be inlined with all that it calls.
@numba.njit(error_model="numpy", forceinline=False)
def bound_by_sets(j: Any, row: Any, risk: Any, counts: Any, tables: Any) -> Any:
    """Return an arm's bound in a context, and remember it."""
    sets = np.flatnonzero(counts.seen[j])
    told = np.empty((sets.size, tables.told.shape[1]))
    for d in range(sets.size):
        told[d] = tables.told[sets[d]]
    group, seen = counts.group[j], counts.seen[j][sets]
    if counts.is_stale[j]:
        counts.groups[j] = group_levels(told, group)
    groups = counts.groups[j]
    apart = sets_of_groups(told, group, groups)
    if counts.is_stale[j]:
        counts.law[j, :groups] = likely_shares(apart, seen)
        counts.is_stale[j] = False
    law = counts.law[j, :groups].copy()
    found, rise = bound_of_groups(
        apart, seen, group, law, tables.highs[row, j], tables.tops[row, j], risk
    )
    counts.bound[j, row], counts.rise[j, row], counts.risk[j, row] = found, rise, risk
    return found


@compiled
def coarse(
    stretch: Any, chosen: Any, counts: Any, tables: Any, c: Any, head_start: Any, laws: Any
) -> None:
    """Run CoarseKL through a stretch of trials."""
    first, key, rows = stretch.first, stretch.key, stretch.rows
    start, count, ordered = laws.start, laws.size, laws.ordered
    keep, alias = laws.keep, laws.alias
    pulls, bound, rise = counts.pulls, counts.bound, counts.rise
    trials = counts.trials[0]
    arms = pulls.size
    caps = np.empty(arms)
    for i in range(rows.size):
        row = rows[i]
        trials += 1
        trial = first + i
        risk = risk_at(trials + head_start, c)
        for j in range(arms):
            caps[j] = cap_of(bound[j, row], rise[j, row], counts.risk[j, row], risk)
        best = leader(caps, pulls, bound_by_sets, row, risk, counts, tables)
        chosen[i] = best
        at_arm = place(trial, arms, best)
        drawn = atom(start[best], count[best], ordered[best], keep, alias, key, at_arm, trial)
        counts.seen[best, tables.shown[row, drawn]] += 1.0
        pulls[best] += 1
        counts.is_stale[best] = True
        bound[best, :], rise[best, :], counts.risk[best, :] = UNKNOWN_BOUND
    counts.trials[0] = trials


class PreparedCoarse(Prepared):
    """CoarseKL made ready for an environment whose contexts and states have atoms."""

    def __init__(self, policy: CoarseKL, *, sees_states: bool) -> None:
        self.policy = policy
        self.sees_states = sees_states
        self.readings = policy.sightings.readings
        self.nanoseconds = 120_000.0  # more if many levels are distinguished
        self._listed = WorldTables(self._tables)

    @staticmethod
    def fits(environment: Environment) -> bool:
        """Return whether all contexts and states can be listed and their laws never change."""
        return len(environment.pieces()) == 1 and lists_everything(environment)

    def begin(self, own_key: int) -> Runner:
        """Return a runner without observations."""
        del own_key
        known: list[SetTotals] = []

        def run(stretch: Stretch, world: World, chosen: Arms) -> None:
            tables = self._listed.of(world)
            if not known:
                known.append(self._nothing(tables))
            coarse(
                stretch, chosen, known[0], tables, self.policy.c, self.policy.head_start,
                world.states,
            )  # fmt: skip

        return FunctionRunner(run)

    def _nothing(self, tables: SetTables) -> SetTotals:
        arms, contexts = len(self.policy.problem.arms), len(tables.tops)
        sets, levels = tables.told.shape
        return SetTotals(
            np.zeros((arms, sets)),
            np.zeros(arms, np.int64),
            np.zeros(1, np.int64),
            np.zeros((arms, levels), np.int64),
            np.zeros(arms, np.int64),
            np.zeros((arms, levels)),
            np.ones(arms, np.bool_),
            *(np.full((arms, contexts), number) for number in UNKNOWN_BOUND),
        )

    def _tables(self, world: World) -> SetTables:
        assert world.contexts is not None  # noqa: S101 - `fits` has checked
        contexts = [tuple(context) for context in world.contexts.tolist()]
        states = [tuple(state) for state in world.states.rows.tolist()]
        shown = [
            [self._told(context, state, reward) for state, reward in zip(states, row, strict=True)]
            for context, row in zip(contexts, world.rewards().tolist(), strict=True)
        ]
        sets = sorted({levels for row in shown for levels in row})
        position = {levels: d for d, levels in enumerate(sets)}
        told = np.zeros((len(sets), self.readings.count))
        for d, levels in enumerate(sets):
            told[d, list(levels)] = 1.0
        known = self.policy.problem.known
        outlooks = [
            [self.readings.outlook(context, each) for each in known] for context in contexts
        ]
        return SetTables(
            told,
            np.array([[position[levels] for levels in row] for row in shown], np.int64),
            np.array([[outlook.highs for outlook in row] for row in outlooks]),
            np.array([[outlook.top for outlook in row] for row in outlooks]),
        )

    def _told(
        self, context: tuple[float, ...], state: tuple[float, ...], reward: float
    ) -> LevelSet:
        problem = self.policy.problem
        if self.sees_states or (problem.failure is not None and state[-1] > 0.0):
            return self.readings.of_state(state)
        return self.readings.told(context, reward, state[: len(problem.known[0])])
