"""Kernels that forget beside the library: the same arms, to the last bit of regret."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from beside import assert_identical, blocks

from onepull import (
    DiscountedKL,
    DiscountedUCB,
    Discrete,
    EmpiricalKL,
    Finite,
    Interval,
    Problem,
    RestartingUCB,
    SlidingWindowKL,
    SlidingWindowUCB,
)
from onepull.distributions import Gamma, InOrder, Switching, Uniform
from onepull.environment import Environment, channel_selection, energy_harvesting, offloading
from onepull.index.hoeffding import hoeffding
from onepull.policies.rule_policy import MeanPolicy
from onepull.policies.sharing.joint import Joint
from onepull.policies.traits import Traits
from onepull.simulation import Simulation
from onepull.simulation.prepare import Interpreted
from onepull.statistics import Discounted


def drifting() -> Environment:
    """Return finite contexts in order, and states that change from listed to continuous."""
    problem = Problem(
        arms=["a", "b", "c"],
        context={"y": Finite([0.31, 0.77, 1.9])},
        state={"x": Interval(0, 3)},
        reward="log(1 + y * x) - 0.1 * y",
    )
    laws = {
        "a": InOrder([0.2, 2.7, 1.1]),
        "b": Switching({0: Discrete([0.9], [1.0]), 700: Uniform(0, 3)}),
        "c": Switching({0: Uniform(0, 2), 400: Discrete([0.3, 2.9], [0.6, 0.4])}),
    }
    return Environment(problem, states=laws, contexts=InOrder([0.31, 1.9, 1.9, 0.77]))


def unbounded() -> Environment:
    """Return continuous states without an upper end."""
    problem = Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 2, 5])},
        state={"x": Interval(0, float("inf"))},
        reward="min(y, x)",
    )
    laws = {"a": Gamma(mean=1.5, shape=3), "b": Gamma(mean=1.4, shape=1)}
    return Environment(problem, states=laws, contexts=Discrete([1, 2, 5], [0.5, 0.25, 0.25]))


def listed() -> Environment:
    """Return states of values that do not tie, and arms that change places."""
    luck = np.random.default_rng(7)
    states = np.sort(luck.uniform(0, 3, 6)).tolist()
    problem = Problem(
        arms=["a", "b", "c"],
        context={"y": Finite([0.31, 0.77, 1.9])},
        state={"x": Finite(states)},
        reward="log(1 + y * x) - 0.1 * y",
    )
    pieces = [Discrete(states, luck.dirichlet(np.full(6, 0.3))) for _ in range(3)]
    laws = {
        arm: Switching({0: pieces[j], 500: pieces[(j + 1) % 3], 1100: pieces[(j + 2) % 3]})
        for j, arm in enumerate(problem.arms)
    }
    return Environment(problem, states=laws, contexts=Discrete([0.31, 0.77, 1.9], [0.2, 0.3, 0.5]))


def priced() -> Environment:
    """Return arms with prices, so that each has rewards of its own range."""
    problem = Problem(
        arms={arm: {"price": 0.4 * j} for j, arm in enumerate("abc")},
        context={"y": Finite([0.5, 1.0])},
        state={"x": Interval(0, 1)},
        reward="x * y - price",
    )
    laws = dict.fromkeys(problem.arms, Uniform(0, 1))
    return Environment(problem, states=laws, contexts=Discrete([0.5, 1.0], [0.5, 0.5]))


WORLDS = {
    "channels": channel_selection,
    "priced": priced,
    "offloading": offloading,
    "drifting": drifting,
    "unbounded": unbounded,
}
FORGETFUL = {
    "discounted": lambda p, **cut: DiscountedUCB(p, discount=0.995, **cut),
    "hardly anything": lambda p, **cut: DiscountedUCB(p, discount=0.7, alpha=0.1, **cut),
    "window": lambda p, **cut: SlidingWindowUCB(p, window=300, **cut),
    "short window": lambda p, **cut: SlidingWindowUCB(p, window=7, alpha=2, **cut),
    "restarting": lambda p, **cut: RestartingUCB(p, failure=0.9, patience=60, **cut),
    "arm by arm": lambda p, **cut: RestartingUCB(p, failure=0.9, together=False, **cut),
}
# On features that mix, where the order of a sum may matter to the last bit.
ON_STATES = {
    "discounted KL": lambda p: DiscountedKL(p, discount=0.99, knots=knots(p)),
    "hardly anything": lambda p: DiscountedKL(p, discount=0.6, c=3, knots=knots(p)),
    "window KL": lambda p: SlidingWindowKL(p, window=150, knots=knots(p)),
    "short window": lambda p: SlidingWindowKL(p, window=9, c=1, knots=knots(p)),
    "discounted": lambda p: DiscountedUCB(p, discount=0.99, sharing=on_states(p)),
    "window": lambda p: SlidingWindowUCB(p, window=150, sharing=on_states(p)),
    "restarting": lambda p: RestartingUCB(p, failure=0.9, patience=60, sharing=on_states(p)),
    "low rank": lambda p: DiscountedUCB(p, discount=0.99, sharing="low-rank(1e-6)"),
    "low rank, restarting": lambda p: RestartingUCB(p, failure=0.9, sharing="low-rank(1e-6)"),
}


def knots(problem):
    return None if isinstance(problem.state["x"], Finite) else 9


def on_states(problem):
    return "histogram" if isinstance(problem.state["x"], Finite) else "sketch(9)"


@pytest.mark.parametrize("policy", FORGETFUL)
@pytest.mark.parametrize("world", WORLDS)
def test_finite_contexts_bit_for_bit(world, policy):
    environment = WORLDS[world]()
    assert_identical(*blocks(environment, FORGETFUL[policy](environment.problem)))


@pytest.mark.parametrize("policy", FORGETFUL)
def test_continuous_contexts_bit_for_bit(policy):
    environment = energy_harvesting()
    made = FORGETFUL[policy](environment.problem, delta=0.1)
    assert_identical(*blocks(environment, made, horizon=700))


@pytest.mark.parametrize("policy", ON_STATES)
@pytest.mark.parametrize("world", [listed, drifting])
def test_states_that_are_forgotten_arm_for_arm(world, policy):
    environment = world()
    assert_identical(*blocks(environment, ON_STATES[policy](environment.problem), horizon=1300))


class Kept(Interpreted):
    """Runs a policy of the library that can be looked at afterwards."""

    runner: Any

    def begin(self, own_key):
        self.runner = super().begin(own_key)
        return self.runner


def test_restarts_happen_in_these_worlds():
    environment = listed()
    policy = RestartingUCB(environment.problem, failure=0.9, patience=60)
    simulation = Simulation(environment, {"policy": policy}, horizon=1500, seed=3)
    plan = Kept(policy)
    simulation.__dict__["_prepared"] = [plan]
    simulation.block(0, 1)
    assert max(plan.runner.policy.sharing.statistics.restarts) > 500


def test_a_scale_that_is_worked_in_bit_for_bit():
    environment = unbounded()
    # 0.5^333 is below 1e-100, so that a run of 1500 trials passes it four times.
    assert_identical(*blocks(environment, DiscountedUCB(environment.problem, discount=0.5)))
    environment = listed()
    assert_identical(*blocks(environment, DiscountedKL(environment.problem, discount=0.5)))


def test_any_rule_goes_with_what_forgets():
    environment = drifting()
    table = DiscountedUCB(environment.problem).sharing
    assert isinstance(table, Joint)
    factor = table.factor

    class Forgetful(MeanPolicy):
        traits = Traits(order_matters=True, forgets=True)

        def __init__(self, problem):
            del problem
            sharing = Joint(factor).keep(lambda **size: Discounted(**size, discount=0.99))
            super().__init__(sharing, hoeffding(2.0))

    assert_identical(*blocks(environment, Forgetful(environment.problem)))


class Own(DiscountedKL):
    """Plays the lowest index: the kernels do not know of that."""

    def _indices(self, request):
        return [-index for index in super()._indices(request)]


def test_what_has_no_kernel_runs_in_the_interpreter():
    environment = drifting()
    problem = environment.problem
    for policy in (
        RestartingUCB(problem, sharing="per-context"),
        DiscountedUCB(problem, sharing="blind"),
        SlidingWindowUCB(problem, sharing="per-context"),
        DiscountedUCB(problem, seed=1),
        DiscountedKL(problem, seed=1),
        Own(problem),
    ):
        simulation = Simulation(environment, {"own": policy}, horizon=50)
        assert isinstance(simulation._prepared[0], Interpreted)
        assert np.all(simulation.block(0, 1).regrets >= 0)


@pytest.mark.parametrize("announced", [False, True])
def test_late_feedback_is_forgotten_too(announced):
    """The kernels that wait for feedback keep all of it, so here the library runs."""
    environment = channel_selection(3).with_late_feedback(delays=3)
    problem = environment.problem
    policies = {
        "discounted": DiscountedUCB(problem, discount=0.9),
        "discounted KL": DiscountedKL(problem, discount=0.9),
        "restarting": RestartingUCB(problem, patience=5),
    }
    told = list(policies) if announced else []
    simulation = Simulation(environment, policies, horizon=300, announced=told)
    assert all(isinstance(plan, Interpreted) for plan in simulation._prepared)
    lasting = {"lasting": EmpiricalKL(problem)}
    assert Simulation(environment, lasting, horizon=300)._prepared[0].is_compiled
