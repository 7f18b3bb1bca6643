"""Names at the ends of lines, moved apart where the lines end close together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from onepull.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

SIZE = 9.5  # points
LEADING = 1.35
WRAP = 28  # characters


def spread(wanted: Array, heights: Array, top: float) -> Array:
    """Return positions in [0, top], nearest to those wanted, at which no two labels overlap.

    The wanted positions are in rising order.  In squares, nearest under "each at least so
    far above the last" is isotonic regression, done by pooling neighbours that collide.

    >>> spread(np.array([10.0, 11.0, 50.0]), np.array([4.0, 4.0, 4.0]), 100.0)
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
    # Too many to fit start at the bottom and go on beyond the top.
    places: Array = np.clip(free, 0.0, max(0.0, top - float(offsets[-1]))) + offsets
    return places


def in_lines(name: str) -> str:
    r"""Break a long name after spaces, commas and brackets, or where it must be.

    >>> in_lines("KnownReward(factor=LowRank(rank=4), index=Hoeffding)")
    'KnownReward(factor=LowRank(\nrank=4), index=Hoeffding)'
    """
    # XML has no control characters, so a drawing cannot have them either.
    clean = "".join(c if c.isprintable() else "�" for c in " ".join(name.split()))
    lines = [""]
    for word in re.findall(rf"[^ ,(]{{1,{WRAP}}}[ ,(]*|[ ,(]+", clean):
        if lines[-1] and len(lines[-1]) + len(word.rstrip()) > WRAP:
            lines.append("")
        lines[-1] += word
    return "\n".join(line.rstrip() for line in lines)


def label_height(name: str) -> float:
    """Return the height in points that the label of a line takes."""
    return SIZE * LEADING * (1 + in_lines(name).count("\n"))


def label_ends(axes: Axes, lines: Sequence[Line2D], names: Sequence[str]) -> None:
    """Write each line's name right of the axes, after a sample of the line."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - for drawing only

    wrapped = list(map(in_lines, names))
    heights = np.array(list(map(label_height, names)))
    height = axes.get_window_extent().height / axes.figure.dpi * 72
    ends = np.array([_end(axes, line) for line in lines])
    order = np.argsort(ends, kind="stable")
    places = np.empty(len(lines))
    places[order] = spread(ends[order] * height, heights[order], height) / height
    for line, name, end, place in zip(lines, wrapped, ends, places, strict=True):
        # Pale and apart from the line, or it would look as if the line went on level.
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
            fontsize=SIZE,
            linespacing=1.15,
            parse_math=False,  # a dollar in a name is a dollar
        )


def _end(axes: Axes, line: Line2D) -> float:
    """Return how high up the axes a line ends; at the foot if nothing of it can be drawn."""
    x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
    seen = np.flatnonzero(np.isfinite(y))
    if not len(seen):
        return 0.0
    pixels = axes.transData.transform((x[seen[-1]], y[seen[-1]]))
    return float(np.clip(axes.transAxes.inverted().transform(pixels)[1], 0.0, 1.0))
