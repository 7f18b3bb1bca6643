"""Fleets: in whatever order updates are exchanged, everyone ends up knowing the same."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_cases import CASES, one_each
from problems import channels, harvesting

from onepull import (
    CCB,
    DCB,
    UCB1,
    CoarseKL,
    ContextualZooming,
    DiscountedUCB,
    DoublingCCB,
    EmpiricalKL,
    Finite,
    Interval,
    MergeError,
    MultiUCB,
    ParameterError,
    Policy,
    Problem,
    RestartingUCB,
    SaveFileError,
    SlidingWindowKL,
    SlidingWindowUCB,
    recommended,
)
from onepull.policies import savefile
from onepull.policies.fleet.updates import Absorbed
from onepull.testing.random_data import observations

ARMS = ["channel-1", "channel-2", "channel-3"]
NAMES = ["one", "two", "three"]


def fleet(build, problem, names=NAMES):
    members = {name: build(problem) for name in names}
    for name, policy in members.items():
        policy.join(name)
    return members


def exchange(members):
    """Everyone tells everyone, and then all know all."""
    for one in members.values():
        for two in members.values():
            if one is not two:
                one.absorb(two.updates(since=one.versions))


def contexts(policy, count=6):
    generator = np.random.default_rng(1)
    pulls = observations(policy.problem, count, generator)
    return [policy.problem.context.among(pull) for pull in pulls]


def told(policy):
    """Return what a policy says of a few contexts, by arm."""
    found = []
    for context in contexts(policy):
        rows = {row.arm: row for row in policy.explain(**context).arms}
        found += [(arm, rows[arm].pulls, rows[arm].estimate) for arm in sorted(rows)]
    return found


def same(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, float | int):
        return math.isclose(one, two, rel_tol=1e-9, abs_tol=1e-9)
    return bool(one == two)


def assert_same(one, two):
    for mine, theirs in zip(told(one), told(two), strict=True):
        assert all(map(same, mine, theirs)), (mine, theirs)


def played(build, problem, steps, seed=0):
    """Return members after steps: a member observes, or absorbs what another knows."""
    members = fleet(build, problem)
    pulls = iter(observations(problem, len(steps), np.random.default_rng(seed)))
    seen, old = [], []
    for who, whom, kind in steps:
        one, two = members[NAMES[who]], members[NAMES[whom]]
        if kind < 3:
            pull = next(pulls)
            one.observe(**pull)
            seen.append((one, pull))
        elif kind == 3:
            text = two.updates(since=one.versions)
            old.append(text)
            one.absorb(text)
        elif kind == 4 and old:
            one.absorb(old[whom % len(old)])  # an old message, once more
        else:
            one.absorb(two.updates())
    return members, seen


steps = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 5)), min_size=4, max_size=40
)


@settings(deadline=None, max_examples=60)
@given(steps=steps)
@pytest.mark.parametrize("build", [DCB, EmpiricalKL, lambda p: SlidingWindowUCB(p, window=4)])
def test_any_order_and_any_repetition_end_in_the_same_state(build, steps):
    members, seen = played(build, channels(3), steps)
    exchange(members)
    exchange(members)
    one, two, three = members.values()
    assert one.versions == two.versions == three.versions
    assert sum(one.versions.values()) == len(seen)
    learned = [savefile.decode(policy.to_bytes(), "here").learned for policy in members.values()]
    assert learned[0] == learned[1] == learned[2]
    assert one.stats().trials == len(seen)


def after_many(name):
    """Return members that exchanged much, and all pulls in the order in which they were made."""
    build, problem = CASES[name]
    generator = np.random.default_rng(7)
    plan = [tuple(map(int, generator.integers(0, (3, 3, 6)))) for _ in range(60)]
    members, seen = played(build, problem(), plan, seed=8)
    exchange(members)
    exchange(members)
    return build, members, seen


@pytest.mark.parametrize("name", one_each())
def test_every_policy_learns_from_all(name):
    build, members, seen = after_many(name)
    one, two, three = members.values()
    assert_same(one, two)
    assert_same(two, three)
    assert one.stats().trials == len(seen)
    pulls = {row.arm: row.pulls for row in one.stats().arms}
    for arm, count in pulls.items():
        assert count == sum(pull["arm"] == arm for _, pull in seen)
    whole = build(one.problem)
    if not whole.traits.order_matters:
        for _, pull in seen:
            whole.observe(**pull)
        assert_same(one, whole)
    assert one.trials == len(seen) or one.traits.forgets or "Doubling" in name


@pytest.mark.parametrize("name", one_each())
def test_every_member_is_saved_and_goes_on(name):
    _, members, _ = after_many(name)
    one, two = members["one"], members["two"]
    twin = Policy.from_bytes(one.to_bytes(), problem=one.problem)
    assert twin.to_bytes() == one.to_bytes()
    more = observations(one.problem, 12, np.random.default_rng(9))
    for policy in (one, twin):
        for pull in more[:6]:
            policy.observe(**pull)
    for pull in more[6:]:
        two.observe(**pull)
    for policy in (one, twin):
        policy.absorb(two.updates())
    assert twin.to_bytes() == one.to_bytes()
    assert twin.versions == one.versions
    assert twin.stats() == one.stats()


IN_ORDER = [
    (lambda p: SlidingWindowUCB(p, window=9), channels(3)),
    (lambda p: SlidingWindowKL(p, window=9), channels(3)),
    (lambda p: DiscountedUCB(p, discount=0.9), channels(3)),
    (lambda p: RestartingUCB(p, patience=5), channels(3)),
    (lambda p: RestartingUCB(p, sharing="per-context"), channels(3)),
    (lambda p: SlidingWindowUCB(p, window=5, sharing="per-context"), channels(3)),
    (DoublingCCB, harvesting()),
    (ContextualZooming, harvesting()),
]


@pytest.mark.parametrize(("build", "problem"), IN_ORDER)
def test_where_order_matters_it_is_one_policy_that_saw_all_in_the_order_of_the_numbers(
    build, problem
):
    members = fleet(build, problem)
    pulls = observations(problem, 60, np.random.default_rng(3))
    for begin in range(0, 60, 3):  # in turns, and all tell each other: the numbers are in order
        for policy, pull in zip(members.values(), pulls[begin:], strict=False):
            policy.observe(**pull)
            exchange(members)
    whole = build(problem)
    for pull in pulls:
        whole.observe(**pull)
    for policy in members.values():
        assert_same(policy, whole)
        for context in contexts(policy):
            assert policy.choose(**context) == whole.choose(**context)


def test_a_window_keeps_no_more_than_it_needs():
    members = fleet(lambda p: SlidingWindowUCB(p, window=10), channels(3), ["one", "two"])
    pulls = observations(channels(3), 400, np.random.default_rng(3))
    for i, pull in enumerate(pulls):
        members[["one", "two"][i % 2]].observe(**pull)
    exchange(members)
    text = members["one"].updates()
    assert len(text) < 60 * 20 + 1500
    assert_same(members["one"], members["two"])


# Versions and names


def test_updates_hold_only_what_is_new():
    members = fleet(DCB, channels(3))
    one, two, three = members.values()
    two.observe("channel-1", capacity=1)
    one.absorb(two.updates())
    assert one.versions == {"two": 1}
    three.absorb(one.updates(since=three.versions))  # by way of another
    assert three.estimates(bits=1)[0] == 1.0
    empty = len(one.updates(since=one.versions))
    assert empty < len(one.updates())
    assert one.absorb(two.updates(since=one.versions)) == Absorbed({}, ())


def test_an_older_version_changes_nothing():
    members = fleet(DCB, channels(3))
    one, two, _ = members.values()
    two.observe("channel-1", capacity=1)
    old = two.updates()
    two.observe("channel-1", capacity=3)
    one.absorb(two.updates())
    before = one.to_bytes()
    assert one.absorb(old) == Absorbed({}, ())
    assert one.to_bytes() == before


def test_two_members_of_one_name_are_found_out():
    one, two, three = (DCB(channels(3)) for _ in range(3))
    for policy, name in ((one, "a"), (two, "a"), (three, "b")):
        policy.join(name)
    one.observe("channel-1", capacity=1)
    two.observe("channel-2", capacity=1)
    three.absorb(one.updates())
    before = three.to_bytes(), one.to_bytes()
    with pytest.raises(MergeError, match="two members are named 'a'"):
        three.absorb(two.updates())
    with pytest.raises(MergeError, match="two members are named 'a'"):
        one.absorb(two.updates())
    assert (three.to_bytes(), one.to_bytes()) == before


def test_a_member_restored_from_an_older_file_joins_under_a_new_name():
    members = fleet(DCB, channels(3), ["one", "two"])
    one, two = members.values()
    one.observe("channel-1", capacity=1)
    saved = one.to_bytes()
    one.observe("channel-1", capacity=2)  # lost here, and known to two
    two.absorb(one.updates())
    again = Policy.from_bytes(saved)
    with pytest.raises(MergeError, match="restored from an older file"):
        again.absorb(two.updates())
    again.join("one, later")
    again.observe("channel-2", capacity=3)
    again.absorb(two.updates())
    two.absorb(again.updates())
    assert again.versions == two.versions == {"one": 2, "one, later": 1}
    assert again.trials == two.trials == 3
    assert [row.pulls for row in again.stats().arms] == [2, 1, 0]


@pytest.mark.parametrize("build", [DCB, lambda p: SlidingWindowUCB(p, window=50)])
def test_what_all_started_with_counts_once(build):
    first = build(channels(3))
    first.observe_many(["channel-1", "channel-2"], capacity=[1, 2])
    one, two = (Policy.from_bytes(first.to_bytes()) for _ in range(2))
    one.join("one")
    two.join("two")
    one.observe("channel-3", capacity=3)
    two.observe("channel-3", capacity=1)
    exchange({"one": one, "two": two})
    for policy in (one, two):
        assert policy.trials == 4
        assert policy.stats().trials == 4
        assert [row.pulls for row in policy.stats().arms] == [1, 1, 2]
        assert policy.estimates(bits=3) == [1.0, 2.0, 2.0]
    assert Policy.from_bytes(one.to_bytes()).to_bytes() == one.to_bytes()


def test_where_order_matters_all_start_with_the_same():
    one, two = (SlidingWindowUCB(channels(3), window=5) for _ in range(2))
    one.observe("channel-1", capacity=1)
    one.join("one")
    two.join("two")
    with pytest.raises(MergeError, match="start from the same save file"):
        two.absorb(one.updates())


# Arms


def test_an_arm_that_only_others_have_is_kept_for_later():
    members = fleet(DCB, channels(3), ["one", "two"])
    one, two = members.values()
    two.add_arm("new")
    two.observe_many(["new", "channel-1"], capacity=[3, 1])
    assert one.absorb(two.updates()) == Absorbed({"two": 3}, ("new",))
    assert [row.pulls for row in one.explain(bits=3).arms] == [1, 0, 0]
    one.add_arm("new")
    assert one.estimates(bits=3)[3] == 3.0
    one.remove_arm("channel-1")
    two.absorb(one.updates())
    assert two.estimates(bits=3)[0] == 1.0
    assert one.problem.arms == ("channel-2", "channel-3", "new")
    assert one.stats().trials == 2


@pytest.mark.parametrize("name", one_each())
def test_arms_may_be_in_any_order_and_come_and_go(name):
    build, made = CASES[name]
    problem = made()
    members = fleet(build, problem, ["one"])
    try:
        members["two"] = build(problem.with_arms(reversed(problem.arms)))
    except ParameterError:
        pytest.skip("its parameters depend on the order of the arms")
    members["two"].join("two")
    pulls = observations(problem, 30, np.random.default_rng(2))
    for i, pull in enumerate(pulls):
        members[["one", "two"][i % 2]].observe(**pull)
    try:
        exchange(members)
    except MergeError as error:
        assert re.search("parameters differ|do not fit each other", str(error))  # noqa: PT017 - some name their arms
        return
    if not members["one"].traits.arm_order_matters:
        assert_same(*members.values())
    try:
        members["one"].add_arm("added-arm", **problem.attributes.get(problem.arms[0], {}))
    except ParameterError:
        return
    members["one"].remove_arm("added-arm")
    exchange(members)
    assert members["one"].stats().trials == members["two"].stats().trials == 30


def priced(price=1.0):
    return Problem(
        arms={"a": {"price": 1}, "b": {"price": price}},
        context={"y": Finite([1, 2])},
        state={"x": Finite(range(9))},
        reward="x * y - price",
    )


STATES = [recommended, EmpiricalKL, CoarseKL, lambda p: SlidingWindowKL(p, window=20)]
MEANS = [DCB, UCB1, MultiUCB]


@pytest.mark.parametrize("build", STATES)
def test_a_member_values_all_states_with_its_own_attributes(build):
    members = fleet(build, priced(), ["one", "two"])
    one, two = members.values()
    alone = build(priced())
    pulls = observations(priced(), 12, np.random.default_rng(2))
    for i, pull in enumerate(pulls):
        members[["one", "two"][i % 2]].observe(**pull)
    exchange(members)
    one.set_attributes("b", price=-4)
    exchange(members)
    alone.observe_many(**{"arms" if n == "arm" else n: [p[n] for p in pulls] for n in pulls[0]})
    assert two.estimates(y=2) == pytest.approx(alone.estimates(y=2))
    alone.set_attributes("b", price=-4)
    assert one.estimates(y=2) == pytest.approx(alone.estimates(y=2))
    again = Policy.from_bytes(one.to_bytes())
    assert again.to_bytes() == one.to_bytes()
    assert again.estimates(y=2) == one.estimates(y=2)


@pytest.mark.parametrize("build", MEANS)
def test_means_of_rewards_with_other_attributes_are_refused(build):
    one, two = build(priced()), build(priced(price=-4))
    for name, policy in (("one", one), ("two", two)):
        policy.join(name)
        policy.observe("b", y=1, x=3)
    before = one.to_bytes()
    with pytest.raises(MergeError, match="attributes can change only where states are stored"):
        one.absorb(two.updates())
    assert one.to_bytes() == before


@pytest.mark.parametrize("build", MEANS)
def test_an_arm_that_does_not_fit_what_others_told_is_not_added(build):
    members = fleet(build, priced(), ["one", "two"])
    one, two = members.values()
    two.observe("b", y=1, x=3)
    exchange(members)
    one.remove_arm("b")
    one.pulled("a", y=1)
    before = one.to_bytes()
    with pytest.raises(MergeError, match="attributes can change only where states are stored"):
        one.add_arm("b", price=-4)
    assert one.to_bytes() == before
    assert one.stats().arms[0].in_flight == 1
    one.add_arm("b", price=1)
    assert one.estimates(y=1) == two.estimates(y=1)


def test_rewards_that_tell_no_state_forbid_other_attributes():
    one, two = fleet(recommended, priced(), ["one", "two"]).values()
    one.observe("b", y=1, reward=2)
    before = one.to_bytes()
    with pytest.raises(MergeError, match="rewards of arm 'b' were observed when it had other"):
        one.set_attributes("b", price=-4)
    assert one.to_bytes() == before
    two.set_attributes("b", price=-4)
    with pytest.raises(MergeError, match="rewards of arm 'b' were observed when it had other"):
        two.absorb(one.updates())
    two.set_attributes("b", price=1)
    two.absorb(one.updates())
    assert two.estimates(y=1) == one.estimates(y=1)


# In flight, batches and other calls


@pytest.mark.parametrize("build", [DCB, EmpiricalKL, lambda p: SlidingWindowUCB(p, window=5), UCB1])
def test_pulls_in_flight_stay_with_their_member(build):
    members = fleet(build, channels(3), ["one", "two"])
    one, two = members.values()
    two.observe_many(["channel-1", "channel-2"], bits=[3, 3], capacity=[1, 2])
    one.pulled("channel-3", bits=3)
    exchange(members)
    assert [row.in_flight for row in one.explain(bits=3).arms] == [0, 0, 1]
    assert [row.in_flight for row in two.explain(bits=3).arms] == [0, 0, 0]
    one.observe("channel-3", bits=3, capacity=3)
    assert [row.in_flight for row in one.explain(bits=3).arms] == [0, 0, 0]


@pytest.mark.parametrize("build", [DCB, EmpiricalKL, lambda p: SlidingWindowUCB(p, window=5), UCB1])
@pytest.mark.parametrize("learned", [0, 2])
def test_pulls_in_flight_at_joining_count_once(build, learned):
    one, two = build(channels(3)), build(channels(3))
    for policy in (one, two):
        policy.observe_many(ARMS[:learned], bits=[3] * learned, capacity=[1] * learned)
    one.pulled("channel-1", bits=3)
    one.join("one")
    two.join("two")
    for _ in range(3):
        two.observe("channel-2", bits=3, capacity=2)
        one.absorb(two.updates())
        one.observe("channel-2", bits=3, capacity=2)
        two.absorb(one.updates())
    assert [row.in_flight for row in one.explain(bits=3).arms] == [1, 0, 0]
    assert [row.in_flight for row in two.explain(bits=3).arms] == [0, 0, 0]
    assert_same_learned(one, two)


def assert_same_learned(one, two):
    states = [savefile.decode(policy.to_bytes(), "here").learned for policy in (one, two)]
    one.absorb(two.updates())
    assert states[1] == savefile.decode(one.to_bytes(), "here").learned


@pytest.mark.parametrize("build", [DCB, lambda p: SlidingWindowUCB(p, window=5)])
def test_a_refused_batch_changes_nothing(build):
    policy = build(channels(3))
    policy.join("one")
    policy.observe("channel-1", capacity=1)
    before = policy.to_bytes()
    with pytest.raises(Exception, match="row 1"):
        policy.observe_many(["channel-1", "channel-2"], capacity=[1, -1])
    assert policy.to_bytes() == before


def test_values_of_numpy_are_told_as_they_are():
    members = fleet(lambda p: SlidingWindowUCB(p, window=5), channels(3), ["one", "two"])
    one, two = members.values()
    one.observe(np.str_("channel-1"), capacity=np.float32(0.1), bits=np.int64(2))
    exchange(members)
    assert two.estimates(bits=2) == one.estimates(bits=2)


def test_members_do_not_merge_and_others_do_not_absorb():
    members = fleet(DCB, channels(3), ["one", "two"])
    one, two = members.values()
    for left, right in ((one, DCB(channels(3))), (DCB(channels(3)), one)):
        with pytest.raises(MergeError, match="exchange updates instead"):
            left.merge(right)
    for call in (lambda p: p.updates(), lambda p: p.absorb(two.updates())):
        with pytest.raises(MergeError, match="not in a fleet"):
            call(DCB(channels(3)))
    assert DCB(channels(3)).versions == {}


def refused():
    grids = [CCB(harvesting(), delta=d) for d in (0.1, 0.2)]
    yield UCB1(channels(3)), "updates of a UCB1 cannot be absorbed by a DCB"
    yield DCB(channels(3), epsilon=0.5), "the parameters differ"
    yield DCB(channels(3).with_reward("capacity + bits")), "the problems differ"
    yield grids[0], "updates of a CCB"


def test_the_order_of_fields_matters():
    def problem(*names):
        return Problem(
            arms=["a"], context={n: Finite([1, 2]) for n in names}, state={"x": Interval(0, 1)},
            reward="x * (one + 2 * two)",
        )  # fmt: skip

    here, there = DCB(problem("one", "two")), DCB(problem("two", "one"))
    here.join("here")
    there.join("there")
    there.observe("a", x=0.5)
    with pytest.raises(MergeError, match="the problems differ"):
        here.absorb(there.updates())


@pytest.mark.parametrize(("other", "said"), list(refused()))
def test_updates_of_another_kind_are_refused(other, said):
    policy = DCB(channels(3))
    policy.join("one")
    other.join("two")
    before = policy.to_bytes()
    with pytest.raises(MergeError, match=said):
        policy.absorb(other.updates())
    assert policy.to_bytes() == before


@pytest.mark.parametrize("name", ["", 3, None, "a\x1b", "x" * 201, "start again"])
def test_a_name_that_cannot_be_is_refused(name):
    policy = DCB(channels(3))
    with pytest.raises(ParameterError, match="the name of a member must be"):
        policy.join(name)
    policy.join("one")
    with pytest.raises(ParameterError, match="the name of a member must be"):
        policy.join(name)


def test_a_name_that_is_taken_is_refused():
    members = fleet(DCB, channels(3), ["one", "two"])
    members["two"].observe("channel-1", capacity=1)
    members["one"].absorb(members["two"].updates())
    with pytest.raises(ParameterError, match="a member named 'two' is known already"):
        members["one"].join("two")
    members["one"].join("one")  # it is


@pytest.mark.parametrize("since", [3, "one", {"one": -1}, {"one": "new"}, {1: 1}])
def test_versions_that_cannot_be_are_refused(since):
    policy = DCB(channels(3))
    policy.join("one")
    with pytest.raises(ParameterError, match="since must be the versions of another member"):
        policy.updates(since=since)


@pytest.mark.parametrize("build", [DCB, lambda p: SlidingWindowUCB(p, window=5)])
def test_damaged_updates_change_nothing(build):
    members = fleet(build, channels(2), ["one", "two"])
    one, two = members.values()
    two.observe("channel-1", bits=1, capacity=1)
    text, before = two.updates(), one.to_bytes()
    for stop in range(0, len(text), 7):
        with pytest.raises(SaveFileError):
            one.absorb(text[:stop])
    for given_ in (None, "text", two.to_bytes()):
        with pytest.raises(SaveFileError, match="updates: not the updates of a fleet"):
            one.absorb(given_)
    assert one.to_bytes() == before


FORGED = [
    ("arms", ["channel-1"]),
    ("arms", ["channel-1", "channel-1"]),
    ("learned", None),
    ("learned", {"all": {"trials": 1, "pulls": [-1, 0], "means": [[], []]}}),
    ("learned", [[1, "channel-9", [{"capacity": 1}, None]]]),
    ("learned", [[2, "channel-1", [{"capacity": 1}, None]], [1, "channel-1", [{}, None]]]),
    ("learned", [[1, "channel-1", [{"capacity": -1}, None]]]),
    ("learned", [[1, "channel-1", [{"speed": 1}, None]]]),
    ("learned", [[1, "channel-1", []]]),
    ("learned", [[1, "channel-1", [7, 8, 9]]]),
    ("counts", None),
    ("counts", {"trials": -1}),
]


@pytest.mark.parametrize(("field", "value"), FORGED)
@pytest.mark.parametrize("build", [DCB, lambda p: SlidingWindowUCB(p, window=5)])
def test_forged_updates_change_nothing(build, field, value):
    from onepull.policies.fleet.updates import Updates  # noqa: PLC0415 - used here alone

    members = fleet(build, channels(2), ["one", "two"])
    one, two = members.values()
    two.observe("channel-1", bits=1, capacity=1)
    forged = savefile.decode(two.updates(), "here", Updates, savefile.UPDATES)
    setattr(forged.told.contributions["two"], field, value)
    before = one.to_bytes()
    with pytest.raises((SaveFileError, MergeError)):
        one.absorb(savefile.encode(forged, savefile.UPDATES))
    assert one.to_bytes() == before


def test_an_arm_that_answered_only_a_member_who_removes_it_rests_where_it_never_answered():
    one, two = DCB(channels(3)), DCB(channels(3))
    one.join("1")
    two.join("2")
    for _ in range(4):
        one.pulled("channel-2", bits=1)
        one.gave_up("channel-2", bits=1)
    two.observe("channel-2", capacity=3)
    one.absorb(two.updates())
    assert one.choose(bits=1) == one.explain(bits=1).arm  # it has answered, so none rests
    one.observe("channel-1", capacity=1)
    one.observe("channel-3", capacity=1)
    two.remove_arm("channel-2")
    one.absorb(two.updates())
    assert one.choose(bits=1) == "channel-1" == one.explain(bits=1).arm
