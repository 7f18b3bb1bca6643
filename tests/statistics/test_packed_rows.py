"""Rows in little memory: what comes back is what was put in, to the last bit."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepull import Finite, Interval, Policy, Problem, SaveFileError, SlidingWindowKL
from onepull.statistics import Window
from onepull.statistics.packed_rows import (
    FewValues,
    SavedRow,
    packed,
    restored_row,
    saved_row,
    unpacked,
)

rows = st.integers(1, 200).flatmap(
    lambda n: st.lists(
        st.one_of(st.just(0.0), st.just(-0.0), st.floats(-1e300, 1e300)), min_size=n, max_size=n
    )
)


@settings(deadline=None)
@given(row=rows)
def test_a_row_comes_back_to_the_last_bit(row):
    kept = packed(np.array(row) if len(row) > 64 else row)
    written = msgspec.json.decode(msgspec.json.encode(saved_row(kept)), type=SavedRow)
    for found in (unpacked(kept, len(row)), unpacked(restored_row(written, len(row)), len(row))):
        assert np.array(found).tobytes() == np.array(row).tobytes()


@pytest.mark.parametrize(
    "row",
    [
        [0.0] * 99,
        FewValues([100], [1.0]),
        FewValues([3, 2], [1.0, 1.0]),
        FewValues([2, 2], [1.0, 1.0]),
        FewValues([2], []),
    ],
)
def test_an_impossible_row_in_a_file_is_refused(row):
    with pytest.raises(SaveFileError, match="a saved observation has a wrong length"):
        restored_row(row, 100)


def test_a_window_of_sketched_states_takes_little_memory():
    problem = Problem(
        arms=["a", "b"],
        context={"t": Finite([1, 2])},
        state={"x": Interval(0, 1), "y": Interval(0, 1)},
        reward="x + t * y",
    )
    policy, generator = SlidingWindowKL(problem, window=50), np.random.default_rng(1)
    for i in range(120):
        policy.observe("ab"[i % 2], x=generator.random(), y=generator.random())
    window = policy.sharing.statistics_for("all")
    assert isinstance(window, Window)
    assert sum(np.size(row[0]) for row in window.ring_rows) <= 4 * 50
    twin = Policy.from_bytes(policy.to_bytes())
    assert twin.to_bytes() == policy.to_bytes()
    for _ in range(60):
        state = {"x": generator.random(), "y": generator.random()}
        policy.observe("a", **state)
        twin.observe("a", **state)
    assert twin.to_bytes() == policy.to_bytes()


@pytest.mark.parametrize("features", [3, 300])
def test_a_window_has_the_means_of_its_last_rows(features):
    generator, window = np.random.default_rng(2), Window(2, features, window=9)
    seen = []
    for _ in range(40):
        row = np.where(generator.random(features) < 0.1, generator.normal(size=features), 0.0)
        arm = int(generator.integers(2))
        window.update(arm, row)
        seen.append((arm, row))
    for arm in range(2):
        last = [row for j, row in seen[-9:] if j == arm]
        assert window.pulls[arm] == len(last)
        if last:
            assert window.column(arm) == pytest.approx(np.mean(last, axis=0), abs=1e-12)
