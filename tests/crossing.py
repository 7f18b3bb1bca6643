"""An environment in which the best arm depends on the context."""

from __future__ import annotations

from onepull import Discrete, Environment, Finite, Problem


def crossing() -> Environment:
    """Two arms, each best in one of two contexts by 0.6."""
    problem = Problem(
        arms=["a", "b"],
        context={"y": Finite([0, 1])},
        state={"x": Finite([0, 1])},
        reward="y * x + (1 - y) * (1 - x)",
    )
    states = {"a": Discrete([0, 1], [0.8, 0.2]), "b": Discrete([0, 1], [0.2, 0.8])}
    return Environment(problem, states=states, contexts=Discrete([0, 1], [0.5, 0.5]))
