"""A copy of a policy is independent, and the same as one from a save file."""

from __future__ import annotations

from contextlib import suppress

import pytest
from policy_cases import CASES, one_each
from problems import channels
from taught import taught

from onepull import UCB1, OnepullError, Policy


def change(policy, problem):
    """Learn, and change the arms and the controls where the policy allows it."""
    taught(policy, 5, problem, seed=5)
    known = problem.attributes.get(problem.arms[0], {})
    with suppress(OnepullError):
        policy.add_arm("added-arm", **known)
    with suppress(OnepullError):
        policy.remove_arm(problem.arms[-1])
    policy.share(problem.arms[0], least=0.5)


@pytest.mark.parametrize("name", one_each())
def test_what_a_copy_does_changes_the_copy_alone(name):
    build, made = CASES[name]
    problem = made()
    policy = taught(build(problem), 30, problem, seed=5)
    text = policy.to_bytes()
    copied, loaded = policy.copy(), Policy.from_bytes(text, problem=problem)
    assert copied.to_bytes() == text
    change(copied, problem)
    change(loaded, problem)
    assert copied.to_bytes() == loaded.to_bytes() != text
    assert policy.to_bytes() == text


class Noting(UCB1):
    """Keeps something for each arm."""

    def __init__(self, problem):
        super().__init__(problem)
        self.notes = [0] * len(problem.arms)

    def add_arm(self, arm, /, **attributes):
        super().add_arm(arm, **attributes)
        self.notes.append(0)


def test_what_a_class_of_ones_own_keeps_is_copied():
    policy = Noting(channels(3))
    copied = policy.copy()
    assert isinstance(copied, Noting)
    copied.add_arm("wifi")
    assert (copied.notes, policy.notes) == ([0] * 4, [0] * 3)


def test_a_copy_of_a_member_of_a_fleet_is_told_apart():
    policy = UCB1(channels(3))
    policy.join("host-1")
    copied = policy.copy()
    copied.observe("channel-1", bits=1, capacity=1)
    assert (copied.versions, policy.versions) == ({"host-1": 1}, {})
