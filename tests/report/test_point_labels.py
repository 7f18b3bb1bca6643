"""Labels that cover neither points nor each other."""

from __future__ import annotations

import numpy as np
import pytest

from onepull.report.point_labels import Rectangle, beside
from onepull.report.trade_off import Point, trade_off

FRAME = Rectangle(0, 0, 600, 400)


def markers(anchors, half=5.0):
    return [Rectangle(x - half, y - half, x + half, y + half) for x, y in anchors]


@pytest.mark.parametrize("seed", range(20))
def test_a_dozen_labels_find_room(seed):
    generator = np.random.default_rng(seed)
    anchors = [tuple(row) for row in generator.uniform((20, 20), (580, 380), (12, 2))]
    sizes = [(float(w), 12.0) for w in generator.uniform(20, 70, 12)]
    taken = markers(anchors)
    places = beside(anchors, sizes, taken, FRAME)
    for i, place in enumerate(places):
        assert place.overlap(FRAME) == pytest.approx(sizes[i][0] * 12.0)
        assert not any(place.overlap(other) for other in taken)
        assert not any(place.overlap(other) for other in places[:i])


def test_points_that_coincide_have_labels_apart():
    anchors = [(300.0, 200.0)] * 6
    places = beside(anchors, [(60.0, 12.0)] * 6, markers(anchors), FRAME)
    for i, place in enumerate(places):
        assert not any(place.overlap(other) for other in [*places[:i], *markers(anchors[:1])])


def test_alone_a_label_is_above_its_point():
    (place,) = beside([(300.0, 200.0)], [(40.0, 10.0)], markers([(300.0, 200.0)]), FRAME)
    assert place == (280.0, 207.0, 320.0, 217.0)


def test_it_moves_off_a_line():
    x = np.linspace(0, 600, 300)
    line = np.column_stack([x, np.full(300, 212.0)])  # through where it would be
    (place,) = beside([(300.0, 200.0)], [(40.0, 10.0)], [], FRAME, line)
    assert place.holds(line) == 0


def test_without_room_it_covers_as_little_as_can_be():
    frame = Rectangle(0, 0, 30, 30)
    (place,) = beside([(15.0, 15.0)], [(20.0, 8.0)], [Rectangle(0, 15, 30, 30)], frame)
    assert place.top <= 15.0


def drawn(points):
    """Return the boxes of the labels in a figure, and where the markers are, in pixels."""
    figure = trade_off(points, trial=1000)
    axes = figure.axes[0]
    labels = [text for text in axes.texts if text.get_transform() is not axes.transAxes]
    boxes = [Rectangle(*label.get_window_extent().extents) for label in labels]
    spots = [axes.transData.transform((point.bytes, point.regret)) for point in points]
    return boxes, np.array(spots)


def test_a_picture_of_many_candidates_covers_no_marker():
    generator = np.random.default_rng(4)
    points = [
        Point(kind, f"{label} cells", int(size), float(regret), (0.9 * regret, 1.1 * regret))
        for kind in ("CCB", "Sketch", "MultiUCB", "UCB1")
        for label, size, regret in zip(
            (1, 4, 16, 64),
            generator.integers(100, 10_000, 4),
            generator.uniform(100, 2000, 4),
            strict=True,
        )
    ]
    points.append(Point("KLUCB", "recommended", 400, 90.0, (80.0, 99.0), is_proposed=True))
    boxes, spots = drawn(points)
    assert len(boxes) == len(points)
    for i, box in enumerate(boxes):
        assert box.holds(spots) == 0
        assert not any(box.overlap(other) > 1.0 for other in boxes[:i])
