"""Measure what prices, failures, missing bounds and clipping cost, on four LLM endpoints.

    python benchmarks/options.py

Print the tables of docs/how-to/describe-a-problem.md and docs/how-to/route-requests.md; this takes
a few minutes.  The endpoints are those of examples/llm-endpoints.toml.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from onepull import (
    KLUCB,
    AdaptiveKL,
    EmpiricalKL,
    Environment,
    Experiment,
    Finite,
    Interval,
    Policy,
    Problem,
    simulate,
)
from onepull.simulation.result import mean_and_half_width

ENDPOINTS = Experiment.read(Path(__file__).parent.parent / "examples" / "llm-endpoints.toml")
WORLD: Environment = ENDPOINTS.simulation.environment
PRICED = WORLD.problem
SECONDS = 10.0  # where answers are clipped
CLIPPED = {"first": (0.01, SECONDS), "each": (0.001, 0.1)}


def clipped(scale: str = "linear") -> Problem:
    """Return the problem with states that are clipped, so that they can be sketched."""
    return Problem(
        arms=PRICED.attributes,
        context=PRICED.context,
        state={
            name: Interval(low, high, outside="clip", scale=scale)
            for name, (low, high) in CLIPPED.items()
        },
        reward=PRICED.reward,
        failure=PRICED.failure,
    )


def on(problem: Problem) -> Environment:
    """Return the world with another description of its states."""
    return Environment(problem, states=WORLD.states, contexts=WORLD.contexts)


def regrets(horizon: int, runs: int) -> None:
    """Print the regret, the storage and the time of a decision for each way to state the problem.

    Where states are clipped, so are those that regret is counted with.  Times are CPU times.
    """
    linear, log = clipped(), clipped("log")
    cases: dict[str, Policy] = {
        "`Interval(0, inf)`, states kept (`recommended`)": AdaptiveKL(PRICED),
        "the same with 64 states per arm": AdaptiveKL(PRICED, kept=64),
        "clipped, states kept": AdaptiveKL(linear),
        "clipped, sketch of 17 x 17 knots": EmpiricalKL(linear, knots=17),
        "clipped, the same on a log scale": EmpiricalKL(log, knots=17),
        "clipped, mean rewards in cells of 45 tokens": KLUCB(linear, delta=45.0),
    }
    print("| stated as | regret | numbers stored | µs per request |\n|---|--:|--:|--:|")
    for name, policy in cases.items():
        result = simulate(
            on(policy.problem), {"one": policy}, horizon=horizon, replications=runs, seed=1
        )
        mean, half = mean_and_half_width(result.regret("one"))
        kept = policy.storage_after(horizon)
        print(f"| {name} | {mean:.2f} ± {half:.2f} | {kept:,} | {_microseconds(policy):.0f} |")


def _microseconds(policy: Policy, requests: int = 2000) -> float:
    """Return the time of a choice and an observation after some requests."""
    twin = type(policy).from_bytes(policy.to_bytes(), problem=policy.problem)
    luck = np.random.default_rng(0)
    contexts, states = _drawn(requests, luck)
    for context, state in zip(contexts, states, strict=True):
        twin.observe(twin.choose(**context), **context, **state)
    start = time.process_time()
    for context, state in zip(contexts, states, strict=True):
        twin.observe(twin.choose(**context), **context, **state)
    return (time.process_time() - start) / requests * 1e6


def _drawn(count: int, luck: np.random.Generator) -> tuple[list[dict[str, Any]], list[Any]]:
    rows = WORLD.contexts.sample(luck, count).tolist()
    contexts = [PRICED.context.fields(row) for row in rows]
    law = WORLD.states["alpha"].sample(luck, count).tolist()
    states: list[Any] = [PRICED.state.fields(row) for row in law]
    for place in range(0, count, 50):
        states[place] = {"failed": True}
    return contexts, states


def loops(requests: int) -> None:
    """Print the time of a request with each way to run the loop."""
    problem = Problem(
        arms=["wifi", "lte", "5g"],
        context={"bits": Finite([1, 2, 3, 4])},
        state={"capacity": Finite(range(8))},
        reward="min(bits, capacity)",
    )
    priced = Problem(
        arms={"wifi": {"price": 0.0}, "lte": {"price": 0.2}, "5g": {"price": 0.3}},
        context=problem.context, state=problem.state, reward="min(bits, capacity) - price",
    )  # fmt: skip
    failing = Problem(
        arms=problem.arms, context=problem.context, state=problem.state, reward=problem.reward,
        failure=-1,
    )  # fmt: skip
    from onepull import DCB  # noqa: PLC0415 - used here alone

    def paused(policy: Policy) -> None:
        policy.share("wifi", least=0.05)

    def joined(policy: Policy) -> None:
        policy.join("here")

    def nothing(policy: Policy) -> None:
        del policy

    cases: dict[str, tuple[Problem, Callable[[Policy], None], Callable[..., None]]] = {
        "`choose` and `observe`": (problem, nothing, _plainly),
        "`with policy.pull(…)`": (problem, nothing, _by_pull),
        "arms with a price": (priced, nothing, _plainly),
        "pulls that may fail": (failing, nothing, _plainly),
        "a least share": (problem, paused, _plainly),
        "a member of a fleet": (problem, joined, _plainly),
    }
    print("| DCB, µs per request | |\n|---|--:|")
    for name, (stated, begin, serve) in cases.items():
        best = math.inf
        for _ in range(5):
            policy = DCB(stated)
            begin(policy)
            start = time.process_time()
            serve(policy, requests)
            best = min(best, (time.process_time() - start) / requests * 1e6)
        print(f"| {name} | {best:.1f} |")


def _plainly(policy: Policy, requests: int) -> None:
    for i in range(requests):
        policy.observe(policy.choose(bits=1 + i % 4), capacity=i % 8)


def _by_pull(policy: Policy, requests: int) -> None:
    for i in range(requests):
        with policy.pull(bits=1 + i % 4) as pull:
            pull.observe(capacity=i % 8)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--horizon", type=int, default=5_000)
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--requests", type=int, default=20_000)
    given = parser.parse_args()
    regrets(given.horizon, given.replications)
    print()
    loops(given.requests)
