"""Compare policies that see only rewards, where rewards do not tell the state.

    python benchmarks/rewards_only.py                             # a minute
    python benchmarks/rewards_only.py --problems 10 --horizon 5000
    python benchmarks/rewards_only.py --listed    # CoarseKL and RegressionUCB, 8 minutes

Contexts are from an interval, so hardly any comes twice.  Regret is given as a share of that of
choosing at random, with the largest in brackets, and time as CPU time of a choice and its
observation.  The last column sees the states.  "Cells" learn each of 1,000 or of ten parts of the
contexts by itself.  `--listed` plays five files of examples/ whose states can be
listed or cut, and gives regret as it is.
"""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import TypeAlias

import numpy as np
from families import Luck, betas, heavy, times
from tables import interval, markdown

from onepull import (
    DSEE,
    KLUCB,
    CoarseKL,
    EpsilonGreedy,
    Experiment,
    Interval,
    LinUCB,
    Policy,
    Problem,
    RegressionUCB,
    recommended,
    simulate,
)
from onepull.distributions import Beta, Distribution, Failing, Independent, LogNormal, Uniform
from onepull.environment import Environment
from onepull.errors import ParameterError

Drawn: TypeAlias = tuple[Problem, list[Distribution]]
ENDLESS = Interval(0, math.inf)
STATES_PER_MEAN = 4000
EXAMPLES = Path(__file__).parent.parent / "examples"
LISTED = ("censored", "deadlines", "censored-seven", "censored-four", "censored-interval")
TIMED = 500  # requests whose time is taken, after as many as the trials are


def names(luck: Luck) -> list[str]:
    """Return the names of three to six arms."""
    return [f"arm {j}" for j in range(int(luck.integers(3, 7)))]


def endpoints(luck: Luck) -> Drawn:
    """Return README's problem: two times, a price, failures."""
    arms = {name: {"price": float(luck.uniform(0.2, 3))} for name in names(luck)}
    problem = Problem(
        arms=arms,
        context={"tokens": Interval(1, 4000)},
        state={"ttft": ENDLESS, "per_token": ENDLESS},
        reward="-(ttft + tokens * per_token) - 0.001 * price * tokens",
        failure=-60,
    )
    return problem, [
        Failing(
            Independent(
                LogNormal(math.log(luck.uniform(0.2, 3)), luck.uniform(0.3, 0.8)),
                LogNormal(math.log(luck.uniform(0.005, 0.03)), luck.uniform(0.1, 0.5)),
            ),
            float(luck.uniform(0, 0.1)),
        )
        for _ in arms
    ]


def deadlines(luck: Luck) -> Drawn:
    """Return endpoints that meet a deadline or not."""
    problem = Problem(
        arms=names(luck),
        context={"tokens": Interval(5, 300)},
        state={"first": ENDLESS, "each": ENDLESS},
        reward="first + tokens * each <= 0.4 + 0.015 * tokens",
    )
    return problem, [times(luck) for _ in problem.arms]


def capacities(luck: Luck) -> Drawn:
    """Return links that deliver up to a capacity without bounds."""
    problem = Problem(
        arms=names(luck), context={"y": Interval(0.2, 4)}, state={"x": ENDLESS}, reward="min(y, x)"
    )
    return problem, [heavy(luck) for _ in problem.arms]


def clipped(luck: Luck) -> Drawn:
    """Return times that are clipped, and a cost with a limit."""
    problem = Problem(
        arms=names(luck),
        context={"y": Interval(0.2, 4)},
        state={"x": Interval(0, 100, outside="clip")},
        reward="-min(10, y * x)",
    )
    return problem, [heavy(luck) for _ in problem.arms]


def priced(luck: Luck) -> Drawn:
    """Return arms with known prices."""
    problem = Problem(
        arms={name: {"price": float(luck.uniform(0, 0.15))} for name in names(luck)},
        context={"y": Interval(0.5, 5)},
        state={"x": ENDLESS},
        reward="max(0, 1 - x / (2 * y)) - price * y",
    )
    return problem, [heavy(luck) for _ in problem.arms]


def jumps(luck: Luck) -> Drawn:
    """Return a reward that is lost if the state is too small."""
    problem = Problem(
        arms=names(luck),
        context={"y": Interval(1, 9)},
        state={"x": ENDLESS},
        reward="y if x >= y else 0",
    )
    return problem, [Beta(*luck.uniform(0.6, 5, 2).tolist(), high=10) for _ in problem.arms]


def two_fields(luck: Luck) -> Drawn:
    """Return links with a capacity and a share of packets delivered."""
    problem = Problem(
        arms=names(luck),
        context={"y": Interval(1, 8)},
        state={"rate": Interval(0, 10), "share": Interval(0, 1)},
        reward="share * min(y, rate)",
    )
    return problem, [Independent(*betas(luck, (10.0, 1.0))) for _ in problem.arms]


def two_contexts(luck: Luck) -> Drawn:
    """Return servers with a rate and a speed, and requests with a size and some work."""
    problem = Problem(
        arms=names(luck),
        context={"size": Interval(1, 50), "work": Interval(10, 100)},
        state={"rate": Interval(1, 50), "speed": Interval(5, 120)},
        reward="-(size / rate + work / speed)",
    )
    laws: list[Distribution] = [
        Independent(
            Beta(*luck.uniform(0.8, 5, 2).tolist(), low=1, high=50),
            Beta(*luck.uniform(0.8, 5, 2).tolist(), low=5, high=120),
        )
        for _ in problem.arms
    ]
    return problem, laws


FAMILIES = {
    "README's endpoints": endpoints,
    "deadlines": deadlines,
    "capacities": capacities,
    "clipped": clipped,
    "prices": priced,
    "jumps": jumps,
    "two fields": two_fields,
    "two contexts": two_contexts,
}


def cells(problem: Problem, count: int) -> dict[str, float]:
    """Return δ for a number of cells, the same for each field."""
    each = count ** (1 / len(problem.context))
    return {
        name: space.width / each
        for name, space in problem.context.items()
        if isinstance(space, Interval)
    }


def in_cells(problem: Problem) -> Policy:
    """Return KL-UCB in 1,000 cells, or DSEE if the reward has no lowest value."""
    delta = cells(problem, 1000)
    if math.isinf(problem.payoff.whole_range[0]):
        return DSEE(problem, sharing="per-context", delta=delta)
    return KLUCB(problem, sharing="per-context", delta=delta, head_start=1000)


def greedy_in_cells(problem: Problem) -> Policy:
    """Return ε-greedy in ten cells; its c was the best of six from 0.001 to 1."""
    delta = cells(problem, 10)
    return EpsilonGreedy(problem, sharing="per-context", delta=delta, c=0.002)


POLICIES: dict[str, Callable[[Problem], Policy]] = {
    'recommended(…, feedback="reward")': lambda problem: recommended(problem, feedback="reward"),
    "KLUCB or DSEE in 1,000 cells": in_cells,
    "EpsilonGreedy in ten cells": greedy_in_cells,
    "LinUCB": LinUCB,
    "recommended(…), sees states": recommended,
}
SEES_STATES = "recommended(…), sees states"


class World:
    """Requests, and what every arm would show to each of them."""

    def __init__(self, drawn: Drawn, horizon: int, luck: Luck) -> None:
        self.problem, laws = drawn
        ends = {
            name: Uniform(space.low, space.high) for name, space in self.problem.context.items()
        }
        environment = Environment(
            self.problem,
            states=dict(zip(self.problem.arms, laws, strict=True)),
            contexts=ends if len(ends) > 1 else next(iter(ends.values())),
        )
        piece = next(iter(environment.pieces()))
        self.contexts = piece.contexts.sample(luck, horizon)
        self.states = [law.sample(luck, horizon) for law in piece.states]
        vector = self.problem.payoff.vector
        columns = self.contexts.T
        self.rewards = np.column_stack([vector(*columns, *drawn.T) for drawn in self.states])
        self.means = np.empty((horizon, len(laws)))
        for arm, law in enumerate(piece.states):
            sample = law.sample(luck, STATES_PER_MEAN).T
            for trial, context in enumerate(self.contexts.tolist()):
                self.means[trial, arm] = vector(*context, *sample).mean()
        self.losses = self.means.max(axis=1)[:, None] - self.means

    def play(self, policy: Policy, *, sees_states: bool) -> tuple[float, float]:
        """Return the regret as a share of that of choosing at random, and µs per request."""
        problem, lost, spent = self.problem, 0.0, 0.0
        place = {arm: j for j, arm in enumerate(problem.arms)}
        for trial, values in enumerate(self.contexts.tolist()):
            context = problem.context.fields(values)
            began = process_time()
            arm = policy.choose(**context)
            spent += process_time() - began
            j = place[arm]
            told = problem.told(self.states[j][trial].tolist())
            if not sees_states and "failed" not in told:
                told = {"reward": float(self.rewards[trial, j])}
            began = process_time()
            policy.observe(arm, **context, **told)
            spent += process_time() - began
            lost += self.losses[trial, j]
        share = float(lost / self.losses.mean(axis=1).sum())
        return share, 1e6 * spent / len(self.contexts)


def listed(runs: int, seed: int) -> None:
    """Print the regret and the time of both policies that rewards can teach without a state."""
    kinds = {"CoarseKL": CoarseKL, "RegressionUCB": RegressionUCB}
    table = [["example", "trials", *kinds, *(f"{name}: µs" for name in kinds)]]
    for name in LISTED:
        given = Experiment.read(EXAMPLES / f"{name}.toml").simulation
        environment, horizon = given.environment, given.horizon
        made = {kind: build(environment.problem) for kind, build in kinds.items()}
        result = simulate(
            environment, made, horizon=horizon, replications=runs, seed=seed, feedback="reward"
        )
        regrets = [interval(result.regret(kind)) for kind in kinds]
        spent = [micros(policy, environment, horizon, seed) for policy in made.values()]
        cells = [f"{mean:.1f} ± {half:.1f}" for mean, half in regrets]
        table.append([name, f"{horizon:,}", *cells, *(f"{each:,.0f}" for each in spent)])
        print(*table[-1], sep=" | ", flush=True)
    print(markdown(table))


def micros(policy: Policy, environment: Environment, horizon: int, seed: int) -> float:
    """Return the CPU time of a choice and its observation by reward after a number of requests."""
    problem, luck, spent = policy.problem, np.random.default_rng(seed), 0.0
    piece = next(iter(environment.pieces()))
    count = horizon + TIMED
    states = {
        arm: law.sample(luck, count).tolist()
        for arm, law in zip(problem.arms, piece.states, strict=True)
    }
    for trial, values in enumerate(piece.contexts.sample(luck, count).tolist()):
        context = problem.context.fields(values)
        began = process_time()
        arm = policy.choose(**context)
        spent += process_time() - began if trial >= horizon else 0.0
        reward = problem.payoff(**context, **problem.told(states[arm][trial]))
        began = process_time()
        policy.observe(arm, **context, reward=reward)
        spent += process_time() - began if trial >= horizon else 0.0
    return 1e6 * spent / TIMED


def main() -> None:
    """Print the mean share of each policy in each family, and the largest."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--problems", type=int, default=6, help="problems of each family")
    parser.add_argument("--horizon", type=int, default=3000, help="requests of each problem")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--listed", action="store_true", help="CoarseKL and RegressionUCB")
    parser.add_argument("--runs", type=int, default=20, help="of each example, with --listed")
    told = parser.parse_args()
    if told.listed:
        listed(told.runs, told.seed)
        return
    rows = []
    spent: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    for name, draw in FAMILIES.items():
        found: dict[str, list[float]] = {policy: [] for policy in POLICIES}
        for i in range(told.problems):
            luck = np.random.default_rng([told.seed, i])
            world = World(draw(luck), told.horizon, luck)
            for policy, build in POLICIES.items():
                try:
                    built = build(world.problem)
                except ParameterError:  # LinUCB needs a lowest reward
                    continue
                share, micros = world.play(built, sees_states=policy == SEES_STATES)
                found[policy].append(share)
                spent[policy].append(micros)
        rows.append(
            [name, *(f"{np.mean(s):.3f} ({max(s):.2f})" if s else "" for s in found.values())]
        )
        print(*rows[-1], sep=" | ", flush=True)
    rows.append(["µs per request", *(f"{np.mean(some):.0f}" for some in spent.values())])
    print(markdown([["regret, share of random", *POLICIES], *rows]))


if __name__ == "__main__":
    main()
