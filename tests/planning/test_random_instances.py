"""Random arms for problems with words, attributes and failures."""

from __future__ import annotations

import numpy as np
import pytest
from problems import endless, failing, worded

from onepull import Finite, Interval, ParameterError, Problem
from onepull.distributions import Failing
from onepull.planning.random_instances import MOST_FAILING, instance


def hot() -> Problem:
    return Problem(
        arms=["a", "b"],
        context={"region": Finite(["eu", "us"])},
        state={"cache": Finite(["hot", "cold"]), "rate": Interval(0, 1)},
        reward="rate * (cache == 'hot') + (region == 'eu')",
    )


@pytest.mark.parametrize("problem", [worded(), failing(), hot()])
def test_random_arms_have_rewards(problem):
    made = instance(problem, np.random.default_rng(1))
    contexts = made.contexts.sample(np.random.default_rng(2), 5)
    low, high = problem.payoff.whole_range
    rewards = made.expected_rewards(contexts)
    assert rewards.shape == (5, len(problem.arms))
    assert ((low <= rewards) & (rewards <= high)).all()


def test_arms_fail_if_pulls_can():
    made = instance(failing(), np.random.default_rng(1))
    chances = [law.chance for law in made.states.values() if isinstance(law, Failing)]
    assert len(chances) == 3
    assert all(0 <= chance <= MOST_FAILING for chance in chances)


def test_states_without_bounds_need_an_environment():
    with pytest.raises(ParameterError, match="describe the environment, or bound the field"):
        instance(endless(), np.random.default_rng(1))
