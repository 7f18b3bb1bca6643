"""The sharper indices beside plain transcriptions of their definitions, and by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import CONTINUOUS, FINITE, UNUSUAL

from onepull import (
    DCB,
    IMED,
    KLUCB,
    AdaptiveKL,
    CoarseKL,
    DirichletThompson,
    EmpiricalBernstein,
    EmpiricalKL,
    Finite,
    Interval,
    ParameterError,
    Problem,
    Reward,
    UpperConfidence,
    recommended,
)
from onepull.policies.recommendation import why

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


# What is recommended


def stated(context, state, reward, **given):
    problem = Problem(arms=["a", "b"], context=context, state=state, reward=reward)
    policy = recommended(problem, **given)
    assert policy.is_fresh
    assert policy.problem == problem
    return type(policy), policy.parameters


def test_what_is_recommended():
    listed, ten, unit = {"y": Finite([1, 2])}, Interval(0, 10), {"y": Interval(0, 1)}
    start = {"c": 0.0, "head_start": 1000.0}
    assert stated(listed, {"x": Finite([0, 3])}, "min(x, y)") == (EmpiricalKL, start)
    assert stated(unit, {"x": Finite([0, 3])}, "x <= y") == (EmpiricalKL, start)
    sketched = (EmpiricalKL, start | {"knots": 65})
    assert stated(unit, {"x": Interval(0, 1)}, "min(x, y)") == sketched
    finer = (EmpiricalKL, start | {"knots": 129})
    assert stated(listed, {"x": ten}, "min(x, y)") == finer
    kept = (AdaptiveKL, {"kept": 512, "adapts": True})
    assert stated(listed, {"x": ten}, "x >= y") == kept  # a jump
    assert stated(listed, {"x": Interval(0, math.inf)}, "min(x, y)") == kept
    assert stated(listed, {"x": Interval(0, math.inf)}, "-x * y") == kept
    assert stated(listed, {"x": ten, "z": ten, "w": ten}, "x * y + z + w") == kept  # too many
    assert stated(unit, {"x": ten, "z": ten, "w": ten}, "log(1 + y * x) + y * z + w") == kept


def test_attributes_and_failures_demote_nothing():
    told: Any = {"state": {"x": Finite([0, 3])}, "reward": "x"}
    failing = Problem(arms=["a", "b"], **told, failure=-1)
    priced = Problem(arms={"a": {"price": 1}}, **told)
    for problem in (failing, priced):
        assert type(recommended(problem)) is AdaptiveKL
        assert "the states themselves are kept" in why(problem)


@pytest.mark.parametrize("feedback", ["state", "reward"])
@pytest.mark.parametrize("name", [*FINITE, *CONTINUOUS, *UNUSUAL])
def test_something_is_recommended_for_every_problem(name, feedback):
    problem = (FINITE | CONTINUOUS | UNUSUAL)[name]()
    policy = recommended(problem, feedback=feedback)
    told = why(problem, feedback=feedback).splitlines()
    assert told[0] == type(policy).__name__
    assert [line.partition(":")[0] for line in told[1:]] == ["why", "assumes", "regret", "storage"]


def test_a_grid_is_cut_for_the_horizon():
    unit, rewards = {"y": Interval(0, 1)}, {"feedback": "reward"}
    endless = {"x": Interval(0, math.inf)}
    kind, parameters = stated(unit, endless, "x >= 5 * y", horizon=10_000, **rewards)
    assert kind is KLUCB
    assert parameters["delta"] == pytest.approx(0.01)
    assert stated(unit, endless, "x >= 5 * y", **rewards)[1]["delta"] == pytest.approx(0.001)
    two = {"y": Interval(0, 1), "z": Interval(0, 4), "k": Finite([1, 2, 3])}
    cells = stated(two, endless, "x >= y + z + k", **rewards)[1]["delta"]
    assert cells["z"] == pytest.approx(4 * cells["y"])
    assert 3 / (cells["y"] * cells["z"] / 4) <= 4096 * 1.001


def capped(y, x):
    return min(y, x)


def test_two_continuous_fields_are_kept_where_a_closer_look_allows_it():
    listed = {"size": Finite([1, 8])}
    rates = {"rate": Interval(5, 10), "speed": Interval(5, 10)}
    kept = (EmpiricalKL, {"c": 0.0, "head_start": 1000.0, "knots": 33})
    assert stated(listed, rates, "-(size / rate + 1 / speed)") == kept
    jumps = stated(listed, rates, "rate + speed >= 10 + size")
    assert jumps == (AdaptiveKL, {"kept": 512, "adapts": True})


def test_a_head_start_is_no_longer_than_the_horizon():
    listed, state = {"y": Finite([1, 2])}, {"x": Finite([0, 3])}
    assert stated(listed, state, "min(x, y)", horizon=200)[1]["head_start"] == 200
    assert stated(listed, state, "min(x, y)", horizon=10**6)[1]["head_start"] == 1000
    for horizon in (0, -3, 2.5):
        with pytest.raises(ParameterError, match=f"horizon must be .* given {horizon}"):
            stated(listed, state, "min(x, y)", horizon=horizon)


def test_what_is_recommended_where_rewards_are_all_that_is_seen():
    listed, start = {"y": Finite([1, 2])}, {"c": 0.0, "head_start": 1000.0}
    four, told = {"x": Finite([0, 1, 2, 3])}, {"feedback": "reward"}
    assert stated(listed, four, "x * y", **told) == (EmpiricalKL, start)  # it tells the state
    assert stated(listed, four, "min(x, y)", **told) == (CoarseKL, start)
    assert stated(listed, four, "x >= y", **told) == (CoarseKL, start)
    assert stated(listed, four | {"z": Finite([0, 1])}, "x * y + z", **told) == (CoarseKL, start)
    apart = (KLUCB, {"sharing": "per-context"} | start)
    endless = {"x": Interval(0, math.inf)}
    assert stated(listed, endless, "min(x, y)", **told) == apart
    kind, parameters = stated({"y": Interval(0, 1)}, endless, "min(x, y)", **told)
    assert kind is KLUCB
    assert parameters["delta"] == pytest.approx(0.001)
    with pytest.raises(ParameterError, match="feedback must be state or reward, given 'rewards'"):
        stated(listed, four, "x >= y", feedback="rewards")


def test_recommended_takes_a_seed_and_a_reward_in_code():
    problem = Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 2])},
        state={"x": Interval(0, 4)},
        reward=Reward(capped, low=0, high="y"),
    )
    policy = recommended(problem, seed=4)
    assert policy.draws
    assert policy.choose(y=1) in ("a", "b")


def test_recommended_learns_more_than_dcb_from_the_same():
    problem = coins("good", "bad")
    pulls = {"good": [1] * 9 + [0], "bad": [0] * 9 + [1]}
    ours, dcb = recommended(problem), DCB(problem)
    for policy in (ours, dcb):
        for arm, x in pulls.items():
            policy.observe_many([arm] * 20, x=x * 2)
    for one, two in zip(indices(ours, y=1), indices(dcb, y=1), strict=True):
        assert one < two
