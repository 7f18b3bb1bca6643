"""The steps of policies whose feedback is late, in compiled loops.

They are those of `kernels` and `dense` with a queue between a pull and what it teaches.  The
state of a pull is not kept meanwhile: it is a function of its place, and drawn when it comes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.simulation.compiled import compiled
from onepull.simulation.draws import atom, place, show
from onepull.simulation.feedback_queue import comes_at, send
from onepull.simulation.kernels.features import write_psi
from onepull.simulation.kernels.means import spread
from onepull.simulation.kernels.memory import move, root_of
from onepull.simulation.kernels.rules import decide, decide_on


class LateState(NamedTuple):
    """What a policy knows: means, pulls that were answered, and pulls that count.

    If pulls are announced, those in flight count too.  `trials` is the number that counts in
    each cell, and so are the rows of pulls, counts and roots.
    """

    means: Array
    pulls: NDArray[np.int64]
    counts: NDArray[np.int64]
    roots: Array
    trials: NDArray[np.int64]


@compiled
def late_joint(  # noqa: C901 - a loop in full
    stretch: Any,
    chosen: Any,
    state: Any,
    mail: Any,
    post: Any,
    announced: Any,
    cells: Any,
    lows: Any,
    highs: Any,
    rule: Any,
    laws: Any,
    features: Any,
    centres: Any,
    g: Any,
) -> None:
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
    values = np.zeros((at + shown.size, centres.shape[0]))
    rewards = np.zeros(centres.shape[0])
    for r in range(rewards.size):
        for f in range(at):
            values[f, r] = centres[r, f]
    for i in range(cells.size):
        trial = offset + i
        letter = first[trial]
        while letter >= 0:
            arm = sent[letter]
            at_arm = place(letter, arms, arm)
            pulls[0, arm] += 1
            weight = 1.0 / pulls[0, arm]
            if not announced:
                trials += 1
                counts[0, arm] += 1
                roots[0, arm] = root_of(counts[0, arm])
            if known:
                found = atom(start[arm], count[arm], ordered[arm], keep, alias, key, at_arm, letter)
                for r in range(means.shape[0]):
                    means[r, arm] = move(means[r, arm], features[found, r], weight)
            else:
                show(laws, arm, key, at_arm, letter, shown)
                spread(shown, values, at)
                g(values, rewards)
                for r in range(means.shape[0]):
                    means[r, arm] = move(means[r, arm], rewards[r], weight)
            letter = after[letter]
        cell = cells[i]
        best = decide(rule, means, cell, roots, 0, lows[cell], highs[cell], trials + 1, trial)
        chosen[i] = best
        sent[trial] = best
        if announced:
            if counts[0, best] == 0:
                for r in range(means.shape[0]):
                    means[r, best] = lows[r]  # until it answers
            trials += 1
            counts[0, best] += 1
            roots[0, best] = root_of(counts[0, best])
        send(first, last, after, trial, comes_at(post, key, trial, best, delay))
    state.trials[0] = trials


@compiled
def late_per_cell(
    stretch: Any,
    chosen: Any,
    state: Any,
    mail: Any,
    post: Any,
    announced: Any,
    cells: Any,
    lows: Any,
    highs: Any,
    rule: Any,
    laws: Any,
    rewards: Any,
    g: Any,
) -> None:
    """Run a rule on what each cell learns by itself: `means[cell, arm]`."""
    offset, key, rows, contexts = stretch.first, stretch.key, stretch.rows, stretch.contexts
    start, count, ordered, keep, alias = laws.start, laws.size, laws.ordered, laws.keep, laws.alias
    first, last, after, sent = mail.first, mail.last, mail.after, mail.arms
    sent_in, earned = mail.cells, mail.rewards
    means, pulls, counts, roots = state.means, state.pulls, state.counts, state.roots
    trials = state.trials
    arms = pulls.shape[1]
    known = rewards.shape[0] > 0
    at = contexts.shape[1]
    shown, delay = np.zeros(laws.rows.shape[1]), np.zeros(1)
    values, value = np.zeros((at + shown.size, 1)), np.zeros(1)
    for i in range(cells.size):
        trial = offset + i
        letter = first[trial]
        while letter >= 0:
            arm, there = sent[letter], sent_in[letter]
            pulls[there, arm] += 1
            if not announced:
                trials[there] += 1
                counts[there, arm] += 1
                roots[there, arm] = root_of(counts[there, arm])
            means[there, arm] = move(means[there, arm], earned[letter], 1.0 / pulls[there, arm])
            letter = after[letter]
        cell = cells[i]
        n = trials[cell] + 1
        best = decide(rule, means, cell, roots, cell, lows[cell], highs[cell], n, trial)
        chosen[i] = best
        at_arm = place(trial, arms, best)
        if known:
            found = atom(start[best], count[best], ordered[best], keep, alias, key, at_arm, trial)
            earned[trial] = rewards[rows[i], found]
        else:
            show(laws, best, key, at_arm, trial, shown)
            for f in range(at):
                values[f, 0] = contexts[i, f]
            spread(shown, values, at)
            g(values, value)
            earned[trial] = value[0]
        sent[trial] = best
        sent_in[trial] = cell
        if announced:
            if counts[cell, best] == 0:
                means[cell, best] = lows[cell]  # until it answers
            trials[cell] += 1
            counts[cell, best] += 1
            roots[cell, best] = root_of(counts[cell, best])
        send(first, last, after, trial, comes_at(post, key, trial, best, delay))


@compiled
def late_dense(  # noqa: C901, PLR0912, PLR0915 - a loop in full
    stretch: Any,
    chosen: Any,
    state: Any,
    mail: Any,
    post: Any,
    announced: Any,
    phi: Any,
    rows: Any,
    lows: Any,
    highs: Any,
    rule: Any,
    laws: Any,
    features: Any,
    pivots: Any,
    plain: Any,
    g: Any,
) -> None:
    """Run a rule on the means of every feature, `means[arm, feature]`; an estimate is φ·mean."""
    offset, key, start, count = stretch.first, stretch.key, laws.start, laws.size
    ordered, keep, alias = laws.ordered, laws.keep, laws.alias
    first, last, after, sent = mail.first, mail.last, mail.after, mail.arms
    means, pulls, counts, roots = state.means, state.pulls[0], state.counts[0], state.roots
    trials = state.trials[0]
    arms, many = means.shape
    known = features.shape[0] > 0
    at = pivots.shape[1]
    shown, delay = np.zeros(laws.rows.shape[1]), np.zeros(1)
    values = np.zeros((at + shown.size, pivots.shape[0]))
    psi = np.zeros(many)
    estimates = np.zeros((1, arms))
    for r in range(pivots.shape[0]):
        for f in range(at):
            values[f, r] = pivots[r, f]
    for i in range(rows.size):
        row = rows[i]
        trial = offset + i
        letter = first[trial]
        while letter >= 0:
            arm = sent[letter]
            at_arm = place(letter, arms, arm)
            pulls[arm] += 1
            weight = 1.0 / pulls[arm]
            if not announced:
                trials += 1
                counts[arm] += 1
                roots[0, arm] = root_of(counts[arm])
            if known:
                found = atom(start[arm], count[arm], ordered[arm], keep, alias, key, at_arm, letter)
                for r in range(many):
                    psi[r] = features[found, r]
            else:
                show(laws, arm, key, at_arm, letter, shown)
                if pivots.shape[0] > 0:
                    spread(shown, values, at)
                    g(values, psi)
                else:
                    write_psi(plain, shown, psi)
            for r in range(many):
                means[arm, r] = move(means[arm, r], psi[r], weight)
            letter = after[letter]
        for j in range(arms):
            mean = np.inf
            if pulls[j] > 0:
                mean = 0.0
                for r in range(many):
                    mean += phi[row, r] * means[j, r]
            elif counts[j] > 0:  # until it answers, it surely shows the worst of states
                mean = lows[row]
                worst = np.argmin(phi[row])
                for r in range(many):
                    means[j, r] = 1.0 if r == worst else 0.0
            estimates[0, j] = mean
        best = decide_on(
            rule, phi[row], means, counts, estimates, roots, lows[row], highs[row], trials + 1,
            trial,
        )  # fmt: skip
        chosen[i] = best
        sent[trial] = best
        if announced:
            trials += 1
            counts[best] += 1
            roots[0, best] = root_of(counts[best])
        send(first, last, after, trial, comes_at(post, key, trial, best, delay))
    state.trials[0] = trials
