"""The compiled loop on sets of states does what the library does."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from beside import assert_identical, blocks

from onepull import CoarseKL, Discrete, Finite, Interval, MultiUCB, Problem, simulate
from onepull.distributions import Uniform
from onepull.environment import Environment
from onepull.simulation import Simulation
from onepull.simulation.prepare import Interpreted


def world(reward="x <= y", state=None):
    problem = Problem(
        arms=["a", "b", "c"],
        context={"y": Finite([0.7, 1.9, 3.1])},
        state={"x": state or Finite([0, 0.3, 1.1, 2.3, 3.7])},
        reward=reward,
    )
    states = {
        "a": Discrete([0, 3.7], [0.55, 0.45]),
        "b": Discrete([0.3, 1.1, 2.3], [0.2, 0.5, 0.3]),
        "c": Discrete([1.1, 3.7], [0.83, 0.17]),
    }
    return Environment(problem, states=states, contexts=Discrete([0.7, 1.9, 3.1], [0.5, 0.3, 0.2]))


WORLDS = {
    "deadline": world,
    "clip": lambda: world("-max(0.5, min(x, y))"),
    "distance": lambda: world("-abs(x - y)"),
    "interval": lambda: world("-max(0.5, min(x, y))", Interval(0, 4)),
}


@pytest.mark.parametrize("feedback", ["state", "reward"])
@pytest.mark.parametrize("name", WORLDS)
def test_the_kernel_does_what_the_library_does(name, feedback):
    environment = WORLDS[name]()
    policy = CoarseKL(environment.problem, c=1, head_start=7)
    library = partial(Interpreted, sees_states=feedback == "state")
    assert_identical(*blocks(environment, policy, library, horizon=200, feedback=feedback))


def test_continuous_laws_run_in_the_interpreter():
    problem = Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 2])},
        state={"x": Interval(0, 3)},
        reward="x <= y",
    )
    laws = {"a": Uniform(0, 3), "b": Uniform(1, 3)}
    environment = Environment(problem, states=laws, contexts=Discrete([1, 2], [0.5, 0.5]))
    simulation = Simulation(
        environment, {"CoarseKL": CoarseKL(problem)}, horizon=60, seed=1, feedback="reward"
    )
    assert not simulation._prepared[0].is_compiled
    assert simulation.block(0, 1).pulls[..., -1, :].sum() == 60


def test_deadlines_of_others_teach():
    """It loses less than learning every deadline by itself: 10 paired runs, all of them."""
    environment = world()
    problem = environment.problem
    policies = {"CoarseKL": CoarseKL(problem), "MultiUCB": MultiUCB(problem)}
    result = simulate(
        environment, policies, horizon=1000, replications=10, seed=2, feedback="reward"
    )
    assert np.all(result.regret("CoarseKL") < result.regret("MultiUCB"))
