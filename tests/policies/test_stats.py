"""Stats: what was counted and learned of each arm, as values, as a table and as HTML."""

from __future__ import annotations

import json
import math
import re
from itertools import count
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from policy_cases import CASES, one_each
from problems import channels

from onepull import (
    DCB,
    AdaptiveKL,
    EmpiricalKL,
    Finite,
    InputError,
    Interval,
    ParameterError,
    Policy,
    Problem,
    SaveFileError,
    SlidingWindowUCB,
    UpperConfidence,
)
from onepull.policies.pull_counts import CountsState, PullCounts
from onepull.policies.stats import ArmStats, Stats
from onepull.testing.random_data import observations

ENDPOINTS = Problem(
    arms=["alpha", "beta", "gamma"],
    context={"tokens": Finite([100, 1000])},
    state={"ttft": Interval(0, 4), "tpot": Interval(0, 0.1)},
    reward="-(ttft + tokens * tpot)",
)


def rows(policy):
    return {row.arm: row for row in policy.stats().arms}


def test_a_table_of_all_that_is_counted():
    policy = UpperConfidence(ENDPOINTS, sharing="sketch(5)")
    policy.observe_many(["alpha", "beta", "alpha"], ttft=[0.3, 1.9, 0.6], tpot=[0.01, 0.1, 0.05])
    policy.pulled("gamma", tokens=100)
    policy._counts.fail(0)
    policy._counts.clip(1)
    assert str(policy.stats()) == dedent("""\
        UpperConfidence after 3 observations
        arm    pulls  in flight  failures  clipped  age  mean state
        alpha      2          0         1        0    0  ttft 0.45, tpot 0.03
        beta       1          0         0        1    1  ttft 1.9, tpot 0.1
        gamma      0          1         0        0    –  –""")


def test_mean_states_are_those_observed():
    policy, generator = EmpiricalKL(ENDPOINTS, knots=7), np.random.default_rng(3)
    ttft, tpot = generator.uniform(0, 4, 50), generator.uniform(0, 0.1, 50)
    policy.observe_many(["beta"] * 50, ttft=ttft, tpot=tpot)
    found = rows(policy)
    assert found["beta"].state == pytest.approx({"ttft": ttft.mean(), "tpot": tpot.mean()})
    assert found["alpha"].state is None
    assert rows(DCB(channels(2)))["channel-1"].state is None


def test_words_have_no_mean():
    policy = EmpiricalKL(Problem(
        arms=["a"], context={}, state={"region": Finite(["eu", "us"]), "x": Finite([1, 3])},
        reward='x * (region == "eu")',
    ))  # fmt: skip
    policy.observe_many(["a", "a"], region=["us", "eu"], x=[1, 3])
    assert rows(policy)["a"].state == {"x": 2.0}


def test_what_is_forgotten_is_still_counted():
    policy = SlidingWindowUCB(channels(2), window=3)
    policy.observe_many(["channel-1"] * 9, capacity=[1] * 9)
    policy.observe("channel-2", capacity=1)
    assert (rows(policy)["channel-1"].pulls, rows(policy)["channel-1"].age) == (9, 1)


def test_seconds_come_from_a_clock_and_are_not_saved():
    policy, twin = DCB(channels(3)), DCB(channels(3))
    ticks = count(100.0, 2.5)
    policy.clock = lambda: next(ticks)
    for one in (policy, twin):
        one.observe_many(["channel-1", "channel-2"], capacity=[1, 2])
    assert [row.seconds for row in policy.stats().arms] == [5.0, 2.5, None]
    assert "seconds" in str(policy.stats())
    assert policy.to_bytes() == twin.to_bytes()
    assert "seconds" not in str(Policy.from_bytes(policy.to_bytes()).stats())
    policy.clock = None
    assert [row.seconds for row in policy.stats().arms] == [None] * 3
    with pytest.raises(ParameterError, match=r"clock must be a function such as time.time"):
        policy.clock = 3.0  # type: ignore[assignment]


def test_a_clock_that_goes_back_gives_no_negative_age():
    policy = DCB(channels(1))
    times = iter([5.0, 1.0])
    policy.clock = lambda: next(times)
    policy.observe("channel-1", capacity=1)
    assert policy.stats().arms[0].seconds == 0.0


def test_counts_survive_saving_merging_and_arms_that_come_and_go():
    policy = DCB(channels(3))
    policy.observe_many(["channel-1", "channel-3", "channel-3"], capacity=[1, 2, 3])
    policy._counts.fail(2)
    other = DCB(channels().with_arms(["channel-3", "channel-2", "channel-1"]))
    other.observe_many(["channel-3", "channel-2"], capacity=[1, 2])
    other._counts.clip(0)
    policy.merge(other)
    twin = Policy.from_bytes(policy.to_bytes())
    twin.add_arm("new")
    twin.remove_arm("channel-1")
    found = rows(twin)
    assert twin.stats().trials == 5
    assert [found[arm].pulls for arm in ("channel-2", "channel-3", "new")] == [1, 3, 0]
    assert (found["channel-3"].failures, found["channel-3"].clipped) == (1, 1)
    assert [row.age for row in found.values()] == [0, 0, None]


def test_a_refused_batch_changes_no_count():
    policy = DCB(channels(3))
    policy.pulled("channel-1", bits=1)
    before = policy.stats()
    with pytest.raises(InputError):
        policy.observe_many(["channel-1", "channel-2"], capacity=[1, -1])
    assert policy.stats() == before
    policy.observe("channel-1", capacity=1)
    assert (rows(policy)["channel-1"].pulls, rows(policy)["channel-1"].in_flight) == (1, 0)


def test_a_table_has_at_most_80_columns():
    state = {f"field number {i}": 1e6 / 7 for i in range(9)}
    made = Stats("P", 10**9, [ArmStats("arm " * 30, 10**12, 5, 6, 7, 8, 10**6, 1e9 / 3, state)])
    assert max(map(len, str(made).splitlines())) <= 80
    assert "field number 8" in made._repr_html_()
    assert (
        "&lt;b&gt;" in Stats("P", 1, [ArmStats("<b>", 1, 0, 0, 0, 0, 0, None, None)])._repr_html_()
    )
    assert "\x1b" not in str(Stats("P", 1, [ArmStats("\x1b[31m", 1, 0, 0, 0, 0, 0, None, None)]))


def test_plain_values():
    policy = DCB(channels(1))
    policy.observe("channel-1", capacity=1)
    told = {"arm": "channel-1", "pulls": 1, "in_flight": 0, "failures": 0, "clipped": 0}
    told |= {"given_up": 0, "age": 0}
    none: dict[str, Any] = {"seconds": None, "state": None, "approximate": []}
    expected = {"policy": "DCB", "trials": 1, "arms": [{**told, **none}]}
    assert policy.stats().to_dict() == json.loads(json.dumps(expected))


@pytest.mark.parametrize("name", one_each())
def test_every_policy_counts(name):
    build, problem = CASES[name]
    policy = build(problem())
    pulls = observations(policy.problem, 40, np.random.default_rng(6))
    for pull in pulls:
        context = policy.problem.context.among(pull)
        policy.pulled(pull["arm"], **context)
        policy.observe(**pull)
    stats = Policy.from_bytes(policy.to_bytes(), problem=policy.problem).stats()
    assert stats == policy.stats()
    for row in stats.arms:
        own = [i for i, pull in enumerate(pulls, 1) if pull["arm"] == row.arm]
        assert (row.pulls, row.in_flight) == (len(own), 0)
        assert row.age == (40 - own[-1] if own else None)
        for field, mean in (row.state or {}).items():
            space = policy.problem.state[field]
            assert space.low - 1e-9 <= mean <= space.high + 1e-9
            assert math.isfinite(mean)


@pytest.mark.parametrize("name", one_each())
def test_what_is_learned_has_a_readable_name(name):
    build, problem = CASES[name]
    policy = build(problem())
    for thing in (policy._knowledge, getattr(policy, "sharing", policy)):
        assert re.fullmatch(r"<\w+(\(.*\))? .*after 0 trials.*>", repr(thing))
        assert " at 0x" not in repr(thing)


SAVED = CountsState(5, [3, 1], [5, 2], [1, 0], [0, 1])
DAMAGE = [
    {"observed": [3]},
    {"observed": [3, 3]},
    {"newest": [6, 2]},
    {"newest": [0, 2]},
    {"failed": [4, 0]},
    {"clipped": [0, 2]},
    {"shared": [6, 0]},
    {"shared": [1]},
    {"trials": 3},
    {"trials": -1},
]


@pytest.mark.parametrize("changes", DAMAGE)
def test_impossible_counts_in_a_file_are_refused(changes):
    import msgspec  # noqa: PLC0415 - used here alone

    PullCounts(2).restore(SAVED)
    with pytest.raises(SaveFileError, match="the saved counts of pulls"):
        PullCounts(2).restore({**msgspec.to_builtins(SAVED), **changes})


def test_explanations_tell_pulls_in_flight_from_observed_ones():
    policy = DCB(channels(2))
    policy.observe("channel-1", capacity=1)
    policy.pulled("channel-1", bits=3)
    policy.pulled("channel-2", bits=3)
    assert str(policy.explain(bits=3)) == dedent("""\
        DCB at trial 4 with bits=3
          arm        pulls  in flight  estimate   bonus   index
          channel-1      1          1    1.0000  3.5410  4.5410
        → channel-2      0          1         –       –  5.0078
        channel-2: highest index""")
    for explained, counted in zip(policy.explain(bits=3).arms, policy.stats().arms, strict=True):
        assert (explained.pulls, explained.in_flight) == (counted.pulls, counted.in_flight)


def test_a_mean_of_merged_states_is_marked():
    problem = Problem(
        arms=["a", "b"],
        state={"delay": Interval(0, 9), "size": Finite([1, 2])},
        reward="-delay - size",
    )
    policy = AdaptiveKL(problem, kept=16)
    luck = np.random.default_rng(2)
    for i in range(40):
        policy.observe("a", delay=float(luck.random()), size=1)
        policy.observe("b", delay=i % 3, size=1)  # of which only equal ones are merged
    rows = policy.stats().arms
    assert [row.approximate for row in rows] == [["delay"], []]
    assert "delay ≈ 0.4" in str(policy.stats())
    assert "delay 0.975, size 1" in str(policy.stats())
