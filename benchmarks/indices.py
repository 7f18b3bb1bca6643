"""Compare every index with DCB(0.01) on the paper's channels and on families of random problems.

A family is many problems drawn from one description.  Regret is given as a share of DCB's mean
regret in the same problem, so that problems of all scales count equally: the mean over problems,
all regret together, and the tail over single runs.  With finitely many states it is also given in
units of the lower bound c·ln T.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator
from functools import partial
from time import process_time
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from onepull import (
    DCB,
    IMED,
    KLUCB,
    DirichletThompson,
    EmpiricalBernstein,
    EmpiricalKL,
    Finite,
    Interval,
    Policy,
    Problem,
    UpperConfidence,
    recommended,
    simulate,
)
from onepull.distributions import Beta, Discrete, Distribution, Independent
from onepull.environment import Environment, channel_selection
from onepull.report import figures
from onepull.simulation import Result, Simulation
from onepull.theory import graves_lai

BASE = "DCB(0.01)"
Luck: TypeAlias = np.random.Generator

POLICIES: dict[str, Callable[[Problem], Policy]] = {
    BASE: DCB,
    "UCB, α = 0.51": lambda problem: UpperConfidence(problem, alpha=0.51),
    "kl-UCB": KLUCB,
    "empirical Bernstein": EmpiricalBernstein,
    "empirical KL, c = 3": lambda problem: EmpiricalKL(problem, c=3),
    "empirical KL": EmpiricalKL,
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


class Row(NamedTuple):
    """The results of a policy on a family; all but the last are shares of DCB's mean regret."""

    family: str
    policy: str
    mean: float  # over problems
    together: float  # all regret of the family
    p99: float  # over single runs
    worst: float
    limits: float | None  # regret / (c ln T), over problems with c > 0


class Family(NamedTuple):
    """How to draw a problem of a family, and its horizon."""

    draw: Callable[[Luck], Environment]
    horizon: int


def levels(luck: Luck, values: list[float], few: int) -> Discrete:
    """Return a distribution on a few of the values."""
    chosen = luck.choice(len(values), min(few, len(values)), replace=False)
    return Discrete([values[i] for i in chosen], luck.dirichlet(np.ones(len(chosen))).tolist())


def listed(  # noqa: PLR0913 - everything in which families differ
    luck: Luck,
    *,
    reward: str,
    arms: int,
    contexts: list[float],
    states: list[float],
    chances: list[float] | None = None,
) -> Environment:
    """Return arms with a few states each, from a common list."""
    names = [f"arm {j}" for j in range(arms)]
    problem = Problem(
        arms=names, context={"y": Finite(contexts)}, state={"x": Finite(states)}, reward=reward
    )
    laws: dict[str, Distribution] = {
        n: levels(luck, states, int(luck.integers(2, 5))) for n in names
    }
    return Environment(
        problem,
        states=laws,
        contexts=Discrete(contexts, chances or [1 / len(contexts)] * len(contexts)),
    )


def capacities(luck: Luck) -> Environment:
    """Return channels that deliver bits up to their capacity."""
    return listed(
        luck,
        reward="min(y, x)",
        arms=int(luck.integers(4, 11)),
        contexts=list(range(1, int(luck.integers(4, 9)))),
        states=list(range(9)),
    )


def rates(luck: Luck) -> Environment:
    """Return links whose rate depends on the power and the gain."""
    return listed(
        luck,
        reward="log(1 + y * x)",
        arms=int(luck.integers(4, 9)),
        contexts=[0.1, 0.3, 1.0, 3.0],
        states=[0, 0.5, 1, 2, 3, 4],
    )


def thresholds(luck: Luck) -> Environment:
    """Return arms that serve a request or not."""
    return listed(
        luck,
        reward="x >= y",
        arms=int(luck.integers(4, 9)),
        contexts=list(range(1, 8)),
        states=list(range(11)),
    )


def latencies(luck: Luck) -> Environment:
    """Return servers with latencies, which are negative rewards."""
    names = [f"server {j}" for j in range(int(luck.integers(3, 7)))]
    links, speeds = [2.0, 5.0, 10.0, 40.0], [10.0, 20.0, 50.0, 100.0]
    problem = Problem(
        arms=names,
        context={"size": Finite([1, 10, 50]), "work": Finite([10, 100])},
        state={"rate": Finite(links), "speed": Finite(speeds)},
        reward="-(size / rate + work / speed)",
    )
    return Environment(
        problem,
        states={n: Independent(levels(luck, links, 3), levels(luck, speeds, 3)) for n in names},
        contexts={
            "size": Discrete([1, 10, 50], luck.dirichlet(np.ones(3)).tolist()),
            "work": Discrete([10, 100], [0.6, 0.4]),
        },
    )


def rare_contexts(luck: Luck) -> Environment:
    """Return contexts of which each is a fifth as likely as the one before."""
    chances = np.array([0.2**i for i in range(5)])
    return listed(
        luck,
        reward="min(y, x)",
        arms=int(luck.integers(4, 9)),
        contexts=luck.permutation(np.arange(1.0, 6)).tolist(),
        states=list(range(7)),
        chances=(chances / chances.sum()).tolist(),
    )


def many_contexts(luck: Luck) -> Environment:
    """Return problems with fifty contexts."""
    return listed(
        luck,
        reward="log(1 + y * x)" if luck.random() < 0.5 else "min(5 * y, x)",
        arms=int(luck.integers(4, 9)),
        contexts=[i / 50 for i in range(1, 51)],
        states=[0, 0.5, 1, 1.5, 2, 3, 4],
    )


def many_arms(luck: Luck) -> Environment:
    """Return problems with twenty to fifty arms."""
    return listed(
        luck,
        reward="min(y, x)",
        arms=int(luck.integers(20, 51)),
        contexts=[1, 2, 4, 6],
        states=list(range(7)),
    )


def each_somewhere(luck: Luck) -> Environment:
    """Return links of which each is best for some request, so that all regret is lost early."""
    while True:
        arms = int(luck.integers(3, 7))
        names = [f"link {j}" for j in range(arms)]
        sizes = np.sort(luck.choice(np.arange(1.0, 11), arms, replace=False))
        reliable = np.sort(luck.uniform(0.2, 1.0, arms))[::-1]
        problem = Problem(
            arms=names,
            context={"y": Finite(sizes.tolist())},
            state={"x": Finite([0.0, *sizes.tolist()])},
            reward="min(y, x)",
        )
        laws: dict[str, Distribution] = {
            n: Discrete([0.0, size], [1 - p, p])
            for n, size, p in zip(names, sizes.tolist(), reliable.tolist(), strict=True)
        }
        # Leave out tiny gaps: they are neither detected nor expensive.
        means = np.minimum.outer(sizes, sizes) * reliable  # by context and arm
        ahead = np.diff(np.sort(means, axis=1)[:, -2:], axis=1)
        if len(set(means.argmax(axis=1))) == arms and ahead.min() > 0.02 * sizes[-1]:
            contexts = Discrete(sizes.tolist(), [1 / arms] * arms)
            return Environment(problem, states=laws, contexts=contexts)


def continuous(luck: Luck) -> Environment:
    """Return states between 0 and 1 for a sketch, with kinked or smooth rewards."""
    names = [f"arm {j}" for j in range(int(luck.integers(3, 7)))]
    contexts = [0.2, 0.4, 0.6, 0.8]
    problem = Problem(
        arms=names,
        context={"y": Finite(contexts)},
        state={"x": Interval(0, 1)},
        reward="min(y, x)" if luck.random() < 0.5 else "log(1 + 3 * y * x)",
    )
    laws: dict[str, Distribution] = {n: Beta(*luck.uniform(0.4, 4, 2).tolist()) for n in names}
    return Environment(problem, states=laws, contexts=Discrete(contexts, [0.25] * 4))


FAMILIES = {
    "capacity": Family(capacities, 30_000),
    "rate": Family(rates, 30_000),
    "threshold": Family(thresholds, 30_000),
    "latency": Family(latencies, 30_000),
    "rare contexts": Family(rare_contexts, 30_000),
    "50 contexts": Family(many_contexts, 20_000),
    "20 to 50 arms": Family(many_arms, 20_000),
    "continuous states": Family(continuous, 10_000),
    "each best somewhere": Family(each_somewhere, 30_000),
}


def paper(
    policies: dict[str, Callable[[Problem], Policy]],
    channels: tuple[int, ...],
    horizon: int,
    runs: int,
    seed: int,
) -> Iterator[tuple[str, Environment, Result]]:
    """Yield the paper's sets of channels with the result of every policy."""
    for count in channels:
        world = channel_selection(count)
        built = {name: build(world.problem) for name, build in policies.items()}
        result = simulate(world, built, horizon=horizon, replications=runs, seed=seed)
        yield f"{count} channels", world, result


def family_rows(  # noqa: PLR0913, PLR0917 - everything that defines the runs
    name: str,
    worlds: list[Environment],
    policies: dict[str, Callable[[Problem], Policy]],
    horizon: int,
    runs: int,
    seed: int,
) -> list[Row]:
    """Run every policy on the problems of a family."""
    shares: dict[str, list[Any]] = {policy: [] for policy in policies}
    totals = dict.fromkeys(policies, 0.0)
    limits: dict[str, list[float]] = {policy: [] for policy in policies}
    for world in worlds:
        built = {policy: build(world.problem) for policy, build in policies.items()}
        result = simulate(world, built, horizon=horizon, replications=runs, seed=seed)
        base = float(result.regret(BASE).mean())
        least = float("nan")
        if all(law.atoms is not None for law in world.states.values()):
            least = graves_lai(world).total * math.log(horizon)
        low, high = world.problem.payoff.whole_range
        for policy in policies:
            lost = result.regret(policy)
            totals[policy] += float(lost.mean()) / (high - low)
            if base > 0:
                shares[policy].append(lost / base)
            if least > 0:
                limits[policy].append(float(lost.mean()) / least)
    return [
        Row(
            name,
            policy,
            float(np.mean(shares[policy])),
            totals[policy] / totals[BASE],
            float(np.quantile(shares[policy], 0.99)),
            float(np.max(shares[policy])),
            float(np.median(limits[policy])) if limits[policy] else None,
        )
        for policy in policies
    ]


def paper_rows(world: Environment, name: str, result: Result) -> list[Row]:
    """Return the results of every policy on the paper's channels."""
    base = float(result.regret(BASE).mean())
    least = graves_lai(world).total * math.log(result.horizon)
    found = []
    for policy in result.policies:
        share = result.regret(policy) / base
        mean = float(share.mean())
        limit = mean * base / least if least > 0 else None
        tail = float(np.quantile(share, 0.99)), float(share.max())
        found.append(Row(name, policy, mean, mean, *tail, limit))
    return found


def overall(rows: list[Row]) -> list[Row]:
    """Return the mean over the families, and the worst of their tails."""
    found = []
    for policy in dict.fromkeys(row.policy for row in rows):
        own = [row for row in rows if row.policy == policy]
        known = [row.limits for row in own if row.limits is not None]
        found.append(
            Row(
                "all families",
                policy,
                float(np.mean([row.mean for row in own])),
                float(np.mean([row.together for row in own])),
                max(row.p99 for row in own),
                max(row.worst for row in own),
                float(np.mean(known)) if known else None,
            )
        )
    return found


def show(rows: list[Row], console: Console, shorter: int) -> None:
    """Print a table for each family."""
    for family in dict.fromkeys(row.family for row in rows):
        trials = f", T = {FAMILIES[family].horizon // shorter:,}" if family in FAMILIES else ""
        columns = ("policy", "mean", "together", "p99", "worst", "× c ln T")
        table = Table(*columns, title=f"{family}{trials}")
        for row in rows:
            if row.family == family:
                limits = "" if row.limits is None else f"{row.limits:.2f}"
                told = (row.mean, row.together, row.p99, row.worst)
                table.add_row(row.policy, *(f"{share:.3f}" for share in told), limits)
        console.print(table)


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


def main() -> None:
    """Run the study and print it."""
    parser = argparse.ArgumentParser(description="Compare indices on many problems.")
    parser.add_argument("--quick", action="store_true", help="only a few runs, in half a minute")
    parser.add_argument(
        "--thorough", action="store_true", help="five times as many problems and 1000 runs"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the problems and the runs")
    parser.add_argument(
        "--head-starts",
        action="store_true",
        help="compare head starts instead, on the families only",
    )
    parser.add_argument("--family", choices=FAMILIES, help="run this family only")
    parser.add_argument("--policy", choices=POLICIES, help="run this policy only, and DCB")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--figure", help="draw the regret on the seven channels to this file")
    parser.add_argument("--costs", action="store_true", help="time decisions instead")
    options = parser.parse_args()
    if options.costs:
        Console().print(costs(2000))
        return
    policies = HEAD_STARTS if options.head_starts else POLICIES
    if options.policy:
        policies = {BASE: DCB, options.policy: POLICIES[options.policy]}
    quick = options.quick
    problems, runs = (3, 4) if quick else (20, 10) if options.thorough else (4, 5)
    console = Console(stderr=options.json)
    rows: list[Row] = []
    # The head start is chosen without the channels on which it is tested afterwards.
    channels = () if options.head_starts or options.family else (7, 4)
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("the paper's channels", total=len(channels) + len(FAMILIES))
        horizon, repeats = (10_000, 40) if quick else (100_000, 1000 if options.thorough else 100)
        for name, world, result in paper(policies, channels, horizon, repeats, options.seed):
            rows += paper_rows(world, name, result)
            if options.figure and name == "7 channels":
                draw(world, result, options.figure)
            if not options.json:
                console.print(name, f"{result}", sep="\n")
            bar.advance(task)
        across: list[Row] = []
        for number, (name, family) in enumerate(FAMILIES.items()):
            if options.family not in (None, name):
                continue
            bar.update(task, description=name)
            luck = np.random.default_rng([options.seed, number])
            worlds = [family.draw(luck) for _ in range(problems)]
            horizon = family.horizon // (10 if quick else 1)
            across += family_rows(name, worlds, policies, horizon, runs, options.seed)
            bar.advance(task)
    rows += across + (overall(across) if options.family is None else [])
    if options.json:
        print(json.dumps([row._asdict() for row in rows], indent=1))
        return
    console.print(f"{problems} problems per family, {runs} runs each; shares of DCB's mean regret")
    show(rows, console, 10 if quick else 1)


def draw(world: Environment, result: Result, file: str) -> None:
    """Draw the regret of the main policies and the lower bound."""
    main = [BASE, "UCB, α = 0.51", "empirical KL, c = 3", "recommended", "IMED"]
    least = graves_lai(world).total * np.log(result.checkpoints)
    figure = figures.regret(
        result,
        title="Regret on the paper's seven channels",
        policies=[policy for policy in main if policy in result.policies],
        bounds={"least in the limit, 26.6 ln n": least},
    )
    figures.save(figure, file)


if __name__ == "__main__":
    main()
