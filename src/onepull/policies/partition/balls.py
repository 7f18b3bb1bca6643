"""One step of contextual zooming: plain functions of the balls of one arm.

The library runs them in CPython on lists, the simulator compiles them for arrays, and both choose
the same arms to the last bit.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np

from onepull.arrays import Array


def distance(one: Any, two: Any, slopes: Any) -> float:
    """Return D = min(1, Σ |y_f - y'_f|·slope_f) of two contexts.

    >>> distance((0.5, 1.0), (0.25, 3.0), (1.0, 0.125))
    0.5
    """
    total = 0.0
    for a, b, slope in zip(one, two, slopes):  # noqa: B905 - the compiler takes no `strict`
        total += abs(a - b) * slope
    return min(1.0, total)


def confidence_radius(pulls: float, log_horizon: float, width: float) -> float:
    """Return conf = width·√(ln T / (1 + n)) after n pulls.

    >>> confidence_radius(3, 4.0, 0.5)
    0.5
    """
    return width * sqrt(log_horizon / (1.0 + pulls))


def opened_radius(radius: float, pulls: float, log_horizon: float, width: float) -> float:
    """Return the radius of the ball that a pull opens: half, once conf <= radius; 0 if none.

    >>> opened_radius(0.5, 3, 4.0, 0.5), opened_radius(0.5, 2, 4.0, 0.5)
    (0.25, 0.0)
    """
    return radius / 2 if confidence_radius(pulls, log_horizon, width) <= radius else 0.0


def leading_ball(  # noqa: PLR0913, PLR0917 - plain arguments, so that a compiler can take them
    context: Any,
    centres: Any,
    radii: Any,
    pulls: Any,
    means: Any,
    slopes: Any,
    log_horizon: float,
    width: float,
) -> tuple[int, float]:
    """Return the relevant ball with the highest index, and that index.

    The smallest balls around a context are relevant.  Of tied balls the first is taken.

    >>> centres, radii, pulls, means = [(0.5,), (0.75,)], [1.0, 0.5], [3, 0], [0.25, inf]
    >>> leading_ball((0.75,), centres, radii, pulls, means, (1.0,), 4.0, 0.5)
    (1, 2.5)
    >>> leading_ball((0.0,), centres, radii, pulls, means, (1.0,), 4.0, 0.5)
    (0, 2.75)
    """
    smallest, best, highest = inf, 0, -inf
    for ball in range(len(radii) - 1, -1, -1):  # later balls are smaller: fewer distances
        radius = radii[ball]
        if radius > smallest or distance(centres[ball], context, slopes) > radius:
            continue
        bound, centre = inf, centres[ball]
        for other in range(len(radii)):
            # A distance is at least 0, so most of the others need none.
            least = means[other] + radii[other]
            if least < bound:
                least += confidence_radius(pulls[other], log_horizon, width)
                if least < bound:
                    bound = min(bound, least + distance(centres[other], centre, slopes))
        if radius < smallest or radius + bound >= highest:
            smallest, best, highest = radius, ball, radius + bound
    return best, highest


def leading_of_many(  # noqa: PLR0913, PLR0917 - the arguments of `leading_ball`
    context: Any,
    centres: Array,
    radii: Array,
    pulls: Array,
    means: Array,
    slopes: Any,
    log_horizon: float,
    width: float,
) -> tuple[int, float]:
    """Return what `leading_ball` returns, to the last bit, from arrays.

    This is for CPython alone.  There a loop takes about a microsecond a ball, and arrays are
    quicker for many balls.  Compiled code is quicker with the loop, which needs no new arrays.

    >>> centres, radii = np.array([[0.5], [0.75]]), np.array([1.0, 0.5])
    >>> pulls, means = np.array([3, 0]), np.array([0.25, inf])
    >>> leading_of_many((0.75,), centres, radii, pulls, means, (1.0,), 4.0, 0.5)
    (1, 2.5)
    """
    around = _distances(centres, context, slopes) <= radii
    smallest = radii[around].min()
    before = means + radii + width * np.sqrt(log_horizon / (1.0 + pulls))
    best, highest = 0, -inf
    for ball in np.flatnonzero(around & (radii == smallest)).tolist():
        bound = (before + _distances(centres, centres[ball], slopes)).min()
        if smallest + bound > highest:
            best, highest = ball, float(smallest + bound)
    return best, highest


def _distances(centres: Array, context: Any, slopes: Any) -> Array:
    """Return the distance of every centre, a row each, from a context."""
    total = np.zeros(len(centres))
    for f, slope in enumerate(slopes):  # not a matrix product: it would round differently
        total += np.abs(centres[:, f] - context[f]) * slope
    distances: Array = np.minimum(1.0, total)
    return distances
