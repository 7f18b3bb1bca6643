"""Compare the policies for arms that change: regret, numbers stored and time.

    python benchmarks/drift.py                   # the table of docs/drift.md, a minute
    python benchmarks/drift.py --period 10000    # slow drift only, four times as fast
    python benchmarks/drift.py --alone           # one arm changes at a time: restart all or one?

The worlds are those of four experiment files.  Storage and time are those of a router's loop after
40,000 requests of slow drift: CPU time of a choice and its observation.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
from tables import interval, markdown

from onepull import (
    AdaptiveKL,
    DiscountedKL,
    DiscountedUCB,
    Environment,
    Experiment,
    Policy,
    Problem,
    RestartingUCB,
    SlidingWindowKL,
    SlidingWindowUCB,
    simulate,
)
from onepull.distributions import Distribution, Switching, scaled_bernoulli

EXAMPLES = Path(__file__).parent.parent / "examples"
WORLDS = ("slow-drift", "piecewise", "steady-seven", "steady-four")
HORIZON = 40_000
LOT = 500  # requests whose time is taken together


def world(name: str) -> Environment:
    """Return the environment of an experiment file."""
    found: Environment = Experiment.read(EXAMPLES / f"{name}.toml").simulation.environment
    return found


def policies(problem: Problem) -> dict[str, Policy]:
    """Return the policies that are compared.

    Of four memories each, the shorter ones lost least where channels change places, and the longer
    ones in slow drift.
    """
    short, long = 0.9995, 0.9998
    return {
        "`AdaptiveKL`": AdaptiveKL(problem),
        "`DiscountedUCB`, γ = 0.9995": DiscountedUCB(problem, discount=short),
        "`DiscountedUCB`, γ = 0.9998": DiscountedUCB(problem, discount=long),
        "`DiscountedKL`, γ = 0.9995": DiscountedKL(problem, discount=short),
        "`DiscountedKL`, γ = 0.9998": DiscountedKL(problem, discount=long),
        "`SlidingWindowUCB`, W = 2,000": SlidingWindowUCB(problem, window=2000),
        "`SlidingWindowUCB`, W = 4,000": SlidingWindowUCB(problem, window=4000),
        "`SlidingWindowKL`, W = 2,000": SlidingWindowKL(problem, window=2000),
        "`SlidingWindowKL`, W = 4,000": SlidingWindowKL(problem, window=4000),
        "`RestartingUCB`": RestartingUCB(problem),
        '`RestartingUCB(sharing="histogram")`': RestartingUCB(problem, sharing="histogram"),
    }


def routed(policy: Policy, environment: Environment, seed: int) -> tuple[int, float]:
    """Return how many numbers a policy stores at the end, and µs per request."""
    problem, luck = policy.problem, np.random.default_rng(seed)
    pieces = list(environment.pieces())
    spent = []
    for piece, ends in zip(pieces, [*(p.start for p in pieces[1:]), HORIZON], strict=True):
        count = ends - piece.start
        contexts = [problem.context.fields(row) for row in piece.contexts.sample(luck, count)]
        shown = {
            arm: [problem.told(row) for row in law.sample(luck, count)]
            for arm, law in zip(problem.arms, piece.states, strict=True)
        }
        for first in range(0, count, LOT):
            trials = range(first, min(first + LOT, count))
            began = process_time()
            for trial in trials:
                context = contexts[trial]
                arm = policy.choose(**context)
                policy.observe(arm, **context, **shown[arm][trial])
            spent.append((process_time() - began) / len(trials))
    return policy.storage, 1e6 * median(spent[len(spent) // 2 :])


def drifting(slow: Environment, period: int) -> Environment:
    """Return the slow drift of examples/ with another period; the law moves 40 times in each."""
    problem, step = slow.problem, period // 40

    def law(j: int) -> Distribution:
        starts = range(0, HORIZON, step)
        return Switching({start: scaled_bernoulli(j, chance(j, start)) for start in starts})

    def chance(j: int, start: int) -> float:
        return (0.8 - j / 10) * (
            1 + 0.4 * math.sin(2 * math.pi * ((start + step / 2) / period + j / 7))
        )

    states = {arm: law(j) for j, arm in enumerate(problem.arms, 1)}
    return Environment(problem, states=states, contexts=slow.contexts)


def compare(runs: int, seed: int, period: int | None) -> None:
    """Print regret, storage and time of every policy."""
    slow = world(WORLDS[0])
    rows = {name: [name] for name in policies(slow.problem)}
    worlds = {name: world(name) for name in WORLDS}
    if period is not None:
        slow = drifting(slow, period)
        worlds = {f"period of {period:,}": slow}
    for environment in worlds.values():
        made = policies(environment.problem)
        result = simulate(environment, made, horizon=HORIZON, replications=runs, seed=seed)
        for name in made:
            mean, half = interval(result.regret(name))
            rows[name].append(
                f"{mean:,.0f} ± {half:,.0f}" if mean > 100 else f"{mean:.1f} ± {half:.1f}"
            )
    for name, policy in policies(slow.problem).items():
        stored, micros = routed(policy, slow, seed)
        rows[name] += [f"{stored:,}", f"{micros:.0f}"]
    print(markdown([["policy", *worlds, "numbers", "µs"], *rows.values()]))


def one_by_one(problem: Problem, seed: int, shares: tuple[float, float]) -> dict[str, Distribution]:
    """Return channels of which one, drawn at random, changes every 4,000 trials.

    The chance that it shows its capacity is then multiplied by a share between two bounds: its
    present chance where the bounds are below one, else that of the beginning.
    """
    luck = np.random.default_rng([seed, 0])
    first = [(7 - j) / 10 for j in range(7)]
    now = list(first)
    laws: list[dict[int, Distribution]] = [
        {0: scaled_bernoulli(j + 1, chance)} for j, chance in enumerate(first)
    ]
    for start in range(4000, HORIZON, 4000):
        j = int(luck.integers(7))
        base = now[j] if shares[1] < 1 else first[j]
        now[j] = min(0.95, base * luck.uniform(*shares))
        laws[j][start] = scaled_bernoulli(j + 1, now[j])
    return {arm: Switching(law) for arm, law in zip(problem.arms, laws, strict=True)}


def alone(problems: int, runs: int, seed: int) -> None:
    """Print the regret of restarting all arms or one, where one arm changes at a time."""
    slow = world(WORLDS[0])
    table = [["channels, one at a time", "AdaptiveKL", "all restart", "one restarts", "difference"]]
    for kind, shares in {"get better or worse": (0.2, 2.2), "get worse": (0.2, 0.8)}.items():
        found: list[list[float]] = []
        for i in range(problems):
            states = one_by_one(slow.problem, seed + i, shares)
            made = {
                "adaptive": AdaptiveKL(slow.problem),
                "all": RestartingUCB(slow.problem),
                "one": RestartingUCB(slow.problem, together=False),
            }
            result = simulate(
                Environment(slow.problem, states=states, contexts=slow.contexts),
                made,
                horizon=HORIZON,
                replications=runs,
                seed=seed + i,
            )
            means = [float(result.regret(name).mean()) for name in made]
            found.append([*means, means[2] - means[1]])
        cells = [interval(column) for column in zip(*found, strict=True)]
        table.append([kind, *(f"{mean:,.0f} ± {half:,.0f}" for mean, half in cells)])
    print(markdown(table))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--period", type=int, help="slow drift only, with this period")
    parser.add_argument("--alone", action="store_true", help="one arm changes at a time")
    parser.add_argument("--problems", type=int, default=12, help="of each kind, with --alone")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=9)
    told = parser.parse_args()
    if told.alone:
        alone(told.problems, told.runs, told.seed)
    else:
        compare(told.runs, told.seed, told.period)


if __name__ == "__main__":
    main()
