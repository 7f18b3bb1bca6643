"""Histories: what is kept, weighed, merged, saved and refused."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from problems import channels, offloading
from taught import taught

from onepull import ILTCB, RandomizedUCB, SaveFileError
from onepull.policies import savefile
from onepull.testing.random_data import observations


def test_estimates_are_rewards_weighed_by_inverse_probability():
    policy = ILTCB(channels(3), seed=1)
    pulls, chances = observations(policy.problem, 40, np.random.default_rng(2)), []
    for pull in pulls:
        rows = {row.arm: row.chance for row in policy.explain(bits=pull["bits"]).arms}
        chances.append(rows[pull["arm"]])
        policy.observe(**pull)
    for bits in (1, 2, 3, 4):
        here = [(p, c) for p, c in zip(pulls, chances, strict=True) if p["bits"] == bits]
        for row in policy.explain(bits=bits).arms:
            # min(bits, capacity) ranges from 0 to 4, so that no shift comes in.
            total = sum(min(bits, p["capacity"]) / c for p, c in here if p["arm"] == row.arm)
            assert row.index == pytest.approx(total / len(here))
            assert row.pulls == sum(p["arm"] == row.arm for p, _ in here)


def test_every_pull_is_kept():
    policy = taught(RandomizedUCB(offloading()), 30)
    assert policy.storage == policy.storage_after(30) == 30 * (2 + 3)
    assert policy.storage_after(1000) == 5000


def test_a_removed_arm_leaves_the_contexts_it_was_pulled_in():
    policy = taught(ILTCB(channels(3)), 50)
    pulls = {row.arm: row.pulls for row in policy.explain(bits=2).arms}
    policy.remove_arm("channel-2")
    assert policy.trials == 50
    assert policy._knowledge.visits.sum() == 50
    rows = policy.explain(bits=2).arms
    assert {row.arm: row.pulls for row in rows} == {
        arm: count for arm, count in pulls.items() if arm != "channel-2"
    }
    assert ILTCB.from_bytes(policy.to_bytes()).to_bytes() == policy.to_bytes()


def test_merging_puts_one_history_after_the_other_and_matches_arms_by_name():
    one = taught(ILTCB(channels(3)), 20)
    two = taught(ILTCB(channels().with_arms(["channel-3", "channel-1", "channel-2"])), 30, seed=4)
    before = one._knowledge.sums.copy()
    one.merge(two)
    assert one.trials == 50
    added = two._knowledge.sums[:, [1, 2, 0]]
    np.testing.assert_allclose(one._knowledge.sums, before + added)
    assert one._knowledge.solved == 50  # the weights are of all of them


def damaged(policy, change):
    saved = savefile.decode(policy.to_bytes(), "policy")
    change(saved.learned)
    return savefile.encode(saved)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda learned: learned["history"]["arms"].pop(), "differ in length"),
        (lambda learned: learned["history"]["arms"].__setitem__(0, 3), "unknown arm number 3"),
        (
            lambda learned: learned["history"]["arms"].__setitem__(0, -1),
            "Expected `int` >= 0 - at `..arms",
        ),
        (
            lambda learned: learned["history"]["rewards"].__setitem__(0, 1.5),
            "Expected `float` <= 1.0 - at `..rewards",
        ),
        (
            lambda learned: learned["history"]["probabilities"].__setitem__(0, 0),
            "Expected `float` >= ",
        ),
        (lambda learned: learned["history"]["contexts"].__setitem__(0, [9]), "context"),
        (lambda learned: learned["history"]["contexts"].__setitem__(0, [1, 2]), "context"),
        (lambda learned: learned["history"].__setitem__("more", 1), "pulls are invalid: .*more"),
        (lambda learned: learned.pop("mixture"), "pulls and weights are invalid"),
        (lambda learned: learned["mixture"]["weights"].__setitem__(0, -1), "weight"),
        (lambda learned: learned["mixture"]["weights"].append(1), "do not fit"),
        (lambda learned: learned["mixture"]["maps"][0].__setitem__(0, 3), "do not fit"),
        (
            lambda learned: learned.__setitem__("solution", -1),
            "weights are invalid: Expected `int` >= 0",
        ),
        (
            lambda learned: learned.__setitem__("solution", "x"),
            "weights are invalid: Expected `int`",
        ),
        (lambda learned: learned.__setitem__("solution", 11), "after the last one, 10"),
    ],
)
def test_a_history_that_cannot_be_is_refused(change, error):
    policy = taught(ILTCB(channels(3)), 10)
    with pytest.raises(SaveFileError, match=error):
        ILTCB.from_bytes(damaged(policy, change))


def test_prices_that_cannot_be_are_refused():
    policy = taught(RandomizedUCB(channels(3)), 10)
    for bad in (3, {"maps": [[0]], "weights": [1.0]}):
        with pytest.raises(SaveFileError, match=r"prices|do not fit"):
            RandomizedUCB.from_bytes(
                damaged(policy, lambda learned, bad=bad: learned.__setitem__("solution", bad))
            )
    assert msgspec.json.decode(policy.to_bytes())["saved"]["learned"]["solution"]["maps"] == []
