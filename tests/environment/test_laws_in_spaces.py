"""Laws without bounds meet spaces: infinite ones, ones that clip, and ones that refuse."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from onepull import Discrete, Finite, Interval, Problem
from onepull.distributions import (
    Clipped,
    Exponential,
    Independent,
    InOrder,
    LogNormal,
    Mixture,
    Switching,
    Truncated,
    Uniform,
)
from onepull.environment import Environment
from onepull.environment.environment import finite_bounds, gaps_of, tie_slack
from onepull.errors import ParameterError

AT = np.array([[1.0], [4.0]])
EVENLY = Discrete([1, 4], [0.5, 0.5])


def problem(space, reward="exp(-x / y)"):
    return Problem(
        arms=["a", "b"], context={"y": Finite([1, 4])}, state={"x": space}, reward=reward
    )


def world(space, law, **rest):
    states = {"a": law, "b": Discrete([1], [1])}
    return Environment(problem(space, **rest), states=states, contexts=EVENLY)


def test_all_positive_numbers_are_a_space():
    found = world(Interval(0, math.inf), Exponential(2)).expected_rewards(AT)
    # E exp(-X/y) = 1/(1 + 2/y).
    assert found[:, 0] == pytest.approx([1 / 3, 1 / 1.5], rel=1e-9)


@pytest.mark.parametrize(
    "law",
    [
        Exponential(2),
        LogNormal(0, 2),
        Truncated(LogNormal(0, 2), low=0.1),
        Mixture([(0.9, Exponential(1)), (0.1, Exponential(40))]),
        Discrete([0, 40], [0.5, 0.5]),
        InOrder([0, 40, 1]),
        Uniform(-10, 50),
    ],
    ids=repr,
)
def test_a_space_that_clips_accepts_every_law(law):
    found = world(Interval(0, 3, outside="clip"), law)
    ((low, high),) = found.states["a"].support
    assert low >= 0
    assert high <= 3
    exact = [law.expectation(lambda x, y=y: np.exp(-np.clip(x, 0, 3) / y)) for (y,) in AT]
    assert found.expected_rewards(AT)[:, 0] == pytest.approx(exact, rel=1e-8)


def test_every_piece_and_every_field_is_clipped():
    two = Problem(
        arms=["a"],
        context={"y": Interval(0, 1, outside="clip")},
        state={"x": Interval(0, 3, outside="clip"), "z": Interval(0, math.inf)},
        reward="min(x, z) * y",
    )
    law = Independent(LogNormal(0, 1), Exponential(1))
    found = Environment(
        two, states={"a": Switching({0: law, 9: law})}, contexts={"y": Exponential(1)}
    )
    for piece in found.pieces():
        assert piece.states[0].support == [(0, 3), (0, math.inf)]
    assert found.contexts.support == [(0, 1)]
    assert repr(found.contexts) == "Clipped(Exponential(mean=1), low=0, high=1)"


def test_what_was_clipped_is_not_clipped_again():
    once = world(Interval(0, 3, outside="clip"), Exponential(2))
    again = once.with_late_feedback(delays=3)
    assert again.states == once.states
    assert pickle.loads(pickle.dumps(once)).states["a"].support == [(0, 3)]  # noqa: S301 - our own


@pytest.mark.parametrize("law", [Exponential(2), LogNormal(0, 1), Uniform(0, 4)], ids=repr)
def test_a_space_that_refuses_names_the_ways_out_and_each_works(law):
    with pytest.raises(ParameterError, match="the states of arm 'a' leave the declared space") as e:
        world(Interval(0, 3), law)
    for way in ("Truncated", "Clipped", "outside='clip'", "a wider interval"):
        assert way in str(e.value)
    for space, given in (
        (Interval(0, 3), Truncated(law, 0, 3)),
        (Interval(0, 3), Clipped(law, 0, 3)),
        (Interval(0, 3, outside="clip"), law),
        (Interval(0, math.inf), law),
    ):
        assert np.isfinite(world(space, given).gaps(AT)).all()


def test_listed_values_are_not_told_to_clip():
    with pytest.raises(ParameterError) as caught:
        world(Finite([1, 2]), Discrete([1, 5], [0.5, 0.5]))
    assert "clip" not in str(caught.value)


def test_words_mix():
    regions = Problem(
        arms=["a"],
        context={"region": Finite(["eu", "us"])},
        state={"x": Interval(0, 1)},
        reward="x if region == 'eu' else 0",
    )
    law = Mixture([(0.5, Discrete(["us"], [1])), (0.5, Discrete(["eu", "us"], [0.5, 0.5]))])
    found = Environment(regions, states={"a": Uniform(0, 1)}, contexts=law)
    rows, weights = found.contexts.atoms or (None, None)
    assert rows is not None
    assert weights is not None
    assert (rows.ravel().tolist(), weights.tolist()) == ([0, 1], [0.25, 0.75])


def test_gaps_of_rewards_that_are_bounded_above_only():
    bounds = (-math.inf, 0.0)
    rewards = np.array([[-3.0, -1.0, -1.0 - 1e-15], [-1e6, -2.0, -2.5]])
    assert gaps_of(rewards, bounds).tolist() == [[2, 0, 0], [1e6 - 2, 0, 0.5]]
    assert finite_bounds(bounds, rewards) == (-1e6, 0)
    assert finite_bounds((-9.0, 9.0), rewards) == (-9, 9)
    assert tie_slack(finite_bounds(bounds, rewards)) < 1e-5
