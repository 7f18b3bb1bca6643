"""The histogram: how often each state was seen, and so exact in every context."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import channels

from onepull import Finite, Interval, ParameterError, Problem, Reward, UpperConfidence
from onepull.factor import Histogram

FORMULAS = [
    "min(y, x)",
    "x * y - abs(x)",
    "x >= y",
    "-exp(y) * (x <= 2 * y) + x",
    "clip(y - x, -1, 2) * x",
    "max(x, -y) - 3",
]


def on(values, reward):
    return Problem(
        arms=["a", "b"],
        context={"y": Interval(-1, 2)},
        state={"x": Finite(values)},
        reward=reward,
    )


def vectors():
    return Problem(
        arms=["a", "b", "c"],
        context={"size": Interval(0, 3), "weight": Finite([-1, 2])},
        state={"speed": Finite([1, 2, 4]), "up": Finite([0, 1])},
        reward="weight * min(size, speed) * up - (speed >= size)",
    )


@given(
    formula=st.sampled_from(FORMULAS),
    values=st.lists(st.integers(-40, 40).map(lambda n: n / 8), min_size=1, max_size=9, unique=True),
    seed=st.integers(0, 2**32 - 1),
)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_an_estimate_is_the_mean_of_the_rewards(formula, values, seed):
    problem = on(values, formula)
    policy = UpperConfidence(problem, sharing="histogram")
    generator = np.random.default_rng(seed)
    seen = generator.choice(values, 30).tolist()
    policy.observe_many(["a"] * 30, x=seen)
    for y in [-1.0, 2.0, *generator.uniform(-1, 2, 8).tolist()]:
        rewards = [problem.payoff(y=y, x=x) for x in seen]
        assert policy.explain(y=y).arms[0].estimate == pytest.approx(
            np.mean(rewards), rel=1e-12, abs=1e-12
        )
        _, _, low, high = policy.sharing.view({"y": y})
        possible = [problem.payoff(y=y, x=x) for x in values]
        assert (low, high) == pytest.approx((min(possible), max(possible)))


def test_fields_of_the_state_make_a_product():
    problem = vectors()
    histogram = Histogram(problem)
    states = list(itertools.product([1.0, 2.0, 4.0], [0.0, 1.0]))
    assert [tuple(row) for row in histogram.points.tolist()] == states
    assert (histogram.features, histogram.error) == (6, 0.0)
    for place, state in enumerate(states):
        assert list(histogram.psi(state)) == [float(i == place) for i in range(6)]
        for context in ((0.3, -1.0), (2.7, 2.0)):
            assert histogram.phi(context)[place] == problem.payoff.scalar(*context, *state)


def test_many_states_give_what_few_do():
    problem = on(range(200), "min(y, x) - x")
    histogram = Histogram(problem)
    assert np.flatnonzero(histogram.psi((123.0,))).tolist() == [123]
    assert histogram.phi((0.5,)) @ histogram.psi((123.0,)) == 0.5 - 123


def test_a_histogram_is_a_law_whatever_was_seen():
    policy = UpperConfidence(vectors(), sharing="histogram")
    policy.observe_many(["a", "a", "b"], speed=[1, 4, 4], up=[1, 1, 0])
    means = np.array(policy.sharing.all_statistics["all"].means)
    np.testing.assert_allclose(means[:, :2].sum(axis=0), 1)
    assert means[:, 0].tolist() == [0, 0.5, 0, 0, 0, 0.5]


def test_a_reward_in_code_without_a_range_to_declare():
    problem = on([1, 2], Reward(lambda y, x: x if x > y else 0.0, low=0, high=2))
    assert Histogram(problem).phi((1.5,)).tolist() == [0.0, 2.0]


def test_an_unbounded_context_needs_no_cells():
    problem = Problem(
        arms=["a"],
        context={"y": Interval(0, float("inf"))},
        state={"x": Finite([0, 4])},
        reward="min(y, x)",
    )
    assert Histogram(problem).bounds((3.0,)) == (0.0, 3.0)


def test_contexts_that_are_remembered_take_bounded_room(monkeypatch):
    monkeypatch.setattr("onepull.factor.atoms.REMEMBERED_REWARDS", 20)
    histogram = Histogram(on(range(10), "x * y"))
    for y in np.linspace(0, 1, 50).tolist():
        assert histogram.phi((y,))[9] == 9 * y
    assert histogram._rewards.cache_info().currsize == 2


def test_a_remembered_reward_cannot_be_spoilt():
    histogram = Histogram(on([1, 2], "x * y"))
    with pytest.raises(ValueError, match="read-only"):
        histogram.phi((1.0,))[0] = 5.0


def test_continuous_states_are_refused_with_what_to_do():
    with pytest.raises(ParameterError, match=r"'capacity' is .*finitely many states.*sketch"):
        Histogram(channels())


def test_too_many_states_are_refused():
    problem = Problem(
        arms=["a"],
        context={"y": Interval(0, 1)},
        state={"x": Finite(range(1000)), "z": Finite(range(101))},
        reward="x * y + z",
    )
    with pytest.raises(
        ParameterError, match="101,000 listed states are more than the 100,000 allowed"
    ):
        Histogram(problem)
