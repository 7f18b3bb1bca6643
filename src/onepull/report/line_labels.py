"""Names at the ends of lines, moved apart where lines end close together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from onepull.arrays import Array
from onepull.html import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

FONT_SIZE = 9.5  # points
LEADING = 1.35
WRAP = 28  # characters


def spread_labels(wanted: Array, heights: Array, top: float) -> Array:
    """Return the positions in [0, top] nearest to those wanted at which no labels overlap.

    The wanted positions are in increasing order.  Least squares under minimum distances
    between neighbours is isotonic regression, computed by pooling neighbours that overlap.

    >>> spread_labels(np.array([10.0, 11.0, 50.0]), np.array([4.0, 4.0, 4.0]), 100.0)
    array([ 8.5, 12.5, 50. ])
    """
    if not len(wanted):
        return wanted
    distances = (heights[1:] + heights[:-1]) / 2
    offsets = np.concatenate([[0.0], np.cumsum(distances)])
    pools: list[tuple[float, int]] = []
    for target in wanted - offsets:
        mean, count = float(target), 1
        while pools and pools[-1][0] > mean:
            before, size = pools.pop()
            mean = (before * size + mean * count) / (size + count)
            count += size
        pools.append((mean, count))
    free = np.repeat([mean for mean, _ in pools], [count for _, count in pools])
    # Labels that do not all fit start at the bottom and continue above the top.
    places: Array = np.clip(free, 0.0, max(0.0, top - float(offsets[-1]))) + offsets
    return places


def in_lines(name: str) -> str:
    r"""Break a long name after spaces, commas and brackets, and anywhere if it has none.

    >>> in_lines("KnownReward(factor=LowRank(rank=4), index=Hoeffding)")
    'KnownReward(factor=LowRank(\nrank=4), index=Hoeffding)'
    """
    clean = printable(" ".join(name.split()))
    lines = [""]
    for word in re.findall(rf"[^ ,(]{{1,{WRAP}}}[ ,(]*|[ ,(]+", clean):
        if lines[-1] and len(lines[-1]) + len(word.rstrip()) > WRAP:
            lines.append("")
        lines[-1] += word
    return "\n".join(line.rstrip() for line in lines)


def label_height(name: str) -> float:
    """Return the height of a label in points."""
    return FONT_SIZE * LEADING * (1 + in_lines(name).count("\n"))


def label_ends(axes: Axes, lines: Sequence[Line2D], names: Sequence[str]) -> None:
    """Write the name of each line to the right of the axes, after a sample of the line."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - for drawing only

    wrapped = list(map(in_lines, names))
    heights = np.array(list(map(label_height, names)))
    height = axes.get_window_extent().height / axes.figure.dpi * 72
    ends = np.array([_end(axes, line) for line in lines])
    order = np.argsort(ends, kind="stable")
    places = np.empty(len(lines))
    places[order] = spread_labels(ends[order] * height, heights[order], height) / height
    for line, name, end, place in zip(lines, wrapped, ends, places, strict=True):
        # Pale and detached, so that it does not look like a part of the line.
        leader = Line2D([1.008, 1.03], [end, place], color="#aaaaaa", linewidth=0.8)
        key = Line2D([1.034, 1.055, 1.076], [place] * 3)
        key.update_from(line)
        key.set_markevery([1])
        for piece in (leader, key):
            piece.set(transform=axes.transAxes, clip_on=False)
            axes.add_line(piece)
        axes.text(
            1.088,
            place,
            name,
            transform=axes.transAxes,
            verticalalignment="center",
            fontsize=FONT_SIZE,
            linespacing=1.15,
            parse_math=False,  # $ is no markup in a name
        )


def _end(axes: Axes, line: Line2D) -> float:
    """Return the height of the end of a line as a share of the axes; 0 if it is not drawn."""
    x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
    seen = np.flatnonzero(np.isfinite(y))
    if not len(seen):
        return 0.0
    pixels = axes.transData.transform((x[seen[-1]], y[seen[-1]]))
    return float(np.clip(axes.transAxes.inverted().transform(pixels)[1], 0.0, 1.0))
