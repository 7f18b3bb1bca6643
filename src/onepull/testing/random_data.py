"""Random contexts, states and observations of a problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepull.payoff.box_points import points
from onepull.problem import Problem
from onepull.spaces import FAILED, Box

FAILING_SHARE = 0.25


def random_points(box: Box, count: int, generator: np.random.Generator) -> list[dict[str, Any]]:
    """Return random points of a box, including the ends of its intervals."""
    columns = points(box, count, generator)
    rows = np.column_stack(list(columns.values()))
    generator.shuffle(rows)
    chosen = np.resize(rows, (count, len(box)))
    return [box.fields(row) for row in chosen.tolist()]


def observations(
    problem: Problem, count: int, generator: np.random.Generator
) -> list[dict[str, Any]]:
    """Return pulls of random arms, each with context and state, from which any policy learns.

    If pulls can fail, one in four does, but never the first.
    """
    contexts = random_points(problem.context, count, generator)
    states = random_points(problem.state, count, generator)
    arms = generator.choice(np.array(problem.arms, dtype=object), count)
    if problem.failure is not None:
        for i in np.flatnonzero(generator.random(count) < FAILING_SHARE).tolist():
            states[i] = {FAILED: True} if i else states[i]
    return [
        {"arm": arm, **context, **state}
        for arm, context, state in zip(arms, contexts, states, strict=True)
    ]


def with_prefix(problem: Problem, prefix: str) -> Problem:
    """Return a problem whose arms have other names, with the same attributes.

    >>> from onepull import Interval
    >>> problem = Problem(arms=["a", "b"], state={"x": Interval(0, 1)}, reward="x")
    >>> with_prefix(problem, "my-").arms
    ('my-a', 'my-b')
    """
    if not problem.attributes:
        return problem.with_arms([prefix + arm for arm in problem.arms])
    return problem.with_arms({prefix + arm: problem.attributes[arm] for arm in problem.arms})
