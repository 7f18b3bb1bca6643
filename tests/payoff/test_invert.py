"""Find the state from a reward, where the reward determines it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import channels, offloading

from onepull import Finite, Interval, Problem, Reward
from onepull.errors import RewardError

POWERS = Interval(0.5, 1)


def payoff(reward, state, context=POWERS):
    return Problem(arms=["a"], context={"y": context}, state={"x": state}, reward=reward).payoff


STRICT = [
    payoff("log(1 + y * x)", Interval(0, 7)),
    payoff("-(8 / (1 + x) + y)", Interval(0, 7)),
    payoff("exp(-x * y)", Interval(0, 7)),
    payoff(
        Reward(lambda y, x: y * x**3, low=0, high=343, monotone={"x": "increasing"}), Interval(0, 7)
    ),
]


@pytest.mark.parametrize("known", STRICT)
@given(y=st.floats(0.5, 1), x=st.floats(0, 7))
@settings(derandomize=True, deadline=None, max_examples=25)
def test_a_strictly_monotone_reward_gives_the_state_back(known, y, x):
    (state,) = known.invert(known(y=y, x=x), (y,))
    assert 0 <= state <= 7
    assert known(y=y, x=state) == pytest.approx(known(y=y, x=x), rel=1e-12, abs=1e-12)


@given(y=st.floats(0.5, 1), x=st.sampled_from([0.0, 3.0, 1.0, 7.0]))
@settings(derandomize=True, deadline=None)
def test_finite_states_are_looked_up(y, x):
    known = payoff("(x - 2.2) ** 2 * y", Finite([0, 3, 1, 7]))
    assert known.invert(known(y=y, x=x), (y,)) == (x,)


def test_several_finite_fields_are_looked_up():
    problem = Problem(
        arms=["a"],
        context={"y": POWERS},
        state={"u": Finite([1, 2]), "v": Finite([10, 20])},
        reward="y * (u + v)",
    )
    assert problem.payoff.invert(0.5 * 12, (0.5,)) == (2.0, 10.0)


@pytest.mark.parametrize(
    ("known", "context"),
    [
        (channels().payoff, (2.0,)),
        (payoff("(x - 1) ** 2 * y", Finite([0, 2, 5])), (1.0,)),
        (payoff("(x - 1) ** 2 * y", Interval(0, 5)), (1.0,)),
        (offloading().payoff, (8.0, 1e3)),
        # Strictly monotone, except for rounding.
        (payoff("1 - exp(-x * y)", Interval(0, 60)), (1.0,)),
        (payoff("exp(-x * y) - 1", Interval(0, 60)), (1.0,)),
        (payoff("1e20 + x * y", Interval(0, 60)), (1.0,)),
        (payoff("1e17 + x * y - 1e17", Interval(0, 60)), (1.0,)),
        (payoff("1 - 1 / (1 + x * y)", Interval(0, math.inf)), (1.0,)),
        (payoff("1e17 - x * y - 1e17", Interval(0, math.inf)), (1.0,)),
        (payoff("-(x**2) * y", Interval(0, math.inf)), (1.0,)),  # flat at 0
        (payoff("x * y", Finite(range(65537))), (1.0,)),
    ],
)
def test_a_reward_that_several_states_give_is_refused(known, context):
    with pytest.raises(RewardError, match=r"observe the state instead \(\w+[,)]"):
        known.invert(1.0, context)


@pytest.mark.parametrize("known", [*STRICT, payoff("x * y", Finite([0, 1, 2]))])
@pytest.mark.parametrize("reward", [1e6, -1e6, float("nan")])
def test_a_reward_that_cannot_be_is_refused(known, reward):
    with pytest.raises(RewardError, match=r"is impossible for y=0\.75"):
        known.invert(reward, (0.75,))


def test_an_endless_state_is_told_where_the_reward_is_declared_strict():
    reward = Reward("1 - 1 / (1 + x * y)", high=1, monotone={"x": "increasing"})
    known = payoff(reward, Interval(0, math.inf))
    assert known.invert(0.75, (1.0,)) == (pytest.approx(3.0),)


@pytest.mark.parametrize("state", [Interval(0, math.inf), Interval(-math.inf, 5)])
@pytest.mark.parametrize("size", [0.0, 1e-9, 0.3, 4.0, 1e14, 1e30])
def test_an_endless_state_is_told_by_a_reward_that_is_steep_everywhere(state, size):
    known = payoff("-x * y" if state.low == 0 else "x * y", state)
    x = size if state.low == 0 else 5 - size
    (found,) = known.invert(known(y=0.5, x=x), (0.5,))
    assert found == pytest.approx(x, rel=1e-12, abs=1e-12)


def test_a_reward_beyond_those_of_an_endless_state_is_refused():
    known = payoff("-x * y", Interval(0, math.inf))
    for reward in (1e-6, math.nan, -math.inf):
        with pytest.raises(RewardError, match=r"is impossible for y=0\.75; expected -inf to 0"):
            known.invert(reward, (0.75,))
