"""Measure what the ways to state a problem and to run the loop cost.

    python benchmarks/options.py

Print the tables of docs/how-to/describe-a-problem.md and docs/how-to/route-requests.md; this takes
a few minutes.  The first table is of the four LLM endpoints of examples/llm-endpoints.toml, the
second of three small arms.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onepull import (
    DCB,
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


# How fast each arm is: a capacity from 0 to this, all alike.
FASTEST = {"wifi": 4, "lte": 6, "5g": 8}
FAILS = 0.05  # where pulls may fail
PRICES = {"wifi": 0.0, "lte": 0.2, "5g": 0.3}
SIZES = ("small", "medium", "large", "huge")
BITS = {"bits": Finite([1, 2, 3, 4])}
CAPACITY = {"capacity": Finite(range(9))}
REWARD = "min(bits, capacity)"


class Case(NamedTuple):
    """One way to state and to run a small problem; what is not given is as usual."""

    problem: Problem = Problem(arms=list(FASTEST), context=BITS, state=CAPACITY, reward=REWARD)
    begin: Callable[[Policy], None] = lambda _: None
    by_pull: bool = False


CASES = {
    "`choose` and `observe`": Case(),
    "`with policy.pull(…)`": Case(by_pull=True),
    "arms with a price": Case(
        Problem(
            arms={arm: {"price": price} for arm, price in PRICES.items()},
            context=BITS,
            state=CAPACITY,
            reward=f"{REWARD} - price",
        )
    ),
    "pulls of which 5 % fail": Case(
        Problem(arms=list(FASTEST), context=BITS, state=CAPACITY, reward=REWARD, failure=-1)
    ),
    "a context that is a word": Case(
        Problem(
            arms=list(FASTEST),
            context={"size": Finite(SIZES)},
            state=CAPACITY,
            reward="min(1 if size == 'small' else 2 if size == 'medium' else 3 if size == 'large' "
            "else 4, capacity)",
        )
    ),
    "states clipped at 7": Case(
        Problem(
            arms=list(FASTEST),
            context=BITS,
            state={"capacity": Interval(0, 7, outside="clip")},
            reward=REWARD,
        )
    ),
    "a paused arm": Case(begin=lambda policy: policy.pause("wifi")),
    "a pinned arm": Case(begin=lambda policy: policy.pin("5g")),
    "a least share of 20 % for the worst arm": Case(
        begin=lambda policy: policy.share("wifi", least=0.2)
    ),
    "a member of a fleet": Case(begin=lambda policy: policy.join("here")),
}


def loops(requests: int, runs: int) -> None:
    """Print the time, the storage and the regret of each way to run the loop.

    Bytes are those of a save file.  Regret is that of its own problem.
    """
    print("| DCB | µs per request | bytes saved | regret |\n|---|--:|--:|--:|")
    for name, case in CASES.items():
        found = [_served(case, requests, seed) for seed in range(max(runs, 2))]
        times, sizes, regret = zip(*found, strict=True)
        mean, half = mean_and_half_width(np.array(regret))
        print(f"| {name} | {min(times):.1f} | {max(sizes):,} | {mean:.0f} ± {half:.0f} |")


def _served(case: Case, requests: int, seed: int) -> tuple[float, int, float]:
    """Return µs per request, the bytes of a save file, and the regret."""
    luck = np.random.default_rng(seed)
    policy = DCB(case.problem)
    case.begin(policy)
    (field,) = case.problem.context
    values: Any = SIZES if field == "size" else (1, 2, 3, 4)
    bits = luck.integers(4, size=requests).tolist()
    contexts = [{field: values[b]} for b in bits]
    fails = (
        luck.random(requests) < FAILS if case.problem.failure is not None else np.zeros(requests)
    )
    states = {
        arm: [
            {"failed": True} if failed else {"capacity": capacity}
            for capacity, failed in zip(
                luck.integers(fastest + 1, size=requests).tolist(), fails.tolist(), strict=True
            )
        ]
        for arm, fastest in FASTEST.items()
    }
    serve = _by_pull if case.by_pull else _plainly
    start = time.process_time()
    chosen = serve(policy, contexts, states)
    took = (time.process_time() - start) / requests * 1e6
    worth = _expected(case.problem)
    lost = sum(max(worth[b].values()) - worth[b][arm] for b, arm in zip(bits, chosen, strict=True))
    return took, len(policy.to_bytes()), lost


def _expected(problem: Problem) -> list[dict[str, float]]:
    """Return the mean reward of each arm, for each size of a request."""
    fails = FAILS if problem.failure is not None else 0.0
    price = PRICES if problem.attributes else dict.fromkeys(FASTEST, 0.0)
    return [
        {
            arm: (1 - fails) * float(np.minimum(size, np.arange(fastest + 1)).mean())
            - fails
            - price[arm]
            for arm, fastest in FASTEST.items()
        }
        for size in (1, 2, 3, 4)
    ]


def _plainly(policy: Policy, contexts: list[Any], states: dict[str, list[Any]]) -> list[str]:
    chosen = []
    for i, context in enumerate(contexts):
        arm = policy.choose(**context)
        policy.observe(arm, **states[arm][i])
        chosen.append(arm)
    return chosen


def _by_pull(policy: Policy, contexts: list[Any], states: dict[str, list[Any]]) -> list[str]:
    chosen = []
    for i, context in enumerate(contexts):
        with policy.pull(**context) as pull:
            pull.observe(**states[pull.arm][i])
        chosen.append(pull.arm)
    return chosen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--horizon", type=int, default=5_000)
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--requests", type=int, default=20_000)
    given = parser.parse_args()
    regrets(given.horizon, given.replications)
    print()
    loops(given.requests, given.replications)
