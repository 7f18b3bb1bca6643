"""What happens around a policy: draw contexts, compute gaps, record pulls and regret."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.simulation.compiled import compiled, inlined
from onepull.simulation.draws import atom, draw, place, show, uniform

CONTEXTS_AT_ONCE = 128  # contexts whose gaps are computed at a time


class Stretch(NamedTuple):
    """Trials `first`, `first`+1, … of one replication, the same for all policies."""

    first: int
    key: Any
    rows: NDArray[np.int64]  # row of `gaps` (and of tables over contexts) at each trial
    contexts: Array
    gaps: Array


class Account(NamedTuple):
    """The regret and pulls of one policy in one replication."""

    total: Array  # the regret so far
    mark: NDArray[np.int64]  # the next checkpoint
    pulls: NDArray[np.int64]  # the last entry counts arm -1: nothing was pulled
    best_pulls: NDArray[np.int64]
    regrets: Array  # at each checkpoint
    pulls_at: NDArray[np.int64]
    best_pulls_at: NDArray[np.int64]


@compiled
def follow(
    stretch: Any, chosen: Any, losses: Any, lost: Any, checkpoints: Any, account: Any
) -> None:
    """Record the pulls and their losses: `losses[lost[i], arm]` at the i-th trial.

    A pull counts as best if the arm has no gap, whatever its loss.  If nothing is pulled the arm
    is -1, the last column of the losses.
    """
    rows, gaps, pulls, best_pulls = stretch.rows, stretch.gaps, account.pulls, account.best_pulls
    regrets, pulls_at, best_pulls_at = account.regrets, account.pulls_at, account.best_pulls_at
    total, mark = account.total[0], account.mark[0]
    for i in range(chosen.size):
        arm = chosen[i]
        total += losses[lost[i], arm]
        pulls[arm] += 1
        best_pulls[arm] += gaps[rows[i], arm] == 0.0
        if stretch.first + i + 1 == checkpoints[mark]:
            regrets[mark] = total
            # One by one: an assignment of whole arrays takes seconds to compile.
            for j in range(pulls_at.shape[1]):
                pulls_at[mark, j] = pulls[j]
                best_pulls_at[mark, j] = best_pulls[j]
            mark += 1
    account.total[0] = total
    account.mark[0] = mark


@compiled
def potential_states(first: Any, key: Any, laws: Any, shown: Any) -> None:
    """Write the state that each arm would show at each trial: `shown[trial, arm, field]`."""
    arms = shown.shape[1]
    state = np.zeros(shown.shape[2])
    for i in range(shown.shape[0]):
        trial = first + i
        for j in range(arms):
            show(laws, j, key, place(trial, arms, j), trial, state)
            for f in range(state.size):
                shown[i, j, f] = state[f]


@compiled
def random_arms(first: Any, key: Any, arms: Any, out: Any) -> None:
    """Write a uniformly drawn arm for each trial."""
    for i in range(out.size):
        out[i] = int(uniform(key, first + i) * arms)


@compiled
def write_best_arms(rows: Any, gaps: Any, out: Any) -> None:
    """Write the first arm without a gap for each trial."""
    for i in range(out.size):
        arm = 0
        while gaps[rows[i], arm] > 0.0:
            arm += 1
        out[i] = arm


@compiled
def arrivals(first: Any, key: Any, laws: Any, arms: Any, rows: Any, contexts: Any) -> None:
    """Write the contexts of a stretch: the atom of each, and its values."""
    start, count, ordered = laws.start[0], laws.size[0], laws.ordered[0]
    keep, alias, values = laws.keep, laws.alias, laws.rows
    kinds, shapes, flat = laws.kinds, laws.shapes, contexts.reshape(-1)
    fields = contexts.shape[1]
    for i in range(rows.size):
        trial = first + i
        at_context = place(trial, arms, -1)
        if count > 0:
            rows[i] = atom(start, count, ordered, keep, alias, key, at_context, trial)
            for f in range(fields):
                contexts[i, f] = values[rows[i], f]
        else:
            rows[i] = i
            draw(kinds, shapes, keep, alias, values, 0, key, at_context, flat, i * fields)


@inlined
def expect(rewards: Any, starts: Any, used: Any, weights: Any, means: Any, top: Any) -> None:
    """Write the mean reward of each arm, and the highest one, for each column of `rewards`."""
    for i in range(top.size):
        top[i] = -np.inf
    for j in range(means.shape[0]):
        for i in range(top.size):
            means[j, i] = 0.0
        for k in range(starts[j], starts[j + 1]):
            weight, node = weights[k], used[k]
            for i in range(top.size):
                means[j, i] += weight * rewards[node, i]
        for i in range(top.size):
            mean = means[j, i]
            top[i] = mean if mean > top[i] else top[i]  # noqa: FURB136 - max() is not vectorised


@compiled
def shortfalls(
    contexts: Any, nodes: Any, starts: Any, used: Any, weights: Any, g: Any, slack: Any, gaps: Any
) -> None:
    """Write the gap of each arm in each context.

    The reward is computed once at each of `nodes`.  Arm j's mean is the weighted mean over the
    nodes `used[starts[j]:starts[j+1]]`.
    """
    at = contexts.shape[1]
    fields = nodes.shape[1]
    arms = gaps.shape[1]
    # Many contexts at a time, so that g is called rarely and the inner loops are vectorised.
    values = np.zeros((at + fields, CONTEXTS_AT_ONCE))
    rewards = np.zeros((nodes.shape[0], CONTEXTS_AT_ONCE))
    means = np.zeros((arms, CONTEXTS_AT_ONCE))
    top = np.zeros(CONTEXTS_AT_ONCE)
    for first in range(0, contexts.shape[0], CONTEXTS_AT_ONCE):
        count = min(CONTEXTS_AT_ONCE, contexts.shape[0] - first)
        for i in range(count):
            for f in range(at):
                values[f, i] = contexts[first + i, f]
        for s in range(nodes.shape[0]):
            for f in range(fields):
                for i in range(count):
                    values[at + f, i] = nodes[s, f]
            g(values, rewards[s, :count])
        expect(rewards, starts, used, weights, means, top)
        for i in range(count):
            for j in range(arms):
                gap = top[i] - means[j, i]
                gaps[first + i, j] = gap if gap > slack else 0.0
