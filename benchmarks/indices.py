"""Compare policies with DCB(0.01) on the paper's channels and on families of random problems.

    python benchmarks/indices.py --quick                              # in a few minutes
    python benchmarks/indices.py --policies AdaptiveKL,IMED --family jumps,deadlines
    python benchmarks/indices.py --thorough --write docs/indices.md

benchmarks/families.py describes the families.  Regret is given as a share of DCB's mean regret in
the same problem and at the same horizon, so that problems of all scales count equally: the mean
over problems, all regret together, and the tail over single runs.  A run is locked if its regret is
above five times the median of the runs of its policy in its problem.  With finitely many states
regret is also given in units of the lower bound c·ln T.  A policy that cannot be compiled runs in
the interpreter, for a shorter horizon and beside DCB at that horizon.
"""

import argparse
import json
import math
import re
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from families import FAMILIES
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rivals import policy_of
from shares import BASE, Share, overall, regrets, rows_of, tables, verdicts
from tables import markdown, replaced

from onepull import (
    DCB,
    IMED,
    KLUCB,
    DirichletThompson,
    EmpiricalBernstein,
    EmpiricalKL,
    Policy,
    Problem,
    UpperConfidence,
    recommended,
    simulate,
)
from onepull.environment import Environment, channel_selection
from onepull.errors import ParameterError
from onepull.report import figures
from onepull.simulation import Result, Simulation
from onepull.simulation.executors import Serial
from onepull.simulation.prepare import Interpreted, prepare
from onepull.theory import graves_lai

POLICIES: dict[str, Callable[[Problem], Policy]] = {
    BASE: DCB,
    "UCB, α = 0.51": lambda problem: UpperConfidence(problem, alpha=0.51),
    "kl-UCB": KLUCB,
    "empirical Bernstein": EmpiricalBernstein,
    "empirical KL, c = 3": lambda problem: EmpiricalKL(problem, c=3),
    "empirical KL": EmpiricalKL,
    "empirical KL, head start": partial(EmpiricalKL, head_start=1000),
    "recommended": recommended,
    "IMED": IMED,
    "Thompson, Dirichlet": DirichletThompson,
}
HEAD_STARTS: dict[str, Callable[[Problem], Policy]] = {
    BASE: DCB,
    **{
        f"head start {start}": partial(EmpiricalKL, head_start=start)
        for start in (0, 100, 1000, 3000, 10_000, 30_000, 100_000)
    },
}


class Task(NamedTuple):
    """One problem of a family, or the paper's channels, and how to run it."""

    family: str
    number: int  # of the problem, or of the channels
    policies: tuple[str, ...]
    horizon: int
    interpreted: int  # the longest horizon in the interpreter
    runs: int
    seed: int


def known(name: str) -> Callable[[Problem], Policy]:
    """Return the policy of a name: of this study, of onepull, or `module:Class`."""
    return POLICIES.get(name) or HEAD_STARTS.get(name) or policy_of(name)


def drawn(task: Task) -> Environment:
    """Return the environment of a task."""
    if task.family not in FAMILIES:
        return channel_selection(task.number)
    luck = np.random.default_rng([task.seed, list(FAMILIES).index(task.family), task.number])
    return FAMILIES[task.family].draw(luck)


def compare(task: Task) -> list[Share]:
    """Run every policy that fits on one problem; those in the interpreter for a shorter horizon."""
    world = drawn(task)
    compiled: dict[str, Policy] = {}
    slow: dict[str, Policy] = {}
    for name in task.policies:
        try:
            policy = known(name)(world.problem)
        except ParameterError:
            continue
        is_slow = isinstance(prepare(policy, world, task.horizon), Interpreted)
        (slow if is_slow else compiled)[name] = policy
    found = compared(task, world, compiled, task.horizon)
    if slow:
        horizon = min(task.horizon, task.interpreted)
        both = compared(task, world, {BASE: DCB(world.problem), **slow}, horizon)
        found += [share for share in both if share.policy in slow]
    return found


def compared(
    task: Task, world: Environment, policies: dict[str, Policy], horizon: int
) -> list[Share]:
    """Run policies and compare them with DCB."""
    result = simulate(
        world,
        policies,
        horizon=horizon,
        replications=task.runs,
        seed=task.seed,
        executor=Serial(),
    )
    base = float(result.regret(BASE).mean())
    if base <= 0.0:
        return []
    least = math.nan
    if all(law.atoms is not None for law in world.states.values()):
        least = graves_lai(world).total * math.log(horizon)
    low, high = world.problem.payoff.whole_range
    found = []
    for policy in policies:
        lost = result.regret(policy)
        limit = float(lost.mean()) / least if least > 0 else None
        told = (lost / base).tolist()
        found.append(Share(task.family, policy, horizon, told, base, high - low, limit))
    return found


def costs(steps: int, rounds: int = 3) -> Table:
    """Return the best CPU time of a decision, in the library and in the simulator."""
    world = channel_selection(7)
    trace = Simulation(world, {BASE: DCB(world.problem)}, horizon=steps).trace(0)
    bits = trace.contexts[:, 0].tolist()
    luck = np.random.default_rng(1)
    shown = {a: law.sample(luck, steps)[:, 0].tolist() for a, law in world.states.items()}
    table = Table("policy", "µs in the library", "ns in the simulator", title="7 channels")
    for name, build in POLICIES.items():
        library, compiled = [], []
        simulation = Simulation(world, {name: build(world.problem)}, horizon=10 * steps)
        simulation.block(0, 1)
        for number in range(rounds):
            policy = build(world.problem)
            begin = process_time()
            for step, y in enumerate(bits):
                arm = policy.choose(bits=y)
                policy.observe(arm, capacity=shown[arm][step])
            library.append((process_time() - begin) / steps * 1e6)
            begin = process_time()
            simulation.block(number, number + 1)
            compiled.append((process_time() - begin) / (10 * steps) * 1e9)
        table.add_row(name, f"{min(library):.1f}", f"{min(compiled):.0f}")
    return table


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Compare policies on many problems.")
    parser.add_argument("--quick", action="store_true", help="a few short runs, in minutes")
    parser.add_argument(
        "--thorough", action="store_true", help="five times as many problems and 1000 runs"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the problems and the runs")
    parser.add_argument("--problems", type=int, help="problems per family")
    parser.add_argument("--runs", type=int, help="runs per problem")
    parser.add_argument(
        "--interpreted", type=int, default=2000, help="longest horizon in the interpreter"
    )
    parser.add_argument(
        "--head-starts",
        action="store_true",
        help="compare head starts instead, on the families only",
    )
    parser.add_argument("--family", default="", help="run these families only, or `channels`")
    parser.add_argument("--policies", default="", help="run these policies only, and DCB")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--figure", help="draw the regret on the seven channels to this file")
    parser.add_argument("--write", type=Path, help="replace the tables of a page")
    parser.add_argument("--costs", action="store_true", help="time decisions instead")
    return parser.parse_args()


def tasks_of(stated: argparse.Namespace) -> list[Task]:
    """Return what to run."""
    names = [name for name in stated.policies.split(",") if name]
    names = names or list(HEAD_STARTS if stated.head_starts else POLICIES)
    policies = tuple(dict.fromkeys([BASE, *names]))
    for name in policies:
        known(name)  # an unknown name is an error before anything runs
    problems, runs = (2, 4) if stated.quick else (20, 10) if stated.thorough else (4, 5)
    problems, runs = stated.problems or problems, stated.runs or runs
    # A comma inside of a name is followed by a space.
    wanted = [name for name in re.split(r",(?! )", stated.family) if name]
    # The head start is chosen without the channels on which it is tested afterwards.
    wanted = wanted or [*([] if stated.head_starts else ["channels"]), *FAMILIES]
    found = []
    for name in wanted:
        if name == "channels":
            horizon, repeats = (10_000, 20) if stated.quick else (100_000, 100)
            repeats = 1000 if stated.thorough else repeats
            for count in (7, 4):
                rest = (horizon, stated.interpreted, repeats, stated.seed)
                found.append(Task(f"{count} channels", count, policies, *rest))
        elif name in FAMILIES:
            horizon = FAMILIES[name].horizon
            if stated.quick:
                horizon = min(horizon, max(500, horizon // 10))
            rest = (horizon, stated.interpreted, runs, stated.seed)
            found += [Task(name, number, policies, *rest) for number in range(problems)]
        else:
            sys.exit(f"unknown family {name!r}; known are channels, {', '.join(FAMILIES)}")
    return found


def main() -> None:
    """Run the study and print it."""
    stated = options()
    if stated.costs:
        Console().print(costs(2000))
        return
    found: list[Share] = []
    tasks = tasks_of(stated)
    with (
        ProcessPoolExecutor(stated.processes, mp_context=get_context("fork")) as pool,
        Progress(console=Console(stderr=True), transient=True) as bar,
    ):
        count = bar.add_task("problems", total=len(tasks))
        for shared in pool.map(compare, tasks):
            found += shared
            bar.advance(count)
    rows = rows_of(found)
    together = overall([row for row in rows if row.family in FAMILIES])
    if stated.json:
        print(json.dumps([row._asdict() for row in [*rows, *together]], indent=1))
        return
    every = tables(rows, together)
    if channels := regrets(found):
        every["channels"] = channels
    shown = {name: markdown(cells) for name, cells in every.items()}
    for name, table in shown.items():
        print(f"\n{name}\n{table}")
    print("\n" + "\n".join(verdicts(rows, together)))
    if stated.write:
        replaced(stated.write, shown)
    if stated.figure:
        draw(stated.figure, tasks[0].runs, stated.seed)


def draw(file: str, runs: int, seed: int) -> None:
    """Draw the regret of the main policies on the seven channels, and the lower bound."""
    world = channel_selection(7)
    main = [BASE, "UCB, α = 0.51", "empirical KL, c = 3", "recommended", "IMED"]
    built = {name: POLICIES[name](world.problem) for name in main}
    result: Result = simulate(world, built, horizon=100_000, replications=runs, seed=seed)
    least: Any = graves_lai(world).total * np.log(result.checkpoints)
    figure = figures.regret(
        result,
        title="Regret on the paper's seven channels",
        policies=main,
        bounds={"least in the limit, 26.6 ln n": least},
    )
    figures.save(figure, file)


if __name__ == "__main__":
    main()
