"""Kernels of the sharper indices beside the library: the same arms on worlds that do not tie."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from onepull import (
    IMED,
    KLUCB,
    DirichletThompson,
    Discrete,
    EmpiricalBernstein,
    EmpiricalKL,
    Finite,
    Interval,
    Problem,
    recommended,
)
from onepull.distributions import Beta, Independent, Uniform
from onepull.environment import Environment, energy_harvesting
from onepull.simulation import Simulation
from onepull.simulation.prepare import Interpreted, _InterpretedRunner

HORIZON = 500
ARMS = ["a", "b", "c"]


def listed_states() -> Environment:
    """Return finite contexts and states of values that do not tie."""
    luck = np.random.default_rng(7)
    states = np.sort(luck.uniform(0, 3, 6)).tolist()
    problem = Problem(
        arms=ARMS,
        context={"y": Finite([0.31, 0.77, 1.9])},
        state={"x": Finite(states)},
        reward="log(1 + y * x) - 0.1 * y",
    )
    laws = {arm: Discrete(states, luck.dirichlet(np.ones(6))) for arm in ARMS}
    return Environment(problem, states=laws, contexts=Discrete([0.31, 0.77, 1.9], [0.2, 0.3, 0.5]))


def two_fields() -> Environment:
    """Return states of two listed fields, and rewards below nothing."""
    luck = np.random.default_rng(8)
    problem = Problem(
        arms=ARMS,
        context={"size": Finite([1.0, 7.3]), "work": Interval(1, 3)},
        state={"rate": Finite([2.1, 5.2, 9.7]), "speed": Finite([1.1, 3.7])},
        reward="-(size / rate + work / speed)",
    )
    laws = {
        arm: Independent(
            Discrete([2.1, 5.2, 9.7], luck.dirichlet(np.ones(3))),
            Discrete([1.1, 3.7], luck.dirichlet(np.ones(2))),
        )
        for arm in ARMS
    }
    contexts = {"size": Discrete([1.0, 7.3], [0.4, 0.6]), "work": Uniform(1, 3)}
    return Environment(problem, states=laws, contexts=contexts)


def continuous_states() -> Environment:
    """Return states that are kept as a sketch."""
    problem = Problem(
        arms=ARMS,
        context={"y": Finite([0.2, 0.5, 0.9])},
        state={"x": Interval(0, 1)},
        reward="log(1 + 3 * y * x)",
    )
    laws = {"a": Beta(0.7, 0.5), "b": Uniform(0.1, 0.8), "c": Beta(3, 2)}
    return Environment(problem, states=laws, contexts=Discrete([0.2, 0.5, 0.9], [0.3, 0.3, 0.4]))


WORLDS = {"listed": listed_states, "two fields": two_fields, "continuous": continuous_states}
POLICIES: dict[str, Any] = {
    "EmpiricalKL": EmpiricalKL,
    "EmpiricalKL(c=3)": lambda p: EmpiricalKL(p, c=3),
    "EmpiricalKL(head_start=100)": lambda p: EmpiricalKL(p, c=1, head_start=100),
    "IMED": IMED,
    "EmpiricalBernstein": EmpiricalBernstein,
    "EmpiricalBernstein(0.1)": lambda p: EmpiricalBernstein(p, zeta=0.1),
    "recommended": recommended,
}
SHARINGS: dict[str, Any] = {
    "joint": lambda p: KLUCB(p, delta=0.4 if p.context.names[-1] == "work" else None),
    "per-context": lambda p: KLUCB(
        p, sharing="per-context", delta=0.4 if p.context.names[-1] == "work" else None, c=3
    ),
    "blind": lambda p: KLUCB(p, sharing="blind", head_start=50),
    "sketch": lambda p: KLUCB(p, sharing="sketch(9)"),
}


def arms(environment, policy, plan=None, horizon=HORIZON):
    """Return the arms of two replications, by the kernel or by the given plan."""
    simulation = Simulation(environment, {"policy": policy}, horizon=horizon, seed=3)
    if plan is None:
        assert simulation._prepared[0].is_compiled
    else:
        simulation.__dict__["_prepared"] = [plan(policy)]
    return np.array([simulation.trace(r).arms[0] for r in range(2)])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("world", WORLDS)
def test_the_same_arms(world, policy):
    environment = WORLDS[world]()
    made = POLICIES[policy](environment.problem)
    assert np.array_equal(arms(environment, made), arms(environment, made, Interpreted))


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("world", WORLDS)
def test_coins_on_every_sharing(world, sharing):
    environment = WORLDS[world]()
    made = SHARINGS[sharing](environment.problem)
    if sharing == "sketch" and world != "continuous":
        pytest.skip("a sketch of listed fields is their histogram")
    assert np.array_equal(arms(environment, made), arms(environment, made, Interpreted))


def test_continuous_contexts():
    environment = energy_harvesting(4)
    made = recommended(environment.problem)
    # States of few values tie in part, and rounding may then decide; hardly ever.
    one, two = arms(environment, made), arms(environment, made, Interpreted)
    assert np.mean(one == two) > 0.9


class Own(Interpreted):
    """Runs a policy of the library with draws of its own."""

    def begin(self, own_key):
        policy: Any = deepcopy(self.policy)
        policy.reseed(own_key)
        return _InterpretedRunner(policy)


@pytest.mark.parametrize("world", WORLDS)
def test_draws_from_the_posterior_have_the_same_law(world):
    """Kernel and library draw by different numbers, so the pulls of many runs are compared.

    Each mean of 60 shares has a standard error of s/√60; all 3 differences are within 5 of
    them, except with a probability of about 2e-6 for each world.
    """
    environment = WORLDS[world]()
    made = DirichletThompson(environment.problem)
    shares = []
    for plan in (None, Own):
        simulation = Simulation(environment, {"policy": made}, horizon=60, seed=4)
        if plan is not None:
            simulation.__dict__["_prepared"] = [plan(made)]
        runs = [simulation.block(r, r + 1).pulls[0, -1] for r in range(60)]
        shares.append(np.array(runs) / 60)
    one, two = shares
    error = np.sqrt((one.var(axis=0, ddof=1) + two.var(axis=0, ddof=1)) / 60)
    assert np.all(np.abs(one.mean(axis=0) - two.mean(axis=0)) < 5 * error)
