"""What arms are worth in some contexts under a reward, from outcomes that they have shown.

The reward is known, so an outcome can be valued in every context and under every formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.payoff import State
from onepull.problem import Problem


def rewards_at(problem: Problem, rows: Any, contexts: Sequence[State]) -> Array:
    """Return the reward of every outcome in every context: a row for each context."""
    count = len(rows)
    shown = np.tile(np.array(rows, dtype=float).T, len(contexts))
    asked = np.repeat(np.array(contexts, dtype=float).T, count, axis=1)
    with np.errstate(all="ignore"):
        rewards = np.asarray(problem.payoff.vector(*asked, *shown), dtype=float)
    whole: Array = np.broadcast_to(rewards, (len(contexts) * count,))
    return whole.reshape(len(contexts), count)


def means_at(
    problem: Problem,
    outcomes: Sequence[Any],
    contexts: Sequence[State],
    weights: Sequence[Array] | None = None,
) -> Array:
    """Return the mean reward of every arm in every context; NaN of an arm without outcomes.

    `outcomes` has the rows of each arm, and `weights` how much each of them counts; all count
    alike by default.

    >>> from onepull import Interval
    >>> problem = Problem(arms=["a", "b"], state={"x": Interval(0, 1)}, reward="x")
    >>> means_at(problem, [[(0.2,), (0.4,)], []], [(0.0,)]).round(3)
    array([[0.3],
           [nan]])
    """
    found = np.full((len(outcomes), len(contexts)), np.nan)
    for j, rows in enumerate(outcomes):
        if len(rows) and contexts:
            counts = np.ones(len(rows)) if weights is None else weights[j]
            with np.errstate(all="ignore"):
                found[j] = rewards_at(problem, rows, contexts) @ (counts / counts.sum())
    return found


def best_arms(values: Array, may: Array | None = None) -> Any:
    """Return the best arm that may be chosen in each context; -1 if nothing is known of any.

    >>> best_arms(np.array([[1.0, np.nan], [2.0, np.nan]]), np.array([[True, True], [False, True]]))
    array([ 0, -1])
    """
    is_known = np.isfinite(values) if may is None else may & np.isfinite(values)
    known = np.where(is_known, values, -np.inf)
    if not known.size:
        return np.full(values.shape[1], -1)
    return np.where(np.isfinite(known).any(axis=0), known.argmax(axis=0), -1)
