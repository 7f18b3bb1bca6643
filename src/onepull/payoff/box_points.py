"""Cut a box into pieces, and sample points from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from onepull.arrays import Array
from onepull.formula import Bounds
from onepull.spaces import Box, Finite, Interval, Space


def cuts(space: Interval, pieces: int) -> Array:
    """Return the edges of `pieces` parts of an interval, evenly spaced if it is bounded."""
    low, high = space.low, space.high
    if np.isfinite(low) and np.isfinite(high):
        return np.linspace(low, high, pieces + 1)
    # Geometric steps from the finite end (or zero): 2^-4, …, 2^40, then infinity.
    reach = np.concatenate([[0.0], np.logspace(-4, 40, max(pieces, 2), base=2.0), [np.inf]])
    if np.isfinite(low):
        return np.asarray(low + reach)
    if np.isfinite(high):
        return np.asarray((high - reach)[::-1])
    return np.concatenate([-reach[:0:-1], reach])


def is_finite(box: Box) -> bool:
    """Whether every field has finitely many values."""
    return all(isinstance(space, Finite) for space in box.values())


def size(box: Box) -> int:
    """Return the number of combinations of values of the finite fields."""
    return math.prod(len(values) for values in listed_values(box).values())


def listed_values(box: Box) -> dict[str, tuple[float, ...]]:
    """Return the values of each finite field."""
    return {name: space.values for name, space in box.items() if isinstance(space, Finite)}


def stretched(box: Box, name: str) -> Box:
    """Return the box with one field replaced by the interval from its lowest to highest value."""
    low, high = box[name].low, box[name].high
    return Box({**box, name: Interval(low, high)}) if low < high else box


def all_combinations(columns: Mapping[str, Sequence[float] | Array]) -> dict[str, Array]:
    """Return all combinations of the values, one flat column per name; the last varies fastest."""
    grids = np.meshgrid(*(np.asarray(c, float) for c in columns.values()), indexing="ij")
    return dict(zip(columns, (grid.ravel() for grid in grids), strict=True))


def pieces(box: Box, budget: int, listing: int = 4096) -> dict[str, Bounds]:
    """Cut a box into about `budget` pieces that cover it.

    Finite fields are split into single values if that makes at most `listing` pieces.  So the
    pieces of a finite box are points, and enclosing them is an exact enumeration.
    """
    finite = size(box)
    continuous = sum(isinstance(space, Interval) for space in box.values())
    each = max(1, int((budget / finite) ** (1 / continuous))) if continuous else 1
    lows, highs = {}, {}
    for name, space in box.items():
        ends = _ends(space, each, whole=finite > max(budget, listing))
        lows[name], highs[name] = ends
    low, high = all_combinations(lows), all_combinations(highs)
    return {name: (low[name], high[name]) for name in box}


def _ends(space: Space, pieces: int, *, whole: bool) -> Bounds:
    if isinstance(space, Finite) and not whole:
        return np.array(space.values), np.array(space.values)
    if isinstance(space, Interval):
        # `cuts` adds pieces to unbounded intervals; with many fields that matters.
        unbounded = int(np.isinf(space.low)) + int(np.isinf(space.high))
        pieces = pieces // unbounded - 1 if unbounded else pieces
        if pieces > 1:
            edges = cuts(space, pieces)
            return edges[:-1], edges[1:]
    return np.array([space.low]), np.array([space.high])


def points(box: Box, budget: int, generator: np.random.Generator) -> dict[str, Array]:
    """Return all points of a small finite box, else its corners and a random sample."""
    if is_finite(box) and size(box) <= budget:
        return all_combinations(listed_values(box))
    columns = {name: _sample(space, budget, generator) for name, space in box.items()}
    corners = all_combinations({name: _extremes(space) for name, space in list(box.items())[:8]})
    for name, space in list(box.items())[8:]:
        corners[name] = np.full(len(next(iter(corners.values()))), _extremes(space)[0])
    return {name: np.concatenate([corners[name], columns[name]]) for name in box}


def _extremes(space: Space) -> Array:
    if isinstance(space, Finite):
        return np.array([space.low, space.high])
    edges = cuts(space, 1)
    return np.array([e for e in (edges[0], edges[-1]) if np.isfinite(e)] or [0.0])


def _sample(space: Space, count: int, generator: np.random.Generator) -> Array:
    if isinstance(space, Finite):
        return generator.choice(np.array(space.values), count)
    if space.is_log:
        return np.asarray(space.low * np.exp(space.extent * generator.random(count)))
    if np.isfinite(space.width):
        return generator.uniform(space.low, space.high, count)
    edges = cuts(space, 8)
    edges = edges[np.isfinite(edges)]
    part = generator.integers(0, len(edges) - 1, count)
    return np.asarray(edges[part] + generator.random(count) * (edges[part + 1] - edges[part]))
