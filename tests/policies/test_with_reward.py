"""Another reward after the fact: everything learned is kept, or it is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from onepull import (
    CCB,
    DCB,
    DSEE,
    KLUCB,
    UCB1,
    DiscountedKL,
    DoublingCCB,
    EmpiricalKL,
    EpsilonGreedy,
    Finite,
    Interval,
    MultiUCB,
    ParameterError,
    Policy,
    Problem,
    ProblemError,
    SlidingWindowKL,
    UpperConfidence,
)

ARMS = ["near", "far", "roof"]
OLD = "min(bits, capacity)"
NEW = ["capacity >= bits", "-abs(bits - capacity)", "0.2 * bits * capacity - 1"]


def listed(reward=OLD):
    return Problem(
        arms=ARMS,
        context={"bits": Interval(0, 5)},
        state={"capacity": Finite([0, 1, 2.5, 4])},
        reward=reward,
    )


def continuous(reward=OLD):
    return Problem(
        arms=ARMS,
        context={"bits": Finite([1, 2, 4])},
        state={"capacity": Interval(0, 4)},
        reward=reward,
    )


KEEPERS: dict[str, tuple[Any, Any]] = {
    "histogram": (listed, lambda p, **k: UpperConfidence(p, sharing="histogram", alpha=0.7, **k)),
    "sketch": (continuous, lambda p, **k: UpperConfidence(p, sharing="sketch(9)", **k)),
    "sketch, listed": (listed, lambda p, **k: UpperConfidence(p, sharing="sketch", **k)),
    "ε-greedy": (listed, lambda p: EpsilonGreedy(p, sharing="histogram", c=0.3, seed=5)),
    "DSEE": (listed, lambda p, **k: DSEE(p, sharing="histogram", weight=2, **k)),
    "discounted": (listed, lambda p, **k: DiscountedKL(p, discount=0.95, **k)),
    "window": (continuous, lambda p, **k: SlidingWindowKL(p, window=50, knots=9, **k)),
    "kl-UCB": (continuous, lambda p, **k: KLUCB(p, sharing="sketch(17)", **k)),
}


def taught(policy, problem, seed=1, count=120):
    """Return the policy after random pulls."""
    generator = np.random.default_rng(seed)
    space = problem.state["capacity"]
    policy.observe_many(
        generator.choice(np.array(ARMS, object), count).tolist(),
        capacity=generator.choice(space.values, count)
        if isinstance(space, Finite)
        else generator.uniform(0, 4, count),
    )
    return policy


def told(policy):
    """Return all that a policy says of a few contexts."""
    return [policy.explain(bits=bits) for bits in (1, 2, 4)]


@pytest.mark.parametrize("reward", NEW)
@pytest.mark.parametrize("name", KEEPERS)
def test_it_is_as_if_the_reward_had_been_so_from_the_start(name, reward):
    make, build = KEEPERS[name]
    changed = taught(build(make()), make()).with_reward(reward, error=9)
    always = taught(build(make(reward)), make())
    assert type(changed) is type(always)
    assert changed.problem == always.problem
    assert changed.parameters == always.parameters
    assert changed.trials == 120
    assert told(changed) == told(always)
    assert changed.to_bytes() == always.to_bytes()


@pytest.mark.parametrize("name", KEEPERS)
def test_the_old_policy_stays_as_it_was(name):
    make, build = KEEPERS[name]
    policy = taught(build(make()), make())
    before = policy.to_bytes()
    changed = policy.with_reward(NEW[0], error=1)
    taught(changed, make(), seed=2)
    assert policy.to_bytes() == before
    assert changed.trials == 240


def test_there_and_back_changes_nothing():
    policy = taught(UpperConfidence(listed(), sharing="histogram"), listed())
    again = policy.with_reward(NEW[1]).with_reward(OLD)
    assert again.to_bytes() == policy.to_bytes()


def test_an_estimate_is_the_mean_of_the_new_rewards():
    policy = UpperConfidence(listed(), sharing="histogram")
    seen = [0, 2.5, 2.5, 4, 1]
    policy.observe_many(["far"] * 5, capacity=seen)
    changed = policy.with_reward("-abs(bits - capacity)")
    for bits in (0, 1.3, 5):
        expected = -np.mean([abs(bits - x) for x in seen])
        assert changed.explain(bits=bits).arms[1].estimate == pytest.approx(expected, abs=1e-14)


def test_a_sketch_states_the_error_of_the_new_reward():
    policy = UpperConfidence(continuous(), sharing="sketch(9)")
    assert policy.sharing.error == 0.25
    changed = policy.with_reward("4 * capacity * bits", error=4)
    assert changed.sharing.error == pytest.approx(4)


ENDPOINTS = Problem(
    arms=["alpha", "beta"],
    context={"tokens": Finite([100, 400])},
    state={"ttft": Interval(0, 4), "tpot": Interval(0, 0.1)},
    reward="-(ttft + tokens * tpot)",
)
DEADLINE = "ttft + tokens * tpot <= 8"


def estimates_and_means(policy, reward, **options):
    """Return the estimates of another reward, and the means of that reward."""
    generator = np.random.default_rng(3)
    ttft, tpot = generator.normal(2, 0.03, 400), generator.normal(0.015, 3e-4, 400)
    policy.observe_many(["alpha"] * 400, ttft=ttft, tpot=tpot)
    changed = policy.with_reward(reward, **options)
    vector = changed.problem.payoff.vector
    means = [np.mean(vector(tokens, ttft, tpot)) for tokens in (100, 400)]
    return [changed.estimates(tokens=tokens)[0] for tokens in (100, 400)], means


def test_a_sketch_does_not_become_a_deadline_in_silence():
    policy = EmpiricalKL(ENDPOINTS, knots=9)
    said = (
        r"may be off by up to 1, where the reward goes from 0 to 1, since states are sketched on "
        r"knots.*Pass error=1 to accept"
    )
    with pytest.raises(ParameterError, match=said):
        estimates_and_means(policy, DEADLINE)
    found, means = estimates_and_means(EmpiricalKL(ENDPOINTS, knots=9), DEADLINE, error=1)
    assert 0.1 < np.max(np.abs(np.subtract(found, means))) <= 1  # it would have been off


@pytest.mark.parametrize(
    "reward", ["ttft + 2 * tokens * tpot", "3 - ttft", "tokens * ttft * tpot - sqrt(tokens)"]
)
def test_a_sketch_is_exact_for_what_is_linear_in_each_number(reward):
    found, means = estimates_and_means(EmpiricalKL(ENDPOINTS, knots=9), reward)
    assert found == pytest.approx(means, rel=1e-9)


def test_a_sketch_refuses_a_reward_that_bends():
    reward = "-max(ttft, tokens * tpot)"
    with pytest.raises(ParameterError, match="may be off by up to") as told:
        EmpiricalKL(ENDPOINTS, knots=9).with_reward(reward)
    error = float(re.findall(r"error=([\d.]+)", str(told.value))[0])
    found, means = estimates_and_means(EmpiricalKL(ENDPOINTS, knots=9), reward, error=error)
    assert np.max(np.abs(np.subtract(found, means))) <= error


def test_a_sketch_is_as_good_for_a_multiple_of_its_reward():
    bent = EmpiricalKL(ENDPOINTS.with_reward("-max(ttft, tokens * tpot)"), knots=9)
    other = bent.with_reward("5 * tokens - 2 * max(ttft, tokens * tpot)")
    assert other.sharing.error == pytest.approx(2 * bent.sharing.error)


def test_a_sketch_takes_an_attribute_only_exactly_or_with_its_error():
    priced = Problem(
        arms={"a": {"price": 1}, "b": {"price": 2}},
        state={"delay": Interval(0, 8)},
        reward="(delay <= 4 + price) - 0.1 * price",
    )
    policy = EmpiricalKL(priced, knots=5)
    policy.observe_many(["a", "b"], delay=[1.5, 7])
    before = policy.to_bytes()
    with pytest.raises(ParameterError, match=r"sketched on knots.*Pass error="):
        policy.set_attributes("a", price=3)
    assert policy.to_bytes() == before
    policy.set_attributes("a", price=3, error=5)
    linear = EmpiricalKL(priced.with_reward("-delay - price"), knots=5)
    linear.observe_many(["a", "b"], delay=[1.5, 7])
    linear.set_attributes("a", price=3)
    assert linear.estimates() == pytest.approx([-4.5, -9])


@pytest.mark.parametrize("error", [-1, float("nan"), "small"])
def test_an_error_that_cannot_be_is_refused(error):
    with pytest.raises(ParameterError, match="error must be a number >= 0"):
        UpperConfidence(listed(), sharing="histogram").with_reward(OLD, error=error)


def test_a_reward_in_code_will_do():
    policy = taught(UpperConfidence(listed(), sharing="histogram"), listed())
    finite = Problem(arms=ARMS, context={"bits": Finite([1, 2])}, state=listed().state, reward=OLD)
    policy = taught(UpperConfidence(finite, sharing="histogram"), finite)
    changed = policy.with_reward(lambda bits, capacity: float(capacity >= bits))
    written = policy.with_reward("capacity >= bits")
    assert [changed.explain(bits=b).arms for b in (1, 2)] == [
        written.explain(bits=b).arms for b in (1, 2)
    ]


def test_it_is_saved_loaded_and_merged(tmp_path):
    one = taught(UpperConfidence(listed(), sharing="histogram"), listed()).with_reward(NEW[0])
    one.save(tmp_path / "policy.json")
    loaded = Policy.load(tmp_path / "policy.json")
    assert told(loaded) == told(one)
    assert str(loaded.problem.reward.source) == NEW[0]
    two = taught(UpperConfidence(listed(NEW[0]), sharing="histogram"), listed(), seed=3)
    loaded.merge(two)
    assert loaded.trials == 240
    both = taught(taught(UpperConfidence(listed(NEW[0]), sharing="histogram"), listed()),
                  listed(), seed=3)  # fmt: skip
    for mine, theirs in zip(told(loaded), told(both), strict=True):
        assert [row.estimate for row in mine.arms] == pytest.approx(
            [row.estimate for row in theirs.arms], rel=1e-12
        )


def test_arms_that_came_and_went_are_those_of_the_new_policy():
    policy = UpperConfidence(listed(), sharing="histogram")
    policy.observe_many(["near", "roof"], capacity=[1, 4])
    policy.add_arm("cellar")
    policy.remove_arm("near")
    changed = policy.with_reward(NEW[0])
    assert changed.problem.arms == ("far", "roof", "cellar")
    assert [row.pulls for row in changed.explain(bits=1).arms] == [0, 1, 0]


def test_a_fresh_policy_stays_fresh():
    assert UpperConfidence(listed(), sharing="histogram").with_reward(NEW[0]).is_fresh


REFUSED = {
    "DCB": lambda: DCB(continuous()),
    "CCB": lambda: CCB(listed(), delta=0.5),
    "DoublingCCB": lambda: DoublingCCB(listed()),
    "MultiUCB": lambda: MultiUCB(continuous()),
    "UCB1": lambda: UCB1(continuous()),
    "UpperConfidence": lambda: UpperConfidence(continuous(), sharing="low-rank(0.01)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_keeps_rewards_is_refused(name):
    with pytest.raises(ParameterError, match=f"{name} stores rewards, not states.*histogram or a"):
        REFUSED[name]().with_reward(NEW[0])


def test_a_reward_that_does_not_fit_is_refused():
    policy = taught(UpperConfidence(listed(), sharing="histogram"), listed())
    before = policy.to_bytes()
    with pytest.raises(ProblemError):
        policy.with_reward("bits * speed")
    assert policy.to_bytes() == before
