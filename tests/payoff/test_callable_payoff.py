"""Rewards in Python are called by name, and must keep to their declared bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from onepull import Finite, Interval, Problem, Reward
from onepull.errors import ContextError, DeclarationError, ProblemError, RewardError

MANY = Finite(range(1, 101))
FEW = Finite([1, 2, 3])


def payoff(reward, context=FEW, state=FEW):
    return Problem(arms=["a"], context={"y": context}, state={"x": state}, reward=reward).payoff


def swapped(x, y):
    return x - 10 * y


def keywords(**fields):
    return fields["x"] - 10 * fields["y"]


def branching(y, x):
    return x - 10 * y if y > 0 else math.nan


def careless(y, x):
    return x - 10 * y if np.size(y) == 1 else x + 10 * y


@pytest.mark.parametrize("function", [swapped, keywords, branching, careless])
def test_fields_arrive_by_name_on_numbers_and_arrays(function):
    known = payoff(function, context=MANY)
    assert known(x=3, y=2) == -17.0
    assert known.vector(np.array([1.0, 2.0]), 3.0).tolist() == [-7.0, -17.0]
    contexts = [(y,) for y in MANY.values]
    assert list(known.across(contexts)((3.0,))) == [3 - 10 * y for y in MANY.values]
    assert list(known.across(contexts[:3])((3.0,))) == [-7.0, -17.0, -27.0]
    assert known.whole_range == (-999.0, -7.0)


@pytest.mark.parametrize("function", [lambda a: a, lambda y: y, lambda y, x, z: x + y + z])
def test_a_callable_of_other_fields_is_refused(function):
    with pytest.raises(ProblemError, match="does not take the fields y, x"):
        payoff(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda y, x: math.nan + x + y,
        lambda y, x: math.inf if x > 2 else y,
        lambda y, x: None if x > 2 else y,
        lambda y, x: "?" if x > 2 else y,
        lambda y, x: 1 / (x - 3) + y,
        lambda y, x: complex(x, y),
    ],
)
def test_a_result_that_is_no_finite_number_is_refused(function):
    with pytest.raises(RewardError, match=r"the reward of y=\d, x=\d is"):
        payoff(function)


@pytest.mark.parametrize("contexts", [[(1.0,)], [(y,) for y in MANY.values]])
def test_a_result_beyond_the_declared_bounds_is_refused_when_it_comes(contexts):
    # A spike that no sample finds.
    needle = 0.123456789
    reward = Reward(lambda y, x: y + 50.0 * (x == needle), low=0, high="y")
    known = payoff(reward, context=MANY, state=Interval(0, 1))
    learn = known.across(contexts)
    assert list(learn((0.5,))) == [y for (y,) in contexts]
    with pytest.raises(DeclarationError, match="beyond the declared high of 1"):
        learn((needle,))
    with pytest.raises(DeclarationError, match=r"x=0\.123456789 is 51"):
        known(y=1, x=needle)


def test_missing_bounds_are_asked_for():
    with pytest.raises(ProblemError, match=r"declare Reward\(function, low=…, high=…\), or mono"):
        payoff(lambda y, x: x * y, state=Interval(0, 1))
    with pytest.raises(ProblemError, match=r"continuous contexts.*Reward\(function, low=…, high"):
        payoff(lambda y, x: x * y, context=Interval(0, 1))


def test_a_monotone_callable_takes_its_range_from_the_ends():
    reward = Reward(lambda y, x: x * y, monotone={"x": "increasing"})
    assert payoff(reward, state=Interval(-1, 2)).whole_range == (-3.0, 6.0)


def test_stray_and_missing_fields_are_refused():
    with pytest.raises(ContextError, match="unknown field 'z'; allowed here: y, x"):
        payoff("x * y")(x=1, y=1, z=1)
    with pytest.raises(ContextError, match="'y' is missing"):
        payoff("x * y")(x=1)
