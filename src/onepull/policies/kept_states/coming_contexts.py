"""Which of the compared contexts come: plain functions of numbers, which are compiled, too.

An arm is explored less where it is costly, so that it is explored where it is cheap.  That only
works if requests come there.  So each observation that tells its context counts for the nearest of
the compared contexts.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from math import asinh, inf, isinf
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.payoff import State
from onepull.spaces import Box, Interval

AT_FIRST = 4  # how often each context counts as having come at first
MOST_COUNTED = 1000  # requests; then all counts are halved
MOST_REMEMBERED = 1024  # contexts of which it is remembered where they are
RAREST = 50  # a context comes if it is at least every so many requests
NOT_NEAR = 1e9  # scale of words: two of them are equal, or far apart
CURVED = 1e3  # how far above its lowest value an interval begins to be measured by ratio


def first_counts(contexts: int) -> list[int]:
    """Return how often each context has come before the first request."""
    return [AT_FIRST] * contexts


def scales(box: Box) -> Array:
    """Return how distances are measured: for each field its scale, and where it is curved.

    >>> from onepull import Finite, Interval
    >>> scales(Box(a=Interval(0, 4), word=Finite(["eu", "us"]))).tolist()
    [[0.25, 0.0], [1000000000.0, 0.0]]
    """
    return np.array([_scale(box, name) for name in box])


def _scale(box: Box, name: str) -> tuple[float, float]:
    space = box[name]
    if name in box.words:
        return NOT_NEAR, 0.0
    low, high = space.low, space.high
    if isinstance(space, Interval) and (space.is_log or isinf(high - low)):
        bend = CURVED / low if space.is_log else 1.0
        # From there to a thousand times as far, so that usual numbers are told apart.
        return 1.0 / (asinh(min(high, 1e12) * bend) - asinh(max(low, -1e12) * bend)), bend
    return (1.0 / (high - low) if high > low else 1.0), 0.0


def position(value: float, scale: float, bend: float) -> float:
    """Return where a value is on the scale of its field.

    >>> position(3.0, 0.25, 0.0), round(position(2.0, 1.0, 1.0), 6)
    (0.75, 1.443635)
    """
    return scale * (asinh(bend * value) if bend > 0.0 else value)


def positions(contexts: Sequence[State], scales: Array) -> Array:
    """Return where contexts are, one row each.

    >>> positions([(3.0,), (4.0,)], np.array([[0.25, 0.0]])).tolist()
    [[0.75], [1.0]]
    """
    each: list[Any] = scales.tolist()
    return np.array([position_of(context, each) for context in contexts])


def position_of(context: State, scales: Sequence[Sequence[float]]) -> list[float]:
    """Return where a context is.

    >>> position_of((3.0, 8.0), [[0.25, 0.0], [1.0, 0.0]])
    [0.75, 8.0]
    """
    return [
        position(value, scale, bend) for value, (scale, bend) in zip(context, scales, strict=True)
    ]


def nearest(here: Any, places: Any) -> int:
    """Return which of the places is nearest.

    >>> nearest([0.8], [[0.0], [0.5], [1.0]])
    2
    """
    best, least = 0, inf
    for c in range(len(places)):
        far = 0.0
        for f in range(len(here)):
            off = here[f] - places[c][f]
            far += off * off if -1.0 < off < 1.0 else 1.0  # `min` would be slower
        if far < least:
            best, least = c, far
    return best


def count(came: MutableSequence[int], which: int) -> None:
    """Count a request near one of the contexts; older requests count less.

    >>> came = [500, 499]
    >>> count(came, 1)
    >>> came
    [250, 250]
    """
    came[which] += 1
    if sum(came) >= MOST_COUNTED:
        for c in range(len(came)):
            came[c] //= 2


def counts_together(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """Return how often each context came to one of two.

    >>> counts_together([10, 4], [4, 7]), sum(counts_together([900, 4], [4, 900]))
    ([10, 7], 902)
    """
    found = [one + other - AT_FIRST for one, other in zip(first, second, strict=True)]
    found = [max(each, 0) for each in found]  # what was there at first may be forgotten
    while sum(found) >= MOST_COUNTED:
        found = [each // 2 for each in found]
    return found


def comes(count: int, total: int) -> bool:
    """Return whether a context comes often enough to explore there.

    >>> comes(4, 32), comes(4, 201)
    (True, False)
    """
    return count * RAREST >= total
