"""Environments whose states `AdaptiveKL` keeps, and what its kernel plays there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onepull import Discrete, Finite, Interval, Problem, Reward
from onepull.distributions import Failing, Gamma, Independent, Switching, Uniform
from onepull.environment import Environment, channel_selection
from onepull.simulation import Simulation
from onepull.simulation.draws import keys, place, show
from onepull.simulation.trials import Stretch, arrivals

EVEN = Discrete([1, 2], [0.5, 0.5])
KEY = keys(5, 0, 0)[0]  # of all draws


def world(arms, contexts, laws, **stated):
    """Return an environment of a problem whose reward is x * y unless another is given."""
    problem = Problem(arms=arms, **{"reward": "x * y", **stated})
    return Environment(problem, states=dict(zip(arms, laws, strict=True)), contexts=contexts)


def listed_states(arms=3, reward="min(x, y)"):
    laws = [Discrete([0, 1, 2, 3], np.roll([0.4, 0.3, 0.2, 0.1], j)) for j in range(arms)]
    context, state = {"y": Interval(1, 3)}, {"x": Finite([0, 1, 2, 3])}
    names = [f"a{j}" for j in range(arms)]
    return world(names, Uniform(1, 3), laws, context=context, state=state, reward=reward)


def listed_contexts(arms=3):
    laws = [Uniform(0.1 * (j % 4), 1) for j in range(arms)]
    context, state = {"y": Finite([1, 2])}, {"x": Interval(0, 1)}
    return world([f"a{j}" for j in range(arms)], EVEN, laws, context=context, state=state)


def router():
    """Two fields, prices and failures, and no bounds."""
    laws = [
        Failing(Independent(Gamma(mean=1.0 + j, shape=2), Gamma(mean=0.003 / (1 + j), shape=3)), p)
        for j, p in enumerate([0.1, 0.02])
    ]
    return world(
        {"cheap": {"price": 1e-4}, "fast": {"price": 3e-4}},
        Uniform(1, 4000),
        laws,
        context={"tokens": Interval(1, 4000)},
        state={"first": Interval(0, math.inf), "each": Interval(0, math.inf)},
        reward="-first - tokens * each - 10 * price * tokens",
        failure="-20 - price * tokens",
    )


def failing():
    """Listed states, of which a failed pull shows none."""
    laws = [Failing(Discrete([0.2, 0.5, 1], [0.2, 0.2, 0.6]), p) for p in (0.3, 0.1)]
    context, state = {"y": Finite([1, 2])}, {"x": Interval(0, 1)}
    return world(["a", "b"], EVEN, laws, context=context, state=state, failure=-1)


def changing(good, bad):
    """Two arms that swap every 150 trials."""
    laws = [Switching({150 * k: (good, bad)[(k + j) % 2] for k in range(5)}) for j in range(2)]
    context, state = {"y": Finite([1, 2])}, {"x": Interval(0, 1)}
    return world(["a", "b"], EVEN, laws, context=context, state=state)


def endless():
    """Rewards without a lowest value."""
    laws = [Gamma(mean=1.0 + 0.2 * j, shape=2) for j in range(3)]
    context, state = {"y": Interval(0, 1)}, {"x": Interval(0, math.inf)}
    return world(
        ["a", "b", "c"], Uniform(0, 1), laws, context=context, state=state, reward="-x * y"
    )


def in_python():
    weights = [np.arange(1.0, 13.0) ** j for j in range(3)]
    laws = [Discrete(range(12), weight / weight.sum()) for weight in weights]
    context, state = {"y": Finite([1, 2])}, {"x": Finite(range(12))}
    reward = Reward(lambda y, x: math.floor(x / y), low=0, high=11)
    return world(["a", "b", "c"], EVEN, laws, context=context, state=state, reward=reward)


WORLDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "channels": (lambda: channel_selection(4), {}),
    "channels that do not change": (lambda: channel_selection(3), {"adapts": False}),
    "few kept": (lambda: channel_selection(3), {"kept": 16}),
    "listed states": (listed_states, {}),
    "listed states, few kept": (listed_states, {"kept": 20}),
    "listed contexts": (listed_contexts, {}),
    "listed contexts, few kept": (listed_contexts, {"kept": 17}),
    "many arms": (lambda: listed_contexts(14), {}),
    "changing": (lambda: changing(Uniform(0.5, 1), Uniform(0, 0.6)), {}),
    "changing, few kept": (lambda: changing(Uniform(0.5, 1), Uniform(0, 0.6)), {"kept": 50}),
    "changing and listed": (
        lambda: changing(Discrete([0.2, 1], [0.1, 0.9]), Discrete([0, 0.5], [0.5, 0.5])),
        {"kept": 50},
    ),
    "failing": (failing, {}),
    "failing, few kept": (failing, {"kept": 16}),
    "endless": (endless, {}),
    "a reward in Python": (in_python, {}),
    "a reward in Python, few kept": (in_python, {"kept": 16}),
    "two fields, attributes, failures": (router, {}),
    "the same, few kept": (router, {"kept": 40}),
}


def played(environment, policy, horizon, *, announced=()):
    """Return the runner of a kernel after some trials, and the trials.

    It does without the truth, whose integrals would take most of the time.
    """
    arms = len(environment.problem.arms)
    simulation = Simulation(environment, {"own": policy}, horizon=horizon, announced=announced)
    prepared, worlds = simulation._prepared[0], simulation._worlds
    assert prepared.is_compiled
    runner, found = prepared.begin(0), []
    starts = [*(one.piece.start for one in worlds if one.piece.start < horizon), horizon]
    for now, first, stop in zip(worlds, starts, starts[1:], strict=False):
        rows, chosen = np.zeros(stop - first, np.int64), np.zeros(stop - first, np.int64)
        contexts = np.zeros((stop - first, len(environment.problem.context)))
        arrivals(first, KEY, now.arrivals, arms, rows, contexts)
        gaps = np.zeros((1, arms))
        runner.run(Stretch(first, KEY, rows, contexts, gaps), now, chosen)
        shown = np.zeros(len(environment.problem.outcome))
        for i, (context, arm) in enumerate(zip(contexts.tolist(), chosen.tolist(), strict=True)):
            show(now.states, arm, KEY, place(first + i, arms, arm), first + i, shown)
            found.append((context, arm, shown.tolist()))
    return runner, found


def assert_kept_alike(memory, library):
    """Check that a kernel has kept what the library keeps, and has counted as many pulls."""
    assert memory.kept.tolist() == library.kept
    assert memory.pulls.tolist() == library.pulls
    for j, count in enumerate(library.kept):
        assert np.array_equal(memory.stands_for[j, :count], library.stands_for[j, :count])
        assert np.array_equal(memory.seen_at[j, :count], library.seen_at[j, :count])
