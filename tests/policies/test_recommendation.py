"""The default policy: what it is, for which problem, and what it says about itself."""

from __future__ import annotations

import math
from typing import Any

import pytest
from problems import CONTINUOUS, FINITE, UNUSUAL

from onepull import (
    DCB,
    AdaptiveKL,
    CoarseKL,
    Finite,
    Interval,
    ParameterError,
    Problem,
    RegressionUCB,
    Reward,
    recommended,
)
from onepull.policies.recommendation import why

KEPT = (AdaptiveKL, {"kept": 512, "adapts": True})


def stated(context, state, reward, **given):
    problem = Problem(arms=["a", "b"], context=context, state=state, reward=reward)
    policy = recommended(problem, **given)
    assert policy.is_fresh
    assert policy.problem == problem
    return type(policy), policy.parameters


def test_states_that_are_seen_are_kept():
    listed, ten, unit = {"y": Finite([1, 2])}, Interval(0, 10), {"y": Interval(0, 1)}
    assert stated(listed, {"x": Finite([0, 3])}, "min(x, y)") == KEPT
    assert stated(unit, {"x": Interval(0, 1)}, "min(x, y)") == KEPT
    assert stated(listed, {"x": ten}, "x >= y") == KEPT  # a jump
    assert stated(listed, {"x": Interval(0, math.inf)}, "-x * y") == KEPT
    assert stated(unit, {"x": ten, "z": ten, "w": ten}, "log(1 + y * x) + y * z + w") == KEPT
    # Telling the horizon changes nothing.
    assert stated(listed, {"x": ten}, "x >= y", horizon=200) == KEPT


def test_attributes_and_failures_demote_nothing():
    told: Any = {"state": {"x": Finite([0, 3])}, "reward": "x"}
    failing = Problem(arms=["a", "b"], **told, failure=-1)
    priced = Problem(arms={"a": {"price": 1}}, **told)
    for problem in (failing, priced):
        assert type(recommended(problem)) is AdaptiveKL
        assert "they are kept and revalued" in why(problem)


@pytest.mark.parametrize("feedback", ["state", "reward"])
@pytest.mark.parametrize("name", [*FINITE, *CONTINUOUS, *UNUSUAL])
def test_something_is_recommended_for_every_problem(name, feedback):
    problem = (FINITE | CONTINUOUS | UNUSUAL)[name]()
    policy = recommended(problem, feedback=feedback)
    told = why(problem, feedback=feedback).splitlines()
    assert told[0] == type(policy).__name__
    assert [line.partition(":")[0] for line in told[1:]] == ["why", "assumes", "regret", "storage"]


def test_every_kind_of_arm_must_tell_its_state():
    told: Any = {"state": {"x": Interval(0, 9)}, "reward": "-speed * x", "failure": -60}
    alike = Problem(arms={"a": {"speed": 1}, "b": {"speed": 2}}, **told)
    silent = Problem(arms={"a": {"speed": 1}, "b": {"speed": 0}}, **told)
    assert type(recommended(alike, feedback="reward")) is AdaptiveKL
    assert type(recommended(silent, feedback="reward")) is not AdaptiveKL
    assert "the reward determines the state" in why(alike, feedback="reward")


def capped(y, x):
    return min(y, x)


def test_what_is_recommended_where_rewards_are_all_that_is_seen():
    listed, start = {"y": Finite([1, 2])}, {"c": 0.0, "head_start": 1000.0}
    four, told = {"x": Finite([0, 1, 2, 3])}, {"feedback": "reward"}
    assert stated(listed, four, "x * y", **told) == KEPT  # it tells the state
    assert stated(listed, four, "min(x, y)", **told) == (CoarseKL, start)
    assert stated(listed, four, "x >= y", **told) == (CoarseKL, start)
    assert stated(listed, four | {"z": Finite([0, 1])}, "x * y + z", **told) == (CoarseKL, start)
    fitted = (RegressionUCB, {"c": 0.5})
    endless, ten = {"x": Interval(0, math.inf)}, {"x": Interval(0, 10)}
    assert stated(listed, endless, "min(x, y)", **told) == fitted
    assert stated({"y": Interval(0, 1)}, ten, "min(x, y)", **told) == fitted
    assert stated(listed, {"x": ten["x"], "z": ten["x"]}, "-x - y * z", **told) == fitted
    assert stated(listed, ten, "min(x, y)", **told)[0] is CoarseKL
    # One field without bounds is told by a reward that is steep everywhere, and so if pulls fail.
    assert stated({"y": Interval(1, 4)}, endless, "-x * y", **told) == KEPT
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
    problem = Problem(
        arms=["good", "bad"],
        context={"y": Finite([1, 2])},
        state={"x": Finite([0, 1])},
        reward="x * y",
    )
    pulls = {"good": [1] * 9 + [0], "bad": [0] * 9 + [1]}
    ours, dcb = recommended(problem), DCB(problem)
    for policy in (ours, dcb):
        for arm, x in pulls.items():
            policy.observe_many([arm] * 20, x=x * 2)
    for one, two in zip(ours.indices(y=1), dcb.indices(y=1), strict=True):
        assert one < two


def test_a_horizon_that_is_no_number_of_trials_is_refused():
    listed, state = {"y": Finite([1, 2])}, {"x": Finite([0, 3])}
    for horizon in (0, -3, 2.5):
        with pytest.raises(ParameterError, match=f"horizon must be .* given {horizon}"):
            stated(listed, state, "min(x, y)", horizon=horizon)
