"""Rewards that tell sets of states: deadlines, clips, sums, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import mixed, offloading

from onepull import CoarseKL, EmpiricalKL, Finite, Interval, Policy, Problem, Reward
from onepull.errors import ParameterError, RewardError, SaveFileError
from onepull.policies.hidden_states.told_sets import Readings


def served(reward="delay <= deadline", delay=None):
    return Problem(
        arms=["edge", "cloud"],
        context={"deadline": Finite([1, 2, 4])},
        state={"delay": delay or Finite([0, 1, 2, 3, 4, 5])},
        reward=reward,
    )


def told(policy, context, arm="edge"):
    (row,) = [row for row in policy.explain(**context).arms if row.arm == arm]
    return row


# What a reward tells


@pytest.mark.parametrize(
    ("reward", "deadline", "delay", "levels"),
    [
        ("delay <= deadline", 2, 1, (0, 1, 2)),
        ("delay <= deadline", 2, 4, (3, 4, 5)),
        ("max(1, min(delay, deadline))", 4, 0, (0, 1)),
        ("max(1, min(delay, deadline))", 4, 3, (3,)),
        ("max(1, min(delay, deadline))", 4, 5, (4, 5)),
        ("(delay - deadline) ** 2", 2, 3, (1, 3)),
        ("delay // 2 * deadline", 1, 3, (2, 3)),
    ],
)
def test_a_reward_tells_the_states_that_give_it(reward, deadline, delay, levels):
    problem = served(reward)
    value = problem.payoff(deadline=deadline, delay=delay)
    assert Readings(problem).told((float(deadline),), value) == levels


def levels_of(readings, *states):
    return tuple(level for x in states for level in readings.of_state((x,)))


def test_cells_are_cut_where_rewards_begin_to_hide_the_state():
    readings = Readings(served("delay <= deadline", Interval(0, 5)), knots=3)  # at 0, 2.5 and 5
    assert readings.edges == [0, 1, 2, 2.5, 4, 5]
    # A knot is a level, and so is a cell between two.
    assert readings.told((2.0,), 1.0) == levels_of(readings, 0, 0.5, 1, 1.5, 2)
    assert readings.told((4.0,), 0.0) == levels_of(readings, 4.5, 5)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_clip_hides_both_ends_of_an_interval(sign):
    problem = served(f"{sign} * max(1, min(delay, deadline))", Interval(0, 5))
    readings = Readings(problem, knots=6)
    assert readings.told((4.0,), sign * 1.0) == levels_of(readings, 0, 0.5, 1)
    assert readings.told((2.0,), sign * 1.5) == levels_of(readings, 1.5)
    assert readings.told((2.0,), sign * 2.0) == levels_of(readings, 2, 2.5, 3, 3.5, 4, 4.5, 5)


SHAPES = {
    "deadline": "delay <= deadline",
    "strict": "delay < deadline",
    "clip": "-max(1, min(delay, deadline))",
    "leap": "delay + 5 * (delay > deadline)",
    "steep": "min(sqrt(delay), deadline)",
    "stairs": "floor(7 * delay) * deadline",
}


@pytest.mark.parametrize("reward", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("context", [Finite([0.62, 1, 2, 4]), Interval(0.5, 4)])
def test_what_rewards_tell_is_a_partition_with_the_state_in_it_or_next_to_it(reward, context):
    problem = Problem(
        arms=["a"],
        context={"deadline": context},
        state={"delay": Interval(0, 5)},
        reward=reward,
    )
    readings = Readings(problem, knots=9)
    generator = np.random.default_rng(2)
    delays = [0.0, 5.0, *readings.edges, *generator.uniform(0, 5, 60).tolist(), 0.0013]
    for deadline in (0.62, 1.0, 2.0, 4.0):
        sets = []
        for delay in delays:
            value = float(problem.payoff.scalar(deadline, delay))
            found = readings.told((deadline,), value)
            (level,) = readings.of_state((delay,))
            listed = isinstance(context, Finite) and "floor" not in reward
            # Only cells that a continuous context cuts in two are off, and by no more.
            assert min(abs(level - other) for other in found) <= (0 if listed else 2)
            sets.append(found)
        for one in sets:
            for two in sets:
                assert one == two or not set(one) & set(two)


def test_states_on_knots_are_not_mistaken_for_their_neighbours():
    problem = Problem(
        arms=["a"],
        context={"y": Finite([1, 2, 3])},
        state={"x": Interval(0, 4)},
        reward="x <= y",
    )
    policy = CoarseKL(problem)
    policy.observe_many(["a"] * 1000, x=[2.0, 2.25] * 500)
    assert told(policy, {"y": 2}, "a").estimate == pytest.approx(0.5, abs=1e-4)


def test_continuous_deadlines_teach_each_other():
    """The seed is fixed; of 6,000 pulls estimates are off by 0.03 on average, cells by 0.06."""
    problem = Problem(
        arms=["edge", "cloud"],
        context={"deadline": Interval(1, 4)},
        state={"delay": Interval(0, 6)},
        reward="delay <= deadline",
    )
    policy = CoarseKL(problem)
    generator = np.random.default_rng(3)
    for arm, longest in (("edge", 3.0), ("cloud", 6.0)):
        deadlines, delays = generator.uniform(1, 4, 6000), generator.uniform(0, longest, 6000)
        policy.observe_many([arm] * 6000, deadline=deadlines, reward=delays <= deadlines)
    for deadline in (1.5, 2.0, 2.8):
        assert told(policy, {"deadline": deadline}).estimate == pytest.approx(
            deadline / 3, abs=0.12
        )
    assert policy.choose(deadline=2.0) == "edge"


def test_an_impossible_reward_is_refused_and_changes_nothing():
    policy = CoarseKL(served())
    with pytest.raises(
        RewardError, match=r"reward 0\.5 is impossible for deadline=2; expected 0, 1"
    ):
        policy.observe("edge", deadline=2, reward=0.5)
    with pytest.raises(RewardError, match="is impossible for deadline=2; expected 0 to 2"):
        CoarseKL(served("min(delay, deadline)", Interval(0, 5))).observe(
            "edge", deadline=2, reward=2.5
        )
    assert policy.is_fresh
    leaps = Problem(
        arms=["edge"],
        context={"y": Finite([1, 4])},
        state={"x": Interval(0, 7)},
        reward="x + 5 * (x >= y)",
    )
    policy = CoarseKL(leaps)
    with pytest.raises(
        RewardError, match=r"4\.2 is impossible for y=4; the reward jumps from 4 to 9"
    ):
        policy.observe("edge", y=4, reward=4.2)
    assert policy.is_fresh
    policy.observe_many(["edge"] * 4, y=[4] * 4, reward=[3.3, 4.0, 9.0, 12.0])


def test_states_that_cannot_be_kept_are_refused():
    with pytest.raises(ParameterError, match="the fields link, speed"):
        CoarseKL(offloading())
    with pytest.raises(ParameterError, match="only a bounded interval"):
        CoarseKL(mixed())
    with pytest.raises(ParameterError, match="must be monotone"):
        CoarseKL(served("(delay - deadline) ** 2", Interval(0, 5)))
    with pytest.raises(ParameterError, match="knots are for an interval"):
        CoarseKL(served(), knots=9)
    with pytest.raises(ParameterError, match="knots must be a whole number from 2"):
        CoarseKL(served(delay=Interval(0, 5)), knots=1)


# Learning


def test_full_states_give_the_empirical_likelihood_index():
    problem = served("-delay * deadline")
    coarse, full = CoarseKL(problem, c=1, head_start=20), EmpiricalKL(problem, c=1, head_start=20)
    generator = np.random.default_rng(4)
    for arm in ["edge"] * 30 + ["cloud"] * 5:
        delay = int(generator.integers(0, 6))
        for policy in (coarse, full):
            policy.observe(arm, delay=delay)
    for deadline in (1, 2, 4):
        for arm in ("edge", "cloud"):
            ours, theirs = (told(p, {"deadline": deadline}, arm) for p in (coarse, full))
            assert ours.estimate == pytest.approx(theirs.estimate, abs=1e-5)
            assert ours.index == pytest.approx(theirs.index, abs=1e-3)


def test_one_hidden_end_gives_the_estimate_of_the_product_limit():
    policy = CoarseKL(served("min(delay, deadline)"))
    # Delays of 0 to 3 and three of 2 or more, of which 4 is told from 5 by none.
    policy.observe_many(["edge"] * 6, deadline=[4] * 6, reward=[0, 1, 1, 2, 3, 4])
    policy.observe_many(["edge"] * 3, deadline=[2] * 3, reward=[2, 2, 2])
    # Kaplan and Meier: 8/9 are above 0, 6/8 of these above 1, 2/3 of these above 2, half above 3.
    reached = np.cumprod([8 / 9, 6 / 8, 2 / 3, 1 / 2])
    for deadline in (1, 2, 4):
        row = told(policy, {"deadline": deadline})
        assert row.estimate == pytest.approx(reached[:deadline].sum(), abs=1e-4)


def test_flat_rewards_at_the_lower_end_mirror_those_at_the_upper():
    """Count the state from the other end: the estimates and indices are the same."""
    plain = CoarseKL(served("max(0, delay - deadline)"))
    turned = CoarseKL(served("max(0, 5 - delay - deadline)"))
    generator = np.random.default_rng(4)
    for _ in range(80):
        deadline, delay = int(generator.choice([1, 2, 4])), int(generator.integers(6))
        for policy in (plain, turned):
            policy.observe("edge", deadline=deadline, reward=max(0, delay - deadline))
    for deadline in (1, 2, 4):
        one, two = (told(policy, {"deadline": deadline}) for policy in (plain, turned))
        assert one.estimate == pytest.approx(two.estimate, abs=1e-4)
        assert one.index == pytest.approx(two.index, abs=1e-3)
        assert one.estimate < one.index < 5 - deadline


def test_a_reward_in_code_is_taken_too():
    def capped(deadline, delay):
        return min(deadline, delay)

    policy = CoarseKL(served(Reward(capped)))
    policy.observe("edge", deadline=2, reward=2.0)
    assert policy.sightings.sets[0] == {(2, 3, 4, 5): 1}


@pytest.mark.parametrize(
    "reward", ["delay <= deadline", "max(1, min(delay, deadline))", "(delay - deadline) ** 2"]
)
def test_estimates_have_no_bias_whatever_is_hidden(reward):
    """40,000 pulls: each estimate is off by 5 standard errors with probability below 1e-5."""
    problem = served(reward)
    law = np.array([0.1, 0.25, 0.05, 0.2, 0.15, 0.25])
    generator = np.random.default_rng(6)
    pulls = 40_000
    deadlines = generator.choice([1.0, 2.0, 4.0], pulls, p=[0.6, 0.3, 0.1])
    delays = generator.choice(6, pulls, p=law)
    policy = CoarseKL(problem)
    policy.observe_many(
        ["edge"] * pulls, deadline=deadlines, reward=problem.payoff.vector(deadlines, delays)
    )
    for deadline in (1.0, 2.0, 4.0):
        rewards = problem.payoff.vector(deadline, np.arange(6.0))
        mean = law @ rewards
        # At worst it is known from the rarest context alone.
        deviation = math.sqrt((law @ rewards**2 - mean**2) / (0.1 * pulls))
        row = told(policy, {"deadline": deadline})
        assert abs(row.estimate - mean) <= 5 * deviation
        assert row.index >= mean - 5 * deviation


def test_the_index_is_a_bound():
    """A bound lies below the truth with a chance of about exp(-f) = 1/101 (Wilks' theorem).

    One is expected in 100 runs, and 8 or more come once in 130,000 seeds.
    """
    problem = served("min(delay, deadline)")
    law = np.array([0.3, 0.1, 0.2, 0.1, 0.2, 0.1])
    mean = law @ problem.payoff.vector(4.0, np.arange(6.0))
    generator = np.random.default_rng(2)
    below = 0
    for _ in range(100):
        deadlines, delays = generator.choice([1.0, 2.0, 4.0], 100), generator.choice(6, 100, p=law)
        policy = CoarseKL(problem)
        rewards = problem.payoff.vector(deadlines, delays)
        policy.observe_many(["edge"] * 100, deadline=deadlines, reward=rewards)
        below += told(policy, {"deadline": 4.0}).index < mean
    assert below < 8


def test_a_context_that_never_came_is_told_by_others():
    policy = CoarseKL(served())
    policy.observe_many(["edge"] * 60, deadline=[1, 4] * 30, reward=[1.0, 1.0] * 30)
    row = told(policy, {"deadline": 2})
    assert row.estimate == pytest.approx(1.0, abs=1e-3)  # met by 1, so by 2
    policy.observe_many(["cloud"] * 60, deadline=[4] * 60, reward=[0.0] * 60)
    row = told(policy, {"deadline": 2}, "cloud")
    assert row.estimate == pytest.approx(0.0, abs=1e-3)  # missed by 4, so by 2
    assert row.index < 0.1


def test_what_nobody_told_is_as_good_as_can_be():
    policy = CoarseKL(served())
    policy.observe_many(["edge"] * 500, deadline=[4] * 500, reward=[1.0] * 500)
    assert told(policy, {"deadline": 1}).index == pytest.approx(1.0, abs=1e-6)


def test_several_fields_and_their_sum():
    problem = Problem(
        arms=["a"],
        context={"weight": Finite([1, 2])},
        state={"wait": Finite([0, 1, 2]), "work": Finite([0, 1, 2])},
        reward="-(weight * wait + work)",
    )
    policy = CoarseKL(problem)
    policy.observe("a", weight=1, reward=-2.0)  # 0+2, 1+1 or 2+0
    policy.observe("a", weight=2, reward=-3.0)  # 1 and 1
    assert policy.sightings.sets[0] == {(2, 4, 6): 1, (4,): 1}
    assert told(policy, {"weight": 2}, "a").estimate == pytest.approx(-3.0, abs=1e-4)


# Moving


def test_states_and_rewards_in_any_order_merged_and_saved():
    problem = served("min(delay, deadline)")
    generator = np.random.default_rng(8)
    pulls = []
    for _ in range(60):
        arm = str(generator.choice(["edge", "cloud"]))
        deadline, delay = int(generator.choice([1, 2, 4])), int(generator.integers(6))
        sees_state = generator.random() < 0.3
        said = {"delay": delay} if sees_state else {"reward": min(delay, deadline)}
        pulls.append((arm, {"deadline": deadline, **said}))
    whole, one, two = (CoarseKL(problem) for _ in range(3))
    for arm, said in pulls:
        whole.observe(arm, **said)
    for i in generator.permutation(60):
        (one if i % 3 else two).observe(pulls[i][0], **pulls[i][1])
    one.merge(two)
    assert one.sightings.state() == whole.sightings.state()
    assert Policy.from_bytes(one.to_bytes()).to_bytes() == one.to_bytes()


def test_it_is_saved_merged_and_asked_for_another_reward(tmp_path):
    policy, other = CoarseKL(served()), CoarseKL(served())
    policy.observe_many(["edge", "cloud"] * 3, deadline=[1, 2, 4] * 2, reward=[1, 0, 1, 1, 0, 0])
    other.observe_many(["edge", "cloud"], deadline=[4, 4], reward=[0, 1])
    policy.merge(other)
    policy.save(tmp_path / "policy.json")
    again = Policy.load(tmp_path / "policy.json")
    assert str(again.explain(deadline=2)) == str(policy.explain(deadline=2))
    changed = policy.with_reward("-delay")
    assert changed.trials == policy.trials
    assert changed.choose(deadline=1) == "edge"
    with pytest.raises(ParameterError, match="cut for one reward"):
        CoarseKL(served(delay=Interval(0, 5))).with_reward("-delay")


@pytest.mark.parametrize(
    ("sets", "match"),
    [
        ([[[[1, 0], 2]], []], "the set .* is invalid"),
        ([[[[0, 9], 2]], []], "the set .* is invalid"),
        ([[[[], 2]], []], "sets are invalid: .* length >= 1"),
        ([[[[0], 0]], []], "sets are invalid: Expected `int` >= 1"),
        ([[[[0], 99]], []], "sum to 99, more than the 5"),
        ([[["x", 1]], []], "counts of sets are invalid"),
        ([[]], "for 1 arms; expected 2"),
    ],
)
def test_an_invalid_saved_state_is_refused(sets, match):
    policy = CoarseKL(served())
    policy.observe("edge", delay=3)
    with pytest.raises(SaveFileError, match=match):
        policy.sightings.restore({"trials": 5, "sets": sets})
    assert policy.sightings.sets == [{(3,): 1}, {}]
