"""Measure what the recommended policy costs beside DCB and CCB: choose, observe, construction.

    python benchmarks/default_cost.py
    python benchmarks/default_cost.py --arms 4 --rounds 5 --json

The last lines say how long it takes to compile or load decisions, and to weigh states anew.  That
is what a rare observation does that changes the belief in change.

Every policy knows 500 states of each arm before anything is timed, with two state fields.  Then
the policies of a size serve the same requests in turns.  Listed contexts come again and again,
those of an interval never.  Each call is timed alone, in CPU time less what reading the clock
takes, so that other processes on the machine count little.  Ratios are
to the paper's policy on the same problem: DCB if contexts are listed, CCB if they are an interval.
If numba is installed, there is one more row: the recommended policy after `compile_decisions()`.
The other rows do without it.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Callable
from importlib.util import find_spec
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from tables import markdown

import onepull
from onepull import (
    CCB,
    DCB,
    AdaptiveKL,
    Finite,
    Interval,
    Policy,
    Problem,
    recommended,
)
from onepull.policies.kept_states.counting import counts_under
from onepull.policies.kept_states.drift import CANDIDATES, STEADY

LEARNED = 500  # states of each arm
STEPS = 200  # requests in a turn
BUILT = 9  # constructions, each of a problem of its own
PERIOD = 200.0  # an arm that changes is slow and fast again in 2π times as many trials
TOKENS = (1, 10, 100, 1000)
LISTED, BETWEEN = "listed", "interval"
CONTEXTS: dict[str, Finite | Interval] = {LISTED: Finite(TOKENS), BETWEEN: Interval(1, 1000)}


class World(NamedTuple):
    """How much slower the slowest arm is, and whether arms become faster and slower."""

    spread: float
    changing: bool


class Row(NamedTuple):
    """Times of one policy in µs, of its construction in ms, and ratios of medians."""

    arms: int
    contexts: str
    policy: str
    choose: list[float]  # median, 99th percentile, longest
    observe: list[float]
    construct: float
    choose_ratio: float
    observe_ratio: float


def problem(arms: int, contexts: str) -> Problem:
    """Return a choice of endpoints by the time to the first token and per token."""
    return Problem(
        arms=[f"endpoint {j}" for j in range(1, arms + 1)],
        context={"tokens": CONTEXTS[contexts]},
        state={"first": Interval(0, 10), "each": Interval(0, 0.1)},
        reward="-(first + tokens * each)",
    )


def ccb(given: Problem) -> Policy:
    """Return CCB with a hundred cells."""
    return CCB(given, delta=10)


COMPILED = "the same, compiled"
OURS: dict[str, Callable[[Problem], Policy]] = {"recommended": recommended}
if find_spec("numba") is not None:
    OURS[COMPILED] = recommended
BUILD: dict[str, dict[str, Callable[[Problem], Policy]]] = {
    LISTED: {"DCB": DCB, **OURS},
    BETWEEN: {"CCB, 100 cells": ccb, **OURS},
}


def drawn(
    arms: int, count: int, world: World, luck: np.random.Generator, begin: int = 0
) -> list[list[dict[str, float]]]:
    """Return states: a row for each draw, a state for each arm, each arm with its own speed."""
    speed = np.linspace(1.0, 1.0 + world.spread, arms)
    if world.changing:
        times = np.arange(begin, begin + count)[:, None]
        speed = speed * (1.0 + 0.8 * np.sin(times / PERIOD + 1.5 * np.arange(arms)))
    first = np.minimum(0.3 * speed * luck.lognormal(0.0, 0.5, (count, arms)), 10.0)
    each = np.minimum(0.01 * speed * luck.lognormal(0.0, 0.3, (count, arms)), 0.1)
    pairs = np.stack([first, each], axis=2).tolist()
    return [[{"first": f, "each": e} for f, e in row] for row in pairs]


def construction(build: Callable[[Problem], Policy], arms: int, contexts: str) -> float:
    """Return the median CPU time of a construction in ms."""
    times = []
    for _ in range(BUILT):
        given = problem(arms, contexts)
        begin = process_time()
        build(given)
        times.append(process_time() - begin)
    return median(times) * 1e3


def clock() -> float:
    """Return the CPU time that reading the clock takes."""
    times = []
    for _ in range(2000):
        begin = process_time()
        times.append(process_time() - begin)
    return median(times)


def serve(
    policy: Policy,
    contexts: list[dict[str, Any]],
    states: list[list[dict[str, float]]],
    taken: tuple[list[float], list[float]],
) -> None:
    """Serve requests, and add the time of every call."""
    place = {arm: j for j, arm in enumerate(policy.problem.arms)}
    chosen, observed = taken
    for context, row in zip(contexts, states, strict=True):
        begin = process_time()
        arm = policy.choose(**context)
        between = process_time()
        policy.observe(arm, **row[place[arm]])
        end = process_time()
        chosen.append(between - begin)
        observed.append(end - between)


def compete(arms: int, contexts: str, rounds: int, world: World) -> list[Row]:
    """Time the policies of one problem in turns."""
    luck = np.random.default_rng(1)
    built = {name: build(problem(arms, contexts)) for name, build in BUILD[contexts].items()}
    known = drawn(arms, LEARNED, world, luck)
    for policy in built.values():
        for row in known:
            for arm, state in zip(policy.problem.arms, row, strict=True):
                policy.observe(arm, **state)
    taken: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in built}
    for turn in range(rounds + 1):
        tokens = _tokens(contexts, luck)
        states = drawn(arms, STEPS, world, luck, LEARNED + STEPS * turn)
        for name, policy in built.items():
            into = taken[name] if turn else ([], [])  # the first turn warms up
            onepull.compile_decisions(use=name == COMPILED)
            serve(policy, [{"tokens": count} for count in tokens], states, into)
    read = clock()
    times = {name: [summary(calls, read) for calls in both] for name, both in taken.items()}
    base = next(iter(times.values()))
    return [
        Row(
            arms,
            contexts,
            name,
            choose,
            observe,
            construction(BUILD[contexts][name], arms, contexts),
            choose[0] / base[0][0],
            observe[0] / base[1][0],
        )
        for name, (choose, observe) in times.items()
    ]


def _tokens(contexts: str, luck: np.random.Generator) -> list[float]:
    """Return the contexts of a turn: some of a list again and again, or new ones every time."""
    many = luck.choice(TOKENS, STEPS) if contexts == LISTED else luck.uniform(1, 1000, STEPS)
    found: list[float] = many.tolist()
    return found


def weighing(arms: int) -> float:
    """Return the longest CPU time in ms to weigh all states anew, for each belief in change."""
    policy = AdaptiveKL(problem(arms, LISTED))
    for row in drawn(arms, LEARNED, World(1.0, changing=False), np.random.default_rng(1)):
        for arm, state in zip(policy.problem.arms, row, strict=True):
            policy.observe(arm, **state)
    memory = policy.memory
    times = []
    for candidate in range(STEADY + 1, len(CANDIDATES)):
        begin = process_time()
        counts_under(candidate, memory.kept, memory.stands_for, memory.seen_at)
        times.append(process_time() - begin)
    return max(times) * 1e3


def summary(calls: list[float], read: float) -> list[float]:
    """Return the median, the 99th percentile and the longest of some times in µs."""
    return [float(one - read) * 1e6 for one in np.quantile(calls, [0.5, 0.99, 1.0])]


def cells(rows: list[Row]) -> list[list[str]]:
    """Return the table of a page."""
    head = ["arms", "contexts", "policy", "choose: median", "p99", "longest", "ratio"]
    head += ["observe: median", "p99", "longest", "ratio", "constructor, ms"]
    return [
        head,
        *(
            [
                str(row.arms),
                row.contexts,
                row.policy,
                *(f"{value:.1f}" for value in row.choose),
                f"{row.choose_ratio:.1f}",
                *(f"{value:.1f}" for value in row.observe),
                f"{row.observe_ratio:.1f}",
                f"{row.construct:.1f}",
            ]
            for row in rows
        ),
    ]


def main() -> None:
    """Time every size and print a table, in µs of CPU time."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--arms", default="4,50", help="numbers of arms, separated by commas")
    parser.add_argument("--rounds", type=int, default=10, help=f"turns of {STEPS} requests")
    parser.add_argument(
        "--spread", type=float, default=1.0, help="how much slower the slowest arm is; 0: all alike"
    )
    parser.add_argument(
        "--changing", action="store_true", help="let arms become faster and slower all the time"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    stated = parser.parse_args()
    begin = process_time()
    if COMPILED in OURS:
        onepull.compile_decisions()  # the first use of the name also loads numba
    compiling = process_time() - begin
    gc.disable()  # as timeit does, so that no policy pays for the garbage of another
    rows = [
        row
        for arms in map(int, stated.arms.split(","))
        for contexts in BUILD
        for row in compete(arms, contexts, stated.rounds, World(stated.spread, stated.changing))
    ]
    if stated.json:
        print(json.dumps([row._asdict() for row in rows]))
    else:
        print(markdown(cells(rows)))
        print(f"compile_decisions(): {compiling:.1f} s")
        for arms in map(int, stated.arms.split(",")):
            print(f"weighing all states of {arms} arms anew: {weighing(arms):.2f} ms")


if __name__ == "__main__":
    main()
