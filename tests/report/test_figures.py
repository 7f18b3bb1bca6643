"""Figures draw the values of the result, and equal figures give equal files."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

from onepull.errors import MissingExtra, ParameterError
from onepull.report import figures
from onepull.report.line_labels import spread_labels
from onepull.simulation.result import student

DIVISORS: dict[Any, Any] = {"nothing": np.ones_like, "log": np.log, "root": np.sqrt}


@pytest.mark.parametrize("divide_by", DIVISORS)
def test_line_is_the_mean_and_band_is_the_95_percent_interval(result, divide_by):
    axes = figures.regret(result, divide_by).axes[0]
    first = 1 if divide_by == "log" else 0
    trials = result.checkpoints[first:]
    scale = DIVISORS[divide_by](trials.astype(float))
    for p, policy in enumerate(result.policies):
        runs = result.regrets[p, :, first:]
        mean = runs.mean(axis=0) / scale
        half = student(25) * runs.std(axis=0, ddof=1) / np.sqrt(result.replications) / scale
        np.testing.assert_allclose(np.asarray(axes.lines[p].get_xdata()), trials)
        np.testing.assert_allclose(np.asarray(axes.lines[p].get_ydata()), mean)
        corners = np.asarray(axes.collections[p].get_paths()[0].vertices)
        for trial, low, high in zip(trials, mean - half, mean + half, strict=True):
            drawn = corners[corners[:, 0] == trial, 1]
            assert drawn.min() == pytest.approx(low)
            assert drawn.max() == pytest.approx(high)
        assert axes.texts[p].get_text() == policy


def test_the_band_of_regret_is_not_below_zero(result):
    result.regrets[:] = 0
    result.regrets[:, 0] = 9  # one run of 25: the half-width exceeds the mean
    corners = np.asarray(figures.regret(result).axes[0].collections[0].get_paths()[0].vertices)
    assert corners[:, 1].min() == 0
    result.regrets[:, 1] = -1  # realised regret may be negative
    corners = np.asarray(figures.regret(result).axes[0].collections[0].get_paths()[0].vertices)
    assert corners[:, 1].min() < 0


def test_a_caption_states_trials_runs_and_interval(result, single):
    assert figures.caption(result) == (
        "T = 1,000, mean of 25 runs; the band is the 95 % confidence interval of the mean."
    )
    assert figures.caption(result, band=False).endswith("25 runs; no interval is drawn.")
    assert figures.caption(single) == "T = 1,000, one run; no interval is drawn."


def test_bounds_are_divided_and_labelled_like_regret(result):
    curve = 3 * np.log(result.checkpoints)
    axes = figures.regret(result, "log", bounds={"least": curve}).axes[0]
    np.testing.assert_allclose(np.asarray(axes.lines[3].get_ydata()), 3.0)
    assert [text.get_text() for text in axes.texts] == [*result.policies, "least"]
    assert not axes.lines[3].get_marker() or axes.lines[3].get_marker() == "None"
    with pytest.raises(ParameterError, match="bound 'least'"):
        figures.regret(result, bounds={"least": [1.0, 2.0]})


def test_axes_say_what_they_measure(result):
    axes = figures.regret(result, "root", title="Channels").axes[0]
    assert axes.get_xlabel() == "trial n"
    assert axes.get_ylabel() == "cumulative regret / √n\nmean of 25 runs, 95 % band"
    assert axes.get_title(loc="left") == "Channels"


def test_a_policy_looks_the_same_in_every_figure_and_unlike_the_others(result):
    lines = figures.regret(result).axes[0].lines[:3]
    looks = [(line.get_color(), line.get_marker()) for line in lines]
    assert len({colour for colour, _ in looks}) == len({marker for _, marker in looks}) == 3
    (alone, *_) = figures.regret(result, policies=["UCB1"]).axes[0].lines
    assert (alone.get_color(), alone.get_marker()) == looks[2]


@pytest.mark.parametrize("log_x", [True, False])
@pytest.mark.parametrize("log_y", [True, False])
@pytest.mark.parametrize("name", ["result", "hostile", "single"])
def test_every_scale_can_be_drawn(name, log_x, log_y, request):
    figure = figures.regret(request.getfixturevalue(name), "log", log_x=log_x, log_y=log_y)
    assert figure.axes[0].get_xscale() == ("log" if log_x else "linear")
    ET.fromstring(figures.svg(figure))  # noqa: S314 - our own text


def test_labels_stay_on_the_sheet_and_apart(hostile):
    figure = figures.pulls(hostile, "plain", bounds={"a bound with quite a long name": 100})
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    for box in boxes:
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
    for lower, upper in zip(*(sorted(boxes, key=lambda b: b.y0)[i:] for i in (0, 1)), strict=False):
        assert lower.y1 <= upper.y0 + 1


def test_control_characters_in_a_name_leave_the_drawing_well_formed(result):
    result.policies[0] = "a\x00b\x1b[1m\nc"
    root = ET.fromstring(figures.svg(figures.regret(result)))  # noqa: S314 - our own text
    assert "a\\x00b\\x1b[1m c" in "".join(root.itertext())


def test_zeros_are_drawn_where_a_logarithm_has_none(result):
    result.regrets[:] = 0
    axes = figures.regret(result, log_y=True).axes[0]
    assert axes.get_yscale() == "linear"
    assert not np.any(axes.lines[0].get_ydata())


def test_pulls_and_bounds_are_drawn_against_the_trial(result):
    curve = np.log(result.checkpoints)
    axes = figures.pulls(result, "UCB1", bounds={"ln n": curve, "ten": 10}).axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    near, far, bound, ten = (np.asarray(line.get_ydata()) for line in axes.lines[:4])
    np.testing.assert_array_equal(near, result.pulls[2, :, 0])
    np.testing.assert_array_equal(far, result.pulls[2, :, 1])
    np.testing.assert_array_equal(bound[1:], curve[1:])
    assert np.isnan(bound[0])
    np.testing.assert_array_equal(ten, 10)
    assert [text.get_text() for text in axes.texts] == ["near", "far", "ln n", "ten"]


def test_what_cannot_be_drawn_is_refused(result):
    with pytest.raises(
        ParameterError, match="divide_by must be one of nothing, log, root, given 'square'"
    ):
        figures.regret(result, "square")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="unknown policy 'X'; there are DCB"):
        figures.regret(result, policies=["X"])
    with pytest.raises(ParameterError, match="unknown policy 'X'"):
        figures.pulls(result, "X")
    with pytest.raises(ParameterError, match="one for each of the 8 checkpoints"):
        figures.pulls(result, "DCB", bounds={"b": [1, 2]})
    with pytest.raises(ParameterError, match="unknown arm 'X'; there are near, far"):
        figures.pulls(result, "DCB", arms=["X"])


def test_a_bound_on_each_arm_has_the_colour_of_the_arm(result):
    table = np.arange(1.0, 17.0).reshape(8, 2)
    bounds = {"one": table, "two": 2 * table}
    axes = figures.pulls(result, "DCB", arms=["far"], bounds=bounds).axes[0]
    far, one, two = axes.lines[:3]
    np.testing.assert_array_equal(np.asarray(far.get_ydata()), result.pulls[0, :, 1])
    np.testing.assert_array_equal(np.asarray(one.get_ydata()), table[:, 1])
    np.testing.assert_array_equal(np.asarray(two.get_ydata()), 2 * table[:, 1])
    assert far.get_color() == one.get_color() == two.get_color()
    assert far.get_color() == figures.pulls(result, "DCB").axes[0].lines[1].get_color()
    assert [text.get_text() for text in axes.texts] == ["far", "far, one", "far, two"]


def test_a_figure_that_cannot_be_written_leaves_the_old_one(result, tmp_path, monkeypatch):
    target = tmp_path / "regret.svg"
    target.write_text("old")

    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        figures.save(figures.regret(result), target)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("regret.svg", "old")]


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_the_same_result_gives_the_same_file(result, suffix, tmp_path):
    one, two, again = (tmp_path / f"{name}{suffix}" for name in ("one", "two", "again"))
    figure = figures.regret(result, title="T")
    figures.save(figure, one)
    figures.save(figure, again)
    figures.save(figures.regret(result, title="T"), str(two))
    assert one.read_bytes() == two.read_bytes() == again.read_bytes()


def test_users_settings_change_nothing_and_are_left_alone(result):
    import matplotlib as mpl  # noqa: PLC0415 - as a user has it

    expected = figures.svg(figures.regret(result))
    with mpl.rc_context({"font.size": 30, "svg.fonttype": "path", "axes.facecolor": "red"}):
        assert figures.svg(figures.regret(result)) == expected
        assert mpl.rcParams["font.size"] == 30


def test_svg_keeps_text_as_text_and_has_no_date(hostile):
    drawing = figures.svg(figures.pulls(hostile, "plain"))
    root = ET.fromstring(drawing)  # noqa: S314 - our own text
    words = "".join(root.itertext())
    assert "日本" in words
    assert "$a_b$" in words
    assert "<dc:date>" not in drawing


def test_other_suffixes_are_refused_before_anything_is_written(result, tmp_path):
    with pytest.raises(ParameterError, match=r"\.svg, \.png or \.pdf, given .*regret\.gif"):
        figures.save(figures.regret(result), tmp_path / "regret.gif")
    assert not list(tmp_path.iterdir())


def test_missing_matplotlib_is_told_with_what_to_install(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[simulate\]'"):
        figures.regret(result)


def test_importing_the_report_loads_neither_matplotlib_nor_rich_nor_a_compiler():
    heavy = ["matplotlib", "rich", "numba"]
    code = f"import sys, onepull.report; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_spread_moves_labels_apart_as_little_as_can_be():
    generator = np.random.default_rng(5)
    for _ in range(200):
        count = int(generator.integers(1, 9))
        wanted = np.sort(generator.uniform(0, 100, count))
        heights = generator.uniform(1, 12, count)
        places = spread_labels(wanted, heights, 100.0)
        least = (heights[1:] + heights[:-1]) / 2
        assert np.all(np.diff(places) >= least - 1e-9)
        assert places.min() >= 0
        assert places.max() <= 100
        # Nearest: no label alone can be brought closer to where it should be.
        for i, place in enumerate(places):
            below = places[i - 1] + least[i - 1] if i else 0.0
            above = places[i + 1] - least[i] if i + 1 < count else 100.0
            if place > wanted[i] + 1e-9:
                assert place == pytest.approx(below) or _pooled(places, least, i)
            elif place < wanted[i] - 1e-9:
                assert place == pytest.approx(above) or _pooled(places, least, i)


def _pooled(places, least, i):
    gaps = np.diff(places) - least
    return bool((i > 0 and gaps[i - 1] < 1e-9) or (i < len(gaps) and gaps[i] < 1e-9))
