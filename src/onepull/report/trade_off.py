"""One figure of the regret, the storage and the decision time of several policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from onepull.arrays import Array
from onepull.errors import ParameterError
from onepull.html import printable
from onepull.report.drawing import INK, any_script, style
from onepull.report.figures import COLOURS, MARKERS, tick
from onepull.report.line_labels import label_ends
from onepull.report.point_labels import Rectangle, beside

if TYPE_CHECKING:  # matplotlib takes 0.6 s
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

PALE = 0.4  # opacity of a bound
MARKER = 4.5  # half the size of a marker that labels keep clear of, in points
RING = 8.0  # the same for the ring around the proposed policy
LINE_SAMPLES = 40  # points on a line between two markers
NEAR = 10.0  # points; a label farther from its marker gets a line to it


@dataclass(frozen=True, slots=True)
class Point:
    """A policy with one amount of storage.

    Attributes
    ----------
    kind, label
        Points of one kind are joined by a line; the label names a single point.
    interval
        The 95 % confidence interval of the regret.
    bound, microseconds
        A bound on the regret and the time of a decision, if they are known.
    """

    kind: str
    label: str
    bytes: int
    regret: float
    interval: tuple[float, float]
    bound: float | None = None
    microseconds: float | None = None
    is_proposed: bool = False


def trade_off(points: Sequence[Point], *, trial: int, title: str | None = None) -> Figure:
    """Draw regret against storage on logarithmic scales, and below it the decision time.

    Simulated regret is a solid line with 95 % confidence intervals of the mean, its bound a
    pale dashed line.  The proposed policy has a ring.

    Examples
    --------
    >>> points = [
    ...     Point("CCB", "4 cells", 160, 60.0, (55.0, 65.0), bound=900.0, microseconds=5.0),
    ...     Point("CCB", "16 cells", 544, 50.0, (45.0, 55.0), bound=300.0, microseconds=6.0),
    ... ]
    >>> figure = trade_off(points, trial=1000)
    >>> [axes.get_ylabel().splitlines()[0] for axes in figure.axes]
    ['regret by trial 1,000', 'µs a decision']
    """
    if not points:
        raise ParameterError("trade_off needs at least one point, given none")
    from matplotlib.figure import Figure  # noqa: PLC0415 - for drawing only

    timed = any(point.microseconds is not None for point in points)
    with style(), any_script():
        figure = Figure(figsize=(8.4, 6.4 if timed else 4.8), layout="constrained")
        ratios = [3.2, 1.0] if timed else [1.0]
        panels = figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios, squeeze=False)
        upper, *lower = panels.ravel().tolist()
        if title is not None:
            upper.set_title(printable(title, keep="\n"), parse_math=False, wrap=True)
        names = _regrets(upper, points)
        for axes in lower:
            _times(axes, points)
        upper.set_ylabel(f"regret by trial {trial:,}\nsimulated mean, 95 % interval")
        _scales([upper, *lower], points)
        figure.draw_without_rendering()  # the places of the labels depend on their heights
        label_ends(upper, [line for line, _ in names], [name for _, name in names])
        figure.draw_without_rendering()
        # Fix the layout, so that two files of the same figure are equal.
        figure.set_layout_engine("none")
        _names(upper, points)
    return figure


def _regrets(axes: Axes, points: Sequence[Point]) -> list[tuple[Line2D, str]]:
    """Draw regrets and bounds; return the lines with their names."""
    lines = []
    for colour, marker, of_kind in _kinds(points):
        sizes = [point.bytes for point in of_kind]
        regrets = np.array([point.regret for point in of_kind])
        low, high = np.array([_ends(point) for point in of_kind]).T
        (line,) = axes.plot(sizes, regrets, color=colour, marker=marker, zorder=3)
        axes.vlines(sizes, low, high, color=INK, linewidth=1.2, zorder=4)
        lines.append((line, of_kind[0].kind))
        bounds = np.array([np.inf if p.bound is None else p.bound for p in of_kind])
        if np.isfinite(bounds).any():
            (bound,) = axes.plot(
                sizes, bounds, color=colour, alpha=PALE, linestyle=(0, (4, 2)), linewidth=1.2,
                marker=marker, markersize=3,
            )  # fmt: skip
            lines.append((bound, f"{of_kind[0].kind}, bound"))
    for point in points:
        if point.is_proposed:
            axes.plot(
                point.bytes, point.regret, "o", markersize=13, markerfacecolor="none",
                markeredgecolor=INK, zorder=4,
            )  # fmt: skip
    return lines


def _names(axes: Axes, points: Sequence[Point]) -> None:
    """Write the label of every point where it covers no marker and no other label."""
    unit = axes.figure.dpi / 72  # pixels in a point
    named = []
    for colour, _, of_kind in _kinds(points):
        for point in of_kind:
            if text := "\n".join(
                filter(None, (printable(point.label), "proposed" * point.is_proposed))
            ):
                label = axes.annotate(
                    text, (point.bytes, point.regret), (0, 0), textcoords="offset points",
                    color=colour, fontsize=8, ha="center", va="center", parse_math=False, zorder=5,
                    bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.6},
                )  # fmt: skip
                named.append((point, label))
    anchors = [_pixels(axes, point.bytes, point.regret) for point, _ in named]
    extents = [label.get_window_extent() for _, label in named]
    places = beside(
        anchors,
        [(extent.width + 2 * unit, extent.height + unit) for extent in extents],
        list(_taken(axes, points, unit)),
        Rectangle(*axes.get_window_extent().extents),
        _strokes(axes, points),
    )
    for (_, label), (x, y), place in zip(named, anchors, places, strict=True):
        across, up = (place.left + place.right) / 2 - x, (place.bottom + place.top) / 2 - y
        label.set_position((across / unit, up / unit))
        beyond = max(place.left - x, x - place.right, place.bottom - y, y - place.top)
        if beyond > NEAR * unit:
            nearest = np.clip(x, place.left, place.right), np.clip(y, place.bottom, place.top)
            ends = axes.transData.inverted().transform([(x, y), nearest])
            axes.plot(*ends.T, color="#aaaaaa", linewidth=0.7, zorder=2, scalex=False, scaley=False)


def _taken(axes: Axes, points: Sequence[Point], unit: float) -> Iterator[Rectangle]:
    """Yield the boxes that markers and intervals cover, in pixels."""
    for point in points:
        x, y = _pixels(axes, point.bytes, point.regret)
        half = (RING if point.is_proposed else MARKER) * unit
        yield Rectangle(x - half, y - half, x + half, y + half)
        low, high = (_pixels(axes, point.bytes, end)[1] for end in _ends(point))
        yield Rectangle(x - unit, low, x + unit, high)
        if point.bound is not None and np.isfinite(point.bound):
            x, y = _pixels(axes, point.bytes, point.bound)
            half = MARKER / 2 * unit
            yield Rectangle(x - half, y - half, x + half, y + half)


def _strokes(axes: Axes, points: Sequence[Point]) -> Array:
    """Return points on the lines of regrets and bounds, in pixels."""
    drawn = [
        [_pixels(axes, point.bytes, value) for point, value in zip(of_kind, values, strict=True)]
        for _, _, of_kind in _kinds(points)
        for values in ([p.regret for p in of_kind], [p.bound or np.inf for p in of_kind])
    ]
    pairs = [ends for line in drawn for ends in pairwise(line) if np.isfinite(ends).all()]
    return np.concatenate([np.empty((0, 2)), *(np.linspace(*ends, LINE_SAMPLES) for ends in pairs)])


def _pixels(axes: Axes, size: float, regret: float) -> tuple[float, float]:
    x, y = axes.transData.transform((size, regret))
    return float(x), float(y)


def _ends(point: Point) -> tuple[float, float]:
    """Return the ends of the drawn interval; a logarithmic scale cannot show 0 or less."""
    return max(point.interval[0], point.regret / 100), point.interval[1]


def _times(axes: Axes, points: Sequence[Point]) -> None:
    for colour, marker, of_kind in _kinds(points):
        known = [point for point in of_kind if point.microseconds is not None]
        sizes = [point.bytes for point in known]
        times = [point.microseconds or 0.0 for point in known]
        axes.plot(sizes, times, color=colour, marker=marker, linewidth=1.2, markersize=4)
    axes.set_ylabel("µs a decision")
    axes.set_ylim(bottom=0)


def _kinds(points: Sequence[Point]) -> Iterator[tuple[str, str, list[Point]]]:
    """Yield the points of each kind by increasing storage, with their colour and marker."""
    for i, kind in enumerate(dict.fromkeys(point.kind for point in points)):
        of_kind = sorted((p for p in points if p.kind == kind), key=lambda p: p.bytes)
        yield COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], of_kind


def _scales(panels: Sequence[Axes], points: Sequence[Point]) -> None:
    from matplotlib import ticker  # noqa: PLC0415 - for drawing only

    upper, last = panels[0], panels[-1]
    if all(point.regret > 0 for point in points):  # 0 has no logarithm
        upper.set_yscale("log")
    last.set_xscale("log")
    last.set_xlabel("bytes kept")
    for axis in (upper.yaxis, last.xaxis):
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: tick(value)))
    for axis in (upper.yaxis, last.xaxis):
        axis.set_minor_formatter(ticker.LogFormatter(minor_thresholds=(1, 0.4)))
    upper.margins(x=0.08, y=0.16)
