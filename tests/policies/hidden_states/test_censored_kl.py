"""Rewards that hide the state: the product-limit law, its bound, and what is refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from problems import channels, coded, mixed, offloading

from onepull import CensoredKL, Discrete, EmpiricalKL, Finite, Interval, Policy, Problem, Reward
from onepull.errors import ParameterError, RewardError, SaveFileError
from onepull.policies.hidden_states.levels import Levels
from onepull.policies.hidden_states.survival import limited_mean

VALUES = [0.0, 1.0, 2.5, 4.0]


def links(reward="min(bits, capacity)", bits=(1, 2, 4), capacity=(0, 1, 2, 4)):
    return Problem(
        arms=["a", "b"],
        context={"bits": Finite(bits)},
        state={"capacity": Finite(capacity)},
        reward=reward,
    )


def estimate(policy, arm="a", **context):
    (row,) = [row for row in policy.explain(**context).arms if row.arm == arm]
    return row.estimate


def index(policy, arm="a", **context):
    (row,) = [row for row in policy.explain(**context).arms if row.arm == arm]
    return row.index


def counts(generator, levels=4, pulls=12):
    """Return so many states that were seen, and that were at a level or beyond."""
    return generator.multinomial(pulls, [1 / 2 / levels] * 2 * levels).reshape(2, levels)


def law_of(exact, beyond):
    """Return the law that `limited_mean` takes the mean of, level by level."""
    size, pulls = len(exact), int(sum(exact) + sum(beyond))
    steps = [[float(k >= start) for k in range(size)] for start in range(size)]
    reached = [limited_mean(s, size, exact, beyond, pulls, 0.0, True) for s in steps]
    return -np.diff([*reached, 0.0])


# The estimate


def kaplan_meier(exact, beyond):
    """Return the chance of reaching each level, by the definition on a list of times.

    A state that is known to be k or more may be k, so it left before any was seen to be k.
    """
    seen = [k for k, many in enumerate(exact) for _ in range(many)]
    left = [k - 0.5 for k, many in enumerate(beyond) for _ in range(many)]
    reached = []
    for level in range(len(exact)):
        chance = 1.0
        for time in sorted(set(seen)):
            if time < level:
                chance *= 1 - seen.count(time) / sum(t >= time for t in seen + left)
        reached.append(chance)
    return reached


@pytest.mark.parametrize("seed", range(20))
def test_the_law_is_that_of_kaplan_and_meier(seed):
    exact, beyond = counts(np.random.default_rng(seed)).tolist()
    beyond[-1], exact[-1] = 0, exact[-1] + 1  # so that someone is at risk everywhere
    assert np.cumsum(law_of(exact, beyond)[::-1])[::-1] == pytest.approx(
        kaplan_meier(exact, beyond)
    )
    law = law_of(exact, beyond)
    mean = limited_mean(VALUES, 4, exact, beyond, sum(exact) + sum(beyond), 0.0, True)
    assert mean == pytest.approx(float(law @ VALUES))


@pytest.mark.parametrize("seed", range(6))
def test_no_law_is_more_likely(seed):
    """Every law on a fine grid of all laws on three states is tried."""
    exact, beyond = counts(np.random.default_rng(seed), levels=3, pulls=9)

    def likelihood(laws):
        reach = np.cumsum(laws[:, ::-1], axis=1)[:, ::-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = [
                np.where(n > 0, n * np.log(p), 0.0) for n, p in ((exact, laws), (beyond, reach))
            ]
        return sum(part.sum(axis=1) for part in parts)

    steps = 120
    grid = np.array(
        [(i, j, steps - i - j) for i, j in itertools.product(range(steps + 1), repeat=2)]
    )
    grid = grid[grid[:, 2] >= 0] / steps
    found = likelihood(law_of(exact.tolist(), beyond.tolist())[None, :])
    assert likelihood(grid).max() <= found[0] + 1e-9


def test_what_is_not_known_is_counted_where_that_begins():
    policy = CensoredKL(links())
    policy.observe("a", bits=1, reward=1.0)
    assert [estimate(policy, bits=y) for y in (1, 2, 4)] == [1.0, 1.0, 1.0]
    assert [index(policy, bits=y) for y in (1, 2, 4)] == [1.0, 2.0, 4.0]


def test_without_censoring_it_is_the_mean_over_states():
    policy, other = CensoredKL(links()), EmpiricalKL(links())
    for capacity in (0, 4, 4, 1, 2, 0, 4):
        policy.observe("a", capacity=capacity)
        other.observe("a", capacity=capacity)
    for y in (1, 2, 4):
        assert estimate(policy, bits=y) == pytest.approx(estimate(other, bits=y))


def test_each_reward_is_used_for_what_it_tells():
    levels = Levels(links())
    assert [levels.told((2.0,), r) for r in (0.0, 1.0, 2.0)] == [(0, False), (1, False), (2, True)]
    assert levels.told((4.0,), 4.0) == (3, False)  # there is nothing beyond


def drawn(policy, law, contexts, pulls, generator):
    """Observe the rewards of so many pulls of arm a, in contexts drawn evenly."""
    capacity = law.sample(generator, pulls)[:, 0]
    for y, x in zip(generator.choice(contexts, pulls).tolist(), capacity.tolist(), strict=True):
        policy.observe("a", bits=y, reward=policy.problem.payoff.scalar(y, x))


LAW = Discrete([0, 1, 2, 4], [0.3, 0.1, 0.2, 0.4])


def test_the_estimate_is_not_biased_and_the_naive_one_is():
    """Means over 300 batches of 100 pulls, 5 standard errors: fails once in a million."""
    generator = np.random.default_rng(1)
    found: list[list[float]] = []
    naive: list[list[float]] = []
    for _ in range(300):
        for kept, is_naive in ((found, False), (naive, True)):
            policy = CensoredKL(links(), naive=is_naive)
            drawn(policy, LAW, [1.0, 2.0, 4.0], 100, generator)
            kept.append([estimate(policy, bits=y) for y in (1, 2, 4)])
    truth = np.array([0.7, 1.3, 2.1])
    error = np.std(found, axis=0) / math.sqrt(len(found))
    assert np.all(np.abs(np.mean(found, axis=0) - truth) < 5 * error)
    assert np.mean(naive, axis=0)[2] < truth[2] - 0.5


def test_the_index_is_a_bound():
    """Given the pulls at risk, a share is above its bound with chance exp(-f) = 1/101 at most.

    Three shares in 400 runs: 12 are expected at most, and 28 come once in 10,000 seeds.
    """
    generator = np.random.default_rng(2)
    below = 0
    for _ in range(400):
        policy = CensoredKL(links())
        drawn(policy, LAW, [1.0, 2.0, 4.0], 100, generator)
        below += index(policy, bits=4) < 2.1
    assert below < 28


def test_bounds_close_in_on_the_truth():
    """A share is told to within 0.02 by 6000 pulls at risk, ten standard errors away."""
    policy = CensoredKL(links())
    drawn(policy, LAW, [1.0, 2.0, 4.0], 20_000, np.random.default_rng(3))
    for y, mean in ((1, 0.7), (2, 1.3), (4, 2.1)):
        assert estimate(policy, bits=y) == pytest.approx(mean, abs=0.08)
        assert mean < index(policy, bits=y) < mean + 0.2


# Flat at the other end


def test_flat_rewards_at_the_lower_end_mirror_those_at_the_upper():
    """Overflow beyond y, and the same with the state counted from above: the same numbers."""
    grid = list(range(8))
    plain = Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 3, 5])},
        state={"x": Finite(grid)},
        reward="max(0, x - y)",
    )
    turned = Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 3, 5])},
        state={"x": Finite(grid)},
        reward="max(0, 7 - x - y)",
    )
    one, two = CensoredKL(plain), CensoredKL(turned)
    generator = np.random.default_rng(4)
    for _ in range(80):
        arm, y, x = generator.choice(["a", "b"]), generator.choice([1, 3, 5]), generator.integers(8)
        for policy in (one, two):
            policy.observe(arm, y=float(y), reward=float(max(0, x - y)))
    for y in (1, 3, 5):
        for arm in "ab":
            assert estimate(one, arm, y=y) == pytest.approx(estimate(two, arm, y=y))
            assert index(one, arm, y=y) == pytest.approx(index(two, arm, y=y))
            assert estimate(one, arm, y=y) < index(one, arm, y=y) < 7 - y


def test_where_rewards_fall_with_the_state_a_bound_is_still_above():
    """A delay counts up to a deadline; with 20,000 pulls the bound is close to the truth."""
    policy = CensoredKL(links("-min(bits, capacity)"))
    drawn(policy, LAW, [1.0, 2.0, 4.0], 20_000, np.random.default_rng(5))
    for y, mean in ((1, -0.7), (2, -1.3), (4, -2.1)):
        assert estimate(policy, bits=y) == pytest.approx(mean, abs=0.08)
        assert mean < index(policy, bits=y) < mean + 0.2


# Interval states


REWARDS = ["min(y, x)", "max(0, x - y)", "-min(y, x)", "max(0, 5 - x - y)"]


@pytest.mark.parametrize("reward", REWARDS)
def test_a_reward_tells_the_cell_of_its_state_or_one_before(reward):
    problem = Problem(
        arms=["a"], context={"y": Interval(0.5, 4)}, state={"x": Interval(0, 5)}, reward=reward
    )
    levels = Levels(problem, knots=11)
    generator = np.random.default_rng(6)
    told = []
    for y, x in generator.uniform([0.5, 0], [4, 5], (400, 2)).tolist():
        level, is_beyond = levels.told((y,), problem.payoff.scalar(y, x))
        assert level <= levels.level(x) if is_beyond else level == levels.level(x)
        told.append(is_beyond)
    assert 50 < sum(told) < 350


def test_whether_a_cell_is_told_depends_on_the_context_alone():
    """States in the cell in which the reward becomes flat are never told apart."""
    problem = Problem(
        arms=["a"],
        context={"y": Interval(0, 4)},
        state={"x": Interval(0, 4)},
        reward="min(y, x)",
    )
    levels = Levels(problem, knots=5)
    assert levels.told((2.5,), 2.5) == levels.told((2.5,), 2.2) == (2, True)
    assert levels.told((2.5,), 1.9) == (1, False)
    assert levels.told((2.0,), 1.9) == (1, False)  # it becomes flat at the end of the cell
    assert levels.told((2.0,), 2.0) == (2, True)
    assert levels.error == 0.5


def test_an_interval_is_estimated_to_within_the_stated_error():
    """20,000 pulls leave an error of 0.02 at most, of which 0.1 is five times."""
    problem = Problem(
        arms=["a"],
        context={"bits": Interval(0, 4)},
        state={"capacity": Interval(0, 4)},
        reward="min(bits, capacity)",
    )
    policy = CensoredKL(problem, knots=9)
    generator = np.random.default_rng(7)
    for y, x in generator.uniform(0, 4, (20_000, 2)).tolist():
        policy.observe("a", bits=y, reward=min(y, x))
    for y in (0.4, 1.0, 2.3, 3.1):
        mean = y - y * y / 8
        assert abs(estimate(policy, bits=y) - mean) <= policy.survival.levels.error + 0.1
        assert index(policy, bits=y) >= mean


def test_a_reward_that_tells_all_teaches_what_the_state_does():
    problem = links("sqrt(bits) * capacity")
    one, two = CensoredKL(problem), CensoredKL(problem)
    for y, x in itertools.product((1, 2, 4), (0, 1, 2, 4)):
        one.observe("a", bits=y, reward=problem.payoff(bits=y, capacity=x))
        two.observe("a", capacity=x)
    assert one.to_bytes() == two.to_bytes()


# Any order, merged, saved


def test_states_and_rewards_in_any_order_merged_and_saved():
    generator = np.random.default_rng(8)
    pulls = []
    for _ in range(60):
        arm, y, x = (
            generator.choice(["a", "b"]),
            generator.choice([1, 2, 4]),
            generator.choice([0, 1, 4]),
        )
        said = {"capacity": int(x)} if generator.random() < 0.3 else {"reward": float(min(x, y))}
        pulls.append((str(arm), {"bits": int(y), **said}))
    whole, one, two = (CensoredKL(links()) for _ in range(3))
    for arm, said in pulls:
        whole.observe(arm, **said)
    for i in generator.permutation(60):
        (one if i % 3 else two).observe(pulls[i][0], **pulls[i][1])
    one.merge(two)
    assert one.to_bytes() == whole.to_bytes()
    assert Policy.from_bytes(one.to_bytes()).to_bytes() == whole.to_bytes()


@pytest.mark.parametrize(
    "learned",
    [
        {"trials": 1, "exact": [[0, 0]], "beyond": [[0, 0]]},
        {"trials": 1, "exact": [[0] * 4, [3, 0, 0, 0]], "beyond": [[0] * 4] * 2},
        {"trials": 9, "exact": [[0] * 4, [-1, 0, 0, 0]], "beyond": [[0] * 4] * 2},
        {"exact": []},
    ],
)
def test_counts_that_cannot_be_are_not_taken_on(learned):
    policy = CensoredKL(links())
    with pytest.raises(SaveFileError):
        policy.survival.restore(learned)
    assert policy.is_fresh


# What is refused


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (offloading, "one field only"),
        (mixed, "must go one way with 'rate'"),
        (coded, "declare it if it does"),
        (
            lambda: Problem(
                arms=["a"],
                context={"y": Finite([1])},
                state={"x": Interval(0, math.inf)},
                reward="min(y, x)",
            ),
            "declare the bounds within which states matter",
        ),
    ],
)
def test_problems_that_cannot_be(problem, words):
    with pytest.raises(ParameterError, match=words):
        CensoredKL(problem())


@pytest.mark.parametrize("wrong", [{"knots": 5}, {"naive": 1}, {"c": -1}, {"knots": 1}], ids=str)
def test_parameters_that_cannot_be(wrong):
    problem = channels() if wrong == {"knots": 1} else links()
    with pytest.raises(ParameterError):
        CensoredKL(problem, **wrong)


@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_a_threshold_tells_no_state_whatever_the_reward(reward):
    policy = CensoredKL(links("capacity >= bits"))
    with pytest.raises(RewardError, match="not at one end only; observe the state"):
        policy.observe("a", bits=2, reward=reward)
    policy.observe("a", capacity=4)
    assert estimate(policy, bits=2) == 1.0


@pytest.mark.parametrize("reward", [-1.0, 3.0, 1.5])
def test_rewards_that_cannot_be(reward):
    policy = CensoredKL(links())
    with pytest.raises(RewardError, match="cannot be"):
        policy.observe("a", bits=2, reward=reward)
    assert policy.is_fresh


def test_a_reward_in_code_is_taken_if_it_is_declared_to_go_one_way():
    def served(bits, capacity):
        return min(bits, capacity)

    reward = Reward(served, monotone={"capacity": "nondecreasing"})
    policy = CensoredKL(links(reward))
    policy.observe("a", bits=2, reward=2.0)
    assert policy.survival.beyond[0] == [0, 0, 1, 0]
