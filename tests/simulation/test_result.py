"""Results beside their definitions in numpy."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

from onepull import DCB, Genie, MultiUCB, Problem
from onepull.distributions import Discrete, Uniform
from onepull.environment import Environment, channel_selection
from onepull.errors import MissingExtra, ParameterError
from onepull.simulation import simulate
from onepull.simulation.result import QUANTILES, mean_and_error, student
from onepull.spaces import Finite, Interval


@pytest.fixture(scope="module")
def result():
    world = channel_selection(4)
    some = {"DCB": DCB(world.problem), "Multi-UCB": MultiUCB(world.problem)}
    return simulate(world, some, horizon=1000, replications=9, seed=1, checkpoints=[10, 100])


def test_the_horizon_is_always_a_checkpoint(result):
    assert result.checkpoints.tolist() == [10, 100, 1000]
    assert result.horizon == 1000
    world = channel_selection(4)
    some = {"DCB": DCB(world.problem)}
    for given, wanted in [([], [50]), ([50], [50]), ([7, 3, 7], [3, 7, 50])]:
        found = simulate(world, some, horizon=50, replications=1, checkpoints=given)
        assert found.checkpoints.tolist() == wanted
    spread = simulate(world, some, horizon=50, replications=1).checkpoints
    assert spread[0] == 1
    assert spread[-1] == 50
    assert np.all(np.diff(spread) > 0)


def test_rows_are_what_numpy_says(result):
    rows = result.rows(baseline="Multi-UCB")
    assert len(rows) == 2 * 3
    for row in rows:
        p, c = result.policies.index(row["policy"]), result.checkpoints.tolist().index(row["trial"])
        regrets = result.regrets[p, :, c]
        assert row["regret"] == pytest.approx(np.mean(regrets), rel=1e-14)
        assert row["standard_error"] == pytest.approx(np.std(regrets, ddof=1) / 3, rel=1e-14)
        for q in QUANTILES:
            assert row[f"q{100 * q:g}"] == np.quantile(regrets, q)
        assert row["worst"] == regrets.max()
        paired = regrets - result.regrets[1, :, c]
        half = 2.306 * np.std(paired, ddof=1) / 3  # Student's t with 8 degrees of freedom
        assert row["difference"] == pytest.approx(np.mean(paired), abs=1e-12)
        assert row["difference_high"] - row["difference"] == pytest.approx(half, rel=1e-4)
        assert row["difference"] - row["difference_low"] == pytest.approx(half, rel=1e-4)
        assert row["replications"] == 9
        arms = [row[f"pulls[channel {j}]"] for j in range(1, 5)]
        assert sum(arms) == pytest.approx(row["trial"], rel=1e-12)
        best = [row[f"best_pulls[channel {j}]"] for j in range(1, 5)]
        assert all(b <= a for a, b in zip(arms, best, strict=True))
    assert rows[0]["epsilon"] == 0.01
    assert rows[0]["storage"] == 4 * 5
    assert "difference" not in result.rows()[0]


def test_the_baseline_differs_from_itself_by_nothing(result):
    row = result.final(baseline="DCB")[0]
    assert (row["difference"], row["difference_low"], row["difference_high"]) == (0, 0, 0)


def test_final_rows_are_those_of_the_horizon(result):
    assert [row["trial"] for row in result.final()] == [1000, 1000]
    assert np.array_equal(result.regret("DCB"), result.regrets[0, :, -1])
    assert result.replications == 9


def test_regret_never_falls(result):
    assert np.all(np.diff(result.regrets, axis=2) >= 0)


def test_an_unknown_policy_is_named(result):
    with pytest.raises(ParameterError, match="unknown policy 'LCB'; there are DCB, Multi-UCB"):
        result.regret("LCB")
    with pytest.raises(ParameterError, match="unknown baseline 'LCB'; there are DCB, Multi-UCB"):
        result.rows(baseline="LCB")


def test_it_shows_itself(result):
    assert "regret at trial 1,000, 9 replications" in str(result)
    assert "Multi-UCB" in str(result)
    assert result._repr_html_().count("<tr>") == 3


def test_a_notebook_shows_its_plot(result):
    figure = result.plot()
    drawn = figure._repr_svg_()
    assert "<svg" in drawn
    assert all(f">{name}<" in drawn for name in ("DCB", "Multi-UCB", "trial n"))
    some = result.plot("log", policies=["DCB"], title="Channels", log_y=True)._repr_svg_()
    assert ">Channels<" in some
    assert ">Multi-UCB<" not in some
    with pytest.raises(ParameterError, match="unknown policy 'LCB'"):
        result.plot(policies=["LCB"])


@pytest.mark.parametrize(
    ("package", "method", "words"),
    [
        ("pandas", "to_pandas", "to_pandas needs pandas: pip install pandas"),
        ("matplotlib", "plot", r"pip install '\.\[simulate\]'"),
    ],
)
def test_what_is_not_installed_is_named(result, monkeypatch, package, method, words):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=words):
        getattr(result, method)()


def test_pandas_has_the_rows(result, monkeypatch):
    frames = ModuleType("pandas")
    frames.DataFrame = list  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", frames)
    assert result.to_pandas("DCB") == result.rows("DCB")


def test_names_are_escaped_in_a_notebook(result):
    html = replace(result, policies=["<b>", "a & b"])._repr_html_()
    assert ">&lt;b&gt;</td>" in html
    assert ">a &amp; b</td>" in html


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [
        (1, 12.7062), (2, 4.30265), (3, 3.18245), (4, 2.77645), (5, 2.57058), (6, 2.44691),
        (7, 2.36462), (8, 2.30600), (9, 2.26216), (10, 2.22814), (19, 2.09302), (24, 2.06390),
        (39, 2.02269), (99, 1.98422), (399, 1.96593), (10**9, 1.95996),
    ],
)  # fmt: skip
def test_intervals_are_by_students_t(freedom, quantile):
    assert student(freedom + 1) == pytest.approx(quantile, rel=1.1e-4)


def test_one_run_has_no_interval():
    assert math.isnan(student(1))


def test_one_replication_has_no_error():
    mean, error = mean_and_error(np.array([3.0]))
    assert mean == 3.0
    assert math.isnan(error)


def test_a_genie_of_continuous_laws_has_a_row_too():
    problem = Problem(
        arms=["a", "b"], context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x * y"
    )
    laws = {"a": Uniform(0, 1), "b": Uniform(0, 0.5)}
    world = Environment(problem, states=laws, contexts=Discrete([1], [1]))
    found = simulate(world, [Genie(problem, states=laws)], horizon=50, replications=2)
    assert found.policies == ["Genie"]
    assert found.final()[0]["regret"] == 0
