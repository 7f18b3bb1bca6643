"""The likelihood bound on states that are forgotten: by brute force, and after a change."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from onepull import (
    AdaptiveKL,
    DiscountedKL,
    DiscountedUCB,
    EmpiricalKL,
    Experiment,
    Finite,
    Interval,
    MergeError,
    ParameterError,
    Problem,
    SlidingWindowKL,
    SlidingWindowUCB,
    simulate,
)

EXAMPLES = Path(__file__).parents[3] / "examples"
ARMS = ["a", "b", "c"]


def jobs() -> Problem:
    """Return two listed fields of the state, and rewards below nothing."""
    return Problem(
        arms=ARMS,
        context={"size": Finite([1, 5]), "work": Interval(1, 3)},
        state={"rate": Finite([1, 2, 5]), "speed": Finite([0.5, 4])},
        reward="-(size / rate + work / speed)",
    )


def coins() -> Problem:
    return Problem(
        arms=["a", "b"], context={"y": Finite([1])}, state={"x": Finite([0, 1])}, reward="x * y"
    )


def divergence(values, weights, level, top):
    """Return K(F, θ) by trying ever closer λ."""
    low, high, best = 0.0, 1.0, 0.0
    for _ in range(9):
        tried = np.linspace(low, high, 101)
        with np.errstate(divide="ignore"):
            ratio = np.maximum(1 - np.outer(tried, (values - level) / (top - level)), 0.0)
            found = np.log(ratio) @ weights
        at = int(found.argmax())
        best = max(best, float(found[at]))
        low, high = tried[max(at - 1, 0)], tried[min(at + 1, 100)]
    return best


def bound(values, weights, top, budget):
    """Return the highest θ with K(F, θ) ≤ budget, by halving."""
    low, high = float(values @ weights), top
    for _ in range(45):
        middle = (low + high) / 2
        if divergence(values, weights, middle, top) <= budget:
            low = middle
        else:
            high = middle
    return low


@pytest.mark.parametrize("c", [0.0, 2.0])
@pytest.mark.parametrize("kind", ["discounted", "window"])
def test_index_and_choice_are_those_of_the_raw_history(kind, c):
    problem, discount, window = jobs(), 0.96, 30
    policy = (
        DiscountedKL(problem, discount=discount, c=c)
        if kind == "discounted"
        else SlidingWindowKL(problem, window=window, c=c)
    )
    luck = np.random.default_rng(5)
    history: list[tuple[str, float, float]] = []
    grid = [(r, s) for r in (1, 2, 5) for s in (0.5, 4)]
    for trial in range(1, 160):
        arm = ARMS[trial % 3] if trial < 10 else str(luck.choice(ARMS, p=[0.7, 0.2, 0.1]))
        history.append((arm, float(luck.choice([1, 2, 5])), float(luck.choice([0.5, 4]))))
        policy.observe(arm, rate=history[-1][1], speed=history[-1][2])
        if trial not in (5, 20, 60, 100, 159):
            continue
        ages = np.arange(len(history))[::-1]
        counts = discount**ages if kind == "discounted" else (ages < window).astype(float)
        n = min(len(history) + 1, 1 / (1 - discount) if kind == "discounted" else window)
        budget = math.log(n) + (c * math.log(math.log(n)) if n > math.e else 0.0)
        for size, work in ((1, 1.0), (5, 2.3)):
            top = max(-(size / r + work / s) for r, s in grid)
            found = []
            for j, name in enumerate(ARMS):
                mine = np.array([row[0] == name for row in history]) & (counts > 0)
                m = counts[mine].sum()
                rewards = np.array([-(size / r + work / s) for _, r, s in history])[mine]
                shown = policy.explain(size=size, work=work).arms[j]
                assert shown.pulls == pytest.approx(m)
                if m == 0:
                    found.append(math.inf)
                    continue
                assert shown.estimate == pytest.approx(rewards @ counts[mine] / m)
                found.append(bound(rewards, counts[mine] / m, top, budget / m))
                assert shown.index == pytest.approx(found[-1], abs=1e-6)
            *_, second, first = sorted(found)
            if first - second > 1e-5:  # else it is a tie, as that of two arms next to the top
                assert policy.choose(size=size, work=work) == ARMS[int(np.argmax(found))]


@pytest.mark.parametrize(
    ("sharp", "wide"),
    [
        (DiscountedKL(jobs(), discount=0.9), DiscountedUCB(jobs(), discount=0.9,
         sharing="histogram", alpha=0.5)),
        (SlidingWindowKL(jobs(), window=15), SlidingWindowUCB(jobs(), window=15,
         sharing="histogram", alpha=0.5)),
    ],
)  # fmt: skip
def test_it_lies_between_the_estimate_and_the_wider_bound(sharp, wide):
    luck = np.random.default_rng(6)
    for _ in range(80):
        arm, state = str(luck.choice(ARMS)), {"rate": luck.choice([1, 2, 5]), "speed": 4}
        sharp.observe(arm, **state)
        wide.observe(arm, **state)
        one, two = (policy.explain(size=5, work=1.5).arms for policy in (sharp, wide))
        for mine, theirs in zip(one, two, strict=True):
            if mine.pulls:
                assert mine.estimate == pytest.approx(theirs.estimate)
                assert mine.estimate <= mine.index + 1e-9
                assert mine.index <= theirs.index + 1e-9


def test_a_long_memory_is_that_of_the_policy_that_keeps_all():
    problem = jobs()
    lasting, window = EmpiricalKL(problem, c=1), SlidingWindowKL(problem, window=10_000, c=1)
    luck = np.random.default_rng(7)
    for _ in range(150):
        context = {"size": luck.choice([1, 5]), "work": luck.uniform(1, 3)}
        arm = lasting.choose(**context)
        assert window.choose(**context) == arm
        state = {"rate": luck.choice([1, 2, 5]), "speed": luck.choice([0.5, 4])}
        lasting.observe(arm, **state)
        window.observe(arm, **state)
    assert window.explain(size=1, work=2).arms == lasting.explain(size=1, work=2).arms


def test_coins_by_hand():
    """Of a the weights are 1/4 of heads and 1 of tails, of b 1/2; 2 trials are remembered."""
    policy = DiscountedKL(coins(), discount=0.5)
    policy.observe_many(["a", "b", "a"], x=[1, 0, 0])
    a, b = policy.explain(y=1).arms
    assert (a.pulls, a.estimate, b.pulls, b.estimate) == pytest.approx((1.25, 0.2, 0.5, 0.0))
    assert b.index == pytest.approx(1 - math.exp(-math.log(2) / 0.5))  # the top is not reached
    q = a.index
    assert 0.2 * math.log(0.2 / q) + 0.8 * math.log(0.8 / (1 - q)) == pytest.approx(
        math.log(2) / 1.25
    )


def test_pulls_in_flight_count_as_if_they_came_now():
    policy = DiscountedKL(coins(), discount=0.5)
    policy.observe_many(["a", "b", "a"], x=[1, 0, 0])
    policy.pulled("b", y=1)
    b = policy.explain(y=1).arms[1]
    assert (b.pulls, b.in_flight, b.estimate) == (0.5, 1, 0.0)
    assert b.index == pytest.approx(1 - math.exp(-math.log(2) / 1.5))
    policy.gave_up("b", y=1)
    assert policy.explain(y=1).arms[1].pulls == 0.5


def test_an_arm_out_of_the_window_is_as_never_pulled():
    policy = SlidingWindowKL(coins(), window=3)
    policy.observe_many(["b", "a", "a", "a"], x=[1, 1, 1, 1])
    assert policy.choose(y=1) == "b"
    assert policy.explain(y=1).reason == "nothing of it is remembered"


@pytest.mark.parametrize("policy", [DiscountedKL(coins()), SlidingWindowKL(coins())])
def test_two_are_not_merged(policy):
    with pytest.raises(MergeError, match="order of observations"):
        policy.merge(type(policy)(coins()))


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (DiscountedKL, {"discount": 1.0}),
        (DiscountedKL, {"discount": 0}),
        (DiscountedKL, {"c": -1}),
        (DiscountedKL, {"knots": 1}),
        (SlidingWindowKL, {"window": 0}),
        (SlidingWindowKL, {"window": 2.5}),
        (SlidingWindowKL, {"c": "much"}),
    ],
)
def test_parameters_that_cannot_be_are_refused(kind, wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        kind(coins(), **wrong)


def test_after_changes_it_loses_less_than_what_remembers_everything():
    """Of 40 runs EmpiricalKL's regret is 8,900 ± 1,900 each, the others' 2,700 ± 170.

    So the mean of four is below 2,800 / 0.65 by five standard errors: a probability of 1e-6.
    """
    world = Experiment.read(EXAMPLES / "piecewise.toml").simulation.environment
    problem = world.problem
    policies = {
        "lasting": EmpiricalKL(problem),
        "discounted": DiscountedKL(problem, discount=0.9995),
        "window": SlidingWindowKL(problem, window=2000),
    }
    result = simulate(world, policies, horizon=40_000, replications=4, seed=15)
    lasting, discounted, window = result.regrets[:, :, -1].mean(axis=1)
    assert max(discounted, window) < 0.65 * lasting


def test_in_slow_drift_the_default_loses_less_than_a_fixed_memory():
    """Of 20 runs the default's regret is 1,400 ± 220, the others' 3,160 ± 120 and 2,390 ± 170.

    So the mean of eight is below each limit by five standard errors: a probability of 1e-6.
    """
    world = Experiment.read(EXAMPLES / "slow-drift.toml").simulation.environment
    problem = world.problem
    policies = {
        "default": AdaptiveKL(problem),
        "discounted": DiscountedKL(problem, discount=0.9995),
        "window": SlidingWindowKL(problem, window=4000),
    }
    result = simulate(world, policies, horizon=40_000, replications=8, seed=15)
    default, discounted, window = result.regrets[:, :, -1].mean(axis=1)
    assert default < 0.8 * discounted
    assert default < window
