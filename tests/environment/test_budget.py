"""Costs and a budget: which are valid, and the best mixture they allow."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest
from budgets import metered
from problems import harvesting

from onepull import Discrete, Environment
from onepull.distributions import Switching, Uniform
from onepull.environment import metered_channels
from onepull.errors import ParameterError, UnknownArm


def world(**changed):
    free = metered(5.0, contexts=2)
    stated: dict[str, Any] = {"states": free.states, "contexts": free.contexts}
    return Environment(free.problem, **stated | changed)


def test_an_arm_that_is_not_named_costs_nothing():
    assert metered(5.0, contexts=2).costs == {"wifi": 0.0, "lte": 1.0}


def test_without_a_budget_there_is_none():
    free = world()
    assert (free.costs, free.budget) == ({"wifi": 0.0, "lte": 0.0}, None)
    assert "budget" not in repr(free)
    with pytest.raises(ParameterError, match="without a budget"):
        free.best_mix(10)


def test_both_are_shown_and_travel():
    environment = metered(5.0, contexts=2)
    assert "costs={'wifi': 0.0, 'lte': 1.0}, budget=5.0" in repr(environment)
    assert repr(pickle.loads(pickle.dumps(environment))) == repr(environment)  # noqa: S301 - our own


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"costs": {"lte": 1.0}}, ParameterError, "costs and a budget go together"),
        ({"budget": 3.0}, ParameterError, "costs and a budget go together"),
        ({"costs": {"lte": 1.0}, "budget": 0}, ParameterError, "budget must be a number > 0"),
        ({"costs": {"lte": 1.0}, "budget": math.inf}, ParameterError, "budget must be"),
        ({"costs": {"lte": -1.0}, "budget": 1}, ParameterError, "the cost of 'lte' must be"),
        ({"costs": {"lte": math.nan}, "budget": 1}, ParameterError, "the cost of 'lte' must be"),
        ({"costs": {"umts": 1.0}, "budget": 1}, UnknownArm, "'umts' among the costs"),
    ],
)
def test_what_is_wrong_is_named(changed, error, words):
    with pytest.raises(error, match=words):
        world(**changed)


def test_the_best_mixture_by_hand():
    # wifi earns 0.3 always; lte 0.4 where 1 is needed and 0.8 where 2 are, at a cost of 1.
    for share, value in ((0.25, 0.3 + 0.25 * 0.5), (0.5, 0.55), (0.75, 0.575), (2.0, 0.6)):
        assert metered(100 * share, contexts=2).best_mix(100).value == pytest.approx(value)


def test_the_papers_channels_by_hand():
    # 0.25 pays for channel 1 always, 0.1875 more for channel 2 from 2 bits on, at 2 a unit,
    # and the rest for channel 3, at 1.2 a unit.
    mix = metered_channels(500.0).best_mix(1000)
    assert mix.value == pytest.approx(0.7 + 0.375 + 0.0625 * 1.2)
    assert mix.price == pytest.approx(1.2)
    assert metered_channels(500.0, 2).problem.arms == ("channel 1", "channel 2", "idle")


def test_a_mixture_is_that_of_all_trials_where_laws_switch():
    # lte earns nothing in the first half, so the second half gets the whole budget.
    states = metered(5.0, contexts=2).states
    late = Switching({0: Discrete([0], [1.0]), 50: states["lte"]})
    environment = world(states=states | {"lte": late}, costs={"lte": 1.0}, budget=25.0)
    assert environment.best_mix(100).value == pytest.approx((0.3 + 0.3 + 0.5 * 0.5) / 2)
    assert environment.best_mix(50).value == pytest.approx(0.3)


def test_continuous_contexts_are_taken_at_points_of_their_law():
    # The budget pays for half of the trials: those with the most power.
    problem = harvesting(2)
    weak, strong = Discrete([0], [1.0]), Discrete([4], [1.0])
    environment = Environment(
        problem,
        states={"channel-1": weak, "channel-2": strong},
        contexts=Uniform(0, 1),
        costs={"channel-2": 1.0},
        budget=50.0,
    )
    exact = (5 * math.log(5) - 3 * math.log(3) - 2) / 4  # the integral of log(1 + 4p) from 1/2
    assert environment.best_mix(100).value == pytest.approx(exact, abs=1e-4)
