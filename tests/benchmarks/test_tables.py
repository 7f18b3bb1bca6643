import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from families import FAMILIES
from recorded import Trace
from shares import BASE, Share, overall, regrets, row_of, rows_of, tables
from tables import interval, markdown, replaced

from onepull import DCB, Finite, Interval, Problem


def test_interval():
    assert interval([1.0, 3.0]) == pytest.approx((2.0, 1.96))
    assert math.isnan(interval([1.0])[1])


def test_markdown():
    assert markdown([["a", "bb"], ["long", "1"]]).splitlines() == [
        "| a    | bb |",
        "|------|---:|",
        "| long |  1 |",
    ]


def test_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table: one -->\nold\n<!-- end -->\nafter <!-- end -->\n", "utf-8")
    assert replaced(page, {"one": "new", "two": "not there"}) == ["one"]
    expected = "before\n<!-- table: one -->\nnew\n<!-- end -->\nafter <!-- end -->\n"
    assert page.read_text("utf-8") == expected
    assert replaced(page, {"one": "new"}) == ["one"]
    assert page.read_text("utf-8") == expected


def test_rows():
    found = [
        Share("jumps", "X", 100, [0.1, 0.1, 0.1, 0.9], 20.0, 10.0, None),
        Share("jumps", "X", 100, [0.2, 0.2, 0.2, 0.2], 1.0, 1.0, 4.0),
    ]
    row = row_of(found)
    assert row.mean == pytest.approx((0.3 + 0.2) / 2)
    assert row.together == pytest.approx((0.3 * 2 + 0.2 * 1) / 3)
    assert (row.worst, row.locked, row.limits) == (0.9, 1 / 8, 4.0)
    base = Share("jumps", BASE, 100, [1.0] * 4, 20.0, 10.0, None)
    rows = rows_of([base, *found])
    assert [one.policy for one in rows] == [BASE, "X"]
    assert tables(rows, overall(rows))["families"] == [
        ["mean share of DCB", "jumps"], [BASE, "1.000"], ["X", "0.250"],
    ]  # fmt: skip


def test_regrets():
    found = [Share("7 channels", "X", 100, [0.5, 1.5], 10.0, 1.0, None)]
    assert regrets(found)[1] == ["X", "10.0 ± 9.8", "5.2 to 14.8", "", ""]
    assert regrets([]) == []


@pytest.mark.parametrize("name", FAMILIES)
def test_families_fit_the_paper(name):
    world = FAMILIES[name].draw(np.random.default_rng(1))
    DCB(world.problem)
    means = world.expected_rewards(np.array([[s.low for s in world.problem.context.values()]]))
    assert np.isfinite(means).all()


def test_trace():
    problem = Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 2]), "z": Finite([10, 20])},
        state={"x": Interval(0, 9)},
        reward="x * y + z",
    )
    trace = Trace(problem, np.arange(10.0).reshape(5, 2, 1))
    assert trace.contexts[2] == {"y": 2, "z": 10}
    assert trace.rewards[4, 1, 2] == 9 * 2 + 10
    assert [len(trace.part(half).states) for half in ("first", "second", "all")] == [2, 3, 5]
    other, states, rewards = trace.shuffled(np.array([1, 0]))
    assert other.arms == ("b", "a")
    assert states[4, 0, 0] == 9
    assert rewards[4, 0, 2] == trace.rewards[4, 1, 2]
    assert trace.has_many_arms
