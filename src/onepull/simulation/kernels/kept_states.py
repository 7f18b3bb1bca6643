"""The compiled loop of `AdaptiveKL`: kept states, valued by the reward for every request.

The library computes with whole arrays in numpy; a loop in Python over hundreds of states would be
slow.  A kernel needs plain loops, and can do less: where states are listed, those that are equal
are valued once.  What is kept is the same, state by state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.payoff.reward import NARROWEST
from onepull.policies.kept_states.adaptive_kl import AT_FIRST, EXPLORING, FEW_ARMS
from onepull.policies.kept_states.drift import POOLED, STEADY
from onepull.policies.kept_states.memory import FARTHEST
from onepull.simulation.compiled import compiled, inlined
from onepull.simulation.draws import atom, place, show
from onepull.simulation.kernels.kept_bounds import likely_leader
from onepull.simulation.kernels.kept_drift import (
    drifting_cost,
    faded,
    learn,
    recount,
    unexplained,
)
from onepull.simulation.kernels.kept_merging import gather, merge_old, mixed


class Memory(NamedTuple):
    """The states of each arm: `KeptStates` as arrays.

    The points are what is valued: the kept states, or their distinct values if these are listed.
    Arrays of points may be the arrays of states themselves.
    """

    pulls: NDArray[np.int64]
    kept: NDArray[np.int64]
    clock: NDArray[np.int64]  # observations, merges, and whether `counts` are up to date
    atoms: NDArray[np.int64]  # [arm, state]: the listed value of each state, if any
    stands_for: Array
    seen_at: NDArray[np.int64]
    counts: Array  # [arm, for the mean or the deviation, state]
    columns: Array  # [arm, field of the context or the outcome, point]
    points: NDArray[np.int64]  # how many there are for each arm
    weights: Array  # [arm, point]
    point_counts: Array  # [arm, for the mean or the deviation, point]


class Known(NamedTuple):
    """What is known before the first pull, and tables of listed values."""

    tracked: Array  # [field, context]: the contexts in which predictions are compared
    of_atoms: Array  # [arm, atom, context]: rewards there; empty if states are not listed
    rewards: Array  # [context, arm, atom]; empty if one of them is not listed
    atom_of: NDArray[np.int64]  # of each row of the laws
    tops: Array  # [cell, arm], or one column for all arms
    unit: float
    is_joined: bool  # points are listed values
    adapts: bool


@compiled
def kept_states(
    stretch: Any,
    chosen: Any,
    memory: Any,
    filters: Any,
    search: Any,
    known: Any,
    cells: Any,
    laws: Any,
    g: Any,
) -> None:
    """Run `AdaptiveKL` through a stretch of trials; `cells` are rows of the tops."""
    first, key, rows, contexts = stretch.first, stretch.key, stretch.rows, stretch.contexts
    pulls, clock = memory.pulls, memory.clock
    arms, room = memory.weights.shape
    fields = contexts.shape[1]
    is_listed = known.atom_of.size > 0
    share = FEW_ARMS / arms
    written = np.zeros((arms, room))
    means, errors, noise = np.zeros(arms), np.zeros(arms), np.zeros(arms)
    shown = np.zeros(laws.rows.shape[1])
    tracked = np.zeros((memory.columns.shape[1], known.tracked.shape[1]))
    for f in range(fields):
        for c in range(tracked.shape[1]):
            tracked[f, c] = known.tracked[f, c]
    told = np.zeros(tracked.shape[1])
    for i in range(chosen.size):
        trial = clock[0]
        explores = share >= 1.0 or trial < AT_FIRST or mixed(EXPLORING, trial) < share
        best = -1
        if explores:
            for j in range(arms):
                if pulls[j] == 0:
                    best = j
                    break
        if best < 0:
            values = written
            if known.rewards.size > 0 and known.is_joined:
                values = known.rewards[rows[i]]
            else:
                value_points(memory, known, rows[i], contexts[i], g, written)
            tops = known.tops[cells[i]]
            if explores and clock[2] == 0:
                best = likely_leader(
                    values, memory.weights, memory.points, pulls, tops, trial, search
                )
            else:
                estimate(memory, filters, values, trial, means)
                if explores:
                    best = drifting_leader(memory, filters, values, trial, means, errors, noise)
                else:
                    best = leading_estimate(means, pulls)
        chosen[i] = best
        # What the pull shows
        at_arm, at = place(first + i, arms, best), -1
        if is_listed:
            row = atom(
                laws.start[best], laws.size[best], laws.ordered[best], laws.keep, laws.alias, key,
                at_arm, first + i,
            )  # fmt: skip
            at = known.atom_of[row]
            for f in range(shown.size):
                shown[f] = laws.rows[row, f]
        else:
            show(laws, best, key, at_arm, first + i, shown)
        if known.adapts:
            if is_listed:
                for c in range(told.size):
                    told[c] = known.of_atoms[best, at, c]
            else:
                for f in range(shown.size):
                    for c in range(told.size):
                        tracked[fields + f, c] = shown[f]
                g(tracked, told)
            for c in range(told.size):
                told[c] = min(max(told[c] * known.unit, -FARTHEST), FARTHEST)
        keep_state(memory, filters, known, best, at, shown, told, g)


@inlined
def value_points(memory: Any, known: Any, row: Any, context: Any, g: Any, values: Any) -> None:
    """Write the reward of every arm's points in a context."""
    for j in range(memory.pulls.size):
        count = memory.points[j]
        if known.rewards.size > 0:
            for s in range(count):
                values[j, s] = known.rewards[row, j, memory.atoms[j, s]]
        elif count > 0:
            for f in range(context.size):
                for s in range(count):
                    memory.columns[j, f, s] = context[f]
            g(memory.columns[j], values[j, :count])


@compiled
def keep_state(
    memory: Any, filters: Any, known: Any, arm: Any, at: Any, shown: Any, told: Any, g: Any
) -> None:
    """Keep the state of a pull, and let the filters learn its rewards."""
    clock = memory.clock
    slot = memory.kept[arm]
    if slot == memory.stands_for.shape[1]:
        merge_old(memory, known, arm, g)
        slot = memory.kept[arm]
        if known.is_joined:
            gather(memory, arm)
    trial = clock[0]
    memory.stands_for[arm, slot] = 1.0
    memory.seen_at[arm, slot] = trial
    memory.atoms[arm, slot] = at
    memory.kept[arm] = slot + 1
    memory.pulls[arm] += 1
    clock[0] = trial + 1
    if known.is_joined:
        memory.weights[arm, at] += 1.0
    else:
        first = memory.columns.shape[1] - shown.size
        for f in range(shown.size):
            memory.columns[arm, first + f, slot] = shown[f]
    if not known.adapts:
        return
    before = filters.chosen[0]
    learn(filters, arm, trial, told)
    q = filters.chosen[0]
    if q == STEADY:
        clock[2] = 0
        return
    if q != before or clock[2] == 0:
        clock[2] = 1
        gains = np.zeros((3, memory.stands_for.shape[1]))
        for j in range(memory.pulls.size):
            recount(
                q, memory.kept[j], memory.stands_for[j], memory.seen_at[j], memory.counts[j], gains
            )
            if known.is_joined:
                gather(memory, j)
        return
    gain, more, left = filters.gains[0, q], filters.gains[1, q], filters.gains[2, q]
    counts = memory.counts[arm]
    for s in range(slot):
        predicted = counts[0, s] + left * counts[1, s]
        counts[0, s] -= gain * predicted
        counts[1, s] = left * counts[1, s] - more * predicted
    counts[0, slot], counts[1, slot] = gain, more
    if known.is_joined:
        gather(memory, arm)


@inlined
def estimate(memory: Any, filters: Any, values: Any, trial: Any, means: Any) -> None:
    """Write the estimate of every arm that was observed."""
    for j in range(means.size):
        means[j] = -np.inf
        if memory.pulls[j] == 0:
            continue
        weights = memory.weights[j]
        total = 0.0
        if memory.clock[2] == 0:
            for s in range(memory.points[j]):
                total += values[j, s] * weights[s]
            means[j] = total / memory.pulls[j]
            continue
        left, _ = faded(filters, j, trial)
        counts = memory.point_counts[j]
        low, high = np.inf, -np.inf
        for s in range(memory.points[j]):
            if weights[s] > 0.0:
                value = values[j, s]
                low, high = min(low, value), max(high, value)
                total += value * (counts[0, s] + left * counts[1, s])
        means[j] = min(max(total, low), high)  # weights below 0 may lead outside


@inlined
def leading_estimate(means: Any, pulls: Any) -> Any:
    """Return the arm with the best estimate; of equal ones the most pulled."""
    best = 0
    for j in range(1, means.size):
        if means[j] > means[best] or (means[j] == means[best] and pulls[j] > pulls[best]):
            best = j
    return best


@compiled
def drifting_leader(
    memory: Any, filters: Any, values: Any, trial: Any, means: Any, errors: Any, noise: Any
) -> Any:
    """Return the arm to play if arms change; `errors` and `noise` are scratch."""
    arms = means.size
    leader, lowest, farthest = 0, means[0], 0.0
    for j in range(arms):
        if means[j] > means[leader]:
            leader = j
        lowest = min(lowest, means[j])
        total = 0.0
        for s in range(memory.points[j]):
            total += values[j, s] * memory.weights[j, s]
        noise[j] = total / memory.pulls[j]
        for s in range(memory.points[j]):
            if memory.weights[j, s] > 0.0:
                farthest = max(farthest, abs(values[j, s] - noise[j]))
    unit = max(farthest, means[leader] - lowest, NARROWEST)
    all_squares, all_numbers = 0.0, 0.0
    for j in range(arms):
        squares = 0.0
        for s in range(memory.points[j]):
            apart = (values[j, s] - noise[j]) / unit
            squares += memory.weights[j, s] * apart * apart
        _, errors[j] = faded(filters, j, trial)
        noise[j] = squares * unexplained(filters, j)
        all_squares += noise[j]
        all_numbers += filters.compared[j]
    pooled = all_squares / max(all_numbers, 1.0)
    lead = means[leader] / unit
    least = drifting_cost(lead, lead, errors[leader], 1.0, 1.0, arms)
    best, highest = 0, -np.inf
    for j in range(arms):
        freedom = POOLED + filters.compared[j]
        own = (POOLED * pooled + noise[j]) / freedom
        cost = drifting_cost(means[j] / unit, lead, errors[j], own, freedom, arms)
        score = means[leader] + np.sqrt(pooled) * (least - cost) * unit
        if not score >= means[j]:  # also if it is no number
            score = means[j]
        if score > highest or (score == highest and memory.pulls[j] < memory.pulls[best]):
            best, highest = j, score
    return best
