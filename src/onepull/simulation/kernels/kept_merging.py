"""Merging old states, as `KeptStates` does it, as plain loops for compiled code.

`policies/kept_states/merging.py` has the same step in numpy, which makes it fast in CPython.  Here
loops are faster: calls of numpy would allocate arrays, and its sort takes ten times as long to
compile.  The loops add in another order, so sums agree to rounding only; tests compare both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepull.payoff.reward import NARROWEST
from onepull.policies.kept_states.merging import FARTHEST, NEVER_MERGED
from onepull.simulation.compiled import compiled, inlined
from onepull.simulation.draws import ASIDE, FIRST_FACTOR, GOLDEN, SCALE, SECOND_FACTOR


@inlined
def mixed(key: Any, counter: Any) -> Any:
    """Return the number in [0, 1) that `uniform` of the library gives."""
    z = np.uint64(key) * GOLDEN + np.uint64(counter) * ASIDE
    z = (z ^ (z >> np.uint64(30))) * FIRST_FACTOR
    z = (z ^ (z >> np.uint64(27))) * SECOND_FACTOR
    return np.float64(np.int64((z ^ (z >> np.uint64(31))) >> np.uint64(11))) * SCALE


@inlined
def gather(memory: Any, arm: Any) -> None:
    """Add up how much the states of an arm with the same listed value count."""
    weights, counts = memory.weights[arm], memory.point_counts[arm]
    for p in range(weights.size):
        weights[p] = 0.0
        counts[0, p] = 0.0
        counts[1, p] = 0.0
    for s in range(memory.kept[arm]):
        p = memory.atoms[arm, s]
        weights[p] += memory.stands_for[arm, s]
        counts[0, p] += memory.counts[arm, 0, s]
        counts[1, p] += memory.counts[arm, 1, s]


@inlined
def sort(keys: Any, order: Any, spare: Any) -> None:
    """Put 0, 1, … in the order of the first row of keys, then of the next; equal ones stay.

    It compiles in a tenth of the time of numpy's, and what is sorted is short.
    """
    count, width = order.size, 1
    while width < count:
        for first in range(0, count, 2 * width):
            middle, end = min(first + width, count), min(first + 2 * width, count)
            a, b = first, middle
            for place in range(first, end):
                if b >= end or (a < middle and not comes_later(keys, order[a], order[b])):
                    spare[place] = order[a]
                    a += 1
                else:
                    spare[place] = order[b]
                    b += 1
        for place in range(count):
            order[place] = spare[place]
        width *= 2


@inlined
def comes_later(keys: Any, one: Any, two: Any) -> Any:
    """Whether the first of two columns has greater keys."""
    for k in range(keys.shape[0]):
        if keys[k, one] != keys[k, two]:
            return keys[k, one] > keys[k, two]
    return False


@compiled
def merge_old(memory: Any, known: Any, arm: Any, g: Any) -> None:
    """Merge a quarter of the older states of an arm into neighbours of nearly the same reward."""
    kept, room = memory.kept[arm], memory.stands_for.shape[1]
    old = kept - min(NEVER_MERGED, room // 2)
    contexts = known.tracked.shape[1]
    merges = memory.clock[1]
    memory.clock[1] = merges + 1
    rewards = np.zeros((contexts, old))
    value_old(memory, known, arm, g, rewards)
    keys = old_states(memory, known, arm, old)
    for s in range(old):
        keys[0, s] = keys[2, s] if known.failed.size > 0 else 0.0  # the last number of a state
        keys[1, s] = rewards[merges % contexts, s]
    order, ranked, spare = np.arange(old), np.arange(old - 1), np.zeros(old, np.int64)
    sort(keys, order, spare)
    sort(added(keys, rewards, order, memory.stands_for[arm], known.unit), ranked, spare)
    is_taken, is_left = np.zeros(old, np.bool_), np.ones(kept, np.bool_)
    wanted = max(1, old // 4)
    for i in range(old - 1):
        p = ranked[i]
        is_alike = keys[0, order[p]] == keys[0, order[p + 1]]
        if wanted > 0 and is_alike and not is_taken[p] and not is_taken[p + 1]:
            is_taken[p] = is_taken[p + 1] = True
            is_left[join(memory, arm, order[p], order[p + 1], mixed(merges + 1, p))] = False
            wanted -= 1
    close_up(memory, known, arm, is_left)


@inlined
def value_old(memory: Any, known: Any, arm: Any, g: Any, rewards: Any) -> None:
    """Write the rewards of the oldest states of an arm in the tracked contexts."""
    columns = memory.columns[arm]
    for c in range(rewards.shape[0]):
        if known.of_atoms.size > 0:
            for s in range(rewards.shape[1]):
                rewards[c, s] = known.of_atoms[arm, memory.atoms[arm, s], c]
        else:
            for f in range(known.tracked.shape[0]):
                for s in range(rewards.shape[1]):
                    columns[f, s] = known.tracked[f, c]
            g(columns, rewards[c])


@inlined
def old_states(memory: Any, known: Any, arm: Any, old: Any) -> Any:
    """Return the fields of the oldest states, the last first, after two rows for other keys."""
    columns = memory.columns[arm]
    fields = columns.shape[0] - known.tracked.shape[0]
    keys = np.zeros((2 + fields, old))
    for s in range(old):
        p = memory.atoms[arm, s] if known.is_joined else s
        for f in range(fields):
            keys[2 + f, s] = columns[columns.shape[0] - 1 - f, p]
    return keys


@inlined
def added(keys: Any, rewards: Any, order: Any, weights: Any, unit: Any) -> Any:
    """Return what merging of neighbours adds to the variance, and how far apart they are."""
    found = np.zeros((2, order.size - 1))
    scales = np.zeros(keys.shape[0])
    for k in range(2, keys.shape[0]):
        scales[k] = max(0.5 * keys[k].max() - 0.5 * keys[k].min(), NARROWEST)
    for p in range(order.size - 1):
        one, two = order[p], order[p + 1]
        total = 0.0
        for c in range(rewards.shape[0]):
            apart = (rewards[c, two] - rewards[c, one]) * unit
            apart = min(max(apart, -FARTHEST), FARTHEST)
            total += apart * apart
        both = weights[two] * weights[one]
        found[0, p] = both * total
        total = 0.0
        for k in range(keys.shape[0] - 1, 1, -1):
            step = (0.5 * keys[k, two] - 0.5 * keys[k, one]) / scales[k]
            total += step * step
        found[1, p] = both * total
    return found


@inlined
def join(memory: Any, arm: Any, one: Any, two: Any, u: Any) -> Any:
    """Let one of two states, drawn by `u`, stand for both; return the other."""
    weights, counts = memory.stands_for[arm], memory.counts[arm]
    both = weights[one] + weights[two]
    stays, goes = one, two
    if u * both >= weights[one]:
        stays, goes = two, one
    weights[stays] = both
    counts[0, stays] += counts[0, goes]
    counts[1, stays] += counts[1, goes]
    return goes


@inlined
def close_up(memory: Any, known: Any, arm: Any, is_left: Any) -> None:
    """Move the states of an arm that are left to the front."""
    weights, counts = memory.stands_for[arm], memory.counts[arm]
    count = 0
    for s in range(is_left.size):
        if not is_left[s]:
            continue
        weights[count] = weights[s]
        memory.seen_at[arm, count] = memory.seen_at[arm, s]
        memory.atoms[arm, count] = memory.atoms[arm, s]
        counts[0, count], counts[1, count] = counts[0, s], counts[1, s]
        if not known.is_joined:
            for f in range(memory.columns.shape[1]):
                memory.columns[arm, f, count] = memory.columns[arm, f, s]
        count += 1
    for s in range(count, is_left.size):
        weights[s] = counts[0, s] = counts[1, s] = 0.0
    memory.kept[arm] = count
