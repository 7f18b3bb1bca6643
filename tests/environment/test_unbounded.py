"""Rewards that are bounded above only, under laws without bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from onepull import Discrete, Finite, FixedArm, Genie, Interval, Problem, simulate
from onepull.distributions import Clipped, Exponential, Independent, LogNormal, Mixture, Uniform
from onepull.environment import Environment
from onepull.errors import ParameterError

AT = np.array([[10.0], [100.0]])


def latencies(tokens, contexts):
    problem = Problem(
        arms=["a", "b"],
        context={"tokens": tokens},
        state={"ttft": Interval(0, math.inf), "tpot": Interval(0, math.inf)},
        reward="-(ttft + tokens * tpot)",
    )
    states = {
        "a": Independent(LogNormal(0, 1), Exponential(0.02)),
        "b": Independent(
            Exponential(1),
            Mixture([(0.9, LogNormal(-4, 0.5)), (0.1, Clipped(Exponential(1), high=0.5))]),
        ),
    }
    return Environment(problem, states=states, contexts=contexts)


def exact(tokens):
    each = 0.9 * math.exp(-4 + 0.125) + 0.1 * -math.expm1(-0.5)
    return [-(math.exp(0.5) + tokens * 0.02), -(1 + tokens * each)]


def test_means_and_gaps_of_latencies():
    world = latencies(Finite([10, 100]), Discrete([10, 100], [0.5, 0.5]))
    means = np.array([exact(10), exact(100)])
    assert world.expected_rewards(AT) == pytest.approx(means, rel=1e-8)
    gaps = means.max(axis=1, keepdims=True) - means
    assert world.gaps(AT) == pytest.approx(gaps, rel=1e-7, abs=1e-12)
    genie = Genie(world.problem, states=world.states)
    for tokens in (10, 100):
        assert genie.choose(tokens=tokens) == "ab"[int(np.argmax(exact(tokens)))]


@pytest.mark.parametrize(
    ("tokens", "contexts"),
    [
        (Finite([10, 100]), Discrete([10, 100], [0.5, 0.5])),
        (Interval(1, 200), Uniform(1, 200)),
    ],
)
def test_regret_is_the_sum_of_the_gaps(tokens, contexts):
    world = latencies(tokens, contexts)
    found = simulate(
        world,
        [FixedArm(world.problem, arm="a"), Genie(world.problem, states=world.states)],
        horizon=1000,
        replications=20,
        seed=1,
    )
    gap = contexts.expectation(lambda t: np.maximum(0.0, exact(t)[1] - exact(t)[0]))
    spread = contexts.expectation(lambda t: np.maximum(0.0, exact(t)[1] - exact(t)[0]) ** 2)
    fixed, genie = (row["regret"] for row in found.final())
    # Six standard errors: by normality false once in 5e8.
    assert abs(fixed - 1000 * gap) < 6 * math.sqrt(spread * 1000 / 20)
    assert genie == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    "law", [LogNormal(0, 10), Mixture([(0.5, LogNormal(0, 10)), (0.5, Uniform(0, 1))])], ids=repr
)
def test_an_infinite_mean_is_said(law):
    problem = Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 2])},
        state={"x": Interval(0, math.inf)},
        reward="-x * x * x * x * y",
    )
    states = {"a": Uniform(0, 1), "b": law}
    world = Environment(problem, states=states, contexts=Discrete([1, 2], [0.5, 0.5]))
    with pytest.raises(ParameterError) as caught:
        world.gaps(np.array([[1.0], [2.0]]))
    told = str(caught.value)
    assert told.startswith("the mean reward of arm 'b' for y=1 is minus infinity")
    assert repr(law) in told
    assert "Clipped" in told
