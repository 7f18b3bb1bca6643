"""Random contexts, states and observations of a problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepull.payoff.box_points import points
from onepull.problem import Problem
from onepull.spaces import Box


def draw(box: Box, count: int, generator: np.random.Generator) -> list[dict[str, Any]]:
    """Return random points of a box, including the ends of its intervals."""
    columns = points(box, count, generator)
    rows = np.column_stack(list(columns.values()))
    generator.shuffle(rows)
    chosen = np.resize(rows, (count, len(box)))
    return [box.fields(row) for row in chosen.tolist()]


def observations(
    problem: Problem, count: int, generator: np.random.Generator
) -> list[dict[str, Any]]:
    """Return pulls of random arms, each with context and state, from which any policy learns."""
    contexts = draw(problem.context, count, generator)
    states = draw(problem.state, count, generator)
    arms = generator.choice(np.array(problem.arms, dtype=object), count)
    return [
        {"arm": arm, **context, **state}
        for arm, context, state in zip(arms, contexts, states, strict=True)
    ]
