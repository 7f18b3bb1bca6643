"""Labels of points, placed where they cover neither points nor each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from onepull.arrays import Array

GAP = 7.0  # between a point and its label
RINGS = (0.0, 6.0, 14.0, 24.0, 36.0, 50.0, 66.0, 84.0)  # further distances to try
# Directions in the order of preference: above, below, beside, diagonal.
WAYS = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1))
SWEEPS = 4  # at most, over all labels, until no label moves
ACROSS_A_LINE = 2.0  # cost of covering a point of a line, in pixels of distance
COVERS = 1e3  # cost of a covered pixel, in pixels of distance


class Rectangle(NamedTuple):
    """A rectangle.

    >>> Rectangle(0, 0, 4, 2).overlap(Rectangle(3, 1, 9, 9))
    1.0
    """

    left: float
    bottom: float
    right: float
    top: float

    def overlap(self, other: Rectangle) -> float:
        """Return the area that two rectangles share."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.top, other.top) - max(self.bottom, other.bottom)
        return float(max(wide, 0.0) * max(high, 0.0))

    def holds(self, points: Array) -> int:
        """Return how many points are inside."""
        x, y = points[:, 0], points[:, 1]
        within = (self.left < x) & (x < self.right) & (self.bottom < y) & (y < self.top)
        return int(within.sum())


def beside(
    anchors: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    taken: Sequence[Rectangle],
    frame: Rectangle,
    lines: Array | None = None,
) -> list[Rectangle]:
    """Return a box for the label of every anchor.

    Each label is inside the frame and as near to its anchor as possible without covering a
    taken box or another label; it avoids points of lines if that costs little distance.  If
    there is no free place it covers as little area as possible.

    Parameters
    ----------
    anchors, sizes
        The points to label, and the widths and heights of the labels.
    taken
        Boxes not to cover, such as markers.
    lines
        Points on lines, one row each.

    Examples
    --------
    >>> marker = Rectangle(-3, -3, 3, 3)
    >>> beside([(0, 0)], [(20, 8)], [marker, Rectangle(-3, 8, 3, 14)], Rectangle(-90, -90, 90, 90))
    [Rectangle(left=-10.0, bottom=-15.0, right=10.0, top=-7.0)]
    """
    points = np.empty((0, 2)) if lines is None else lines
    ways = [list(_places(a, s)) for a, s in zip(anchors, sizes, strict=True)]
    # Costs without the overlap with other labels, which may still move.
    alone = [[_cost(box, away, taken, frame, points) for box, away in each] for each in ways]
    chosen = [each[int(np.argmin(cost))][0] for each, cost in zip(ways, alone, strict=True)]
    for _ in range(SWEEPS):
        before = list(chosen)
        for i, each in enumerate(ways):
            others = chosen[:i] + chosen[i + 1 :]
            costs = [
                cost + COVERS * sum(box.overlap(other) for other in others)
                for (box, _), cost in zip(each, alone[i], strict=True)
            ]
            chosen[i] = each[int(np.argmin(costs))][0]
        if chosen == before:
            break
    return chosen


def _places(
    anchor: tuple[float, float], size: tuple[float, float]
) -> Iterator[tuple[Rectangle, float]]:
    """Yield the candidate boxes of a label with their distances."""
    (x, y), (wide, high) = anchor, size
    for order, (across, up) in enumerate(WAYS):
        for ring in RINGS:
            away = GAP + ring
            left = x - wide / 2 + across * (wide / 2 + away)
            bottom = y - high / 2 + up * (high / 2 + away)
            yield Rectangle(left, bottom, left + wide, bottom + high), ring + 0.5 * order


def _cost(
    box: Rectangle, away: float, taken: Sequence[Rectangle], frame: Rectangle, points: Array
) -> float:
    area = (box.right - box.left) * (box.top - box.bottom)
    covered = sum(box.overlap(other) for other in taken) + area - box.overlap(frame)
    return away + ACROSS_A_LINE * box.holds(points) + COVERS * covered
