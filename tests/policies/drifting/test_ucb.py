"""Policies that forget: definitions, traces by hand, and a world that changes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from problems import channels

from onepull import (
    DCB,
    DiscountedUCB,
    Experiment,
    Finite,
    Interval,
    ParameterError,
    Problem,
    RestartingUCB,
    SlidingWindowUCB,
    UpperConfidence,
    simulate,
)
from onepull.environment import channel_selection

EXAMPLES = Path(__file__).parents[3] / "examples"
STATES = [0.0, 1.0, 2.0, 3.0, 7.0]


def two() -> Problem:
    return Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 2])},
        state={"x": Finite([0, 1, 2])},
        reward="min(y, x)",
    )


@pytest.mark.parametrize("sharing", ["joint", "per-context", "blind"])
@pytest.mark.parametrize("kind", ["discounted", "window"])
def test_the_index_is_that_of_the_raw_history(kind, sharing):
    problem = channels(3)
    discount, window, alpha = 0.97, 20, 0.7
    policy = (
        DiscountedUCB(problem, discount=discount, sharing=sharing, alpha=alpha)
        if kind == "discounted"
        else SlidingWindowUCB(problem, window=window, sharing=sharing, alpha=alpha)
    )
    generator = np.random.default_rng(6)
    history = []
    for _ in range(150):
        pull = int(generator.integers(3)), int(generator.integers(1, 5)), generator.choice(STATES)
        history.append(pull)
        arm, bits, capacity = pull
        policy.observe(problem.arms[arm], bits=bits, capacity=capacity)
    for y in (1, 2, 3, 4):
        rows = [(j, b, x) for j, b, x in history if sharing != "per-context" or b == y]
        ages = range(len(rows) - 1, -1, -1)
        weights = [discount**k if kind == "discounted" else float(k < window) for k in ages]
        memory = 1 / (1 - discount) if kind == "discounted" else window
        span = 4 if sharing == "blind" else y
        for j, row in enumerate(policy.explain(bits=y).arms):
            mine = [
                (w, min(y if sharing == "joint" else b, x))
                for w, (i, b, x) in zip(weights, rows, strict=True)
                if i == j
            ]
            pulls = sum(w for w, _ in mine)
            mean = sum(w * reward for w, reward in mine) / pulls
            bonus = span * math.sqrt(alpha * math.log(min(len(rows) + 1, memory)) / pulls)
            assert row.pulls == pytest.approx(pulls)
            assert row.index == pytest.approx(mean + bonus)


def test_a_window_by_hand():
    policy = SlidingWindowUCB(two(), window=3, alpha=0.5)
    policy.observe_many(["a", "b", "a"], x=[2, 1, 2])
    width = 2 * math.sqrt(0.5 * math.log(3))  # 4 trials, 3 remembered
    a, b = policy.explain(y=2).arms
    assert (a.index, b.index) == pytest.approx((2 + width / math.sqrt(2), 1 + width))
    policy.observe("a", x=0)  # the first a leaves
    assert policy.explain(y=2).arms[0].estimate == 1.0
    policy.observe("a", x=0)  # b leaves, and is as never pulled
    assert policy.choose(y=2) == "b"
    assert policy.explain(y=2).reason == "nothing of it is remembered"


def test_a_discount_by_hand():
    policy = DiscountedUCB(two(), discount=0.5, alpha=0.5)
    policy.observe_many(["a", "b", "a"], x=[2, 1, 0])
    a, b = policy.explain(y=2).arms  # weights 1/4 and 1 of a, 1/2 of b; 2 remembered
    told = (a.pulls, a.estimate, b.pulls, b.estimate)
    assert told == pytest.approx((1.25, 0.4, 0.5, 1.0))
    width = 2 * math.sqrt(0.5 * math.log(2))
    assert (a.bonus, b.bonus) == pytest.approx((width / math.sqrt(1.25), width / math.sqrt(0.5)))


def test_an_arm_that_was_not_seen_for_long_comes_first():
    policy = RestartingUCB(two(), patience=10)
    policy.observe_many(["b", "a"], x=[0, 2])
    for _ in range(30):
        policy.observe("a", x=2)
        overdue = policy.trials - 1 >= 10
        assert policy.choose(y=2) == ("b" if overdue else "a")
        assert policy.choose(y=2, eligible=["a"]) == "a"
    assert policy.explain(y=2).reason == "not seen for 31 trials"
    policy.observe("b", x=0)
    assert policy.choose(y=2) == "a"


def test_a_change_restarts_and_is_told():
    for together in (True, False):
        policy = RestartingUCB(two(), together=together)
        policy.observe_many(["b"] * 20, x=[1] * 20)
        policy.observe_many(["a"] * 150, x=[2] * 100 + [0] * 50)
        a, b = policy.explain(y=2).arms
        assert (a.estimate, a.pulls < 50) == (0.0, True)
        assert b.pulls == (0 if together else 20)
        alone = policy.explain(y=2, eligible=["a"])
        assert "restarted after a change at trial 1" in alone.reason


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (DiscountedUCB, {"discount": 1.0}),
        (DiscountedUCB, {"discount": 0}),
        (DiscountedUCB, {"alpha": 0}),
        (SlidingWindowUCB, {"window": 0}),
        (SlidingWindowUCB, {"window": 2.5}),
        (SlidingWindowUCB, {"window": True}),
        (SlidingWindowUCB, {"sharing": "none"}),
        (RestartingUCB, {"failure": 0}),
        (RestartingUCB, {"failure": 1}),
        (RestartingUCB, {"patience": 0}),
        (RestartingUCB, {"together": "yes"}),
    ],
)
def test_parameters_that_cannot_be_are_refused(kind, wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        kind(two(), **wrong)


@pytest.mark.parametrize("sharing", ["joint", "histogram", "sketch(3)", "low-rank", "blind"])
@pytest.mark.parametrize("kind", [DiscountedUCB, SlidingWindowUCB, RestartingUCB])
def test_any_sharing_finds_the_better_arm_again(kind, sharing):
    told = {"discount": 0.95} if kind is DiscountedUCB else {}
    told = {"window": 60} if kind is SlidingWindowUCB else told
    finite = two()
    problem = (
        Problem(
            arms=["a", "b"],
            context={"y": Finite([1, 2])},
            state={"x": Interval(0, 2)},
            reward="y * x",
        )
        if sharing in ("sketch(3)", "low-rank")
        else finite
    )
    policy = kind(problem, sharing=sharing, **told)
    chosen = []
    for trial in range(900):
        arm = policy.choose(y=2)
        good = "a" if trial < 400 else "b"
        policy.observe(arm, y=2, x=2.0 if arm == good else 0.0)
        chosen.append(arm)
    assert chosen[300:400].count("a") > 60
    assert chosen[-100:].count("b") > 60
    twin = type(policy).from_bytes(policy.to_bytes())
    assert twin.to_bytes() == policy.to_bytes()


def test_where_the_arms_change_places_those_that_forget_lose_less():
    # Their standard deviations between runs are about 150; DCB's is 1900, about a mean of 7000.
    world = Experiment.read(EXAMPLES / "piecewise.toml").simulation.environment
    policies = {
        "DCB": DCB(world.problem),
        "discounted": DiscountedUCB(world.problem, discount=0.9995),
        "window": SlidingWindowUCB(world.problem, window=2000),
        "restarting": RestartingUCB(world.problem),
    }
    result = simulate(world, policies, horizon=40_000, replications=3, seed=12)
    lost = {name: result.regrets[i, :, -1].mean() for i, name in enumerate(policies)}
    assert lost["discounted"] < 0.6 * lost["DCB"]
    assert lost["window"] < 0.6 * lost["DCB"]
    assert lost["restarting"] < 0.4 * lost["DCB"]


def test_forgetting_costs_little_where_every_arm_is_best_somewhere():
    # Of seven channels three are never best, and what is forgotten of them is explored again.
    lost = {}
    for count in (4, 7):
        world = channel_selection(count)
        policies = {
            "standing": UpperConfidence(world.problem, alpha=0.6),
            "discounted": DiscountedUCB(world.problem),
            "window": SlidingWindowUCB(world.problem, window=1000),
        }
        result = simulate(world, policies, horizon=40_000, replications=6, seed=3)
        lost[count] = result.regrets[:, :, -1].mean(axis=1)
    assert np.all(lost[4][1:] - lost[4][0] < 250)
    assert np.all(lost[7][1:] - lost[7][0] > 2000)
