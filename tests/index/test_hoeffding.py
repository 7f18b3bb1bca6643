"""The index formula: the textbook's, a peer's numbers, and what a compiler makes of it."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepull.index.hoeffding import (
    hoeffding,
    hoeffding_exploration,
    hoeffding_width,
    optimistic,
    scaled_to_range,
)
from onepull.statistics import inverse_root

VECTORS = Path(__file__).parents[3] / "shared/data/peers/mabwiser_ucb1_vectors.json"

numbers = st.floats(-1e6, 1e6)
pulls = st.integers(1, 10**9)
trials = st.integers(1, 10**12)


@given(mean=numbers, ends=st.tuples(numbers, numbers), m=pulls, n=trials, alpha=st.floats(0, 10))
@settings(derandomize=True, deadline=None)
def test_the_index_is_mean_plus_range_times_root_of_alpha_log_n_over_m(mean, ends, m, n, alpha):
    low, high = sorted(ends)
    rule = hoeffding(alpha)
    index = rule.index(mean, inverse_root(m), rule.aim_at(low, high, n))
    textbook = mean + (high - low) * math.sqrt(alpha * math.log(n) / m)
    assert index == pytest.approx(textbook, rel=1e-12, abs=1e-12)


def test_greed_has_no_bonus():
    rule = hoeffding(0.0)
    assert rule.index(1.25, inverse_root(3), rule.aim_at(0.0, 4.0, 1000)) == 1.25


def test_the_first_trial_has_no_bonus():
    assert hoeffding_width(0.0, 4.0, 1, 2.0) == 0.0


def test_an_infinite_mean_keeps_its_infinite_index():
    assert optimistic(math.inf, 0.0, hoeffding_width(-1.0, 4.0, 10**9, 2.0)) == math.inf


def test_arrays_give_what_numbers_give():
    generator = np.random.default_rng(1)
    means, roots = generator.normal(size=500), 1 / np.sqrt(generator.integers(1, 99, 500))
    together = optimistic(means, roots, 2.7)
    alone = [optimistic(m, r, 2.7) for m, r in zip(means.tolist(), roots.tolist(), strict=True)]
    assert together.tolist() == alone


def test_a_compiler_gives_the_same_bits():
    compiled: list[Any] = [numba.njit(f) for f in (scaled_to_range, optimistic, inverse_root)]
    scaled, index, root = compiled
    exploration: Any = numba.njit(hoeffding_exploration)
    generator = np.random.default_rng(2)
    for _ in range(5000):
        low, span, mean = generator.normal(), generator.exponential(), generator.normal() * 1e3
        n, m = int(10 ** generator.uniform(0, 12)), int(10 ** generator.uniform(0, 9))
        assert root(m) == inverse_root(m)
        aim = hoeffding_width(low, low + span, n, 2.01)
        assert scaled(low, low + span, exploration(n, 2.01)) == aim
        assert index(mean, inverse_root(m), aim) == optimistic(mean, inverse_root(m), aim)


def peer(part):
    if not VECTORS.exists():
        pytest.skip(f"the peer's numbers are not here: {VECTORS}")
    return json.loads(VECTORS.read_text())[part]


def peer_indices(case):
    """Return every arm's index by our functions, with their N and their factor alpha."""
    rewards = defaultdict(list)
    for arm, reward in zip(case["decisions"], case["rewards"], strict=True):
        rewards[str(arm)].append(reward)
    width = case["alpha"] * hoeffding_width(0.0, 1.0, len(case["decisions"]), 2.0)
    return {
        arm: optimistic(math.fsum(seen) / len(seen), inverse_root(len(seen)), width)
        for arm, seen in rewards.items()
    }


def test_indices_agree_with_mabwiser():
    for case in peer("index_vectors"):
        ours = peer_indices(case)
        for arm, index in case["expect"].items():
            assert ours[arm] == pytest.approx(index, abs=1e-9), case["name"]


def test_bounds_agree_with_mabwiser():
    for case in peer("bound_values"):
        width = case["alpha"] * hoeffding_width(0.0, 1.0, case["total"], 2.0)
        ours = optimistic(case["mean"], inverse_root(case["count"]), width)
        assert ours == pytest.approx(case["expect"], abs=1e-9)


def test_choices_agree_with_mabwiser():
    for case in peer("argmax_vectors"):
        ours = peer_indices(case)
        assert max(ours, key=ours.__getitem__) == str(case["arm"]), case["name"]
