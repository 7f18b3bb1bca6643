"""Kernels that forget beside the library: the same arms, to the last bit of regret."""

from __future__ import annotations

import numpy as np
import pytest
from beside import assert_identical, blocks

from onepull import (
    DiscountedUCB,
    Discrete,
    Finite,
    Interval,
    Problem,
    RestartingUCB,
    SlidingWindowUCB,
)
from onepull.distributions import Gamma, InOrder, Switching, Uniform
from onepull.environment import Environment, channel_selection, energy_harvesting, offloading
from onepull.forgetting import Discounted
from onepull.index import hoeffding
from onepull.policies.sharing import Joint
from onepull.policies.upper_confidence import Optimist
from onepull.simulation import Simulation
from onepull.simulation.plans import Interpreted


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


WORLDS = {
    "channels": channel_selection,
    "offloading": offloading,
    "drifting": drifting,
    "unbounded": unbounded,
}
FORGETFUL = {
    "discounted": lambda p, **cut: DiscountedUCB(p, discount=0.995, **cut),
    "hardly anything": lambda p, **cut: DiscountedUCB(p, discount=0.7, alpha=0.1, **cut),
    "window": lambda p, **cut: SlidingWindowUCB(p, window=300, **cut),
    "short window": lambda p, **cut: SlidingWindowUCB(p, window=7, alpha=2, **cut),
}


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


def test_a_scale_that_is_worked_in_bit_for_bit():
    environment = unbounded()
    # 0.5^333 is below 1e-100, so that a run of 1500 trials passes it four times.
    assert_identical(*blocks(environment, DiscountedUCB(environment.problem, discount=0.5)))


def test_any_rule_goes_with_what_forgets():
    environment = drifting()
    table = DiscountedUCB(environment.problem).sharing
    assert isinstance(table, Joint)
    factor = table.factor

    class Forgetful(Optimist):
        order_matters = True

        def __init__(self, problem):
            del problem
            sharing = Joint(factor).keep(lambda **size: Discounted(**size, discount=0.99))
            super().__init__(sharing, hoeffding(2.0))

        @property
        def parameters(self):
            return {}

    assert_identical(*blocks(environment, Forgetful(environment.problem)))


def test_what_has_no_kernel_runs_in_the_interpreter():
    environment = drifting()
    problem = environment.problem
    for policy in (
        RestartingUCB(problem),
        DiscountedUCB(problem, sharing="blind"),
        SlidingWindowUCB(problem, sharing="per-context"),
        DiscountedUCB(problem, sharing="low-rank"),
        DiscountedUCB(problem, seed=1),
    ):
        simulation = Simulation(environment, {"own": policy}, horizon=50)
        assert isinstance(simulation._plans[0], Interpreted)
        assert np.all(simulation.block(0, 1).regrets >= 0)
