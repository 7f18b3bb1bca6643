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
from onepull.index import kept_likelihood
from onepull.payoff.reward import NARROWEST
from onepull.policies.kept_states import counting
from onepull.policies.kept_states.adaptive_kl import (
    EXPLORING,
    MEAN_ROUNDING,
)
from onepull.policies.kept_states.drift import POOLED, STEADY
from onepull.policies.kept_states.merging import FARTHEST
from onepull.simulation.compiled import compiled, inlined
from onepull.simulation.draws import atom, place, show
from onepull.simulation.kernels.kept_bounds import Elsewhere, comes_before, likely_leader
from onepull.simulation.kernels.kept_drift import (
    drifting_cost,
    faded,
    learn,
    recount,
    unexplained,
)
from onepull.simulation.kernels.kept_merging import gather, merge_old, mixed
from onepull.statistics import arm_statistics

shrunk = inlined(kept_likelihood.shrunk)
is_tried = inlined(arm_statistics.is_tried)
replayed = inlined(counting.replayed)
share_exploring = inlined(kept_likelihood.share_exploring)


class Memory(NamedTuple):
    """The states of each arm: `KeptStates` as arrays.

    The points are what is valued: the kept states, or their distinct values if these are listed.
    Arrays of points may be the arrays of states themselves.  So may `counted` be `pulls`, if no
    pull in flight counts.
    """

    pulls: NDArray[np.int64]
    counted: NDArray[np.int64]  # the pulls of each arm with those in flight
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
    means: Array  # [arm, tracked context]


class Known(NamedTuple):
    """What is known before the first pull, and tables of listed values."""

    tracked: Array  # [field, context]: the contexts in which predictions are compared
    atoms: Array  # [arm, atom, field]: the listed outcomes; empty if one is not listed
    of_atoms: Array  # [arm, atom, tracked context]: their rewards
    rewards: Array  # [context, arm, atom]; empty if one of them is not listed
    atom_of: NDArray[np.int64]  # of each row of the laws
    failed: Array  # [arm, field]: the outcome of a pull that failed; empty if none may fail
    tops: Array  # [cell, arm], or one column for all arms
    unit: float
    is_joined: bool  # points are listed values
    adapts: bool


@compiled
def kept_states(
    stretch: Any, chosen: Any, memory: Any, filters: Any, search: Any, known: Any, cells: Any,
    laws: Any, g: Any,
) -> None:  # fmt: skip
    """Run `AdaptiveKL` through a stretch of trials; `cells` are rows of the tops."""
    arms, room = memory.weights.shape
    values, scratch = np.zeros((arms, room)), np.zeros((3, arms))
    some = np.zeros(arms, np.int64)
    shown, told = np.zeros(laws.rows.shape[1]), np.zeros(known.tracked.shape[1])
    tracked = tracked_columns(known, shown.size)
    for i in range(chosen.size):
        best = decide(
            memory, filters, search, known, memory.clock[0], stretch.rows[i], stretch.contexts[i],
            known.tops[cells[i]], g, values, scratch, some, told,
        )  # fmt: skip
        chosen[i] = best
        at = look(stretch.key, stretch.first + i, best, arms, laws, known, shown)
        value_tracked(known, best, at, shown, tracked, g, told)
        keep_state(memory, filters, known, best, at, shown, told, g)


@inlined
def untried(memory: Any, trial: Any) -> Any:
    """Return the arm without an answer that is to be tried now, -1 if there is none."""
    best, answers = -1, 0
    for j in range(memory.pulls.size):
        answers += memory.pulls[j]
        if memory.pulls[j] == 0 and (
            best < 0 or comes_before(j, memory.counted[j], best, memory.counted[best], True)
        ):
            best = j
    # Without any answer there is nothing else to do.
    return best if best < 0 or answers == 0 or is_tried(memory.counted[best], trial) else -1


@inlined
def answered(pulls: Any, arms: Any) -> Any:
    """Return the arms that have answered, after writing them into `arms`."""
    count = 0
    for j in range(pulls.size):
        if pulls[j] > 0:
            arms[count] = j
            count += 1
    return arms[:count]


@compiled
def decide(
    memory: Any,
    filters: Any,
    search: Any,
    known: Any,
    trial: Any,
    row: Any,
    context: Any,
    tops: Any,
    g: Any,
    written: Any,
    scratch: Any,
    some: Any,
    told: Any,
) -> Any:
    """Return the arm to play in a context; `some` and `told` are scratch, too.

    `trial` is the number of pulls that count: observed, and in flight if these are announced.
    """
    arms = memory.pulls.size
    share = share_exploring(trial, arms)
    explores = share >= 1.0 or mixed(EXPLORING, trial) < share
    explores = explores or memory.clock[0] == 0
    best = untried(memory, trial) if explores else -1
    if best >= 0:
        return best
    allowed = answered(memory.pulls, some)
    if known.is_joined and known.rewards.size > 0:
        values = known.rewards[row]
    else:
        values = written
        value_points(memory, known, row, context, g, values)
    if explores and memory.clock[2] == 0:
        elsewhere = Elsewhere(memory.means, known.unit, told)
        return likely_leader(
            values, memory.weights, memory.points, memory.pulls, memory.counted, tops, trial,
            elsewhere, allowed, search,
        )  # fmt: skip
    means = scratch[0]
    estimate(memory, filters, values, means)
    if explores:
        return drifting_leader(memory, filters, values, allowed, means, scratch[1], scratch[2])
    shrink(means, memory.pulls)
    return leading_estimate(means, memory.counted)


@inlined
def look(key: Any, trial: Any, arm: Any, arms: Any, laws: Any, known: Any, shown: Any) -> Any:
    """Write what a pull shows; return its listed value, -1 if there is none."""
    at_arm = place(trial, arms, arm)
    if known.atom_of.size == 0:
        show(laws, arm, key, at_arm, trial, shown)
        if known.failed.size > 0 and shown[shown.size - 1] > 0.0:
            for f in range(shown.size):
                shown[f] = known.failed[arm, f]
        return -1
    start, count, ordered = laws.start[arm], laws.size[arm], laws.ordered[arm]
    at = known.atom_of[atom(start, count, ordered, laws.keep, laws.alias, key, at_arm, trial)]
    for f in range(shown.size):
        shown[f] = known.atoms[arm, at, f]
    return at


@inlined
def tracked_columns(known: Any, more: Any) -> Any:
    """Return the tracked contexts as columns, with room for `more` fields of an outcome."""
    fields, contexts = known.tracked.shape
    columns = np.zeros((fields + more, contexts))
    for f in range(fields):
        for c in range(contexts):
            columns[f, c] = known.tracked[f, c]
    return columns


@inlined
def value_tracked(
    known: Any, arm: Any, at: Any, shown: Any, columns: Any, g: Any, told: Any
) -> None:
    """Write the rewards of an outcome in the tracked contexts, as the filters take them in."""
    if at >= 0:
        for c in range(told.size):
            told[c] = known.of_atoms[arm, at, c]
    else:
        first = columns.shape[0] - shown.size
        for f in range(shown.size):
            for c in range(told.size):
                columns[first + f, c] = shown[f]
        g(columns, told)
    for c in range(told.size):
        told[c] = min(max(told[c] * known.unit, -FARTHEST), FARTHEST)


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
    for c in range(told.size):
        memory.means[arm, c] += (told[c] - memory.means[arm, c]) * (1.0 / memory.pulls[arm])
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
    if filters.chosen[0] == STEADY:
        clock[2] = 0
    elif filters.chosen[0] != before or clock[2] == 0:
        clock[2] = 1
        count_again(memory, filters, known)
    else:
        count_new(memory, filters, arm, slot)
        if known.is_joined:
            gather(memory, arm)


@inlined
def count_again(memory: Any, filters: Any, known: Any) -> None:
    """Compute how much every state counts under the chosen candidate."""
    lefts = np.zeros(memory.stands_for.shape[1])
    again = replayed(memory.pulls.size)
    for j in range(memory.pulls.size):
        recount(
            filters.chosen[0], memory.kept[j], again, memory.stands_for[j], memory.seen_at[j],
            memory.counts[j], lefts,
        )  # fmt: skip
        if known.is_joined:
            gather(memory, j)


@inlined
def count_new(memory: Any, filters: Any, arm: Any, slot: Any) -> None:
    """Let an arm's newest state count, and the others less."""
    q = filters.chosen[0]
    gain, more, left = filters.gains[0, q], filters.gains[1, q], filters.gains[2, q]
    counts = memory.counts[arm]
    for s in range(slot):
        predicted = counts[0, s] + left * counts[1, s]
        counts[0, s] -= gain * predicted
        counts[1, s] = left * counts[1, s] - more * predicted
    counts[0, slot], counts[1, slot] = gain, more


@inlined
def estimate(memory: Any, filters: Any, values: Any, means: Any) -> None:
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
        left, _ = faded(filters, j, memory.clock[0])
        counts = memory.point_counts[j]
        low, high = np.inf, -np.inf
        for s in range(memory.points[j]):
            if weights[s] > 0.0:
                value = values[j, s]
                low, high = min(low, value), max(high, value)
                total += value * (counts[0, s] + left * counts[1, s])
        means[j] = min(max(total, low), high)  # weights below 0 may lead outside


@inlined
def shrink(means: Any, pulls: Any) -> None:
    """Let the mean of all pulls count as one more observation of each arm that has answered."""
    total = 0.0
    for j in range(means.size):
        total += pulls[j]
    middle, best = 0.0, -np.inf
    for j in range(means.size):
        if pulls[j] > 0:
            middle += means[j] * (pulls[j] / total)
            best = max(best, means[j])
    middle = min(middle, best)
    for j in range(means.size):
        if pulls[j] > 0:
            means[j] = shrunk(means[j], pulls[j], middle)


@inlined
def leading_estimate(means: Any, counted: Any) -> Any:
    """Return the arm with the best estimate; of equal ones the most pulled."""
    best = 0
    for j in range(1, means.size):
        is_equal = means[j] == means[best]
        is_first = comes_before(j, -counted[j], best, -counted[best], True)
        if means[j] > means[best] or (is_equal and is_first):
            best = j
    return best


@compiled
def drifting_leader(
    memory: Any, filters: Any, values: Any, allowed: Any, means: Any, errors: Any, noise: Any
) -> Any:
    """Return the allowed arm to play if arms change; `errors` and `noise` are scratch."""
    arms, counted = allowed.size, memory.counted
    leader, farthest = allowed[0], 0.0
    lowest = means[leader]
    for j in allowed:
        if means[j] > means[leader]:
            leader = j
        lowest = min(lowest, means[j])
        noise[j], apart = scattered(values[j], memory.weights[j], memory.points[j])
        farthest = max(farthest, apart)
    least = MEAN_ROUNDING * max(-lowest, means[leader])
    unit = max(farthest, means[leader] - lowest, least, NARROWEST)
    all_squares, all_numbers = 0.0, 0.0
    for j in allowed:
        squares = 0.0
        for s in range(memory.points[j]):
            apart = (values[j, s] - noise[j]) / unit
            squares += memory.weights[j, s] * apart * apart
        _, errors[j] = faded(filters, j, memory.clock[0])
        noise[j] = squares * unexplained(filters, j)
        all_squares += noise[j]
        all_numbers += filters.compared[j]
    pooled = all_squares / max(all_numbers, 1.0)
    lead = means[leader]
    waiting = counted[leader] - memory.pulls[leader]
    cheapest = drifting_cost(0.0, errors[leader], waiting, 1.0, 1.0, arms)
    best, highest = allowed[0], -np.inf
    for j in allowed:
        waiting = counted[j] - memory.pulls[j]
        freedom = POOLED + filters.compared[j]
        own = (POOLED * pooled + noise[j]) / freedom
        cost = drifting_cost((lead - means[j]) / unit, errors[j], waiting, own, freedom, arms)
        score = lead + np.sqrt(pooled) * unit * (cheapest - cost)
        if not score >= means[j]:  # also if it is no number
            score = means[j]
        is_first = comes_before(j, counted[j], best, counted[best], True)
        if score > highest or (score == highest and is_first):
            best, highest = j, score
    return best


@inlined
def scattered(values: Any, weights: Any, count: Any) -> Any:
    """Return the mean of weighted values, and how far the farthest is from it."""
    total, number = 0.0, 0.0
    low, high = np.inf, -np.inf
    for s in range(count):
        if weights[s] > 0.0:
            total += values[s] * weights[s]
            number += weights[s]
            low, high = min(low, values[s]), max(high, values[s])
    mean = total / number
    return mean, max(high - mean, mean - low)
