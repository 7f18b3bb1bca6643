"""Random environments of a problem, for when the arms are unknown."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepull.distributions import Discrete, Distribution, Failing, Uniform
from onepull.environment import Environment
from onepull.errors import ParameterError
from onepull.problem import Problem
from onepull.spaces import Box, Finite, Space

STATES_PER_ARM = 3  # states per arm
MOST_FAILING = 0.1  # of the pulls at most, if pulls can fail


def instance(problem: Problem, generator: np.random.Generator) -> Environment:
    """Return a random environment of a problem.

    The state of each arm is one of three points, drawn uniformly from the state space, with
    weights drawn uniformly (from the flat Dirichlet distribution).  Contexts are uniform.  If
    pulls can fail, each arm fails with a probability that is drawn uniformly up to a tenth.

    >>> from onepull.environment import channel_selection
    >>> made = instance(channel_selection(2).problem, np.random.default_rng(0))
    >>> made.states["channel 1"].values.ravel()
    array([2., 1., 1.])
    """
    check_bounded(problem.state, "state")
    check_bounded(problem.context, "context")
    states: dict[str, Distribution] = {
        arm: Discrete(
            _points(problem.state, generator), generator.dirichlet([1.0] * STATES_PER_ARM)
        )
        for arm in problem.arms
    }
    if problem.failure is not None:
        states = {
            arm: Failing(law, generator.uniform(0, MOST_FAILING)) for arm, law in states.items()
        }
    contexts = {name: _even(space) for name, space in problem.context.items()}
    return Environment(problem, states=states, contexts=contexts)


def check_bounded(box: Box, role: str) -> None:
    """Raise `ParameterError` if a field is unbounded, so that it has no uniform distribution."""
    for name, space in box.items():
        if not np.isfinite(space.high - space.low):
            raise ParameterError(
                f"no random arms can be drawn: {role} field {name!r} is unbounded, {space!r}; "
                "describe the environment, or bound the field"
            )


def _points(box: Box, generator: np.random.Generator) -> Any:
    columns = [_draws(space, generator) for space in box.values()]
    return list(zip(*columns, strict=True)) if box.words else np.column_stack(columns)


def _draws(space: Space, generator: np.random.Generator) -> Any:
    if isinstance(space, Finite):
        return generator.choice(np.array(space.words or space.values), STATES_PER_ARM).tolist()
    return generator.uniform(space.low, space.high, STATES_PER_ARM)


def _even(space: Space) -> Distribution:
    if isinstance(space, Finite):
        values: Any = space.words or space.values
        return Discrete(values, [1 / len(values)] * len(values))
    return Uniform(space.low, space.high)
