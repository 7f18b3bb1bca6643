"""The gaps that regret is measured against, where contexts and states are continuous."""

from __future__ import annotations

import math

import numpy as np
import pytest

from onepull import CCB, Discrete, Finite, Genie, Interval, Problem, Reward
from onepull.distributions import Exponential, Independent, Uniform
from onepull.environment import Environment
from onepull.simulation import Simulation


def world(reward, laws, contexts=None, **spaces):
    problem = Problem(
        arms=list(laws),
        context=spaces.get("context", {"y": Interval(0, 2)}),
        state=spaces.get("state", {"x": Interval(0, math.inf)}),
        reward=reward,
    )
    return Environment(problem, states=laws, contexts=contexts or Uniform(0, 2))


def capped(y, x):
    return min(y, x)


def gaps(environment, contexts, policy=None):
    policy = policy or Genie(environment.problem, states=environment.states)
    simulation = Simulation(environment, {"genie": policy}, horizon=10)
    return simulation._references[0].gaps(contexts), simulation.notes


def test_a_deadline_met_just_a_little_more_often_is_told_apart():
    environment = world("1 if x >= y else 0", {"a": Uniform(0, 2), "b": Uniform(0, 2.02)})
    y = np.random.default_rng(0).uniform(0, 2, (5000, 1))
    found, _ = gaps(environment, y)
    truth = y[:, 0] / 2 - y[:, 0] / 2.02  # P(b >= y) - P(a >= y)
    np.testing.assert_allclose(found[:, 0], truth, atol=1e-4)
    assert np.mean(found[:, 1] == 0) > 0.98


def test_a_kink_is_followed_closely():
    environment = world("min(y, x)", {"a": Exponential(1), "b": Exponential(0.8)})
    y = np.random.default_rng(1).uniform(0, 2, (2000, 1))
    found, notes = gaps(environment, y)
    means = [m * (1 - np.exp(-y[:, 0] / m)) for m in (1, 0.8)]
    np.testing.assert_allclose(found[:, 1], means[0] - means[1], atol=1e-6)
    assert np.all(found[:, 0] == 0)
    assert not notes or "good to about" in notes[0]


def test_atoms_beside_continuous_laws_stay_exact():
    environment = world("1 if x >= y else 0", {"a": Discrete([1], [1.0]), "b": Uniform(0, 2)})
    y = np.array([[0.5], [1.0], [math.nextafter(1.0, 2.0)], [1.5]])
    found, _ = gaps(environment, y)
    np.testing.assert_allclose(found[:2, 1], [0.25, 0.5], atol=1e-4)
    np.testing.assert_allclose(found[2:, 0], [0.5, 0.25], atol=1e-4)


def test_several_continuous_fields_use_rules_and_say_how_good_they_are():
    environment = world(
        "1 if x >= y + z else 0",
        {"a": Uniform(0, 4), "b": Uniform(0, 5)},
        contexts=Independent(Uniform(0, 2), Uniform(0, 1)),
        context={"y": Interval(0, 2), "z": Interval(0, 1)},
    )
    contexts = np.random.default_rng(2).uniform(0, 1, (50, 2))
    found, notes = gaps(environment, contexts)
    total = contexts.sum(axis=1)
    np.testing.assert_allclose(found[:, 0], total / 4 - total / 5, atol=2e-2)
    assert "good to about" in notes[0]


def test_a_reward_in_code_has_the_gaps_of_its_formula():
    laws = {"a": Discrete([0, 3], [0.5, 0.5]), "b": Discrete([1, 2], [0.3, 0.7])}
    spaces = {"state": {"x": Finite([0, 1, 2, 3])}}
    y = np.random.default_rng(3).uniform(0, 2, (200, 1))
    written = world("min(y, x)", laws, **spaces)
    coded = Environment(
        Problem(
            arms=list(laws),
            context={"y": Interval(0, 2)},
            state=spaces["state"],
            reward=Reward(capped, low=0, high=2),
        ),
        states=laws,
        contexts=Uniform(0, 2),
    )
    one, _ = gaps(written, y)
    two, _ = gaps(coded, y, CCB(coded.problem, delta=0.5))
    np.testing.assert_allclose(one, two, atol=1e-12)


@pytest.mark.parametrize("rows", [3000])
def test_long_traces_do_not_fill_memory(rows):
    generator = np.random.default_rng(4)
    laws = {arm: Discrete(generator.uniform(0, 3, rows), np.full(rows, 1 / rows)) for arm in "abcd"}
    contexts = Discrete(generator.uniform(0, 2, rows), np.full(rows, 1 / rows))
    environment = world("min(y, x)", laws, contexts=contexts)
    simulation = Simulation(environment, {"ccb": CCB(environment.problem, delta=0.1)}, horizon=50)
    assert simulation.block(0, 1).regrets.shape == (1, 1, len(simulation.checkpoints))
