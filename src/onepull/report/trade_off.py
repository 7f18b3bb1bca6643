"""The regret and the storage of several policies, in one figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from onepull.errors import ParameterError
from onepull.report.endlabels import label_ends
from onepull.report.figures import COLOURS, MARKERS, tick
from onepull.report.ink import INK, any_script, style

if TYPE_CHECKING:  # matplotlib takes 0.6 s
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

PALE = 0.4  # how much of its colour a bound keeps


@dataclass(frozen=True, slots=True)
class Point:
    """A policy at one size.

    Attributes
    ----------
    kind, label
        Points of one kind make one line, and the label tells them apart.
    interval
        The 95 % confidence interval of the regret.
    bound, microseconds
        A bound on the regret and the time of a decision, where they are known.
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
    """Draw regret against storage, both on logarithmic scales, and below it microseconds.

    Simulated regret is a solid line with 95 % confidence intervals, the bound a pale dashed
    one, and what is proposed has a ring.

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
        raise ParameterError("a trade-off needs at least one point, given none")
    from matplotlib.figure import Figure  # noqa: PLC0415 - for drawing only

    timed = any(point.microseconds is not None for point in points)
    with style(), any_script():
        figure = Figure(figsize=(8.4, 6.4 if timed else 4.8), layout="constrained")
        ratios = [3.2, 1.0] if timed else [1.0]
        panels = figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios, squeeze=False)
        upper, *lower = panels.ravel().tolist()
        if title is not None:
            upper.set_title(title, parse_math=False, wrap=True)
        names = _regrets(upper, points)
        for axes in lower:
            _times(axes, points)
        upper.set_ylabel(f"regret by trial {trial:,}\nsimulated mean, 95 % interval")
        _scales([upper, *lower], points)
        figure.draw_without_rendering()  # the labels' places depend on the height they have
        label_ends(upper, [line for line, _ in names], [name for _, name in names])
        figure.draw_without_rendering()
        # Laid out for good: the same figure gives the same file twice.
        figure.set_layout_engine("none")
    return figure


def _regrets(axes: Axes, points: Sequence[Point]) -> list[tuple[Line2D, str]]:
    """Draw regrets and bounds, and return the lines with their names."""
    lines = []
    lowest = min(points, key=lambda point: point.regret).kind
    for colour, marker, of_kind in _kinds(points):
        sizes = [point.bytes for point in of_kind]
        regrets = np.array([point.regret for point in of_kind])
        # A logarithmic scale has no place for what is not above 0.
        low = np.array([max(p.interval[0], p.regret / 100) for p in of_kind])
        high = np.array([p.interval[1] for p in of_kind])
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
        for point in of_kind:
            # What loses least has its labels below, where nothing is in their way.
            _name(axes, point, colour, side=-1 if point.kind == lowest else 1)
    return lines


def _name(axes: Axes, point: Point, colour: str, *, side: int) -> None:
    text = point.label
    if point.is_proposed:
        text = f"{text}\nproposed".strip()
        axes.plot(
            point.bytes, point.regret, "o", markersize=13, markerfacecolor="none",
            markeredgecolor=INK, zorder=4,
        )  # fmt: skip
    axes.annotate(
        text, (point.bytes, point.regret), (0, 10 * side), color=colour, fontsize=8,
        textcoords="offset points", horizontalalignment="center",
        verticalalignment="bottom" if side > 0 else "top", parse_math=False, zorder=5,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.6},
    )  # fmt: skip


def _times(axes: Axes, points: Sequence[Point]) -> None:
    for colour, marker, of_kind in _kinds(points):
        known = [point for point in of_kind if point.microseconds is not None]
        sizes = [point.bytes for point in known]
        times = [point.microseconds or 0.0 for point in known]
        axes.plot(sizes, times, color=colour, marker=marker, linewidth=1.2, markersize=4)
    axes.set_ylabel("µs a decision")
    axes.set_ylim(bottom=0)


def _kinds(points: Sequence[Point]) -> Iterator[tuple[str, str, list[Point]]]:
    """Yield the points of each kind from small to large, with its colour and marker."""
    for i, kind in enumerate(dict.fromkeys(point.kind for point in points)):
        of_kind = sorted((p for p in points if p.kind == kind), key=lambda p: p.bytes)
        yield COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], of_kind


def _scales(panels: Sequence[Axes], points: Sequence[Point]) -> None:
    from matplotlib import ticker  # noqa: PLC0415 - for drawing only

    upper, last = panels[0], panels[-1]
    if all(point.regret > 0 for point in points):  # nothing has no logarithm
        upper.set_yscale("log")
    last.set_xscale("log")
    last.set_xlabel("bytes kept")
    for axis in (upper.yaxis, last.xaxis):
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: tick(value)))
    upper.yaxis.set_minor_formatter(ticker.LogFormatter(minor_thresholds=(1, 0.4)))
    last.xaxis.set_minor_formatter(ticker.NullFormatter())
    upper.margins(x=0.08, y=0.16)
