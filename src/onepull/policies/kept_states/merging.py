"""Which kept states are merged when there is no room for another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from onepull.arrays import Array
from onepull.payoff.reward import NARROWEST

NEVER_MERGED = 128  # newest states of an arm, which are never merged
FARTHEST = 1e100  # reward that is compared, so that no square overflows
SPLITMIX_STEPS = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03  # odd, so that they reach every number
SPLITMIX_FACTORS = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of the generator SplitMix64
WORD = 2**64 - 1


def merged_pairs(
    states: Array, rewards: Array, weights: Array, merges: int, failed: Array | None = None
) -> Iterator[tuple[int, int]]:
    """Yield the pairs to merge of an arm's older states: which one stays, and which one goes.

    They are a quarter of the states, with neighbours of nearly the same reward.  The pairs whose
    merging adds least variance to the mean go first, over all the contexts in which predictions are
    compared: two states that give the same reward in one context may differ in another.  Of pairs
    that add the same, those go first whose states are closest, so that another reward can still be
    computed.  The context that tells which states are neighbours is another one each time.  A
    failure is never merged with a state, so that the share of failures stays exact.

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
    failed
        Which of them are failures, 0 or 1; none by default.

    Examples
    --------
    >>> states = np.array([[1.0, 5.0, 9.0, 1.0]])
    >>> [sorted(pair) for pair in merged_pairs(states, states, np.ones(4), 0)]
    [[0, 3]]
    """
    count = states.shape[1]
    kinds = np.zeros(count) if failed is None else failed
    order = np.lexsort((*states, rewards[merges % len(rewards)], kinds))
    sorted_weights = weights[order]
    apart = np.clip(np.diff(rewards[:, order], axis=1), -FARTHEST, FARTHEST)
    both = sorted_weights[1:] * sorted_weights[:-1]
    added = both * np.einsum("cs,cs->s", apart, apart)
    further = both * _squared_distances(states[:, order])
    ranked = np.lexsort((further, added))
    ranked = ranked[np.diff(kinds[order])[ranked] == 0.0]
    for place in _cheapest(ranked.tolist(), count, max(1, count // 4)):
        stays, goes = int(order[place]), int(order[place + 1])
        if uniform(merges + 1, place) * float(weights[stays] + weights[goes]) >= weights[stays]:
            stays, goes = goes, stays
        yield stays, goes


def merging_errors(
    states: Array, compared: Array, rewards: Array, weights: Array, failed: Array | None = None
) -> tuple[Array, Array]:
    """Return the standard errors of other mean rewards: what merging adds, and what chance makes.

    A state that stands for several is one of them.  The others differ from it by about as much as
    its neighbours do, in the orders in which states were merged.

    Parameters
    ----------
    states, weights, failed
        As of `merged_pairs`.
    compared
        The rewards by which states were merged, one row for each compared context.  Without any,
        they may have been merged with each other in any order.
    rewards
        The other rewards.

    Examples
    --------
    >>> states, weights = np.array([[1.0, 2.0, 3.0]]), np.array([1.0, 5.0, 1.0])
    >>> rewards = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> merging, chance = merging_errors(states, states, rewards, weights)
    >>> merging.round(2), chance.round(2)
    (array([0.  , 0.45]), array([0.  , 0.13]))
    """
    number = float(weights.sum())
    kinds = np.zeros(states.shape[1]) if failed is None else failed
    lost = np.zeros(len(rewards))
    if not len(compared):
        for kind in np.unique(kinds):
            some = kinds == kind
            width = np.ptp(np.clip(rewards[:, some], -FARTHEST, FARTHEST), axis=1)
            lost += 0.5 * width**2 * (weights * (weights - 1.0))[some].sum()
    for row in compared:
        order = np.lexsort((*states, row, kinds))
        steps = np.diff(np.clip(rewards[:, order], -FARTHEST, FARTHEST), axis=1) ** 2
        steps[:, np.diff(kinds[order]) != 0.0] = 0.0
        nearby = np.zeros((len(rewards), len(order)))
        nearby[:, 1:] = steps
        np.maximum(nearby[:, :-1], steps, out=nearby[:, :-1])
        np.maximum(lost, 0.5 * nearby @ (weights * (weights - 1.0))[order], out=lost)
    means = rewards @ weights / number
    spread = np.clip(rewards - means[:, None], -FARTHEST, FARTHEST) ** 2 @ weights
    return np.sqrt(lost) / number, np.sqrt(spread) / number


def _squared_distances(states: Array) -> Array:
    """Return how far each state is from the next, with each field in units of its range."""
    found = np.zeros(states.shape[1] - 1)
    for column in 0.5 * states:  # half of it, so that no difference overflows
        steps = np.diff(column) / max(float(np.ptp(column)), NARROWEST)
        found += steps * steps
    return found


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
    """Return a number in [0, 1) that depends on nothing else, so that memory needs no generator.

    The kernel's `mixed` is the same with numbers of 64 bits, which Python does not have.
    """
    z = (key * SPLITMIX_STEPS[0] + counter * SPLITMIX_STEPS[1]) & WORD
    z = ((z ^ (z >> 30)) * SPLITMIX_FACTORS[0]) & WORD
    z = ((z ^ (z >> 27)) * SPLITMIX_FACTORS[1]) & WORD
    return ((z ^ (z >> 31)) >> 11) * 2.0**-53
