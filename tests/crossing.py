"""An environment in which the best arm depends on the context, and classes of policies."""

from __future__ import annotations

from onepull import ContextTable, Discrete, Environment, Finite, Interval, Problem
from onepull.policies.policy_class.policy_class import PolicyClass


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


def run_trial(policy, generator):
    """Let a policy choose in a random context of `crossing`, and observe what it pulled."""
    y = int(generator.integers(2))
    arm = policy.choose(y=y)
    policy.observe(arm, y=y, x=int(generator.random() < (0.8 if arm == "b" else 0.2)))


def drawn_class(arms, cells, kind, generator, listed):
    """Return a class of policies; if it is "listed", so many policies at random."""
    problem = Problem(
        arms=[f"arm-{j}" for j in range(arms)],
        context={"y": Finite(range(cells))},
        state={"x": Interval(0, 1)},
        reward="x * y",
    )
    if kind == "listed":
        rows = generator.integers(0, arms, (listed, cells))
        kind = [[f"arm-{arm}" for arm in row] for row in rows]
    return PolicyClass(ContextTable(problem), problem.arms, kind)
