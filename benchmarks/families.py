"""Families of random problems: each draws many problems from one description.

The states of most families can be listed or have bounds.  Those of "deadlines", "heavy tails",
"failures" and "attributes" have none.  DCB needs a lowest and a highest reward, so rewards without
bounds come from states that are clipped.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from onepull import Finite, Interval, Problem
from onepull.distributions import (
    Beta,
    Discrete,
    Distribution,
    Exponential,
    Failing,
    Independent,
    LogNormal,
)
from onepull.environment import Environment

Luck: TypeAlias = np.random.Generator


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


def named(luck: Luck, least: int, most: int) -> list[str]:
    """Return the names of a few arms."""
    return [f"arm {j}" for j in range(int(luck.integers(least, most + 1)))]


def world(problem: Problem, laws: list[Distribution]) -> Environment:
    """Return an environment whose contexts are equally likely."""
    contexts = {
        name: Discrete(list(space.values), [1 / len(space.values)] * len(space.values))
        for name, space in problem.context.items()
        if isinstance(space, Finite)
    }
    return Environment(
        problem, states=dict(zip(problem.arms, laws, strict=True)), contexts=contexts
    )


def jumps(luck: Luck) -> Environment:
    """Return continuous states and a reward that jumps where the state meets the request."""
    names = named(luck, 3, 6)
    problem = Problem(
        arms=names,
        context={"y": Finite([2, 4, 6, 8])},
        state={"x": Interval(0, 10)},
        reward="y if x >= y else x / 4",
    )
    return world(problem, [Beta(*luck.uniform(0.6, 5, 2).tolist(), high=10) for _ in names])


def deadlines(luck: Luck) -> Environment:
    """Return endpoints that meet a deadline or not; their times have no bounds."""
    names = named(luck, 3, 6)
    problem = Problem(
        arms=names,
        context={"tokens": Finite([5, 20, 80, 300])},
        state={"first": Interval(0, math.inf), "each": Interval(0, math.inf)},
        reward="first + tokens * each <= 0.4 + 0.015 * tokens",
    )
    return world(problem, [times(luck) for _ in names])


def times(luck: Luck) -> Independent:
    """Return the law of the time to the first token and of the time per token."""
    first = LogNormal(math.log(luck.uniform(0.1, 0.8)), luck.uniform(0.3, 0.8))
    each = LogNormal(math.log(luck.uniform(0.008, 0.02)), luck.uniform(0.1, 0.4))
    return Independent(first, each)


def heavy(luck: Luck) -> Distribution:
    """Return a law with a heavy tail and a mean around 2."""
    if luck.random() < 0.5:
        return Exponential(float(luck.uniform(0.5, 4)))
    return LogNormal(float(luck.uniform(-0.7, 1.0)), float(luck.uniform(0.5, 1.5)))


def heavy_tails(luck: Luck) -> Environment:
    """Return times with heavy tails: what is left of a limit, or the time itself."""
    names = named(luck, 3, 8)
    clips = luck.random() < 0.5
    problem = Problem(
        arms=names,
        context={"y": Finite([0.5, 1, 2, 5])},
        state={"x": Interval(0, 100, outside="clip") if clips else Interval(0, math.inf)},
        reward="-y * x" if clips else "max(0, 1 - x / (2 * y))",
    )
    return world(problem, [heavy(luck) for _ in names])


def failures(luck: Luck) -> Environment:
    """Return arms whose pulls fail now and then."""
    names = named(luck, 3, 7)
    problem = Problem(
        arms=names,
        context={"y": Finite([0.5, 1, 2, 5])},
        state={"x": Interval(0, math.inf)},
        reward="max(0, 1 - x / (2 * y))",
        failure="-0.2 * y",
    )
    return world(problem, [Failing(heavy(luck), float(luck.uniform(0, 0.4))) for _ in names])


def priced(luck: Luck) -> Environment:
    """Return arms with known prices."""
    names = named(luck, 3, 7)
    problem = Problem(
        arms={name: {"price": float(luck.uniform(0, 0.15))} for name in names},
        context={"y": Finite([0.5, 1, 2, 5])},
        state={"x": Interval(0, math.inf)},
        reward="max(0, 1 - x / (2 * y)) - price * y",
    )
    return world(problem, [heavy(luck) for _ in names])


def two_fields(luck: Luck) -> Environment:
    """Return links with a capacity and a share of packets delivered."""
    names = named(luck, 3, 6)
    problem = Problem(
        arms=names,
        context={"y": Finite([2, 4, 6, 8])},
        state={"rate": Interval(0, 10), "share": Interval(0, 1)},
        reward="share * min(y, rate)",
    )
    return world(problem, [Independent(*betas(luck, (10.0, 1.0))) for _ in names])


def three_fields(luck: Luck) -> Environment:
    """Return links with a capacity, a share of packets delivered, and a cost."""
    names = named(luck, 3, 6)
    problem = Problem(
        arms=names,
        context={"y": Finite([2, 4, 6, 8])},
        state={"rate": Interval(0, 10), "share": Interval(0, 1), "cost": Interval(0, 1)},
        reward="share * min(y, rate) - cost * y / 2",
    )
    # A cost of a few values, because exact means over three continuous fields take long.
    return world(problem, [Independent(*betas(luck, (10.0, 1.0)), _costs(luck)) for _ in names])


def betas(luck: Luck, tops: tuple[float, ...]) -> list[Distribution]:
    """Return a law from 0 to each of the tops."""
    return [Beta(*luck.uniform(0.6, 5, 2).tolist(), high=top) for top in tops]


def _costs(luck: Luck) -> Discrete:
    return levels(luck, luck.uniform(0, 1, 3).tolist(), 3)


def short(luck: Luck) -> Environment:
    """Return thirty to sixty arms for a horizon of a few hundred trials."""
    names = named(luck, 30, 60)
    problem = Problem(
        arms=names,
        context={"y": Finite([0.2, 0.4, 0.6, 0.8])},
        state={"x": Interval(0, 1)},
        reward="min(y, x)" if luck.random() < 0.5 else "x >= y",
    )
    return world(problem, [Beta(*luck.uniform(0.6, 5, 2).tolist()) for _ in names])


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
    "jumps": Family(jumps, 10_000),
    "deadlines": Family(deadlines, 10_000),
    "heavy tails": Family(heavy_tails, 10_000),
    "failures": Family(failures, 10_000),
    "attributes": Family(priced, 10_000),
    "two fields": Family(two_fields, 10_000),
    "three fields": Family(three_fields, 10_000),
    "many arms, few trials": Family(short, 500),
}
