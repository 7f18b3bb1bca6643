"""Compiled loops of policies with late feedback.

They are the loops of `means` and `dense` with a queue between a pull and its observation.  The
queue does not hold states: the state of a pull is a function of trial and arm, and is drawn on
arrival.

The loops are written out again because what is one step there is two here, in different trials: a
pull counts when it is made or when it is answered, and is learned when it is answered.  The steps
themselves (`decide`, `move`, `unanswered`, `worst_state`) are the same functions.

`late_joint` and `late_dense` both spell out how an answer is learned.  A function would be given
tuples, since it needs twenty arrays and numbers, and each array that it reads from a tuple costs a
reference count: a trial of DCB would take 550 ns in place of 270.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.policies.sharing import in_flight
from onepull.simulation.compiled import compiled, inlined
from onepull.simulation.draws import atom, place, show
from onepull.simulation.feedback_queue import comes_at, send
from onepull.simulation.kernels.by_arm import bound_of_arm, of_arm
from onepull.simulation.kernels.features import write_psi
from onepull.simulation.kernels.means import earned, states_beside, write_state
from onepull.simulation.kernels.memory import move, root_of
from onepull.simulation.kernels.rules import decide, decide_on
from onepull.statistics import arm_statistics

unanswered = inlined(arm_statistics.unanswered)
worst_state = inlined(in_flight.worst_state)


class LateState(NamedTuple):
    """What a policy knows: means, observed pulls, and pulls that count.

    If pulls are announced, pulls in flight count too.  `pulls`, `counts`, `roots` and `trials`
    have a row for each cell, or a single one.
    """

    means: Array
    pulls: NDArray[np.int64]
    counts: NDArray[np.int64]
    roots: Array
    trials: NDArray[np.int64]


@inlined
def count_pull(counts: Any, roots: Any, row: Any, arm: Any) -> None:
    """Let one more pull of an arm count."""
    counts[row, arm] += 1
    roots[row, arm] = root_of(counts[row, arm])


@inlined
def learn_answer(means: Any, pulls: Any, arm: Any, table: Any, row: Any) -> None:
    """Add an observation, a row of a table, to the means of an arm: `means[feature, arm]`."""
    pulls[0, arm] += 1
    weight = 1.0 / pulls[0, arm]
    for r in range(means.shape[0]):
        means[r, arm] = move(means[r, arm], table[row, r], weight)


@compiled
def late_joint(
    stretch: Any, chosen: Any, state: Any, mail: Any, post: Any, announced: Any, cells: Any,
    lows: Any, highs: Any, rule: Any, laws: Any, features: Any, centres: Any, g: Any,
) -> None:  # fmt: skip
    """Run a rule on joint learning, keeping the mean of every feature: `means[feature, arm]`."""
    offset, key = stretch.first, stretch.key
    start, count, ordered, keep, alias = laws.start, laws.size, laws.ordered, laws.keep, laws.alias
    first, last, after, sent = mail.first, mail.last, mail.after, mail.arms
    means, pulls, counts, roots = state.means, state.pulls, state.counts, state.roots
    trials = state.trials[0]
    arms = pulls.shape[1]
    known = features.shape[0] > 0
    at = centres.shape[1]
    shown, delay = np.zeros(laws.rows.shape[1]), np.zeros(1)
    values = states_beside(centres, shown.size)
    psi = np.zeros((1, means.shape[0]))
    worked_out = psi[0]
    for i in range(cells.size):
        trial = offset + i
        letter = np.int64(first[trial])  # as trials elsewhere, so that draws are compiled once
        while letter >= 0:
            arm = np.int64(sent[letter])
            at_arm = place(letter, arms, arm)
            if not announced:
                trials += 1
                count_pull(counts, roots, 0, arm)
            if known:
                found = atom(start[arm], count[arm], ordered[arm], keep, alias, key, at_arm, letter)
                learn_answer(means, pulls, arm, features, found)
            else:
                show(laws, arm, key, at_arm, letter, shown)
                write_state(shown, values, at)
                g(values, worked_out)
                learn_answer(means, pulls, arm, psi, 0)
            letter = after[letter]
        cell = cells[i]
        best = decide(rule, means, cell, roots, 0, lows[cell], highs[cell], trials + 1, trial)
        chosen[i] = best
        sent[trial] = best
        if announced:
            trials += 1
            count_pull(counts, roots, 0, best)
            if unanswered(pulls[0, best], counts[0, best] - pulls[0, best]):
                for r in range(means.shape[0]):
                    means[r, best] = bound_of_arm(lows[r], best)
        send(first, last, after, trial, comes_at(post, key, trial, best, delay))
    state.trials[0] = trials


@compiled
def late_per_cell(
    stretch: Any, chosen: Any, state: Any, mail: Any, post: Any, announced: Any, cells: Any,
    lows: Any, highs: Any, rule: Any, laws: Any, rewards: Any, g: Any,
) -> None:  # fmt: skip
    """Run a rule on the means of each cell: `means[cell, arm]`."""
    first, last, after, sent = mail.first, mail.last, mail.after, mail.arms
    sent_in, answers = mail.cells, mail.rewards
    means, pulls, counts, roots = state.means, state.pulls, state.counts, state.roots
    trials = state.trials
    arms = pulls.shape[1]
    shown, delay = np.zeros(laws.rows.shape[1]), np.zeros(1)
    values, value = np.zeros((stretch.contexts.shape[1] + shown.size, 1)), np.zeros(1)
    for i in range(cells.size):
        trial = stretch.first + i
        letter = first[trial]
        while letter >= 0:
            arm, there = sent[letter], sent_in[letter]
            pulls[there, arm] += 1
            if not announced:
                trials[there] += 1
                count_pull(counts, roots, there, arm)
            means[there, arm] = move(means[there, arm], answers[letter], 1.0 / pulls[there, arm])
            letter = after[letter]
        cell = cells[i]
        n = trials[cell] + 1
        best = decide(rule, means, cell, roots, cell, lows[cell], highs[cell], n, trial)
        chosen[i] = best
        answers[trial] = earned(stretch, i, best, arms, laws, rewards, g, shown, values, value)
        sent[trial] = best
        sent_in[trial] = cell
        if announced:
            trials[cell] += 1
            count_pull(counts, roots, cell, best)
            if unanswered(pulls[cell, best], counts[cell, best] - pulls[cell, best]):
                means[cell, best] = bound_of_arm(lows[cell], best)
        send(first, last, after, trial, comes_at(post, stretch.key, trial, best, delay))


@compiled
def late_dense(  # noqa: C901, PLR0912, PLR0915 - a loop in full
    stretch: Any, chosen: Any, state: Any, mail: Any, post: Any, announced: Any, phi: Any,
    rows: Any, lows: Any, highs: Any, rule: Any, laws: Any, features: Any, pivots: Any,
    plain: Any, g: Any,
) -> None:  # fmt: skip
    """Run a rule on the means of every feature, `means[arm, feature]`; an estimate is φ·mean."""
    offset, key, start, count = stretch.first, stretch.key, laws.start, laws.size
    ordered, keep, alias = laws.ordered, laws.keep, laws.alias
    first, last, after, sent = mail.first, mail.last, mail.after, mail.arms
    means, pulls, counts, roots = state.means, state.pulls, state.counts, state.roots
    by_feature, counted = means.T, counts[0]
    trials = state.trials[0]
    arms, many = means.shape
    known = features.shape[0] > 0
    at = pivots.shape[1]
    shown, delay = np.zeros(laws.rows.shape[1]), np.zeros(1)
    values = states_beside(pivots, shown.size)
    psi = np.zeros((1, many))
    worked_out = psi[0]
    estimates = np.zeros((1, arms))
    for i in range(rows.size):
        row = rows[i]
        trial = offset + i
        letter = np.int64(first[trial])  # as trials elsewhere, so that draws are compiled once
        while letter >= 0:
            arm = np.int64(sent[letter])
            at_arm = place(letter, arms, arm)
            if not announced:
                trials += 1
                count_pull(counts, roots, 0, arm)
            if known:
                found = atom(start[arm], count[arm], ordered[arm], keep, alias, key, at_arm, letter)
                learn_answer(by_feature, pulls, arm, features, found)
            else:
                show(laws, arm, key, at_arm, letter, shown)
                if pivots.shape[0] > 0:
                    write_state(shown, values, at)
                    g(values, worked_out)
                else:
                    write_psi(plain, shown, worked_out)
                learn_answer(by_feature, pulls, arm, psi, 0)
            letter = after[letter]
        for j in range(arms):
            mean = np.inf
            weights = of_arm(phi[row], j)
            if pulls[0, j] > 0:
                mean = 0.0
                for r in range(many):
                    mean += weights[r] * means[j, r]
            elif unanswered(pulls[0, j], counts[0, j] - pulls[0, j]):
                mean = bound_of_arm(lows[row], j)
                worst = worst_state(weights)
                for r in range(many):
                    means[j, r] = 1.0 if r == worst else 0.0
            estimates[0, j] = mean
        best = decide_on(
            rule, phi[row], means, counted, estimates, roots, lows[row], highs[row], trials + 1,
            trial,
        )  # fmt: skip
        chosen[i] = best
        sent[trial] = best
        if announced:
            trials += 1
            count_pull(counts, roots, 0, best)
        send(first, last, after, trial, comes_at(post, key, trial, best, delay))
    state.trials[0] = trials
