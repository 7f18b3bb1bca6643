"""Attributes and the reward of a failure change after states were merged: well, or not at all."""

import numpy as np
import pytest

from onepull import AdaptiveKL, CoarseKL, EmpiricalKL, Finite, Interval, ParameterError, Policy
from onepull import Problem as Described


def problem(reward, **parts):
    return Described(
        arms={"a": {"fine": 0, "price": 1}, "b": {"fine": 0, "price": 2}},
        state={"delay": Interval(0, 1)},
        reward=reward,
        **parts,
    )


# What is seen of `delay` at first is 0, so all states are alike and merged.
HIDDEN = problem("fine * (floor(50 * delay) % 2) - price")
DELAYS = np.random.default_rng(3).random((2, 3000))


def merged(told=HIDDEN):
    policy = AdaptiveKL(told)
    for pair in DELAYS.T.tolist():
        for arm, delay in zip("ab", pair, strict=True):
            policy.observe(arm, delay=delay)
    assert max(policy.memory.kept) < 600
    return policy


def test_an_attribute_is_exact_until_states_are_merged():
    policy = AdaptiveKL(HIDDEN, kept=512)
    policy.observe_many(["a"] * 400 + ["b"] * 400, delay=DELAYS[:, :400].ravel())
    policy.set_attributes("a", fine=1)
    expected = np.mean(np.floor(50 * DELAYS[0, :400]) % 2) - 1
    assert policy.estimates() == pytest.approx([expected, -2], abs=1e-12)


def test_an_attribute_that_merged_states_do_not_tell_is_refused():
    policy = merged()
    before = policy.to_bytes()
    with pytest.raises(ParameterError, match=r"may be off by [\d.]+, where chance .*Pass error="):
        policy.set_attributes("a", fine=1)
    assert policy.to_bytes() == before
    assert policy.problem.attributes["a"]["fine"] == 0
    policy.set_attributes("a", fine=1, error=1)
    assert policy.estimates()[0] == pytest.approx(-0.5, abs=0.2)


def test_an_attribute_that_merging_does_not_disturb_changes():
    policy = merged()
    policy.set_attributes("a", price=5)
    assert policy.estimates() == pytest.approx([-5, -2])


def test_only_the_arm_that_changes_is_asked():
    policy = merged()
    policy.set_attributes("a", fine=1, error=1)
    policy.set_attributes("b", price=7)
    assert policy.estimates()[1] == pytest.approx(-7)


@pytest.mark.parametrize("error", [-1, float("nan"), "much", True])
def test_an_error_that_cannot_be_accepted(error):
    policy = AdaptiveKL(HIDDEN)
    with pytest.raises(ParameterError, match="error must be a number >= 0"):
        policy.set_attributes("a", price=5, error=error)


def test_a_file_is_loaded_with_other_attributes_only_if_they_can_be_computed():
    saved = merged().to_bytes()
    other = HIDDEN.with_arms({"a": {"fine": 1, "price": 1}, "b": {"fine": 0, "price": 2}})
    with pytest.raises(ValueError, match="Pass error="):
        Policy.from_bytes(saved, problem=other)
    assert Policy.from_bytes(saved, problem=other, error=1).problem == other


FAILING = {
    AdaptiveKL: problem("-delay - price", failure=-9),
    EmpiricalKL: problem("-delay - price", failure=-9).with_spaces(state={"delay": Finite([0, 1])}),
    CoarseKL: problem("-delay - price", failure=-9).with_spaces(state={"delay": Finite([0, 1])}),
}


@pytest.mark.parametrize("kind", FAILING, ids=lambda kind: kind.__name__)
def test_another_reward_of_a_failure(kind):
    policy = kind(FAILING[kind])
    policy.observe("a", delay=1)
    policy.observe("a", failed=True)
    policy.observe("b", failed=True)
    same = policy.with_reward("-2 * delay - price")
    other = policy.with_reward("-2 * delay - price", failure="-4 - price")
    if kind is not CoarseKL:  # which has bounds only
        assert same.estimates() == pytest.approx([-6, -9])
        assert other.estimates() == pytest.approx([-4, -6])
    assert (same.problem.failure, other.problem.failure) == (-9, "-4 - price")


def test_pulls_that_cannot_fail_get_no_reward_of_a_failure():
    policy = AdaptiveKL(HIDDEN)
    with pytest.raises(ParameterError, match=r"failure=-1 was given, but pulls .* do not fail"):
        policy.with_reward("delay", failure=-1)
