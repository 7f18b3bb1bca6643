"""Which arms may be chosen: eligible ones, tied ones, those that come and go."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from policy_cases import CASES, one_each
from problems import PAPER_ARMS, channels, harvesting

from onepull import (
    CCB,
    DCB,
    UCB1,
    Discrete,
    DoublingCCB,
    FixedArm,
    Genie,
    InputError,
    MultiUCB,
    OnepullError,
    ParameterError,
    ProblemError,
    Random,
    UnknownArm,
)
from onepull.testing.random_data import observations

DRAWS = 7000


def test_the_best_eligible_arm_is_chosen():
    policy = DCB(channels(3))
    policy.observe_many(["channel-1", "channel-2", "channel-3"], capacity=[1, 4, 3])
    assert policy.choose(bits=4) == "channel-2"
    assert policy.choose(bits=4, eligible=["channel-3", "channel-1"]) == "channel-3"
    assert policy.choose(bits=4, eligible={"channel-1": 0}) == "channel-1"
    assert policy.choose(bits=4, eligible=["channel-1", "channel-1"]) == "channel-1"


def test_ties_among_eligible_arms_go_to_the_first_of_the_problem():
    assert DCB(channels()).choose(bits=1, eligible=["channel-5", "channel-3"]) == "channel-3"


def test_a_fixed_arm_gives_way_where_it_is_not_eligible():
    policy = FixedArm(channels(3), arm="channel-2")
    assert policy.choose(bits=1) == "channel-2"
    assert policy.choose(bits=1, eligible=["channel-3", "channel-1"]) == "channel-1"


@pytest.mark.parametrize("build", [Random, lambda problem, seed: DCB(problem, seed=seed)])
def test_ties_are_drawn_evenly(build):
    policy = build(channels(), seed=11)
    counts = Counter(policy.choose(bits=1) for _ in range(DRAWS))
    assert set(counts) == set(channels().arms)
    # Hoeffding: one of 7 counts is off its mean of 1000 by 300 with probability below
    # 14·exp(-2·300²/7000) = 1e-10.
    assert max(abs(count - DRAWS / 7) for count in counts.values()) < 300
    # Chi-square with 6 degrees of freedom exceeds 45 with probability 5e-8.
    assert sum((count - DRAWS / 7) ** 2 / (DRAWS / 7) for count in counts.values()) < 45


def test_only_tied_arms_are_drawn():
    policy = DCB(channels(3), seed=2)
    policy.observe_many(["channel-1", "channel-2", "channel-3"], capacity=[1, 4, 4])
    assert {policy.choose(bits=4) for _ in range(100)} == {"channel-2", "channel-3"}
    assert {policy.choose(bits=4, eligible=["channel-1", "channel-3"]) for _ in range(50)} == {
        "channel-3"
    }


def test_the_same_seed_draws_the_same():
    draws = [
        [policy.choose(bits=1) for _ in range(50)]
        for policy in (
            DCB(channels(), seed=5),
            DCB(channels(), seed=5),
            DCB(channels(), seed=np.random.default_rng(5)),
            DCB(channels(), seed=np.random.Generator(np.random.PCG64(5))),
            DCB(channels(), seed=6),
        )
    ]
    assert draws[0] == draws[1] == draws[2] == draws[3]
    assert draws[0] != draws[4]


def test_a_single_best_arm_draws_nothing():
    generator = np.random.default_rng(1)
    policy = DCB(channels(2), seed=generator)
    policy.observe_many(["channel-1", "channel-2"], capacity=[1, 4])
    policy.choose(bits=4)
    assert generator.random() == np.random.default_rng(1).random()


@pytest.mark.parametrize("build", [DCB, UCB1, MultiUCB])
def test_an_added_arm_is_pulled_next_and_a_removed_one_never(build):
    policy = build(channels(2))
    policy.observe_many(["channel-1", "channel-2"], bits=[2, 2], capacity=[5, 5])
    policy.add_arm("wifi")
    assert policy.choose(bits=2) == "wifi"
    policy.observe("wifi", bits=2, capacity=0)
    policy.remove_arm("channel-1")
    assert policy.problem.arms == ("channel-2", "wifi")
    assert policy.choose(bits=2) == "channel-2"
    assert policy.trials == 3
    with pytest.raises(UnknownArm, match="'channel-1'"):
        policy.observe("channel-1", bits=2, capacity=1)
    assert type(policy).from_bytes(policy.to_bytes()).to_bytes() == policy.to_bytes()


def test_an_arm_that_comes_back_starts_anew():
    policy = DCB(channels(2))
    policy.observe_many(["channel-1", "channel-2"], capacity=[5, 5])
    policy.remove_arm("channel-2")
    policy.add_arm("channel-2")
    assert policy.explain(bits=1).arms[1].pulls == 0
    assert policy.explain(bits=1).trial == 3


def test_a_context_first_seen_after_a_change_of_arms_knows_the_new_arms():
    policy = MultiUCB(channels(2))
    policy.observe("channel-1", bits=1, capacity=1)
    policy.add_arm("wifi")
    policy.observe("wifi", bits=4, capacity=3)
    assert [row.pulls for row in policy.explain(bits=4).arms] == [0, 0, 1]
    assert [row.pulls for row in policy.explain(bits=1).arms] == [1, 0, 0]


def test_a_doubling_policy_restarts_with_the_arms_it_then_has():
    policy = DoublingCCB(harvesting(2))
    policy.observe("channel-1", gain=1)
    policy.add_arm("wifi")
    policy.observe("wifi", gain=1)
    assert policy.phase == 2
    assert [row.arm for row in policy.explain(power=0.5).arms] == ["channel-1", "channel-2", "wifi"]


def test_arms_may_outgrow_what_lists_are_for():
    policy = DCB(channels(1))
    for j in range(2, 80):
        policy.add_arm(f"channel-{j}")
    policy.observe_many(policy.problem.arms, capacity=[j % 7 for j in range(79)])
    twin = DCB.from_bytes(policy.to_bytes())
    for bits in (1, 2, 3, 4):
        assert policy.explain(bits=bits) == twin.explain(bits=bits)
        assert policy.choose(bits=bits) == twin.choose(bits=bits)


@pytest.mark.parametrize("arm", ["channel-1", "", 3, None, ["x"]])
def test_an_arm_without_a_name_of_its_own_is_refused(arm):
    policy = CCB(harvesting(), delta=0.5)
    before = policy.to_bytes()
    with pytest.raises((InputError, ProblemError), match=r"given|already exists"):
        policy.add_arm(arm)
    assert policy.to_bytes() == before


def test_the_last_arm_stays():
    policy = DCB(channels(1))
    with pytest.raises(InputError, match="'channel-1' is the only one left"):
        policy.remove_arm("channel-1")


def test_a_fixed_arm_cannot_be_removed():
    policy = FixedArm(channels(3), arm="channel-2")
    with pytest.raises(InputError, match="'channel-2' is the fixed arm"):
        policy.remove_arm("channel-2")
    policy.remove_arm("channel-1")
    assert policy.choose(bits=1) == "channel-2"


def test_the_genie_takes_on_only_arms_it_was_told_of():
    genie = Genie(channels(3), states={**PAPER_ARMS, "sure": Discrete([7], [1.0])})
    with pytest.raises(ParameterError, match="the distribution of arm 'wifi' is missing"):
        genie.add_arm("wifi")
    genie.add_arm("sure")
    assert genie.choose(bits=4) == "sure"


@pytest.mark.parametrize("name", one_each())
def test_several_arms_are_removed_at_once_as_one_after_the_other(name):
    build, made = CASES[name]
    problem = made()
    policy = build(problem)
    for pull in observations(problem, 40, np.random.default_rng(7)):
        policy.observe(**pull)
    gone = [problem.arms[-1], problem.arms[0]]
    for arm in problem.arms:
        policy.share(arm, least=0.1)
    other = policy.copy()
    try:
        for arm in gone:
            other.remove_arm(arm)
    except OnepullError:
        pytest.skip("its parameters are about its arms")
    policy.remove_arms(gone)
    assert policy.to_bytes() == other.to_bytes()


class Careful(UCB1):
    """Does more than usual with each arm, so that arms come and go one by one."""

    def add_arm(self, arm, /, **attributes):
        super().add_arm(arm, **attributes)

    def remove_arm(self, arm):
        super().remove_arm(arm)


@pytest.mark.parametrize("kind", [UCB1, Careful])
def test_arms_that_cannot_all_come_or_go_stay_as_they_are(kind):
    policy = kind(channels(3))
    for change, error in [
        (lambda: policy.add_arms({"wifi": {}, "channel-2": {}}), "'channel-2' already exists"),
        (lambda: policy.add_arms({"wifi": {}, "": {}}), "name"),
        (lambda: policy.add_arms({"wifi": {}, "lte": {"price": 1}}), "price"),
        (lambda: policy.add_arms(["wifi"]), "takes arms with their attributes"),
        (lambda: policy.set_attributes_of(["channel-1"]), "takes arms with their attributes"),
        (lambda: policy.remove_arms("channel-1"), "takes a list of arms"),
        (lambda: policy.remove_arms(3), "takes a list of arms"),
        (lambda: policy.remove_arms(["channel-1", "wifi"]), "unknown arm 'wifi'"),
        (lambda: policy.remove_arms(policy.problem.arms), "the only one left"),
    ]:
        with pytest.raises(OnepullError, match=error):
            change()
        assert policy.problem.arms == ("channel-1", "channel-2", "channel-3")
    policy.remove_arms([])
    policy.set_attributes_of({})
    policy.set_attributes("channel-1")
    policy.add_arms({"wifi": {}, "lte": {}})
    policy.remove_arms(["lte", "channel-1", "lte"])
    assert policy.problem.arms == ("channel-2", "channel-3", "wifi")
