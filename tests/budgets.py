"""A world with a budget that several tests use."""

from __future__ import annotations

from onepull import Discrete, Environment, Finite, Problem


def metered(budget: float, contexts: int) -> Environment:
    """A free arm that carries little, and one that costs 1 and carries any request."""
    sizes = list(range(1, contexts + 1))
    problem = Problem(
        arms=["wifi", "lte"],
        context={"need": Finite(sizes)},
        state={"rate": Finite(sorted({0, 1, contexts}))},
        reward=f"min(need, rate) / {contexts}",
    )
    return Environment(
        problem,
        states={"wifi": Discrete([0, 1], [0.4, 0.6]), "lte": Discrete([0, contexts], [0.2, 0.8])},
        contexts=Discrete(sizes, [1 / contexts] * contexts),
        costs={"lte": 1.0},
        budget=budget,
    )
