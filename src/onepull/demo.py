"""A short live demonstration: choosing one of seven channels for every request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from onepull.distributions import Discrete
from onepull.policies import DCB, UCB1, Genie, MultiUCB, Policy
from onepull.problem import Problem
from onepull.spaces import Finite, Interval

ARMS = {f"channel {j}": Discrete([j, 0], [(8 - j) / 10, (2 + j) / 10]) for j in range(1, 8)}


def channel_selection() -> Problem:
    """Return the paper's first example: as many bits get through as the channel takes."""
    return Problem(
        arms=ARMS,
        context={"bits": Finite([1, 2, 3, 4])},
        state={"capacity": Interval(0, 7)},
        reward="min(bits, capacity)",
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """How one policy is doing."""

    policy: Policy
    regret: float
    hits: int  # requests that went to the best channel


def race(trials: int, seed: int, *, every: int) -> Iterator[tuple[int, list[Standing]]]:
    """Run the paper's policies side by side on the same draws; yield where they stand."""
    problem = channel_selection()
    genie = Genie(problem, states=ARMS)
    rewards = {
        bits: {row.arm: row.index for row in genie.explain(bits=bits).arms} for bits in (1, 2, 3, 4)
    }
    policies = [UCB1(problem), MultiUCB(problem), DCB(problem)]
    regret, hits = [0.0] * len(policies), [0] * len(policies)
    generator = np.random.default_rng(seed)
    requests = generator.integers(1, 5, trials).tolist()
    capacities = {arm: law.sample(generator, trials)[:, 0].tolist() for arm, law in ARMS.items()}
    for t, bits in enumerate(requests):
        best = max(rewards[bits].values())
        for p, policy in enumerate(policies):
            arm = policy.choose(bits=bits)
            policy.observe(arm, bits=bits, capacity=capacities[arm][t])
            regret[p] += best - rewards[bits][arm]
            hits[p] += rewards[bits][arm] == best
        if (t + 1) % every == 0 or t + 1 == trials:
            yield t + 1, [Standing(*row) for row in zip(policies, regret, hits, strict=True)]
