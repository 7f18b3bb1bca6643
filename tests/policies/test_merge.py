"""Merging: what two policies saw, as if one had seen it all."""

from __future__ import annotations

import numpy as np
import pytest
from problems import channels, coded, harvesting, offloading

from onepull import CCB, DCB, UCB1, DoublingCCB, Greedy, MergeError, MultiUCB, Reward
from onepull.testing.random_data import observations

BUILD = {
    "DCB": (DCB, offloading),
    "UCB1": (UCB1, channels),
    "MultiUCB": (MultiUCB, channels),
    "CCB": (lambda problem: CCB(problem, delta=0.01), harvesting),
    "Greedy": (Greedy, coded),
}


def taught(build, problem, pulls):
    policy = build(problem)
    for pull in pulls:
        policy.observe(**pull)
    return policy


def rows(policy):
    generator = np.random.default_rng(1)
    contexts = [
        policy.problem.context.among(pull) for pull in observations(policy.problem, 20, generator)
    ]
    return [
        (row.pulls, row.index)
        for context in contexts
        for row in sorted(policy.explain(**context).arms, key=lambda row: row.arm)
    ]


@pytest.mark.parametrize(("build", "problem"), BUILD.values(), ids=BUILD)
def test_merging_in_any_grouping_is_seeing_everything(build, problem):
    problem = problem()
    pulls = observations(problem, 200, np.random.default_rng(2))
    whole = taught(build, problem, pulls)
    one, two, three = (taught(build, problem, pulls[i::3]) for i in range(3))
    two.merge(three)
    one.merge(two)
    other = taught(build, problem, pulls[1::3])
    other.merge(taught(build, problem, pulls[::3]))
    other.merge(three)
    for merged in (one, other):
        assert merged.trials == 200
        for found, expected in zip(rows(merged), rows(whole), strict=True):
            assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_arms_are_matched_by_name():
    one, two = DCB(channels(3)), DCB(channels().with_arms(["channel-3", "channel-1", "channel-2"]))
    two.observe("channel-3", capacity=5)
    one.merge(two)
    assert [row.pulls for row in one.explain(bits=1).arms] == [0, 0, 1]


def test_a_doubling_policy_merges_within_a_phase_and_moves_on():
    one, two = DoublingCCB(harvesting()), DoublingCCB(harvesting())
    one.observe("channel-1", gain=1)
    two.observe("channel-2", gain=1)
    one.merge(two)
    assert (one.phase, one.trials) == (2, 0)
    with pytest.raises(MergeError, match="phases 2 and 1 use different grids"):
        one.merge(two)


def refused():
    problem = channels()
    other = Reward("min(bits, capacity)", high=4)
    yield DCB(problem), UCB1(problem), "UCB1 cannot be merged into DCB"
    yield DCB(problem), DCB(channels(4)), "the arms differ: channel-5, channel-6, channel-7"
    yield DCB(channels(3)), DCB(offloading()), "the arms differ"
    yield DCB(problem), DCB(problem, epsilon=0.5), "the parameters differ: .*0.01.*0.5"
    declared = type(problem)(
        arms=problem.arms, context=problem.context, state=problem.state, reward=other
    )
    yield DCB(problem), DCB(declared), "the problems differ in context, state, reward or attributes"
    grids = [CCB(harvesting(), delta=d) for d in (0.1, 0.2)]
    yield *grids, "the parameters differ"
    lone = DCB(problem)
    yield lone, lone, "cannot be merged with itself"


@pytest.mark.parametrize(("one", "two", "said"), list(refused()))
def test_what_was_learned_otherwise_cannot_be_merged(one, two, said):
    before = one.to_bytes(), two.to_bytes()
    with pytest.raises(MergeError, match=said):
        one.merge(two)
    assert (one.to_bytes(), two.to_bytes()) == before
