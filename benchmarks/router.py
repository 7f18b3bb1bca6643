"""Route requests to endpoints that get worse, get better and fail: what each policy loses.

    python benchmarks/router.py                        # tune the others, then compare, in an hour
    python benchmarks/router.py --policies AdaptiveKL,EWMA-0.1-0.05 --seeds 10
    python benchmarks/router.py --scenarios worse,better --json results.json

benchmarks/endpoints.py describes the world.  The loss is what the genie of the moment would have
earned more, per 1,000 requests, with 95 % intervals over seeds: in seconds of somebody in a hurry
of 1, or in requests if there is a deadline.  Ours has nothing to tune.  Each other kind is tuned
twice on seeds that are not used again: one setting for all scenarios, because nobody knows which
one is coming, and one for each scenario, which nobody could know.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from endpoints import SCENARIOS, World, serve
from rivals import player
from tables import interval, markdown, replaced

from onepull.errors import ParameterError

OURS = ("AdaptiveKL",)
FIXED = ("CCB", "Greedy")
TUNED: dict[str, list[str]] = {
    "EWMA": [f"EWMA-{r}-{e}" for r in (0.05, 0.1, 0.2) for e in (0.003, 0.01, 0.03, 0.1)],
    "ε-greedy": [f"eps-{e}" for e in (0.003, 0.01, 0.03, 0.1)],
}
PEERS = {
    "river LinUCB": [f"river-LinUCB-{beta}" for beta in (1, 10, 100)],
    "MABWiser LinUCB": [f"mabwiser-LinUCB-{alpha}" for alpha in (0.03, 0.3, 1)],
    "MABWiser LinTS": [f"mabwiser-LinTS-{alpha}" for alpha in (0.03, 0.3, 1)],
}
TUNING, CONFIRMING = 1, 1001  # first seeds
POINTS = 60  # of a curve


class Task(NamedTuple):
    """One policy in one world."""

    scenario: str
    policy: str
    seed: int
    requests: int


class Found(NamedTuple):
    """The loss per 1,000 requests, the loss up to each point, and µs per pull."""

    loss: float
    curve: list[float]
    spent: float


@lru_cache(maxsize=4)
def world(scenario: str, seed: int, requests: int) -> World:
    """Return a world, drawn once for policies that follow each other."""
    return World(scenario, seed, requests)


def run(task: Task) -> Found:
    """Let a policy serve one world."""
    given = world(task.scenario, task.seed, task.requests)
    build = player(task.policy)
    try:
        served = serve(given, build(given.problem, task.seed))
    except ParameterError:  # it needs bounds: it gets them, and states are clipped
        served = serve(given, build(given.bounded, task.seed))
    points = np.linspace(0, task.requests, POINTS + 1).astype(int)[1:] - 1
    total = np.cumsum(served.losses)
    return Found(float(total[-1]) * 1000 / task.requests, total[points].tolist(), served.spent)


def run_all(tasks: list[Task], processes: int) -> dict[Task, Found]:
    """Run every task, those of one world after each other."""
    ordered = sorted(set(tasks), key=lambda task: (task.scenario, task.seed))
    with ProcessPoolExecutor(processes, mp_context=get_context("fork")) as pool:
        return dict(zip(ordered, pool.map(run, ordered), strict=True))


class Tuned(NamedTuple):
    """The settings of one kind: one for all scenarios, and the best for each."""

    overall: str
    each: dict[str, str]


def tune(
    kinds: dict[str, list[str]], scenarios: list[str], seeds: int, requests: int, processes: int
) -> dict[str, Tuned]:
    """Choose settings on seeds of their own; over all scenarios by the mean logarithm of losses."""
    tasks = [
        Task(scenario, name, seed, requests)
        for scenario in scenarios
        for names in kinds.values()
        for name in names
        for seed in range(TUNING, TUNING + seeds)
    ]
    found = run_all(tasks, processes)
    losses = {
        (scenario, name): float(
            np.mean([one.loss for t, one in found.items() if t[:2] == (scenario, name)])
        )
        for scenario in scenarios
        for names in kinds.values()
        for name in names
    }
    return {
        kind: Tuned(
            min(names, key=lambda n: sum(math.log(losses[s, n] + 1e-9) for s in scenarios)),
            {s: min(names, key=lambda n, s=s: losses[s, n]) for s in scenarios},  # type: ignore[misc]
        )
        for kind, names in kinds.items()
    }


def rows_of(
    policies: list[str], tuned: dict[str, Tuned], scenarios: list[str]
) -> dict[str, dict[str, str]]:
    """Return the rows of the table: for each scenario the name of the policy that runs."""
    rows = {policy: dict.fromkeys(scenarios, policy) for policy in policies}
    for kind, settings in tuned.items():
        rows[f"{kind} ({settings.overall})"] = dict.fromkeys(scenarios, settings.overall)
        if set(settings.each.values()) != {settings.overall}:
            rows[f"{kind}, tuned to each"] = settings.each
    return rows


def tables(
    rows: dict[str, dict[str, str]], found: dict[Task, Found], scenarios: list[str]
) -> dict[str, list[list[str]]]:
    """Return the losses of every row, and how they compare with ours."""
    table = [["policy", *scenarios, "µs"]]
    for row, names in rows.items():
        runs = {s: [one for t, one in found.items() if t[:2] == (s, names[s])] for s in scenarios}
        told = ["{:.1f} ± {:.1f}".format(*interval(r.loss for r in runs[s])) for s in scenarios]
        spent = np.median([one.spent for every in runs.values() for one in every])
        table.append([row, *told, f"{spent:.0f}"])
    first = next(iter(rows))
    beside = [[f"loss less that of {first}", *scenarios]]
    for row, names in list(rows.items())[1:]:
        cells = []
        for s in scenarios:
            own = {t.seed: one.loss for t, one in found.items() if t[:2] == (s, rows[first][s])}
            other = {t.seed: one.loss for t, one in found.items() if t[:2] == (s, names[s])}
            pairs = [other[seed] - own[seed] for seed in own]
            cells.append("{:+.1f} ± {:.1f}".format(*interval(pairs)))
        beside.append([row, *cells])
    return {"router": table, "router-beside": beside}


def curves(
    rows: dict[str, dict[str, str]], found: dict[Task, Found], scenarios: list[str]
) -> dict[str, Any]:
    """Return the mean loss over requests of every row, for a figure."""
    return {
        scenario: {
            row: np.round(
                np.mean(
                    [one.curve for t, one in found.items() if t[:2] == (scenario, names[scenario])],
                    axis=0,
                ),
                3,
            ).tolist()
            for row, names in rows.items()
        }
        for scenario in scenarios
    }


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--policies", default="", help="run only these, without tuning")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=CONFIRMING)
    parser.add_argument("--tuning-seeds", type=int, default=6)
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--peers", action="store_true", help="also run river and MABWiser")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write the curves to this file")
    parser.add_argument("--write", type=Path, help="replace the tables of a page")
    return parser.parse_args()


def main() -> None:
    """Tune, run and print."""
    stated = options()
    scenarios = stated.scenarios.split(",")
    if unknown := [name for name in scenarios if name not in SCENARIOS]:
        sys.exit(f"unknown scenario {unknown[0]!r}; the scenarios are {', '.join(SCENARIOS)}")
    tuned: dict[str, Tuned] = {}
    policies = [name for name in stated.policies.split(",") if name]
    if not policies:
        policies = [*OURS, *FIXED]
        kinds = {**TUNED, **PEERS} if stated.peers else TUNED
        tuned = tune(kinds, scenarios, stated.tuning_seeds, stated.requests, stated.processes)
    rows = rows_of(policies, tuned, scenarios)
    tasks = [
        Task(scenario, names[scenario], seed, stated.requests)
        for scenario in scenarios
        for names in rows.values()
        for seed in range(stated.first_seed, stated.first_seed + stated.seeds)
    ]
    found = run_all(tasks, stated.processes)
    shown = {name: markdown(cells) for name, cells in tables(rows, found, scenarios).items()}
    print(f"loss to the genie per 1,000 requests, {stated.seeds} seeds of {stated.requests:,}")
    for table in shown.values():
        print(f"\n{table}")
    for kind, settings in tuned.items():
        print(f"{kind}, tuned to each: {', '.join(f'{s} {n}' for s, n in settings.each.items())}")
    if stated.json:
        data = {
            "requests": stated.requests,
            "seeds": stated.seeds,
            "curves": curves(rows, found, scenarios),
        }
        stated.json.write_text(json.dumps(data, ensure_ascii=False) + "\n", "utf-8")
    if stated.write:
        replaced(stated.write, shown)


if __name__ == "__main__":
    main()
