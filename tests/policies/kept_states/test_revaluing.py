"""Attributes and the reward of a failure change after states were merged: well, or not at all."""

import re
from copy import deepcopy
from functools import cache

import msgspec
import numpy as np
import pytest

from onepull import (
    AdaptiveKL,
    CoarseKL,
    EmpiricalKL,
    Finite,
    Interval,
    ParameterError,
    Policy,
    Reward,
    SaveFileError,
)
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
    return deepcopy(_merged(told))


@cache
def _merged(told):
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


PRICED = Described(
    arms={"a": {"price": 1}, "b": {"price": 2}},
    context={"tokens": Interval(1, 9)},
    state={"delay": Interval(0, np.inf), "words": Interval(0, np.inf)},
    reward="-delay - price * tokens",
    failure="-9 - price",
)


def learned(told, seed=1, swing=0.0):
    """Return a policy and what it has seen of each arm: rows of delay, words, failed."""
    return deepcopy(_learned(told, seed, swing))


@cache
def _learned(told, seed, swing, pulls=4000):
    policy, rng = AdaptiveKL(told), np.random.default_rng(seed)
    seen: dict[str, list[tuple[float, float, bool]]] = {"a": [], "b": []}
    for n in range(pulls):
        for arm in "ab":
            delay, words = rng.exponential(1.0, 2).tolist()
            delay += swing * (n // 300 % 2)
            failed = rng.random() < 0.1
            seen[arm].append((delay, words, failed))
            state = {"failed": True} if failed else {"delay": delay, "words": words}
            policy.observe(arm, tokens=2, **state)
    assert max(policy.memory.kept) < 600
    return policy, {arm: np.array(rows) for arm, rows in seen.items()}


@pytest.mark.parametrize(
    "reward",
    [
        "-delay - price * tokens",
        "-(delay + tokens * words) - log(price)",
        "(delay <= tokens) - price",
        "-delay - words if price > 100 else -delay - 2 * price",
    ],
)
def test_what_adds_the_same_to_all_states_is_exact_after_merging(reward):
    policy, seen = learned(PRICED.with_reward(reward))
    before = policy.estimates(tokens=3)
    policy.set_attributes("a", price=7)
    works = 1 - seen["a"][:, 2].mean()
    value = policy.problem.payoff.scalar
    shift = value(3, 7, 1, 1, 0) - value(3, 1, 1, 1, 0)
    assert policy.estimates(tokens=3) == pytest.approx(
        [before[0] + works * shift - (1 - works) * 6, before[1]], abs=1e-9
    )


def test_what_multiplies_all_states_is_exact_after_merging():
    policy, _ = learned(PRICED.with_reward("-price * (delay + tokens * words)", failure=0))
    before = policy.estimates(tokens=3)
    policy.set_attributes("b", price=5)
    assert policy.estimates(tokens=3) == pytest.approx([before[0], 2.5 * before[1]])


@pytest.mark.parametrize("reward", ["-delay - price * words", "-(delay > price)"])
def test_what_merged_states_do_not_tell_is_refused_with_an_error_that_is_kept(reward):
    policy, seen = learned(PRICED.with_reward(reward))
    before = policy.to_bytes()
    with pytest.raises(ParameterError, match=r"may be off by") as told:
        policy.set_attributes("a", price=0.5)
    assert policy.to_bytes() == before
    error = float(re.findall(r"error=([\d.e-]+)", str(told.value))[0])
    with pytest.raises(ParameterError, match="may be off by"):
        policy.set_attributes("a", price=0.5, error=0.9 * error)
    policy.set_attributes("a", price=0.5, error=error)
    exact = policy.problem.payoff.vector(3, 0.5, *seen["a"].T).mean()
    assert abs(policy.estimates(tokens=3)[0] - exact) < 2 * error


def test_equal_states_are_merged_without_loss():
    told = PRICED.with_spaces(state={"delay": Finite(range(9)), "words": Finite([0, 1])})
    policy, rng = AdaptiveKL(told), np.random.default_rng(0)
    delays, words = rng.integers(0, 9, 2000), rng.integers(0, 2, 2000)
    for delay, word in zip(delays.tolist(), words.tolist(), strict=True):
        policy.observe("a", delay=delay, words=word)
    assert not policy.memory.blurred.any()
    other = policy.with_reward("-(delay > 4) * words - price * tokens")
    exact = -np.mean((delays > 4) * words) - 3
    assert other.estimates(tokens=3)[0] == pytest.approx(exact)


def test_what_is_believed_about_change_survives_a_price():
    policy, _ = learned(PRICED, swing=5.0)
    assert policy.half_life < np.inf
    before, life = policy.estimates(tokens=1), policy.half_life
    policy.set_attributes("a", price=1.5)
    assert policy.half_life == life
    assert policy.estimates(tokens=1)[0] == pytest.approx(before[0] - 0.5, abs=1e-9)
    assert policy.estimates(tokens=1)[1] == pytest.approx(before[1], abs=1e-9)


def test_which_states_were_merged_is_saved_and_merged():
    policy, _ = learned(PRICED)
    assert policy.memory.blurred.tolist() == [[True, True, False]] * 2
    again = AdaptiveKL.from_bytes(policy.to_bytes())
    assert again.memory.blurred.tolist() == policy.memory.blurred.tolist()
    fresh = AdaptiveKL(PRICED)
    fresh.merge(policy)
    with pytest.raises(ParameterError, match="may be off by"):
        fresh.with_reward("-words")
    policy.add_arm("c", price=3)
    policy.remove_arm("a")
    assert policy.memory.blurred.tolist() == [[True, True, False], [False] * 3]


def test_a_file_that_does_not_say_which_states_were_merged_is_not_trusted():
    policy, _ = learned(PRICED)
    saved = {**msgspec.to_builtins(policy.memory.state()), "blurred": None}
    again = AdaptiveKL(PRICED)
    again.memory.restore(saved)
    assert again.memory.blurred.all()
    few = AdaptiveKL(PRICED)
    few.memory.restore({**msgspec.to_builtins(AdaptiveKL(PRICED).memory.state()), "blurred": None})
    assert not few.memory.blurred.any()
    with pytest.raises(SaveFileError, match="the saved blurs are not of 2 arms with 3 fields"):
        again.memory.restore({**saved, "blurred": [[True]]})


def test_the_error_that_is_said_holds_where_merged_states_differ_most():
    """States were merged by their delay, so their words are those of others; as of 12 seeds."""
    policy, seen = learned(PRICED.with_reward("-delay"))
    with pytest.raises(ParameterError, match=r"may be off by") as told:
        policy.with_reward("-words")
    error = float(re.findall(r"error=([\d.e-]+)", str(told.value))[0])
    other = policy.with_reward("-words", error=error)
    for arm, estimate in zip("ab", other.estimates(tokens=3), strict=True):
        exact = other.problem.payoff.vector(3, 1 + (arm == "b"), *seen[arm].T).mean()
        assert abs(estimate - exact) < 1.5 * error


@pytest.mark.parametrize("between", ["2 - tokens", "-words * delay"])
def test_the_error_that_is_said_holds_if_states_were_merged_by_an_earlier_reward(between):
    """For the reward between, states are alike that were not merged, and the others differ."""
    policy, seen = learned(PRICED.with_reward("-delay"))
    policy = policy.with_reward(between, error=100)
    policy = AdaptiveKL.from_bytes(policy.to_bytes())
    with pytest.raises(ParameterError, match=r"may be off by") as told:
        policy.with_reward("-(words > 1)")
    error = float(re.findall(r"error=([\d.e-]+)", str(told.value))[0])
    other = policy.with_reward("-(words > 1)", error=error)
    exact = [other.problem.payoff.vector(3, 1, *seen[arm].T).mean() for arm in "ab"]
    assert other.estimates(tokens=3) == pytest.approx(exact, abs=error)


def test_which_arms_were_merged_by_an_earlier_reward_is_kept():
    policy, _ = learned(PRICED)
    policy.set_attributes("a", price=7)  # states that were alike still are
    assert not policy.memory.merged_otherwise.any()
    policy = policy.with_reward("-words", error=100)
    fresh = AdaptiveKL(policy.problem)
    fresh.merge(policy)
    assert fresh.memory.merged_otherwise.tolist() == [True, True]
    policy.add_arm("c", price=3)
    policy.remove_arm("a")
    assert policy.memory.merged_otherwise.tolist() == [True, False]
    saved = msgspec.to_builtins(policy.memory.state())
    with pytest.raises(SaveFileError, match="the saved merges are not of 2 arms"):
        policy.memory.restore({**saved, "merged_otherwise": [True]})
    policy.memory.restore({**saved, "merged_otherwise": None})
    assert policy.memory.merged_otherwise.tolist() == [True, False]


def test_a_word_that_takes_the_number_of_another_is_a_change():
    """Both words have number 0 in their list, and what is written in Python cannot be compared."""

    def reward(delay, tier):
        return -delay if tier == "gold" else -delay * delay

    told = Described(
        arms={"a": {"tier": "gold"}},
        state={"delay": Interval(0, 1)},
        reward=Reward(reward, low=-1, high=0),
    )
    policy = AdaptiveKL(told, kept=64)
    policy.observe_many(["a"] * 3000, delay=DELAYS[0])
    with pytest.raises(ParameterError, match="may be off by"):
        policy.set_attributes("a", tier="plain")


def test_another_reward_of_merged_states_does_not_look_like_a_change():
    """With this seed the states that are left look like one, by chance."""
    one = Described(
        arms=["a"],
        context={"tokens": Interval(1, 9)},
        state={"delay": Interval(0, np.inf), "words": Interval(0, np.inf)},
        reward="-delay - words * tokens",
        failure=-9,
    )
    policy, rng = AdaptiveKL(one), np.random.default_rng(8)
    for _ in range(3000):
        delay, words = rng.exponential(1, 2).tolist()
        failed = rng.random() < 0.1
        policy.observe("a", **({"failed": True} if failed else {"delay": delay, "words": words}))
    assert policy.with_reward("-(delay > 2)", error=1).half_life == np.inf


def test_a_failure_is_never_merged_with_a_state():
    alike = problem("-delay", failure=-0.5)
    policy, rng = AdaptiveKL(alike), np.random.default_rng(2)
    failures = 0
    for delay in rng.normal(0.5, 1e-6, 4000).tolist():
        failed = rng.random() < 0.3
        failures += failed
        policy.observe("a", **({"failed": True} if failed else {"delay": delay}))
    kept = policy.memory.kept[0]
    of_failures = policy.memory.columns[-1, 0, :kept] * policy.memory.stands_for[0, :kept]
    assert of_failures.sum() == failures


ENDLESS = Described(arms=["a"], state={"delay": Interval(0, np.inf)}, reward="-delay")


def test_a_reward_that_overflows_for_a_state_that_was_seen_is_refused():
    policy = AdaptiveKL(ENDLESS)
    policy.observe("a", delay=1e150)
    before = policy.to_bytes()
    with pytest.raises(ParameterError, match=r"too large .* where delay is 1e\+150"):
        policy.with_reward("-delay * delay * delay")
    assert policy.to_bytes() == before
    assert policy.with_reward("-delay * 2").estimates() == [-2e150]


@pytest.mark.filterwarnings("error")
def test_a_factor_may_be_as_large_as_rewards_are():
    policy = AdaptiveKL(ENDLESS, kept=32)
    policy.observe_many(["a"] * 3000, delay=DELAYS[0])
    other = policy.with_reward("-1e250 * delay")
    again = AdaptiveKL.from_bytes(other.to_bytes())
    assert np.array(again.estimates()) / 1e250 == pytest.approx(policy.estimates())
