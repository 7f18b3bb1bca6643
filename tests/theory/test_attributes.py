"""Bounds and limits where arms have attributes, pulls fail, or rewards have no lowest value."""

from __future__ import annotations

import math

import numpy as np
import pytest

from onepull import DCB, Discrete, Environment, Finite, Interval, ParameterError, Problem, simulate
from onepull.distributions import Exponential, Failing
from onepull.experiments.theory_tables import theory_tables
from onepull.theory import (
    Instance,
    graves_lai,
    guarantee,
    hoeffding_constant,
    kinf,
    theorem_1,
    theorem_3,
)

HALF = Discrete([0, 1], [0.5, 0.5])


def priced(prices, **changes):
    problem = Problem(
        arms={arm: {"price": price, "scale": scale} for arm, (price, scale) in prices.items()},
        context={"size": Finite([1, 2])},
        state={"x": Finite([0, 1])},
        reward="scale * size * x - price",
        failure="-price",
        **changes,
    )
    laws = dict.fromkeys(prices, Failing(HALF, 0.2))
    return Environment(problem, states=laws, contexts=Discrete([1, 2], [0.5, 0.5]))


def test_every_arm_has_its_own_range():
    instance = Instance.of(priced({"a": (0, 4), "b": (1, 1)}))
    assert instance.arm_ranges is not None
    assert instance.arm_ranges.tolist() == [[4, 1], [8, 2]]
    assert instance.ranges.tolist() == [5, 9]
    # Mean rewards: 0.4·scale·size - price.
    assert instance.gaps == pytest.approx(np.array([[0, 1.6 + 0.6], [0, 3.2 + 0.2]]))
    assert instance.steepness[:, 1] == pytest.approx([(1 / 2.2) ** 2, (2 / 3.4) ** 2])
    pulls = 4 * 2.5 * math.log(1000) * (2 / 3.4) ** 2 + 1 + math.pi**2 / 3
    assert theorem_1(instance, 0.5, 1000) == pytest.approx([math.inf, pulls])
    limit = hoeffding_constant(instance, 2.5)
    assert limit.total == pytest.approx(2.5 * (2 / 3.4) ** 2 * 3.4)


def test_what_an_arm_cannot_reach_need_not_be_explored():
    # With size 1 arm b earns at most 2 - 1 = 1, less than the 1.2 that arm a earns on average.
    environment = priced({"a": (0, 3), "b": (1, 2)})
    instance = Instance.of(environment)
    law = np.array([-1.0, 3.0]), np.array([0.6, 0.4])
    least = kinf(*law, 2.4, 3.0)
    assert graves_lai(environment).total == pytest.approx(instance.gaps[:, 1].min() / least)
    # Nowhere at all.
    assert graves_lai(priced({"a": (0, 4), "b": (1, 1)})).total == 0.0


def test_regret_is_below_the_bound_with_the_ranges_of_the_arms():
    environment = priced({"a": (0, 2), "b": (0.1, 1.9), "c": (1, 1)})
    policies = {"DCB": DCB(environment.problem, epsilon=0.01)}
    found = simulate(environment, policies, horizon=2000, replications=20, seed=1)
    told = guarantee(environment, policies["DCB"], 2000)
    assert told.by_gaps is not None
    assert found.regret("DCB").mean() < told.by_gaps
    wider = Instance.of(environment)
    common = theorem_3(wider, 0.01, 2000).total
    assert told.by_gaps == pytest.approx(common)


def test_without_a_lowest_reward_there_are_limits_only():
    problem = Problem(
        arms=["a", "b"],
        context={"tokens": Finite([1, 10])},
        state={"seconds": Interval(0, math.inf)},
        reward="-seconds * tokens",
    )
    environment = Environment(
        problem,
        states={"a": Exponential(1.0), "b": Exponential(2.0)},
        contexts=Discrete([1, 10], [0.5, 0.5]),
    )
    instance = Instance.of(environment)
    assert not instance.is_bounded
    for bound in (theorem_1, theorem_3):
        with pytest.raises(ParameterError, match="need a lowest reward"):
            bound(instance, 0.01, 1000)
    assert 0.0 < graves_lai(environment).total < math.inf
    made = theory_tables(environment, {}, horizon=1000, epsilon=0.01, delta=None)
    assert [table.title for table in made] == [
        "The problem",
        "Contexts",
        "Arms",
        "Limits, n = 1,000",
    ]
    assert "no lowest value" in made[0].notes[-1]
