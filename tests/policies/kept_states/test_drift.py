"""Filters: copies go on alike and apart, whatever way they are made."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from onepull.policies.kept_states.drift import ARRAYS, Drift


def restored(drift):
    twin = Drift(arms=len(drift.latest), contexts=len(drift.pooled))
    twin.restore(msgspec.to_builtins(drift.state()))
    return twin


def taught(drift, trials, seed):
    generator = np.random.default_rng(seed)
    for trial in trials:
        rewards = generator.random(len(drift.pooled)) + (trial // 40 % 2)
        rewards[0] = 1.0  # nothing varies there
        drift.learn(int(generator.integers(len(drift.latest))), trial, rewards)
    return drift


def numbers(drift):
    return {name: getattr(drift, name).tolist() for name in ARRAYS}


COPIES: dict[str, Callable[[Drift], Drift]] = {
    "copy": Drift.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda drift: pickle.loads(pickle.dumps(drift)),  # noqa: S301 - our own
    "save": restored,
}


@pytest.mark.parametrize("contexts", [1, 2, 8])
@pytest.mark.parametrize("way", COPIES)
def test_copies_go_on_alike_and_apart(way, contexts):
    drift = taught(Drift(arms=3, contexts=contexts), range(100), seed=1)
    before = numbers(drift)
    twin = taught(COPIES[way](drift), range(100, 300), seed=2)
    assert numbers(drift) == before
    assert numbers(twin) != before
    taught(drift, range(100, 300), seed=2)
    assert numbers(drift) == numbers(twin)
    assert (drift.chosen, drift.latest) == (twin.chosen, twin.latest)


def test_errors_are_the_same_in_all_contexts():
    drift = taught(Drift(arms=2, contexts=5), range(200), seed=3)
    assert (drift.errors == drift.errors[..., :1]).all()


def test_rare_changes_are_taken_for_ones_that_last():
    drift, generator = Drift(arms=1, contexts=1), np.random.default_rng(4)
    for trial in range(20_000):
        drift.learn(0, trial, generator.normal(trial // 5000 % 2, 1.0, size=1))
    assert drift.half_life > 2000
