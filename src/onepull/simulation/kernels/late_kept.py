"""The compiled loop of `AdaptiveKL` with late feedback.

It is the loop of `kept_states` with the queue of `late` between a pull and its observation.  Here
the queue holds what a pull showed, since the laws of the states may switch before it arrives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.simulation.compiled import compiled
from onepull.simulation.feedback_queue import comes_at, send
from onepull.simulation.kernels.kept_states import (
    decide,
    keep_state,
    look,
    tracked_columns,
    value_tracked,
)


class Answers(NamedTuple):
    """What each pull showed: its listed value, -1 if there is none, and its numbers."""

    atoms: NDArray[np.int64]
    shown: Array  # [trial, field]


def no_answers(horizon: int, fields: int) -> Answers:
    """Return room for the answers of all trials."""
    return Answers(np.zeros(horizon, np.int64), np.zeros((horizon, fields)))


@compiled
def late_kept(
    stretch: Any, chosen: Any, memory: Any, answers: Any, mail: Any, post: Any, announced: Any,
    filters: Any, search: Any, known: Any, cells: Any, laws: Any, g: Any,
) -> None:  # fmt: skip
    """Run `AdaptiveKL` through a stretch of trials; `cells` are rows of the tops.

    If pulls are announced, `memory.counted` is not `memory.pulls`.
    """
    first, last, after, sent = mail.first, mail.last, mail.after, mail.arms
    arms, room = memory.weights.shape
    values, scratch, delay = np.zeros((arms, room)), np.zeros((3, arms)), np.zeros(1)
    some, told = np.zeros(arms, np.int64), np.zeros(known.tracked.shape[1])
    tracked = tracked_columns(known, answers.shown.shape[1])
    for i in range(chosen.size):
        trial = stretch.first + i
        letter = first[trial]
        while letter >= 0:
            # A number as elsewhere: the functions that learn are not compiled once more.
            arm = np.int64(sent[letter])
            at, shown = answers.atoms[letter], answers.shown[letter]
            value_tracked(known, arm, at, shown, tracked, g, told)
            keep_state(memory, filters, known, arm, at, shown, told, g)
            letter = after[letter]
        best = decide(
            memory, filters, search, known, trial if announced else memory.clock[0],
            stretch.rows[i], stretch.contexts[i], known.tops[cells[i]], g, values, scratch, some,
            told,
        )  # fmt: skip
        chosen[i] = best
        sent[trial] = best
        answers.atoms[trial] = look(
            stretch.key, trial, best, arms, laws, known, answers.shown[trial]
        )
        if announced:
            memory.counted[best] += 1
        send(first, last, after, trial, comes_at(post, stretch.key, trial, best, delay))
