"""Controls: pause, pin and shares change who may be chosen, and nothing that was learned."""

from __future__ import annotations

import math
from collections import Counter
from textwrap import dedent

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_cases import CASES, one_each
from problems import channels

from onepull import (
    DCB,
    FixedArm,
    InputError,
    LinearThompson,
    ParameterError,
    Policy,
    Random,
    SaveFileError,
    UnknownArm,
)
from onepull.policies.controls import Controls, Share, narrowed
from onepull.testing.random_data import observations

ARMS = ["channel-1", "channel-2", "channel-3"]


def taught(count=30, **keywords):
    policy = DCB(channels(3), **keywords)
    policy.observe_many(ARMS * count, capacity=[1, 2, 3] * count)
    return policy


def served(policy, count, **arguments):
    """Return the arms of so many requests, each observed at once."""
    arms = []
    for _ in range(count):
        arm = policy.choose(bits=3, **arguments)
        policy.observe(arm, bits=3, capacity=2)
        arms.append(arm)
    return arms


def learned(policy):
    return [(row.pulls, row.estimate) for row in policy.explain(bits=3).arms]


# Pause and resume


def test_a_paused_arm_is_not_chosen_and_forgets_nothing():
    policy = taught()
    before = policy.to_bytes()
    policy.pause("channel-3")
    assert policy.controls == Controls(paused=("channel-3",))
    assert "channel-3" not in served(policy, 50)
    policy = Policy.from_bytes(before)
    policy.pause("channel-3")
    policy.pause("channel-3")
    policy.resume("channel-1")  # was not paused
    policy.resume("channel-3")
    assert policy.to_bytes() == before
    assert not policy.controls


def test_a_paused_arm_still_learns():
    policy = taught()
    policy.pause("channel-3")
    policy.observe("channel-3", capacity=3)
    assert learned(policy)[2] == (31, 3.0)


def test_when_all_that_may_be_chosen_is_paused_an_error_says_so():
    policy = taught()
    policy.pause("channel-1")
    policy.pause("channel-3")
    told = "all arms that may be chosen are paused: 'channel-1', 'channel-3'; resume one of them"
    for call in (policy.choose, policy.explain, lambda **c: policy.pull(**c).__enter__()):
        with pytest.raises(InputError, match=told):
            call(bits=3, eligible=["channel-3", "channel-1"])
    policy.pause("channel-2")
    with pytest.raises(InputError, match="are paused: 'channel-1', 'channel-2', 'channel-3'"):
        policy.choose(bits=3)
    assert len(policy.estimates(bits=3)) == len(policy.indices(bits=3)) == 3


# Pin


def test_a_pinned_arm_is_chosen_unless_it_is_not_eligible_or_paused():
    policy = taught()
    usual = policy.choose(bits=3)
    policy.pin("channel-1")
    assert set(served(policy, 9)) == {"channel-1"}
    assert policy.choose(bits=3, eligible=["channel-2"]) == "channel-2"
    policy.pause("channel-1")
    assert policy.choose(bits=3) == usual
    policy.resume("channel-1")
    assert policy.choose(bits=3) == "channel-1"
    policy.pin("channel-2")
    assert policy.choose(bits=3) == "channel-2"
    policy.pin(None)
    assert not policy.controls


# Shares


@pytest.mark.parametrize("least", [0.0, 0.01, 0.1, 1 / 3, 0.5, 0.9, 1.0])
def test_an_arm_is_never_a_whole_pull_behind_its_least_share(least):
    policy = taught()
    policy.share("channel-1", least=least)
    got = 0
    for total, arm in enumerate(served(policy, 200), 1):
        got += arm == "channel-1"
        assert got > least * total - 1


@pytest.mark.parametrize("most", [0.0, 0.01, 0.1, 1 / 3, 0.5, 0.9, 1.0])
def test_an_arm_is_never_above_its_most_share(most):
    policy = FixedArm(channels(3), arm="channel-3")
    policy.share("channel-3", most=most)
    got = 0
    for total, arm in enumerate(served(policy, 200), 1):
        got += arm == "channel-3"
        assert most * total - 1 < got <= most * total + 1e-6


shares = st.lists(
    st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted), min_size=1, max_size=6
).map(lambda pairs: [(low / max(1, sum(p[0] for p in pairs)), high) for low, high in pairs])


@settings(deadline=None, max_examples=150)
@given(shares=shares, wanted=st.lists(st.integers(0, 5), min_size=60, max_size=60))
def test_shares_are_kept_whatever_the_policy_wants(shares, wanted):
    arms = len(shares) + 1  # one without limits
    position = {str(j): j for j in range(arms)}
    controls = Controls()
    for j, (least, most) in enumerate(shares):
        controls = controls.with_share(str(j), least, most)
    pulls = [0] * arms
    for want in wanted:
        left = narrowed(controls, position, range(arms), pulls)
        assert left.allowed
        allowed = list(left.allowed)
        pulls[allowed[want % len(allowed)]] += 1
        total = sum(pulls)
        for j, (least, most) in enumerate(shares):
            assert pulls[j] >= least * total - 1 - math.log(arms)
            assert pulls[j] <= most * total + 1e-6


def test_of_several_that_are_due_the_one_furthest_behind_is_chosen_then_the_first():
    controls = Controls(shares={"a": Share(0.2), "b": Share(0.4), "c": Share(0.4)})
    position = {"a": 0, "b": 1, "c": 2, "d": 3}
    assert narrowed(controls, position, range(4), [0, 0, 0, 5]).allowed == [1]
    assert narrowed(controls, position, range(4), [0, 1, 0, 5]).allowed == [2]
    assert narrowed(controls, position, [0, 3], [0, 1, 0, 5]).allowed == [0]


def test_if_all_are_at_their_most_share_those_least_above_stay():
    controls = Controls(shares={"a": Share(most=0.5), "b": Share(most=0.25)})
    position = {"a": 0, "b": 1}
    assert narrowed(controls, position, range(2), [0, 0]).allowed == [0]
    assert narrowed(controls, position, range(2), [1, 0]).allowed == [1]
    assert narrowed(controls, position, [1], [0, 9]).allowed == [1]  # eligible wins
    policy = taught()
    for arm in ARMS:
        policy.share(arm, most=0.1)
    assert set(Counter(served(policy, 30)).values()) == {10}


def test_an_arm_has_nothing_to_catch_up_after_a_pause():
    policy = taught()
    policy.share("channel-1", least=0.2)
    policy.pause("channel-1")
    served(policy, 100)
    policy.resume("channel-1")
    assert served(policy, 10).count("channel-1") == 2


def test_pulls_in_flight_count_for_shares():
    policy = taught()
    policy.share("channel-1", least=0.25)
    arms = []
    for _ in range(8):
        arms.append(policy.choose(bits=3))
        policy.pulled(arms[-1], bits=3)
    assert arms.count("channel-1") == 2
    policy.gave_up("channel-1", bits=3)
    assert policy.choose(bits=3) == "channel-1"


def test_choosing_changes_nothing():
    policy = taught()
    policy.share("channel-1", least=0.5)
    policy.observe("channel-2", capacity=2)
    before = policy.to_bytes()
    assert {policy.choose(bits=3) for _ in range(5)} == {"channel-1"}
    assert policy.explain(bits=3).arm == "channel-1"
    assert policy.to_bytes() == before


def test_shares_of_others_do_not_count():
    one, two = taught(), taught()
    one.share("channel-1", least=0.5)
    two.observe_many(["channel-1"] * 9, capacity=[1] * 9)
    one.merge(two)
    assert served(one, 10).count("channel-1") == 5


# Bad calls

BAD = [
    (lambda p: p.pause("nowhere"), UnknownArm, "unknown arm 'nowhere'"),
    (lambda p: p.resume(3), UnknownArm, "unknown arm 3"),
    (lambda p: p.pin(["channel-1"]), UnknownArm, "unknown arm"),
    (lambda p: p.share("nowhere", least=0.1), UnknownArm, "unknown arm 'nowhere'"),
    (lambda p: p.share("channel-1", least=1.1), ParameterError, "least must be a number .*<= 1"),
    (lambda p: p.share("channel-1", least=-0.1), ParameterError, "least must be a number >= 0"),
    (lambda p: p.share("channel-1", most=math.nan), ParameterError, "most must be a number"),
    (lambda p: p.share("channel-1", most="all"), ParameterError, "most must be a number"),
    (lambda p: p.share("channel-1", least=0.5, most=0.4), ParameterError, "least=0.5 and most=0.4"),
    (lambda p: p.share("channel-1", least=0.6), ParameterError, "sum to at most 1, given .*0.5.*"),
]


@pytest.mark.parametrize(("call", "error", "told"), BAD)
def test_a_bad_call_is_refused_and_changes_nothing(call, error, told):
    policy = taught()
    policy.pause("channel-2")
    policy.share("channel-3", least=0.5)
    before = policy.to_bytes()
    with pytest.raises(error, match=told):
        call(policy)
    assert policy.to_bytes() == before


def test_what_is_returned_cannot_change_the_policy():
    policy = taught()
    policy.share("channel-1", least=0.1)
    policy.controls.shares.clear()
    assert policy.controls.shares == {"channel-1": Share(0.1)}


# Arms that come and go, files


def test_removing_an_arm_removes_its_controls():
    policy = taught()
    policy.pause("channel-1")
    policy.pin("channel-2")
    policy.share("channel-3", least=0.2)
    policy.add_arm("new")
    assert served(policy, 3) == ["channel-2"] * 3
    for arm in ARMS:
        policy.remove_arm(arm)
    assert policy.controls == Controls()
    assert policy.choose(bits=3) == "new"
    policy.add_arm("channel-1")
    assert policy.choose(bits=3, eligible=["channel-1"]) == "channel-1"


def test_controls_and_counts_are_saved():
    policy = taught()
    policy.pause("channel-1")
    policy.share("channel-3", least=0.1, most=0.3)
    served(policy, 7)
    twin = Policy.from_bytes(policy.to_bytes())
    assert twin.controls == policy.controls
    assert twin.to_bytes() == policy.to_bytes()
    assert served(twin, 40) == served(policy, 40)


DAMAGE = [
    ({"pinned": "nowhere"}, "name the arm 'nowhere'"),
    ({"paused": ["channel-2", "channel-1"]}, "contradict"),
    ({"paused": ["channel-1", "channel-1"]}, "contradict"),
    ({"shares": {"channel-1": {"least": 0.5, "most": 0.4}}}, "least must not be above most"),
    ({"shares": {"channel-1": {"least": 0.6}, "channel-2": {"least": 0.6}}}, "contradict"),
    ({"shares": {"channel-1": {"least": -0.5}}}, "controls are invalid"),
    ({"shares": {}}, "do not fit the saved controls"),
    ({"stopped": True}, "controls are invalid"),
]


@pytest.mark.parametrize(("changes", "told"), DAMAGE)
def test_impossible_controls_in_a_file_are_refused(changes, told):
    from onepull.policies import savefile  # noqa: PLC0415 - used here alone

    policy = taught()
    policy.share("channel-1", least=0.5)
    saved = savefile.decode(policy.to_bytes(), "here")
    saved.controls = {**saved.controls, **changes}
    with pytest.raises(SaveFileError, match=told):
        Policy.from_bytes(savefile.encode(saved))


# Explanations


def test_explanations_show_the_controls():
    policy = taught(1)
    policy.pause("channel-3")
    assert str(policy.explain(bits=3)) == dedent("""\
        DCB at trial 4 with bits=3
          arm        pulls  estimate   bonus   index  control
          channel-1      1    1.0000  5.0078  6.0078
        → channel-2      1    2.0000  5.0078  7.0078
        × channel-3      1    3.0000  5.0078  8.0078   paused
        channel-2: highest index, among those eligible; paused: channel-3""")
    policy.pin("channel-1")
    told = policy.explain(bits=3)
    assert (told.arm, told.reason) == ("channel-1", "pinned")
    assert [row.control for row in told.arms] == ["pinned", "", "paused"]
    policy.pause("channel-1")
    told = policy.explain(bits=3)
    assert [row.control for row in told.arms] == ["pinned, but paused", "", "paused"]
    assert told.reason.endswith("; pinned, but paused: channel-1; paused: channel-3")
    policy.resume("channel-1")
    told = policy.explain(bits=3, eligible=["channel-2"])
    assert told.reason.endswith("; pinned, but not eligible: channel-1; paused: channel-3")
    policy.pin(None)
    policy.share("channel-1", least=1)
    policy.share("channel-2", most=0)
    assert policy.explain(bits=3).reason == "least share"
    policy.share("channel-1")
    assert policy.explain(bits=3).reason == (
        "highest index, among those eligible; most share: channel-2; paused: channel-3"
    )
    assert "paused" in policy.explain(bits=3)._repr_html_()
    assert msgspec.json.encode(policy.controls)


def test_a_drawn_policy_is_certain_of_a_pinned_arm():
    policy = LinearThompson(channels(3))
    policy.observe_many(ARMS, bits=[1, 2, 3], capacity=[1, 2, 3])
    assert policy.explain(bits=3).arm is None
    policy.pin("channel-2")
    told = policy.explain(bits=3)
    assert (told.arm, told.arms[1].chance) == ("channel-2", 1.0)


# Every policy


@pytest.mark.parametrize("name", one_each())
def test_every_policy_keeps_to_its_controls(name):
    build, problem = CASES[name]
    policy = build(problem())
    arms = list(policy.problem.arms)
    pulls = observations(policy.problem, 60, np.random.default_rng(4))
    for pull in pulls[:20]:
        policy.observe(**pull)
    policy.pause(arms[0])
    policy.share(arms[1], least=0.3)
    twin = Policy.from_bytes(policy.to_bytes(), problem=policy.problem)
    got: Counter[str] = Counter()
    for pull in pulls[20:]:
        context = policy.problem.context.among(pull)
        told, arm = policy.explain(**context), policy.choose(**context)
        assert twin.choose(**context) == arm
        assert arm != arms[0]
        assert not told.arms[0].eligible
        assert {row.arm: row for row in told.arms}[arm].eligible
        if told.arm is not None:
            assert arm == told.arm
        got[arm] += 1
        assert got[arms[1]] > 0.3 * got.total() - 1
        for one in (policy, twin):
            one.observe(**{**pull, "arm": arm})
    policy.pin(arms[-1])
    for pull in pulls:
        context = policy.problem.context.among(pull)
        assert policy.choose(**context) == policy.explain(**context).arm == arms[-1]


@pytest.mark.parametrize("name", one_each())
def test_pulls_in_flight_do_not_change_an_estimate(name):
    build, problem = CASES[name]
    policy = build(problem())
    for i, pull in enumerate(observations(policy.problem, 24, np.random.default_rng(5))):
        context = policy.problem.context.among(pull)
        before = policy.estimates(**context)
        policy.pulled(pull["arm"], **context)
        assert policy.estimates(**context) == before
        if i % 3:
            policy.observe(**pull)


def test_a_random_policy_draws_among_what_is_left():
    policy = Random(channels(3), seed=1)
    policy.pause("channel-2")
    assert {policy.choose(bits=1) for _ in range(60)} == {"channel-1", "channel-3"}  # but 2^-59
