"""Which kept states are merged when there is no room for another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from onepull.arrays import Array

RECENT = 128  # newest states of an arm, which are never merged
FARTHEST = 1e100  # reward that is compared, so that no square overflows
MIXED = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # of SplitMix64
WORD = 2**64 - 1


def merged_pairs(
    states: Array, rewards: Array, weights: Array, merges: int
) -> Iterator[tuple[int, int]]:
    """Yield the pairs to merge of an arm's older states: which one stays, and which one goes.

    They are a quarter of the states, with neighbours of nearly the same reward.  The pairs whose
    merging adds least variance to the mean go first, over all the contexts in which predictions are
    compared: two states that give the same reward in one context may differ in another.  Of pairs
    that add nothing, equal states go first.  The context that tells which states are neighbours is
    another one each time.

    Parameters
    ----------
    states
        One row for each number of a state.
    rewards
        Their rewards, one row for each compared context.
    weights
        How many observations each stands for.
    merges
        How often states were merged before.

    Examples
    --------
    >>> states = np.array([[1.0, 5.0, 9.0, 1.0]])
    >>> [sorted(pair) for pair in merged_pairs(states, states, np.ones(4), 0)]
    [[0, 3]]
    """
    count = states.shape[1]
    order = np.lexsort((*states, rewards[merges % len(rewards)]))
    sorted_weights = weights[order]
    apart = np.clip(np.diff(rewards[:, order], axis=1), -FARTHEST, FARTHEST)
    added = sorted_weights[1:] * sorted_weights[:-1] * np.einsum("cs,cs->s", apart, apart)
    differ = (states[:, order[1:]] != states[:, order[:-1]]).any(axis=0)
    for place in _cheapest(np.lexsort((differ, added)).tolist(), count, max(1, count // 4)):
        stays, goes = int(order[place]), int(order[place + 1])
        if uniform(merges + 1, place) * float(weights[stays] + weights[goes]) >= weights[stays]:
            stays, goes = goes, stays
        yield stays, goes


def _cheapest(ranked: Sequence[int], count: int, wanted: int) -> list[int]:
    """Return the first pairs of neighbours that share none, each by the place of its first."""
    is_taken = [False] * count
    found: list[int] = []
    for place in ranked:
        if not is_taken[place] and not is_taken[place + 1]:
            is_taken[place] = is_taken[place + 1] = True
            found.append(place)
            if len(found) == wanted:
                break
    return found


def uniform(key: int, counter: int) -> float:
    """Return a number in [0, 1) that depends on nothing else, so that memory needs no generator."""
    z = (key * 0x9E3779B97F4A7C15 + counter * 0xD1B54A32D192ED03) & WORD
    z = ((z ^ (z >> 30)) * MIXED[0]) & WORD
    z = ((z ^ (z >> 27)) * MIXED[1]) & WORD
    return ((z ^ (z >> 31)) >> 11) * 2.0**-53
