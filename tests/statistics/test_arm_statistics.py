"""Counts and running means: what they are, and that nothing is lost on the way."""

from __future__ import annotations

import math
import sys

import msgspec
import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepull import ArmStatistics, SaveFileError
from onepull.index.hoeffding import hoeffding
from onepull.statistics.arm_statistics import (
    ArrayStatistics,
    ListStatistics,
    StatisticsState,
    inverse_root,
    moved,
    weighted,
)

KINDS = [ListStatistics, ArrayStatistics]
both = pytest.mark.parametrize("kind", KINDS)
seeds = st.integers(0, 2**32)
exactly = settings(derandomize=True, deadline=None)


def observed(generator, arms, features, count):
    return [
        (int(generator.integers(arms)), (generator.normal(size=features) * 10).tolist())
        for _ in range(count)
    ]


def learned(kind, arms, features, rows):
    statistics = kind(arms, features)
    for arm, values in rows:
        statistics.update(arm, values)
    return statistics


def test_small_ones_are_lists_and_large_ones_arrays():
    for arms, features in [(7, 4), (1, 62), (62, 1), (31, 32)]:
        assert isinstance(ArmStatistics.empty(arms=arms, features=features), ListStatistics)
    for arms, features in [(64, 4), (7, 64), (32, 32)]:
        assert isinstance(ArmStatistics.empty(arms=arms, features=features), ArrayStatistics)


@both
@given(seed=seeds, arms=st.integers(1, 5), features=st.integers(1, 4), count=st.integers(0, 300))
@exactly
def test_the_running_mean_is_the_mean(kind, seed, arms, features, count):
    rows = observed(np.random.default_rng(seed), arms, features, count)
    statistics = learned(kind, arms, features, rows)
    assert statistics.trials == count
    for arm in range(arms):
        values = [row for j, row in rows if j == arm]
        assert statistics.pulls[arm] == len(values)
        for i in range(features):
            mean = math.fsum(v[i] for v in values) / len(values) if values else math.inf
            assert statistics.means[i][arm] == pytest.approx(mean, rel=1e-12, abs=1e-12)
        assert statistics.roots[arm] == (1 / math.sqrt(len(values)) if values else 0.0)


@given(seed=seeds, arms=st.integers(1, 6), features=st.integers(1, 5), count=st.integers(1, 200))
@exactly
def test_lists_and_arrays_agree_to_the_last_bit(seed, arms, features, count):
    rows = observed(np.random.default_rng(seed), arms, features, count)
    one, two = (learned(kind, arms, features, rows) for kind in KINDS)
    assert one.state() == two.state()
    rule = hoeffding(2.01)
    aim = rule.aim_at(-1.0, 3.0, count + 1)
    for i in range(features):
        scores = [s.score(rule, s.means[i], aim) for s in (one, two)]
        assert list(scores[0]) == list(scores[1])
        leaders = [s.leader(rule, s.means[i], aim) for s in (one, two)]
        assert leaders[0] == leaders[1] == int(np.argmax(scores[1]))


@both
def test_the_leader_of_a_tie_is_the_first(kind):
    statistics = learned(kind, 4, 1, [(0, [1.0]), (1, [2.0]), (2, [2.0]), (3, [2.0])])
    assert statistics.leader(hoeffding(2.0), statistics.means[0], 1.0) == 1


@both
@given(seed=seeds, parts=st.integers(2, 5))
@exactly
def test_merging_is_the_union_in_any_grouping(kind, seed, parts):
    generator = np.random.default_rng(seed)
    rows = observed(generator, 3, 2, 120)
    pieces = [learned(kind, 3, 2, rows[i::parts]) for i in range(parts)]
    whole = learned(kind, 3, 2, rows)
    same = range(3)

    left = kind(3, 2)
    for piece in pieces:
        left.merge(piece, same)
    right = kind(3, 2)
    for piece in reversed(pieces):
        grown = piece.copy()
        grown.merge(right, same)
        right = grown

    for merged in (left, right):
        assert merged.trials == whole.trials
        assert merged.pulls == whole.pulls
        np.testing.assert_allclose(merged.roots, whole.roots, rtol=1e-15)
        np.testing.assert_allclose(merged.means, whole.means, rtol=1e-12, atol=1e-12)


@both
def test_merging_matches_arms_by_the_order_given(kind):
    mine = learned(kind, 2, 1, [(0, [1.0])])
    theirs = learned(kind, 2, 1, [(0, [5.0]), (1, [3.0])])
    mine.merge(theirs, [1, 0])
    assert mine.pulls == [2, 1]
    assert list(mine.means[0]) == [2.0, 5.0]


@both
def test_merging_counts_the_trials_of_arms_that_are_gone(kind):
    mine = learned(kind, 1, 1, [(0, [1.0])])
    theirs = learned(kind, 2, 1, [(0, [5.0]), (1, [3.0])])
    theirs.remove_arm(1)
    mine.merge(theirs, [0])
    assert (mine.pulls, mine.trials) == ([2], 3)


@both
def test_merging_what_never_pulled_changes_nothing(kind):
    statistics = learned(kind, 2, 1, [(0, [0.1]), (0, [0.2])])
    before = statistics.state()
    statistics.merge(kind(2, 1), range(2))
    assert statistics.state() == before


finite = st.floats(allow_nan=False, allow_infinity=False)


@both
@given(means=st.lists(st.lists(finite, min_size=2, max_size=2), min_size=1, max_size=4))
@exactly
def test_a_state_comes_back_bit_for_bit_through_json(kind, means):
    arms = len(means)
    statistics = learned(kind, arms, 2, enumerate(means))
    text = msgspec.json.encode(statistics.state())
    twin = kind(arms, 2)
    twin.restore(msgspec.json.decode(text, type=StatisticsState))
    bits = [np.asarray(s.means, dtype=float).tobytes() for s in (statistics, twin)]
    assert bits[0] == bits[1]
    assert msgspec.json.encode(twin.state()) == text


@both
def test_the_smallest_and_largest_floats_survive(kind):
    values = [5e-324, -5e-324, sys.float_info.max, -0.0, sys.float_info.min / 3, 0.1 + 0.2]
    statistics = learned(kind, 1, len(values), [(0, values)])
    twin = kind(1, len(values))
    text = msgspec.json.encode(statistics.state())
    twin.restore(msgspec.json.decode(text, type=StatisticsState))
    assert [float(row[0]).hex() for row in twin.means] == [value.hex() for value in values]


@both
def test_restoring_leaves_nothing_of_what_was_there(kind):
    statistics = learned(kind, 2, 1, [(0, [1.0]), (1, [2.0])])
    fresh = learned(kind, 2, 1, [(0, [3.0])])
    statistics.restore(fresh.state())
    assert statistics.state() == fresh.state()
    assert list(statistics.means[0]) == [3.0, math.inf]
    assert list(statistics.roots) == [1.0, 0.0]


@both
def test_a_copy_is_independent(kind):
    statistics = learned(kind, 2, 1, [(0, [1.0])])
    twin = statistics.copy()
    twin.update(1, [7.0])
    assert statistics.pulls == [1, 0]
    assert list(statistics.means[0]) == [1.0, math.inf]


@both
@pytest.mark.parametrize(
    ("state", "said"),
    [
        (StatisticsState(1, [1], [[1.0, 2.0]]), "1 arms do not fit 2 arms"),
        (StatisticsState(1, [1, 0], [[1.0, 2.0]]), "do not fit"),
        (StatisticsState(1, [1, 0, 0], [[1.0, 2.0], [], []]), "3 arms do not fit 2 arms"),
        (StatisticsState(1, [1, 0], [[1.0], []]), "has 1 means, not 2"),
        (StatisticsState(1, [1, 0], [[1.0, 2.0], [1.0, 2.0]]), "0 pulls has 2 means"),
        (StatisticsState(2, [1, 1], [[1.0, 2.0], []]), "1 pulls has 0 means"),
        (StatisticsState(5, [2, -1], [[1.0, 2.0], []]), "negative"),
        (StatisticsState(1, [1, 1], [[1.0, 2.0], [1.0, 2.0]]), "exceed the number of trials"),
    ],
)
def test_a_state_that_cannot_be_is_refused_and_changes_nothing(kind, state, said):
    statistics = learned(kind, 2, 2, [(1, [4.0, 5.0])])
    before = statistics.state()
    with pytest.raises(SaveFileError, match=said):
        statistics.restore(state)
    assert statistics.state() == before


@both
def test_an_added_arm_is_unpulled_and_a_removed_one_leaves_its_trials(kind):
    statistics = learned(kind, 2, 1, [(0, [1.0]), (1, [2.0]), (1, [4.0])])
    statistics.add_arm()
    assert statistics.pulls == [1, 2, 0]
    assert list(statistics.means[0]) == [1.0, 3.0, math.inf]
    statistics.remove_arm(0)
    assert statistics.pulls == [2, 0]
    assert list(statistics.means[0]) == [3.0, math.inf]
    assert list(statistics.roots) == [inverse_root(2), 0.0]
    assert statistics.trials == 3
    statistics.update(1, [9.0])
    assert list(statistics.means[0]) == [3.0, 9.0]


def test_storage_counts_the_means_and_the_pulls():
    assert ArmStatistics.empty(arms=7, features=4).storage == 35
    assert ArmStatistics.empty(arms=2, features=1000).storage == 2002


def test_a_compiler_moves_the_mean_to_the_same_bits():
    compiled = numba.njit(moved)
    generator = np.random.default_rng(3)
    for mean, value, m in zip(
        generator.normal(size=5000) * 1e3,
        generator.normal(size=5000) * 1e3,
        generator.integers(1, 10**6, 5000),
        strict=True,
    ):
        assert compiled(mean, value, 1.0 / m) == moved(mean, value, 1.0 / m)
    assert compiled(math.inf, 2.5, 1.0) == 2.5


def test_a_hundred_million_observations_keep_the_mean():
    step = numba.njit(moved)

    @numba.njit
    def run(count):
        mean = math.inf
        for m in range(1, count + 1):
            mean = step(mean, 0.1 if m % 2 else 0.7, 1.0 / m)
        return mean

    assert run(10**8) == pytest.approx(0.4, abs=1e-11)


@pytest.mark.parametrize("features", [1, 2, 9, 17, 70, 1000])
def test_a_product_of_features_is_the_same_whatever_other_arms_there_are(features):
    generator = np.random.default_rng(8)
    means, phi = generator.random((features, 12)), generator.normal(size=features)
    alone = [weighted(phi, means[:, [j]])[0] for j in range(12)]
    assert weighted(phi, means).tolist() == alone
    assert weighted(phi, means) == pytest.approx(phi @ means, rel=1e-12)
