"""The steps of the policies in compiled loops.

The mathematics is not here: a step calls the same plain functions of one arm that the
library calls (`optimistic`, `hoeffding_width`, `moved`, `inverse_root`).  A kernel runs one
policy through a stretch of trials and leaves its state in arrays, so that stretches can be
joined.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.formula import Array
from onepull.index import hoeffding_width, optimistic
from onepull.simulation.compiled import compiled, inlined
from onepull.simulation.draws import atom, draw, show, uniform
from onepull.statistics import inverse_root, moved

index = inlined(optimistic)
width_at = inlined(hoeffding_width)
move = inlined(moved)
root_of = inlined(inverse_root)

WIDTHS = 1 << 20  # widths kept in a table; further ones are computed
TOGETHER = 128  # contexts whose gaps are worked out at a time


class Stretch(NamedTuple):
    """Trials `first`, `first`+1, … of one replication, as every policy meets them."""

    first: int
    key: Any
    rows: NDArray[np.int64]  # row of `gaps` (and of tables over contexts) at each trial
    contexts: Array
    gaps: Array


class Tally(NamedTuple):
    """What is written down about one policy in one replication."""

    total: Array  # the regret so far
    mark: NDArray[np.int64]  # the next checkpoint
    pulls: NDArray[np.int64]
    best_pulls: NDArray[np.int64]
    regrets: Array  # at each checkpoint
    pulls_at: NDArray[np.int64]
    best_pulls_at: NDArray[np.int64]


@compiled
def unit_widths(count: int, alpha: float) -> Any:
    """Return the width of a unit range at trials 0 to count-1."""
    table = np.zeros(count)
    for trial in range(1, count):
        table[trial] = width_at(0.0, 1.0, trial, alpha)
    return table


@inlined
def width(low: Any, high: Any, trial: Any, alpha: Any, table: Any) -> Any:
    """Return the width at a trial, from the table where it reaches."""
    if trial < table.size:
        return (high - low) * table[trial]
    return width_at(low, high, trial, alpha)


@inlined
def spread(shown: Any, values: Any, at: Any) -> None:
    """Write one state beside every context: into the rows of `values` from `at` on."""
    for f in range(shown.size):
        for r in range(values.shape[1]):
            values[at + f, r] = shown[f]


class JointState(NamedTuple):
    """What a policy with joint learning knows: `means[feature, arm]`."""

    means: Array
    pulls: NDArray[np.int64]
    roots: Array
    trials: NDArray[np.int64]


@compiled
def joint(
    stretch: Any,
    chosen: Any,
    state: Any,
    cells: Any,
    lows: Any,
    highs: Any,
    alpha: Any,
    widths: Any,
    laws: Any,
    features: Any,
    centres: Any,
    g: Any,
) -> None:
    """Run DCB, CCB or greed, keeping the mean of every feature.

    `features[atom]` lists ψ of an atom; without atoms g is called for all centres.
    """
    # Everything into locals first: reaching into a tuple within the loop costs a count of
    # references each time.
    first, key = stretch.first, stretch.key
    start, count, ordered = laws.start, laws.size, laws.ordered
    keep, alias = laws.keep, laws.alias
    means, pulls, roots = state.means, state.pulls, state.roots
    trials = state.trials[0]
    arms = pulls.size
    known = features.shape[0] > 0
    at = centres.shape[1]
    shown = np.zeros(laws.rows.shape[1])
    values = np.zeros((at + shown.size, centres.shape[0]))
    rewards = np.zeros(centres.shape[0])
    for r in range(rewards.size):
        for f in range(at):
            values[f, r] = centres[r, f]
    for i in range(cells.size):
        cell = cells[i]
        trials += 1
        w = width(lows[cell], highs[cell], trials, alpha, widths)
        best = 0
        highest = -np.inf
        for j in range(arms):
            bound = index(means[cell, j], roots[j], w)
            if bound > highest:
                highest = bound
                best = j
        chosen[i] = best
        trial = first + i
        place = trial * (arms + 1) + 1 + best
        pulls[best] += 1
        roots[best] = root_of(pulls[best])
        weight = 1.0 / pulls[best]
        if known:
            found = atom(start[best], count[best], ordered[best], keep, alias, key, place, trial)
            for r in range(means.shape[0]):
                means[r, best] = move(means[r, best], features[found, r], weight)
        else:
            show(laws, best, key, place, trial, shown)
            spread(shown, values, at)
            g(values, rewards)
            for r in range(means.shape[0]):
                means[r, best] = move(means[r, best], rewards[r], weight)
    state.trials[0] = trials


class HistogramState(NamedTuple):
    """How often each arm showed each of its atoms."""

    counts: Array
    pulls: NDArray[np.int64]
    roots: Array
    trials: NDArray[np.int64]


@compiled
def joint_histogram(
    stretch: Any,
    chosen: Any,
    state: Any,
    cells: Any,
    lows: Any,
    highs: Any,
    alpha: Any,
    widths: Any,
    laws: Any,
    rewards: Any,
) -> None:
    """Run the same policies on counts of atoms: the work does not grow with the cells.

    `rewards[cell, arm, k]` is the reward of the arm's k-th atom at the centre of the cell,
    so an estimate is their mean, weighted by the counts.
    """
    first, key = stretch.first, stretch.key
    start, count, ordered = laws.start, laws.size, laws.ordered
    keep, alias = laws.keep, laws.alias
    counts, pulls, roots = state.counts, state.pulls, state.roots
    trials = state.trials[0]
    arms = pulls.size
    for i in range(cells.size):
        cell = cells[i]
        trials += 1
        w = width(lows[cell], highs[cell], trials, alpha, widths)
        best = 0
        highest = -np.inf
        for j in range(arms):
            mean = np.inf
            if pulls[j] > 0:
                mean = 0.0
                for k in range(count[j]):
                    mean += counts[j, k] * rewards[cell, j, k]
                mean /= pulls[j]
            bound = index(mean, roots[j], w)
            if bound > highest:
                highest = bound
                best = j
        chosen[i] = best
        trial = first + i
        place = trial * (arms + 1) + 1 + best
        found = atom(start[best], count[best], ordered[best], keep, alias, key, place, trial)
        counts[best, found - start[best]] += 1.0
        pulls[best] += 1
        roots[best] = root_of(pulls[best])
    state.trials[0] = trials


class CellState(NamedTuple):
    """What a policy knows that learns its own rewards in every cell: `means[cell, arm]`."""

    means: Array
    pulls: NDArray[np.int64]
    roots: Array
    trials: NDArray[np.int64]


@compiled
def per_cell(
    stretch: Any,
    chosen: Any,
    state: Any,
    cells: Any,
    lows: Any,
    highs: Any,
    alpha: Any,
    widths: Any,
    laws: Any,
    rewards: Any,
    g: Any,
) -> None:
    """Run UCB1 (one cell) or Multi-UCB.

    `rewards[context, atom]` is looked up where contexts and states have atoms; elsewhere g
    is called.
    """
    first, key = stretch.first, stretch.key
    start, count, ordered = laws.start, laws.size, laws.ordered
    keep, alias, contexts = laws.keep, laws.alias, stretch.contexts
    means, pulls, roots, trials = state.means, state.pulls, state.roots, state.trials
    rows = stretch.rows
    arms = pulls.shape[1]
    known = rewards.shape[0] > 0
    at = contexts.shape[1]
    shown = np.zeros(laws.rows.shape[1])
    values, value = np.zeros((at + shown.size, 1)), np.zeros(1)
    for i in range(cells.size):
        cell = cells[i]
        trials[cell] += 1
        w = width(lows[cell], highs[cell], trials[cell], alpha, widths)
        best = 0
        highest = -np.inf
        for j in range(arms):
            bound = index(means[cell, j], roots[cell, j], w)
            if bound > highest:
                highest = bound
                best = j
        chosen[i] = best
        trial = first + i
        place = trial * (arms + 1) + 1 + best
        if known:
            found = atom(start[best], count[best], ordered[best], keep, alias, key, place, trial)
            reward = rewards[rows[i], found]
        else:
            show(laws, best, key, place, trial, shown)
            for f in range(at):
                values[f, 0] = contexts[i, f]
            spread(shown, values, at)
            g(values, value)
            reward = value[0]
        pulls[cell, best] += 1
        roots[cell, best] = root_of(pulls[cell, best])
        means[cell, best] = move(means[cell, best], reward, 1.0 / pulls[cell, best])


@compiled
def follow(stretch: Any, chosen: Any, losses: Any, lost: Any, checkpoints: Any, tally: Any) -> None:
    """Write down what choosing these arms cost: `losses[lost[i], arm]` at the i-th trial.

    A pull counts as best where the arm has no gap, whatever it cost this time.
    """
    rows, gaps, pulls, best_pulls = stretch.rows, stretch.gaps, tally.pulls, tally.best_pulls
    regrets, pulls_at, best_pulls_at = tally.regrets, tally.pulls_at, tally.best_pulls_at
    total, mark = tally.total[0], tally.mark[0]
    for i in range(chosen.size):
        arm = chosen[i]
        total += losses[lost[i], arm]
        pulls[arm] += 1
        best_pulls[arm] += gaps[rows[i], arm] == 0.0
        if stretch.first + i + 1 == checkpoints[mark]:
            regrets[mark] = total
            # Number by number: an assignment of whole arrays takes seconds to compile.
            for j in range(pulls.size):
                pulls_at[mark, j] = pulls[j]
                best_pulls_at[mark, j] = best_pulls[j]
            mark += 1
    tally.total[0] = total
    tally.mark[0] = mark


@compiled
def potential_states(first: Any, key: Any, laws: Any, shown: Any) -> None:
    """Write the state that every arm would show at each trial: `shown[trial, arm, field]`."""
    arms = shown.shape[1]
    state = np.zeros(shown.shape[2])
    for i in range(shown.shape[0]):
        trial = first + i
        for j in range(arms):
            show(laws, j, key, trial * (arms + 1) + 1 + j, trial, state)
            for f in range(state.size):
                shown[i, j, f] = state[f]


@compiled
def random_arms(first: Any, key: Any, arms: Any, out: Any) -> None:
    """Write an arm drawn evenly for every trial."""
    for i in range(out.size):
        out[i] = int(uniform(key, first + i) * arms)


@compiled
def best_arms(rows: Any, gaps: Any, out: Any) -> None:
    """Write the first arm without a gap for every trial."""
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
        place = trial * (arms + 1)
        if count > 0:
            rows[i] = atom(start, count, ordered, keep, alias, key, place, trial)
            for f in range(fields):
                contexts[i, f] = values[rows[i], f]
        else:
            rows[i] = i
            draw(kinds, shapes, keep, alias, values, 0, key, place, flat, i * fields)


@inlined
def expect(rewards: Any, starts: Any, used: Any, weights: Any, means: Any, top: Any) -> None:
    """Write the mean reward of every arm, and the highest, for each column of `rewards`."""
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
            top[i] = mean if mean > top[i] else top[i]  # noqa: FURB136 - max() is no vector's


@compiled
def shortfalls(
    contexts: Any, nodes: Any, starts: Any, used: Any, weights: Any, g: Any, slack: Any, gaps: Any
) -> None:
    """Write the gap of every arm in each context.

    The reward is worked out once at each of `nodes`; arm j's mean is that of the nodes
    `used[starts[j]:starts[j+1]]`, with their weights.
    """
    at = contexts.shape[1]
    fields = nodes.shape[1]
    arms = gaps.shape[1]
    # Many contexts at a time: g is called rarely and the innermost loops become vectors.
    values = np.zeros((at + fields, TOGETHER))
    rewards = np.zeros((nodes.shape[0], TOGETHER))
    means = np.zeros((arms, TOGETHER))
    top = np.zeros(TOGETHER)
    for first in range(0, contexts.shape[0], TOGETHER):
        count = min(TOGETHER, contexts.shape[0] - first)
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
