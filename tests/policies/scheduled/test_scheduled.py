"""Rules that separate exploration from exploitation, against their definitions."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import channels, harvesting

from onepull import DCB, DSEE, EpsilonGreedy, Finite, Interval, ParameterError, Problem, simulate
from onepull.environment import channel_selection
from onepull.index.schedules import batch_start, drawn_evenly, exploration_rate, turn


@given(arms=st.integers(1, 9), weight=st.floats(0.05, 60))
def test_turns_are_those_of_the_recursion(arms, weight):
    """Explore at n while fewer than K⌈w ln n⌉ explorations are done; the first batch at once."""
    starts = [1]
    while starts[-1] <= 2000:
        starts.append(batch_start(len(starts) + 1, starts[-1], arms, weight))
    done = 0
    for n in range(1, 2001):
        due = done < arms * max(1, math.ceil(weight * math.log(n)))
        assert turn(starts, n, arms) == (done % arms if due else -1)
        done += due
    assert all(later - sooner >= arms for sooner, later in pairwise(starts))


def test_a_tiny_weight_never_gets_to_a_second_batch():
    assert batch_start(2, 1, 3, 0.001) > 10**18


@given(
    luck=st.floats(0, 1, exclude_max=True),
    rate=st.floats(1e-6, 1),
    arms=st.integers(1, 50),
)
def test_an_arm_is_drawn_if_luck_falls_below_the_rate(luck, rate, arms):
    arm = drawn_evenly(luck, rate, arms)
    assert (arm == -1) == (luck >= rate)
    assert -1 <= arm < arms


def test_arms_are_drawn_evenly():
    counts = np.bincount(
        [drawn_evenly(luck, 0.3, 4) + 1 for luck in (np.arange(100_000) + 0.5) / 100_000]
    )
    assert counts.tolist() == [70_000, 7_500, 7_500, 7_500, 7_500]


@given(n=st.integers(1, 10**7), arms=st.integers(1, 99), c=st.floats(0.01, 9), d=st.floats(0.01, 1))
def test_rate_is_auers(n, arms, c, d):
    assert exploration_rate(n, arms, c, d) == pytest.approx(min(1, c * arms / (d**2 * n)))


def test_hand_computed_chances():
    policy = EpsilonGreedy(channels(4), c=0.1, gap=0.5, seed=0)
    for capacity, arm in enumerate(channels(4).arms):
        policy.observe(arm, capacity=capacity)
    # The fifth trial: rate 0.1·4/(0.25·5) = 0.32; with 3 bits channel 4 showed the most.
    chances = [row.chance or 0.0 for row in policy.explain(bits=3).arms]
    assert chances == pytest.approx([0.08, 0.08, 0.08, 0.76])
    some = policy.explain(bits=3, eligible=["channel-1", "channel-2"])
    assert [row.chance for row in some.arms] == pytest.approx([0.16, 0.84, 0, 0])
    draws = [policy.choose(bits=3) for _ in range(20_000)]
    # 20,000 draws: each share within 5 standard errors, wrong in less than 1 of 10^5 runs.
    for arm, chance in zip(channels(4).arms, chances, strict=True):
        error = math.sqrt(chance * (1 - chance) / 20_000)
        assert abs(draws.count(arm) / 20_000 - chance) < 5 * error


def test_per_context_counts_trials_in_each_context():
    policy = EpsilonGreedy(channels(2), sharing="per-context", c=1, gap=1, seed=0)
    for arm in ("channel-1", "channel-2") * 10:
        policy.observe(arm, bits=1, capacity=1)
    assert policy.explain(bits=1).arms[1].chance == pytest.approx(2 / 21 / 2)
    assert policy.explain(bits=2).trial == 1


def test_dsee_by_hand():
    """Two arms, w = 2: batches at 1, 3, 5, 7 (due at 2, 3, 5), 8 is due and starts at 9."""
    arms = ["a", "b"]
    policy = DSEE(
        Problem(arms=arms, context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x * y"),
        weight=2.0,
    )
    chosen = []
    for _ in range(20):
        arm = policy.choose(y=1)
        chosen.append(arm)
        policy.observe(arm, x={"a": 0.25, "b": 0.75}[arm])
    # w ln n exceeds 1, 2, … from n = 2, 3, 5, 8, 13, 21 on.
    assert "".join(chosen) == "abababab" + "abbb" + "abbbbbbb"


def test_the_turn_is_explained():
    policy = DSEE(channels(2), weight=1.0)
    for arm in channels(2).arms:
        policy.observe(arm, capacity=1)
    explained = policy.explain(bits=1)
    assert (explained.arm, explained.reason) == ("channel-1", "it is the turn of channel-1")
    other = policy.explain(bits=1, eligible=["channel-2"])
    assert other.arm == "channel-2"
    assert other.reason == "highest estimate, among those eligible"


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: EpsilonGreedy(channels(), c=0), "c must be a number > 0, given 0"),
        (lambda: EpsilonGreedy(channels(), gap=1.5), "a share of the reward's range"),
        (lambda: EpsilonGreedy(channels(), seed=None), "needs a seed or a generator"),  # type: ignore[arg-type]
        (lambda: EpsilonGreedy(channels(), sharing="all"), "one of joint, per-context, blind"),
        (lambda: DSEE(channels(), weight=-1), "weight must be a number > 0, given -1"),
        (
            lambda: DSEE(harvesting(), sharing="blind", delta=0.1),
            "delta needs joint or per-context sharing",
        ),
        (lambda: DSEE(harvesting()), "divide it into cells"),
    ],
)
def test_bad_parameters(build, said):
    with pytest.raises(ParameterError, match=said):
        build()


def test_remark_3_separate_exploration_pays_for_every_arm_for_ever():
    """All four channels are best somewhere, so DCB stops paying while the others go on.

    Regret between T/8 and T, a time in which ln n grows by 2.08: DCB's grows by less than 1
    in the mean of 100 runs, that of ε-greedy and DSEE by more than 10; the standard errors
    are below 0.5, so an exceptional sample is out of the question.
    """
    world = channel_selection(4)
    horizon = 80_000
    result = simulate(
        world,
        {
            "DCB": DCB(world.problem),
            "eps": EpsilonGreedy(world.problem, c=0.25, gap=0.25),
            "DSEE": DSEE(world.problem, weight=4.0),
        },
        horizon=horizon,
        replications=100,
        seed=5,
        checkpoints=[horizon // 8, horizon],
    )
    growth = dict(zip(result.policies, np.diff(result.regrets.mean(axis=1)).ravel(), strict=True))
    assert growth["DCB"] < 1
    assert growth["eps"] > 10
    assert growth["DSEE"] > 10
