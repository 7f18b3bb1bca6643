"""Linear policies and zooming choose the same arms in compiled loops as in the library."""

from __future__ import annotations

from typing import Any

import beside
import numba
import numpy as np
import pytest

from onepull import (
    ContextualZooming,
    Discrete,
    Finite,
    Interval,
    LinearThompson,
    LinRel,
    LinUCB,
    Problem,
    Reward,
)
from onepull.distributions import Beta, Independent, Uniform
from onepull.environment import Environment
from onepull.simulation import Simulation
from onepull.simulation.draws import ASIDE, bits, normal
from onepull.simulation.prepare import Interpreted

ARMS = ["a", "b", "c"]
OWN = {arm: ["0.5", f"y * {j} / 8", f"{2 - j} / 10"] for j, arm in enumerate(ARMS)}


def coded(context, arm):
    return [0.5, context["y"] * ARMS.index(arm) / 8]


def continuous():
    problem = Problem(
        arms=ARMS,
        context={"y": Interval(0, 2), "z": Finite([1, 3])},
        state={"u": Interval(0, 1), "w": Interval(0, 3)},
        reward="y * u - z * w",
    )
    states = {a: Independent(Beta(2 + j, 3), Uniform(0, 3 - j)) for j, a in enumerate(ARMS)}
    contexts = {"y": Uniform(0, 2), "z": Discrete([1, 3], [0.4, 0.6])}
    return Environment(problem, states=states, contexts=contexts)


def listed(reward="log(1 + y * x)"):
    generator = np.random.default_rng(8)
    problem = Problem(
        arms=ARMS,
        context={"y": Finite([0.31, 0.77, 1.9])},
        state={"x": Finite(np.linspace(0, 3, 7).tolist())},
        reward=reward,
    )
    values = [0.5, 1.5, 2.5]
    states = {a: Discrete(values, generator.dirichlet(np.ones(3))) for a in ARMS}
    return Environment(
        problem, states=states, contexts=Discrete([0.31, 0.77, 1.9], [0.2, 0.3, 0.5])
    )


class SameLuck(Interpreted):
    """Runs a policy in the interpreter, with the draws of the compiled one."""

    def begin(self, own_key):
        runner: Any = super().begin(own_key)
        runner.policy._generator = Luck(own_key, runner.policy)
        return runner


@numba.njit
def first_bits(key, trial):
    return bits(key, trial) ^ ASIDE


class Luck:
    """Standard normal numbers by trial, as the kernel draws them."""

    def __init__(self, key, policy):
        self.key, self.policy = np.uint64(key), policy

    def standard_normal(self, shape):
        stream = np.uint64(first_bits(self.key, self.policy.trials))
        numbers = [normal(stream, 2 * i) for i in range(int(np.prod(shape)))]
        return np.array(numbers).reshape(shape)


def blocks(environment, policy, horizon=400):
    """Return the same replications, run by the kernel and by the library."""
    interpreted = SameLuck if policy.traits.randomised else Interpreted
    return beside.blocks(environment, policy, interpreted, horizon)


FEATURES = {
    "default": None,
    "written": ["1", "y / 2", "(y / 2)**2"],
    "by arm": OWN,
    "coded": coded,
}


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("kind", [LinUCB, LinearThompson])
@pytest.mark.parametrize("world", [continuous, listed])
def test_the_kernel_chooses_what_the_library_chooses(world, kind, features):
    """Rounding differs, so this would fail if two indices agreed to the last digits."""
    environment = world()
    policy = kind(environment.problem, features=FEATURES[features], regulariser=0.7)
    one, two = blocks(environment, policy)
    beside.assert_identical(one, two)


@pytest.mark.parametrize("horizon", [None, 400])
@pytest.mark.parametrize("width", [0.2, 1.0])
@pytest.mark.parametrize("world", [continuous, listed])
def test_zooming_bit_for_bit(world, width, horizon):
    environment = world()
    policy = ContextualZooming(environment.problem, width=width, horizon=horizon)
    one, two = blocks(environment, policy)
    assert np.array_equal(one.pulls, two.pulls)
    assert np.array_equal(one.regrets, two.regrets)


def test_zooming_finds_room_for_its_balls_in_every_stretch(monkeypatch):
    monkeypatch.setattr("onepull.simulation.simulation.STRETCH", 64)
    environment = continuous()
    one, two = blocks(environment, ContextualZooming(environment.problem, width=0.1))
    assert np.array_equal(one.regrets, two.regrets)


def capped(y, x):
    return min(y, x)


def test_a_reward_in_code_is_looked_up_where_it_can_be_listed():
    environment = listed(Reward(capped))
    one, two = blocks(environment, LinUCB(environment.problem))
    assert np.array_equal(one.regrets, two.regrets)


@pytest.mark.parametrize(
    "make",
    [
        LinRel,
        lambda p: LinUCB(p, seed=1),
        type("Mine", (LinUCB,), {}),
    ],
    ids=["LinRel", "seeded", "someone's own"],
)
def test_what_has_no_kernel_runs_in_the_interpreter(make):
    environment = continuous()
    policy = make(environment.problem)
    simulation = Simulation(environment, {"policy": policy}, horizon=50, seed=1)
    assert not simulation._prepared[0].is_compiled
