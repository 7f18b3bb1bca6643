"""Observing: late, in any order, in batches, by state or by reward."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import channels, coded, harvesting, offloading

from onepull import (
    CCB,
    DCB,
    UCB1,
    ContextError,
    DoublingCCB,
    Finite,
    Greedy,
    InputError,
    MultiUCB,
    Problem,
    Random,
    RewardError,
    StateError,
    UnknownArm,
)


def estimates(policy, **context):
    return {row.arm: row.estimate for row in policy.explain(**context).arms}


def rates():
    """Finite states, and a different reward for each of them."""
    return Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 2])},
        state={"x": Finite([0, 1, 4])},
        reward="y * (x - 1)**2 + 3 * x",
    )


def test_late_feedback_in_another_order_teaches_the_same():
    generator = np.random.default_rng(1)
    pulls = [
        (f"channel-{j}", float(c)) for j, c in zip(*generator.integers(1, 8, (2, 200)), strict=True)
    ]
    one, two = DCB(channels()), DCB(channels())
    for arm, capacity in pulls:
        one.choose(bits=2)
        one.observe(arm, capacity=capacity)
    for _ in range(200):
        two.choose(bits=2)
    for k in generator.permutation(200):
        two.observe(pulls[k][0], capacity=pulls[k][1])
    for bits in (1, 2, 3, 4):
        assert estimates(two, bits=bits) == pytest.approx(estimates(one, bits=bits), abs=1e-12)


def test_a_batch_teaches_what_single_observations_do():
    one, two = DCB(offloading()), DCB(offloading())
    one.observe("far", link=100, speed=8000)
    one.observe("edge", link=60, speed=7500)
    two.observe_many(["far", "edge"], link=np.array([100, 60]), speed=(8000, 7500))
    assert one.to_bytes() == two.to_bytes()


def test_a_batch_may_hold_rewards():
    policy = MultiUCB(channels())
    policy.observe_many(iter(["channel-1", "channel-2"]), reward=[1.0, 2.5], bits=[3, 3])
    assert estimates(policy, bits=3)["channel-2"] == 2.5


def test_an_empty_batch_is_nothing():
    policy = DCB(channels())
    policy.observe_many([], capacity=[])
    assert policy.trials == 0


@pytest.mark.parametrize("build", [DCB, UCB1, MultiUCB, Greedy, Random])
def test_a_batch_with_a_bad_row_is_refused_whole_and_names_the_row(build):
    policy = build(channels())
    policy.observe("channel-1", bits=1, capacity=3)
    before = policy.to_bytes()
    with pytest.raises(StateError, match=r"^row 2: state field 'capacity' must be .* given 8"):
        policy.observe_many(["channel-1"] * 4, bits=[1] * 4, capacity=[1, 2, 8, 3])
    with pytest.raises(UnknownArm, match=r"^row 1: unknown arm 'x'"):
        policy.observe_many(["channel-1", "x"], bits=[1, 2], capacity=[1, 2])
    assert policy.to_bytes() == before


def test_a_bad_row_takes_a_doubling_policy_back_over_its_restarts():
    policy = DoublingCCB(harvesting())
    policy.observe("channel-1", gain=1)
    before = policy.to_bytes()
    with pytest.raises(StateError, match=r"^row 9"):
        policy.observe_many(["channel-1"] * 10, gain=[1.0] * 9 + [math.nan])
    assert policy.phase == 1
    assert policy.to_bytes() == before


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"capacity": [1.0]}, "the same length, given arms 2, capacity 1"),
        ({"capacity": 1.0}, "capacity takes a column of values, given 1.0"),
        ({"capacity": "12"}, "capacity takes a column of values, given '12'"),
        ({}, "row 0: state field 'capacity' is missing"),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns, said):
    with pytest.raises(InputError, match=said):
        DCB(channels()).observe_many(["channel-1", "channel-2"], **columns)


def test_text_is_not_a_column_of_arms():
    with pytest.raises(InputError, match="arms takes a column of values, given 'channel-1'"):
        DCB(channels()).observe_many("channel-1", capacity=[1])


def test_a_column_cannot_stand_in_for_the_arms():
    policy = DCB(channels())
    with pytest.raises(TypeError, match="arm"):
        policy.observe_many(["channel-1"], arm=["channel-2"], capacity=[1])
    assert policy.trials == 0


@pytest.mark.parametrize("y", [1, 2])
@pytest.mark.parametrize("x", [0, 1, 4])
def test_a_reward_tells_one_of_finitely_many_states(y, x):
    one, two = DCB(rates()), DCB(rates())
    one.observe("a", x=x)
    two.observe("a", y=y, reward=y * (x - 1) ** 2 + 3 * x)
    assert one.to_bytes() == two.to_bytes()


@pytest.mark.parametrize("power", [1e-3, 0.5, 1])
@pytest.mark.parametrize("gain", [0, 0.3, 7])
def test_a_reward_tells_the_state_where_it_only_rises(power, gain):
    one, two = (CCB(harvesting(), delta=0.1) for _ in range(2))
    one.observe("channel-2", gain=gain)
    two.observe("channel-2", power=power, reward=math.log(1 + power * gain))
    for y in (0.05, 0.55, 0.95):
        assert estimates(two, power=y)["channel-2"] == pytest.approx(
            estimates(one, power=y)["channel-2"], abs=1e-9
        )


@pytest.mark.parametrize("reward", [0, 1, 2])
def test_a_reward_that_several_states_give_is_refused_however_it_turned_out(reward):
    policy = DCB(channels())
    with pytest.raises(RewardError, match=r"does not determine the state for bits=2.*\(capacity\)"):
        policy.observe("channel-1", bits=2, reward=reward)
    with pytest.raises(RewardError, match="several states give the same reward"):
        DCB(coded()).observe("a", need=1, reward=1)
    assert policy.trials == 0


def test_a_state_of_several_fields_is_not_told_by_a_reward():
    with pytest.raises(RewardError, match="several fields"):
        DCB(offloading()).observe("far", megabytes=8, work=1e3, reward=-0.3)


@pytest.mark.parametrize("met", [True, np.True_])
def test_met_or_missed_is_a_reward_of_one_or_nothing(met):
    told, counted = UCB1(channels()), UCB1(channels())
    told.observe("channel-2", bits=1, reward=met)
    counted.observe("channel-2", bits=1, reward=1.0)
    assert str(told.explain(bits=1)) == str(counted.explain(bits=1))


@pytest.mark.parametrize(
    ("build", "problem", "reward", "said"),
    [
        (DCB, rates, 2.5, "reward 2.5 is impossible for y=1; expected 1, 3, 21"),
        (UCB1, channels, 4.1, "reward 4.1 is impossible; expected 0 to 4"),
        (UCB1, channels, -0.1, "is impossible"),
        (UCB1, channels, math.nan, "finite, given nan"),
        (UCB1, channels, "1", "one number, given '1'"),
        (Random, channels, 5, "is impossible"),
    ],
)
def test_a_reward_that_cannot_be_is_refused(build, problem, reward, said):
    problem = problem()
    context = {name: space.values[0] for name, space in problem.context.items()}
    with pytest.raises(RewardError, match=said):
        build(problem).observe(problem.arms[0], reward=reward, **context)


def test_ucb1_takes_a_reward_with_or_without_its_context():
    policy = UCB1(channels())
    policy.observe("channel-1", reward=1)
    policy.observe("channel-1", reward=2, bits=4)
    policy.observe("channel-1", bits=3, capacity=6)
    assert estimates(policy, bits=1)["channel-1"] == pytest.approx(2.0, abs=1e-12)


def test_multi_ucb_keeps_rewards_to_their_context():
    policy = MultiUCB(channels())
    policy.observe("channel-1", reward=2, bits=3)
    policy.observe("channel-1", bits=3, capacity=7)
    assert estimates(policy, bits=3)["channel-1"] == 2.5
    assert estimates(policy, bits=2)["channel-1"] is None


def test_the_context_may_come_along_with_the_state():
    one, two = DCB(channels()), DCB(channels())
    one.observe("channel-1", capacity=3)
    two.observe("channel-1", capacity=3, bits=4)
    assert one.to_bytes() == two.to_bytes()


@pytest.mark.parametrize(
    ("build", "given", "error", "said"),
    [
        (DCB, {}, StateError, r"'capacity' is missing: it must be a finite number in \[0, 7\]"),
        (DCB, {"bits": 2}, StateError, "'capacity' is missing"),
        (DCB, {"reward": 1}, ContextError, "'bits' is missing: it must be one of 1, 2, 3, 4"),
        (DCB, {"reward": 1, "bits": 2, "capacity": 1}, InputError, "not both"),
        (DCB, {"capacity": 1, "speed": 2}, StateError, "'speed'; allowed here: capacity, bits"),
        (DCB, {"capacity": 1, "bits": 9}, ContextError, "must be one of 1, 2, 3, 4, given 9"),
        (DCB, {"capcity": 1}, StateError, "'capcity', did you mean 'capacity'. Allowed here: cap"),
        (DCB, {"capacity": "1"}, StateError, r"given '1' \(is not a number\)"),
        (MultiUCB, {"reward": 1}, ContextError, "'bits' is missing"),
        (MultiUCB, {"capacity": 1}, ContextError, "'bits' is missing"),
        (UCB1, {"capacity": 1}, ContextError, "'bits' is missing"),
        (UCB1, {"reward": 1, "capacity": 1}, InputError, "not both"),
        (UCB1, {"reward": 1, "bits": 9}, ContextError, "given 9"),
        (UCB1, {"reward": 1, "speed": 9}, StateError, "unknown field 'speed'"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_was_given_and_allowed(build, given, error, said):
    policy = build(channels())
    with pytest.raises(error, match=said):
        policy.observe("channel-1", **given)
    assert policy.trials == 0


def test_a_state_without_names_is_refused_with_the_names():
    policy = DCB(channels())
    said = r"observe takes the state by name: observe\('channel-1', capacity=…\), given 0.5"
    with pytest.raises(StateError, match=said):
        policy.observe("channel-1", 0.5)  # type: ignore[arg-type]
    assert policy.trials == 0


def test_part_of_a_context_is_refused():
    with pytest.raises(ContextError, match="'megabytes' is missing"):
        DCB(offloading()).observe("far", link=100, speed=8000, work=1e3)


@pytest.mark.parametrize("arm", ["wifi", None, 3, ["channel-1"]])
def test_an_unknown_arm_is_refused_with_those_there_are(arm):
    with pytest.raises(UnknownArm, match=r"unknown arm .*; the arms are channel-1, channel-2"):
        DCB(channels()).observe(arm, capacity=1)
