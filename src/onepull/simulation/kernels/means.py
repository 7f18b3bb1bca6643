"""Kernels for policies on mean rewards.

There is one kernel per sharing, and it works with any rule.  The mathematics is not here: a
kernel calls the same plain functions as the library.  It runs one policy through a stretch of
trials and writes the arm chosen at each.  It leaves its state in arrays, so that the next stretch
can continue.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.simulation.compiled import compiled, inlined
from onepull.simulation.draws import atom, place, show
from onepull.simulation.kernels.memory import lasts, learn, move, root_of, take_in
from onepull.simulation.kernels.rules import decide


@inlined
def write_state(shown: Any, values: Any, at: Any) -> None:
    """Write one state into each column of `values`, in the rows beginning at `at`."""
    for f in range(shown.size):
        for r in range(values.shape[1]):
            values[at + f, r] = shown[f]


@inlined
def states_beside(contexts: Any, fields: Any) -> Any:
    """Return arguments of g: a column for each context, with room for a state below it."""
    many, at = contexts.shape
    values = np.zeros((at + fields, many))
    for r in range(many):
        for f in range(at):
            values[f, r] = contexts[r, f]
    return values


@inlined
def earned(
    stretch: Any, i: Any, arm: Any, arms: Any, laws: Any, rewards: Any, g: Any, shown: Any,
    values: Any, value: Any,
) -> Any:  # fmt: skip
    """Return the reward of an arm at the i-th trial of a stretch.

    If contexts and states have atoms, it is `rewards[context, atom]`.  Otherwise g computes it;
    `shown`, `values` and `value` are room for one state, its fields and its reward.  `per_cell`
    has these steps in its loop, with everything read into locals, which is six times as fast there.
    """
    trial = stretch.first + i
    at_arm = place(trial, arms, arm)
    if rewards.shape[0] > 0:
        found = atom(
            laws.start[arm], laws.size[arm], laws.ordered[arm], laws.keep, laws.alias,
            stretch.key, at_arm, trial,
        )  # fmt: skip
        return rewards[stretch.rows[i], found]
    show(laws, arm, stretch.key, at_arm, trial, shown)
    at = stretch.contexts.shape[1]
    for f in range(at):
        values[f, 0] = stretch.contexts[i, f]
    write_state(shown, values, at)
    g(values, value)
    return value[0]


@compiled
def joint(
    stretch: Any, chosen: Any, state: Any, cells: Any, lows: Any, highs: Any, rule: Any,
    laws: Any, features: Any, centres: Any, g: Any,
) -> None:  # fmt: skip
    """Run a rule with joint learning on the means of all features, with any kind of forgetting.

    `features[atom]` is ψ of an atom.  For continuous states g is called at all centres.
    """
    # Read everything into locals: an attribute of a tuple in the loop costs a reference count.
    first, key = stretch.first, stretch.key
    start, count, ordered = laws.start, laws.size, laws.ordered
    keep, alias = laws.keep, laws.alias
    means, pulls, roots = state.means, state.pulls, state.roots
    is_lasting = lasts(state)
    trials = state.trials[0]
    many, arms = means.shape
    known = features.shape[0] > 0
    at = centres.shape[1]
    shown = np.zeros(laws.rows.shape[1])
    values = states_beside(centres, shown.size)
    psi = np.zeros((1, many))
    worked_out = psi[0]
    for i in range(cells.size):
        cell = cells[i]
        trials += 1
        trial = first + i
        best = decide(rule, means, cell, roots, 0, lows[cell], highs[cell], trials, trial)
        chosen[i] = best
        at_arm = place(trial, arms, best)
        if known:
            found = atom(start[best], count[best], ordered[best], keep, alias, key, at_arm, trial)
            if is_lasting:
                learn(means, pulls, roots, best, features, found)
            else:
                take_in(state, best, features, found)
        else:
            show(laws, best, key, at_arm, trial, shown)
            write_state(shown, values, at)
            g(values, worked_out)
            if is_lasting:
                learn(means, pulls, roots, best, psi, 0)
            else:
                take_in(state, best, psi, 0)
    state.trials[0] = trials


class HistogramState(NamedTuple):
    """How often each atom of each arm was observed."""

    counts: Array
    pulls: NDArray[np.int64]
    roots: Array
    trials: NDArray[np.int64]


@compiled
def joint_histogram(
    stretch: Any, chosen: Any, state: Any, cells: Any, lows: Any, highs: Any, rule: Any,
    laws: Any, rewards: Any,
) -> None:  # fmt: skip
    """Run a rule with joint learning on counts of atoms; the work does not grow with the cells.

    `rewards[cell, arm, k]` is the reward of the arm's k-th atom at the centre of the cell.  An
    estimate is the mean of these rewards, weighted by the counts.

    The library moves a mean in every cell at every trial, which rounds differently.  So where two
    arms have nearly the same index, another one may be chosen than in the library: often if they
    would have exactly the same but for rounding.  To move the means of all cells here takes 8
    times as long on 1,000 cells.
    """
    first, key = stretch.first, stretch.key
    start, count, ordered = laws.start, laws.size, laws.ordered
    keep, alias = laws.keep, laws.alias
    counts, pulls, roots = state.counts, state.pulls, state.roots
    trials = state.trials[0]
    arms = pulls.size
    means = np.zeros((1, arms))
    for i in range(cells.size):
        cell = cells[i]
        trials += 1
        for j in range(arms):
            mean = np.inf
            if pulls[j] > 0:
                mean = 0.0
                for k in range(count[j]):
                    mean += counts[j, k] * rewards[cell, j, k]
                mean /= pulls[j]
            means[0, j] = mean
        trial = first + i
        best = decide(rule, means, 0, roots, 0, lows[cell], highs[cell], trials, trial)
        chosen[i] = best
        at_arm = place(trial, arms, best)
        found = atom(start[best], count[best], ordered[best], keep, alias, key, at_arm, trial)
        counts[best, found - start[best]] += 1.0
        pulls[best] += 1
        roots[0, best] = root_of(pulls[best])
    state.trials[0] = trials


class CellState(NamedTuple):
    """The statistics of a policy that learns each cell separately: `means[cell, arm]`."""

    means: Array
    pulls: NDArray[np.int64]
    roots: Array
    trials: NDArray[np.int64]


@compiled
def per_cell(
    stretch: Any, chosen: Any, state: Any, cells: Any, lows: Any, highs: Any, rule: Any,
    laws: Any, rewards: Any, g: Any,
) -> None:  # fmt: skip
    """Run a rule that learns each cell separately; with one cell it ignores the context.

    `rewards[context, atom]` is looked up if contexts and states are discrete; otherwise g is
    called.
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
        trial = first + i
        n = trials[cell]
        best = decide(rule, means, cell, roots, cell, lows[cell], highs[cell], n, trial)
        chosen[i] = best
        at_arm = place(trial, arms, best)
        if known:
            found = atom(start[best], count[best], ordered[best], keep, alias, key, at_arm, trial)
            reward = rewards[rows[i], found]
        else:
            show(laws, best, key, at_arm, trial, shown)
            for f in range(at):
                values[f, 0] = contexts[i, f]
            write_state(shown, values, at)
            g(values, value)
            reward = value[0]
        pulls[cell, best] += 1
        roots[cell, best] = root_of(pulls[cell, best])
        means[cell, best] = move(means[cell, best], reward, 1.0 / pulls[cell, best])
