"""Pulls whose feedback is yet to come: what they count for, and for how long."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from onepull import (
    DCB,
    DSEE,
    IMED,
    KLUCB,
    UCB1,
    CoarseKL,
    DirichletThompson,
    DiscountedKL,
    DoublingCCB,
    EmpiricalBernstein,
    EmpiricalKL,
    EpsilonGreedy,
    Finite,
    Greedy,
    Interval,
    LinUCB,
    MultiUCB,
    Problem,
    RegressionUCB,
    SlidingWindowKL,
)
from onepull.errors import InputError, UnknownArm
from onepull.index.empirical_likelihood import likely_share
from onepull.statistics import ArmStatistics

PROBLEM = Problem(
    arms=["wifi", "lte", "5g"],
    context={"bits": Finite([1, 4])},
    state={"capacity": Finite([0, 2, 4])},
    reward="min(bits, capacity)",
)
COUNTING = [DCB, MultiUCB, UCB1, KLUCB, EmpiricalKL, IMED, EmpiricalBernstein]
COUNTING += [DiscountedKL, SlidingWindowKL, CoarseKL, RegressionUCB]
BOOKS = [DCB, CoarseKL]  # one of each kind that counts them


def taught(kind=DCB):
    policy = kind(PROBLEM)
    policy.observe_many(["wifi", "lte", "5g"], bits=[4, 4, 4], capacity=[2, 4, 0])
    return policy


@pytest.mark.parametrize("kind", COUNTING)
def test_a_burst_at_the_start_goes_around(kind):
    policy = kind(PROBLEM)
    burst = []
    for _ in range(9):
        burst.append(policy.choose(bits=4))
        policy.pulled(burst[-1], bits=4)
    assert burst == ["wifi", "lte", "5g"] * 3


@pytest.mark.parametrize("kind", [EpsilonGreedy, DSEE, DirichletThompson, Greedy])
def test_a_burst_reaches_every_arm_first(kind):
    policy = kind(PROBLEM)
    burst = []
    for _ in range(3):
        burst.append(policy.choose(bits=4))
        policy.pulled(burst[-1], bits=4)
    assert burst == ["wifi", "lte", "5g"]
    policy.pulled(policy.choose(bits=4), bits=4)


def test_the_bound_of_an_arm_in_flight_by_hand():
    policy = taught()
    policy.pulled("lte", bits=1)
    policy.pulled("lte", bits=4)
    row = policy.explain(bits=4).arms[1]
    assert (row.pulls, row.in_flight, row.estimate) == (1, 2, 4.0)
    # n = 3 observed + 2 in flight + 1, m = 1 + 2, G = 4.
    assert row.bonus == pytest.approx(4 * math.sqrt(2.01 * math.log(6) / 3))
    assert policy.trials == 3


def test_where_pulls_tell_the_state_sets_of_states_count_them_as_states_do():
    sets, states = taught(CoarseKL), taught(EmpiricalKL)
    for policy in (sets, states):
        policy.observe_many(["wifi"] * 5, capacity=[0, 2, 4, 4, 2])
        policy.pulled("wifi", bits=1)
        policy.pulled("wifi", bits=4)
        policy.pulled("lte", bits=4)
        policy.add_arm("satellite")
        policy.pulled("satellite", bits=4)
    for bits in (1, 4):
        told = sets.explain(bits=bits).arms, states.explain(bits=bits).arms
        for one, two in zip(*told, strict=True):
            assert (one.arm, one.pulls) == (two.arm, two.pulls)
            assert one.estimate == pytest.approx(two.estimate, abs=1e-5)
            assert one.index == pytest.approx(two.index, abs=1e-5)


def test_what_is_explained_is_chosen_whatever_is_in_flight():
    luck = np.random.default_rng(5)
    policy = CoarseKL(PROBLEM)
    for _ in range(300):
        arm, bits = PROBLEM.arms[luck.integers(3)], [1, 4][luck.integers(2)]
        step = luck.integers(4)
        if step == 0:
            policy.pulled(arm, bits=bits)
        elif step == 1:
            policy.gave_up(arm, bits=bits)
        else:
            policy.observe(arm, bits=bits, reward=min(bits, [0, 2, 4][luck.integers(3)]))
        for size in (1, 4):
            told = policy.explain(bits=size)
            best = max(row.index for row in told.arms)
            tied = [(row.pulls + row.in_flight, row.arm) for row in told.arms if row.index == best]
            fewest = min(pulls for pulls, _ in tied)
            first = next(name for pulls, name in tied if pulls == fewest)
            assert policy.choose(bits=size) == told.arm == first


def test_the_bound_on_sets_of_an_arm_in_flight_by_hand():
    policy = CoarseKL(PROBLEM)
    policy.observe_many(["lte"] * 4, bits=[4, 4, 4, 1], reward=[4, 4, 0, 1])  # 4, 4, 0, and 2 or 4
    policy.pulled("lte", bits=1)
    policy.pulled("lte", bits=4)
    row = policy.explain(bits=1).arms[1]
    # With one bit the reward is 0 or 1: three of four had 1, and two pulls are in flight.  Any
    # state but 0 gives 1, so the bound is that of a coin, f = ln 7, of which each pull has f/6.
    assert (row.pulls, row.in_flight) == (4, 2)
    assert row.estimate == pytest.approx(0.75, abs=1e-5)
    assert row.index == pytest.approx(likely_share(0.75, math.log(7) / 6), abs=1e-5)


def test_an_arm_that_has_not_answered_is_at_its_lowest():
    policy = DCB(PROBLEM)
    policy.observe("wifi", capacity=2)
    policy.pulled("lte")
    lte = policy.explain(bits=4).arms[1]
    assert (lte.pulls, lte.in_flight, lte.estimate, lte.bonus) == (0, 1, None, None)
    assert lte.index == pytest.approx(4 * math.sqrt(2.01 * math.log(3)))
    policy.observe("lte", capacity=4)
    lte = policy.explain(bits=4).arms[1]
    assert (lte.pulls, lte.estimate) == (1, 4.0)


@pytest.mark.parametrize("kind", COUNTING)
def test_an_arm_that_never_answers_is_not_chosen_for_ever(kind):
    policy = kind(PROBLEM)
    asked = 0
    for _ in range(400):
        arm = policy.choose(bits=4)
        policy.pulled(arm, bits=4)
        asked += arm == "wifi"
        if arm != "wifi":
            policy.observe(arm, bits=4, capacity={"lte": 2, "5g": 4}[arm])
    assert asked < 150


def test_per_context_only_the_own_context_counts():
    policy = MultiUCB(PROBLEM)
    policy.pulled("wifi", bits=1)
    assert policy.choose(bits=4) == "wifi"
    assert policy.choose(bits=1) == "lte"
    with pytest.raises(InputError, match="'bits' is missing"):
        policy.pulled("wifi")


def test_giving_up_an_arm_that_has_answered_is_as_if_it_had_not_been_pulled():
    policy = taught()
    for _ in range(9):
        policy.pulled("wifi")
        policy.gave_up("wifi")
        policy.gave_up("wifi")  # none is in flight
        assert policy.explain(bits=4) == taught().explain(bits=4)
    assert [row.given_up for row in policy.stats().arms if row.arm == "wifi"] == [9]


@pytest.mark.parametrize("kind", COUNTING)
def test_an_answer_after_its_time_out_and_then_another_time_out_are_taken(kind):
    policy, other = kind(PROBLEM), kind(PROBLEM)
    policy.pulled("wifi", bits=4)
    policy.pulled("wifi", bits=4)
    policy.gave_up("wifi", bits=4)  # the first times out
    policy.observe("wifi", bits=4, capacity=2)  # and answers after all
    policy.gave_up("wifi", bits=4)  # so does the second
    other.observe("wifi", bits=4, capacity=2)
    assert policy.explain(bits=4) == other.explain(bits=4)


def test_giving_up_what_another_process_announced_changes_nothing():
    policy = taught()
    policy.pulled("wifi")
    loaded = DCB.from_bytes(policy.to_bytes())
    loaded.gave_up("wifi", bits=4)
    assert loaded.explain(bits=4) == taught().explain(bits=4)
    with pytest.raises(UnknownArm):
        loaded.gave_up("satellite")
    with pytest.raises(InputError):
        loaded.gave_up("wifi", bits=9)


def test_what_was_not_announced_lands_as_usual():
    policy, other = taught(), taught()
    for told in (policy, other):
        told.observe("5g", capacity=4)
    policy.pulled("wifi")
    other.pulled("wifi")
    policy.observe("lte", capacity=2)
    other.observe("lte", capacity=2)
    assert policy.explain(bits=4) == other.explain(bits=4)
    row = policy.explain(bits=4).arms[0]
    assert (row.pulls, row.in_flight) == (1, 1)


@pytest.mark.parametrize("kind", BOOKS)
def test_requests_in_flight_are_not_saved_sent_or_merged(kind):
    policy, fresh = taught(kind), taught(kind)
    policy.pulled("wifi")
    assert policy.to_bytes() == fresh.to_bytes()
    loaded = kind.from_bytes(policy.to_bytes())
    assert loaded.explain(bits=4) == fresh.explain(bits=4)
    assert pickle.loads(pickle.dumps(policy)).explain(bits=4) == fresh.explain(bits=4)  # noqa: S301 - our own
    one, two = kind(PROBLEM), kind(PROBLEM)
    one.pulled("wifi")
    two.pulled("lte")
    two.observe("5g", capacity=2)
    one.merge(two)
    rows = one.explain(bits=4).arms
    assert [(row.pulls, row.in_flight) for row in rows] == [(0, 1), (0, 0), (1, 0)]


@pytest.mark.parametrize("kind", BOOKS)
def test_a_refused_batch_leaves_them_in_flight(kind):
    policy = taught(kind)
    policy.pulled("wifi")
    before = policy.explain(bits=4)
    with pytest.raises(InputError):
        policy.observe_many(["wifi", "wifi"], capacity=[2, 3])
    assert policy.explain(bits=4) == before


@pytest.mark.parametrize("kind", BOOKS)
def test_arms_come_and_go_with_their_pulls(kind):
    policy = taught(kind)
    policy.pulled("wifi")
    policy.pulled("lte")
    policy.add_arm("satellite")
    policy.remove_arm("wifi")
    rows = policy.explain(bits=4).arms
    assert [(row.pulls, row.in_flight) for row in rows] == [(1, 1), (1, 0), (0, 0)]
    assert policy.explain(bits=4).trial == 5  # three observed, one in flight
    with pytest.raises(UnknownArm):
        policy.gave_up("wifi")


def test_a_phase_forgets_them():
    policy = DoublingCCB(
        Problem(
            arms=["a", "b"],
            context={"y": Interval(0, 1)},
            state={"x": Interval(0, 1)},
            reward="x * y",
        )
    )
    policy.pulled("a", y=0.5)
    assert policy.choose(y=0.5) == "b"
    policy.observe_many(["b", "b"], x=[0.5, 0.5])
    assert policy.choose(y=0.5) == "a"


def test_a_policy_without_such_a_count_takes_no_notice():
    policy = LinUCB(PROBLEM)
    before = policy.explain(bits=4)
    policy.pulled("wifi", bits=4)
    assert policy.explain(bits=4) == before
    with pytest.raises(InputError):
        policy.pulled("wifi", bits=9)


@pytest.mark.parametrize("arms", [3, 200])
def test_statistics_count_pulls_in_flight(arms):
    statistics = ArmStatistics.empty(arms=arms, features=1)
    statistics.update(0, [2.0])
    statistics.expect(0, 3)
    assert (statistics.counts[0], statistics.pulls[0]) == (4, 1)
    assert statistics.roots[0] == 0.5
    assert (statistics.trial, statistics.trials) == (5, 1)
    statistics.update(0, [4.0])
    assert (statistics.counts[0], statistics.roots[0], statistics.waiting) == (4, 0.5, 2)
    assert statistics.means[0][0] == 3.0
    statistics.expect(0, -5)
    assert (statistics.counts, statistics.waiting) == (statistics.pulls, 0)
    assert statistics.roots[0] == 1 / math.sqrt(2)
