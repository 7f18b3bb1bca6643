"""Epoch-Greedy against its definition."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from crossing import crossing
from problems import channels

from onepull import (
    EpochGreedy,
    ParameterError,
    Random,
    SaveFileError,
    simulate,
)
from onepull.policies import savefile
from onepull.testing.random_data import observations


def test_the_first_epochs_by_hand():
    policy = EpochGreedy(crossing().problem, c=3)  # ⌊3√(n / (2 ln 4))⌋ = 1, 2, 3, 3, …
    steps = []
    for _ in range(12):
        explained = policy.explain(y=1)
        steps.append(explained.reason.startswith("exploration"))
        if steps[-1]:
            assert [row.chance for row in explained.arms] == [0.5, 0.5]
        policy.observe("b", y=1, x=1)
        assert policy.explain(y=1).arms[1].index == 2.0  # every explored pull: 1 / 0.5
    assert steps == [True, False, True, False, False, *[True, False, False, False] * 2][:12]
    assert policy.trials == 12
    assert policy.storage == policy.storage_after(12) == 4 * 4


def test_against_a_transcription():
    problem = channels(3)
    policy = EpochGreedy(problem, c=4, seed=5)
    explored, left, epoch = [], 0, 0
    maps = list(itertools.product(problem.arms, repeat=4))
    best = maps[0]
    for pull in observations(problem, 300, np.random.default_rng(6)):
        bits, arm = pull["bits"], pull["arm"]
        chances = {row.arm: row.chance for row in policy.explain(bits=bits).arms}
        if left == 0:
            assert chances == pytest.approx(dict.fromkeys(problem.arms, 1 / 3))
            explored.append((bits, arm, min(bits, pull["capacity"])))
            epoch += 1
            values = [
                math.fsum(r for bits, arm, r in explored if m[int(bits) - 1] == arm) for m in maps
            ]
            best = maps[int(np.argmax(np.round(values, 9)))]
            left = int(4 * math.sqrt(epoch / (3 * math.log(len(maps)))))
        else:
            assert chances[best[int(bits) - 1]] == 1.0
            left -= 1
        policy.observe(**pull)
    assert len(explored) < 150


def test_records_grow_as_the_schedule_says():
    policy = EpochGreedy(crossing().problem)
    few, many = (policy.storage_after(trials) for trials in (10_000, 80_000))
    assert many / few == pytest.approx(8 ** (2 / 3), rel=0.05)


def test_where_the_played_arm_is_not_eligible_another_is_drawn_evenly():
    policy = EpochGreedy(channels(3), c=50)
    policy.observe("channel-3", bits=4, capacity=4)
    assert policy.choose(bits=4) == "channel-3"
    explained = policy.explain(bits=4, eligible=["channel-1", "channel-2"])
    assert [row.chance for row in explained.arms] == [0.5, 0.5, 0.0]
    assert explained.reason.startswith("drawn evenly, channel-3 being played")


def test_what_cannot_be_is_refused():
    problem = channels(3)
    build: Any = EpochGreedy
    for bad in (0, -1, math.inf, "1", None):
        with pytest.raises(ParameterError, match="c must be a number > 0"):
            build(problem, c=bad)
    with pytest.raises(ParameterError, match="needs a seed"):
        build(problem, seed=None)
    saved = savefile.decode(EpochGreedy(problem).to_bytes(), "policy")
    for change, error in (
        ({"left": -1}, ">= 0 - at"),
        ({"left": "x"}, "epochs are invalid"),
    ):
        saved.learned.update(change)
        with pytest.raises(SaveFileError, match=error):
            EpochGreedy.from_bytes(savefile.encode(saved))


def test_regret_is_sublinear():
    # The means of four runs are 10 and 6 standard errors from these bounds.
    environment = crossing()
    problem = environment.problem
    result = simulate(
        environment,
        {"Epoch-Greedy": EpochGreedy(problem), "Random": Random(problem)},
        horizon=2000, replications=4, seed=1, checkpoints=[1000, 2000],
    )  # fmt: skip
    first, both = result.regrets[0].mean(axis=0)
    assert both < 0.25 * result.regrets[1].mean(axis=0)[1]
    assert both - first < 0.8 * first
