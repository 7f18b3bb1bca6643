"""The sharper indices beside plain transcriptions of their definitions, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepull import (
    IMED,
    KLUCB,
    DirichletThompson,
    EmpiricalBernstein,
    EmpiricalKL,
    Finite,
    Interval,
    ParameterError,
    Problem,
    UpperConfidence,
)

few = settings(derandomize=True, deadline=None, max_examples=25)


def coins(*arms):
    """One context, states 0 and 1: the reward is the state."""
    return Problem(arms=arms, context={"y": Finite([1])}, state={"x": Finite([0, 1])}, reward="x*y")


def jobs():
    """Negative rewards of two context and two state fields."""
    return Problem(
        arms=["a", "b", "c"],
        context={"size": Finite([1, 5]), "work": Interval(1, 3)},
        state={"rate": Finite([1, 2, 5]), "speed": Finite([0.5, 4])},
        reward="-(size / rate + work / speed)",
    )


def kl(p, q):
    return sum(a * math.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a)


def inverted(p, budget):
    """Return the highest q with kl(p, q) ≤ budget, by halving."""
    low, high = p, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle < 1 and kl(p, middle) <= budget else (low, middle)
    return low


def indices(policy, **context):
    return [row.index for row in policy.explain(**context).arms]


def taught(problem, kind, seed, **parameters):
    """Return a policy that has seen every arm, and what each arm showed."""
    luck = np.random.default_rng(seed)
    policy = kind(problem, **parameters)
    shown: dict[str, list[dict[str, float]]] = {arm: [] for arm in problem.arms}
    for arm in [*problem.arms, *luck.choice(problem.arms, 25)]:
        state = {n: float(luck.choice(s.values)) for n, s in problem.state.items()}
        shown[arm].append(state)
        policy.observe(arm, **state)
    return policy, shown


def rewards(problem, shown, context):
    return {
        arm: np.array([problem.payoff.scalar(*context.values(), *s.values()) for s in states])
        for arm, states in shown.items()
    }


def top_of(problem, context):
    grid = [(r, s) for r in problem.state["rate"].values for s in problem.state["speed"].values]
    all_rewards = [problem.payoff.scalar(*context.values(), *state) for state in grid]
    return min(all_rewards), max(all_rewards)


def dual(values, level, top):
    """Return K(F̂, θ) by trying many λ."""
    if values.mean() >= level:
        return 0.0
    tried = 1 - np.concatenate([[0.0], np.geomspace(1e-9, 1, 4001)])
    with np.errstate(divide="ignore"):
        ratio = np.maximum(1 - np.outer(tried, (values - level) / (top - level)), 0.0)
        return float(np.log(ratio).mean(axis=1).max())


# By hand


def test_coins_by_hand():
    """After 1, 0, 0 of one arm and 1, 1 of another the next trial is the sixth."""
    for build in (EmpiricalKL, KLUCB):
        policy = build(coins("a", "b"))
        policy.observe_many(["a", "a", "a", "b", "b"], x=[1, 0, 0, 1, 1])
        found = indices(policy, y=1)
        assert found == [pytest.approx(inverted(1 / 3, math.log(6) / 3), abs=1e-7), 1.0]
        assert policy.choose(y=1) == "b"


def test_a_head_start_counts_trials_before_the_first():
    for build in (EmpiricalKL, KLUCB):
        policy = build(coins("a", "b"), c=3, head_start=94)
        policy.observe_many(["a", "a", "a", "b", "b"], x=[1, 0, 0, 1, 0])
        risk = math.log(100) + 3 * math.log(math.log(100))
        expected = [inverted(1 / 3, risk / 3), inverted(1 / 2, risk / 2)]
        assert indices(policy, y=1) == pytest.approx(expected, abs=1e-7)


def test_imed_by_hand():
    policy = IMED(coins("a", "b", "c"))
    policy.observe_many(["a", "a", "a", "b", "b", "c"], x=[1, 0, 0, 1, 0, 0])
    costs = [3 * kl(1 / 3, 1 / 2) + math.log(3), math.log(2), -math.log(0.5)]
    assert indices(policy, y=1) == pytest.approx([-cost for cost in costs], abs=1e-9)
    policy.observe("b", x=1)
    assert policy.choose(y=1) == "c"  # 2/3 against it: K = ln 3, less than b's ln 3 and no pulls
    assert indices(policy, y=1)[1:] == pytest.approx([-math.log(3), -math.log(3)])


def test_bernstein_by_hand():
    policy = EmpiricalBernstein(coins("a", "b"), zeta=2)
    policy.observe_many(["a", "a", "b", "b", "b", "b"], x=[1, 0, 1, 1, 1, 1])
    f = 2 * math.log(7)
    expected = [0.5 + math.sqrt(2 * 0.25 * f / 2) + 3 * f / 2, 1 + 3 * f / 4]
    assert indices(policy, y=1) == pytest.approx(expected)


def test_a_trace_by_hand():
    """Both arms once; then the one that paid, until its rival's bound has grown."""
    policy = EmpiricalKL(coins("a", "b"))
    chosen = []
    for x in (1, 0, 1, 1, 0, 1):
        chosen.append(policy.choose(y=1))
        policy.observe(chosen[-1], x=x if chosen[-1] == "a" else 0)
    # b after one 0: 1 - 1/n; a: 1 while it always paid.
    assert chosen == ["a", "b", "a", "a", "a", "a"]


# Definitions


@few
@given(seed=st.integers(0, 2**32 - 1), c=st.sampled_from([0.0, 3.0]), work=st.floats(1, 3))
def test_empirical_kl_on_several_fields_and_negative_rewards(seed, c, work):
    problem = jobs()
    policy, shown = taught(problem, EmpiricalKL, seed, c=c)
    for size in (1, 5):
        context = {"size": float(size), "work": work}
        low, top = top_of(problem, context)
        n = policy.trials + 1
        risk = math.log(n) + c * math.log(math.log(n))
        found = indices(policy, **context)
        for index, (arm, values) in zip(
            found, rewards(problem, shown, context).items(), strict=True
        ):
            budget = risk / len(shown[arm])
            assert values.mean() - 1e-9 <= index <= top + 1e-9
            assert index <= values.mean() + (top - low) * math.sqrt(budget / 2) + 1e-9
            if index < top - 1e-6:
                assert dual(values, index, top) == pytest.approx(budget, rel=1e-3, abs=1e-6)


@few
@given(seed=st.integers(0, 2**32 - 1), work=st.floats(1, 3))
def test_imed_on_several_fields_and_negative_rewards(seed, work):
    problem = jobs()
    policy, shown = taught(problem, IMED, seed)
    context = {"size": 5.0, "work": work}
    _, top = top_of(problem, context)
    seen = rewards(problem, shown, context)
    best = max(values.mean() for values in seen.values())
    for index, values in zip(indices(policy, **context), seen.values(), strict=True):
        m = len(values)
        expected = m * dual(values, best - 1e-12, top) + math.log(m)
        assert -index == pytest.approx(expected, rel=1e-3, abs=1e-6)


@few
@given(seed=st.integers(0, 2**32 - 1), work=st.floats(1, 3))
def test_bernstein_on_several_fields_and_negative_rewards(seed, work):
    problem = jobs()
    policy, shown = taught(problem, EmpiricalBernstein, seed, zeta=0.7)
    context = {"size": 1.0, "work": work}
    low, top = top_of(problem, context)
    f = 0.7 * math.log(policy.trials + 1)
    for index, values in zip(
        indices(policy, **context), rewards(problem, shown, context).values(), strict=True
    ):
        m = len(values)
        expected = values.mean() + math.sqrt(2 * values.var() * f / m) + 3 * (top - low) * f / m
        assert index == pytest.approx(expected, rel=1e-9)


@few
@given(seed=st.integers(0, 2**32 - 1))
def test_kl_ucb_on_negative_rewards(seed):
    problem = jobs()
    policy, shown = taught(problem, KLUCB, seed, delta=0.5)
    context = {"size": 5.0, "work": 1.25}  # the centre of a cell
    low, top = top_of(problem, context)
    risk = math.log(policy.trials + 1)
    for index, values in zip(
        indices(policy, **context), rewards(problem, shown, context).values(), strict=True
    ):
        share = (values.mean() - low) / (top - low)
        expected = low + (top - low) * inverted(share, risk / len(values))
        assert index == pytest.approx(expected, abs=1e-6 * (top - low))


@few
@given(seed=st.integers(0, 2**32 - 1))
def test_each_bound_lies_below_the_wider_one(seed):
    """mean ≤ empirical likelihood ≤ coin ≤ Hoeffding with α = 1/2."""
    problem = jobs()
    context = {"size": 5.0, "work": 1.25}
    found = [
        indices(taught(problem, kind, seed, **given)[0], **context)
        for kind, given in (
            (EmpiricalKL, {}),
            (KLUCB, {"sharing": "histogram"}),
            (UpperConfidence, {"sharing": "histogram", "alpha": 0.5}),
        )
    ]
    for sharp, coin, wide in zip(*found, strict=True):
        assert sharp <= coin + 1e-9
        assert coin <= wide + 1e-9


def test_thompson_draws_each_arm_with_the_probability_that_it_is_best():
    """Two arms of 3 and 5 pulls: Beta(3, 2) against Beta(2, 5), P(the first is higher) = 0.881."""
    policy = DirichletThompson(coins("a", "b"), seed=3)
    policy.observe_many(["a"] * 3 + ["b"] * 5, x=[1, 1, 0, 1, 0, 0, 0, 0])
    luck = np.random.default_rng(1)
    expected = np.mean(luck.beta(3, 2, 10**6) > luck.beta(2, 5, 10**6))
    share = np.mean([policy.choose(y=1) == "a" for _ in range(4000)])
    # Five standard deviations of 4000 draws: it fails once in two million.
    assert share == pytest.approx(expected, abs=5 * math.sqrt(0.105 / 4000))


def test_unpulled_arms_come_first_in_order():
    for build in (EmpiricalKL, IMED, EmpiricalBernstein, KLUCB, DirichletThompson):
        policy = build(coins("a", "b", "c"))
        policy.observe("b", x=1)
        assert policy.choose(y=1) == "a"


@pytest.mark.parametrize(
    ("build", "wrong"),
    [
        (EmpiricalKL, {"c": -1}),
        (EmpiricalKL, {"head_start": -1}),
        (EmpiricalKL, {"knots": 1}),
        (KLUCB, {"c": float("nan")}),
        (KLUCB, {"head_start": "x"}),
        (EmpiricalBernstein, {"zeta": 0}),
        (DirichletThompson, {"prior": 0}),
    ],
)
def test_wrong_parameters_are_refused_by_name(build, wrong):
    with pytest.raises(ParameterError, match=f"{next(iter(wrong))} must be"):
        build(coins("a", "b"), **wrong)
