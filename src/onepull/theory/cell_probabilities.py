"""The probability of each cell of a grid under the law of the contexts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.distributions import Continuous, Distribution, Independent
from onepull.distributions.quadrature import smooth
from onepull.errors import ParameterError
from onepull.factor import Grid
from onepull.factor.cells import Axis, cut_axis, listed_axis
from onepull.spaces import Finite

CELL_NODES = 24


def cell_masses(grid: Grid, law: Distribution) -> Array:
    """Return the probability of every cell of a grid, in the grid's order.

    Exact for laws with atoms and for uniform laws.  Other densities are integrated over each
    cell by Gauss quadrature, with about ten correct digits.

    >>> from onepull import Interval, Problem
    >>> from onepull.distributions import Uniform
    >>> grid = Grid(Problem(
    ...     arms=["a", "b"],
    ...     context={"power": Interval(0, 1)},
    ...     state={"gain": Interval(0, 4)},
    ...     reward="log(1 + power * gain)",
    ... ), delta=0.25)
    >>> cell_masses(grid, Uniform(0.25, 0.75)).round(9)
    array([0. , 0.5, 0.5, 0. ])
    """
    if law.atoms is not None:
        rows, weights = law.atoms
        return counted(grid.locate_many(rows), weights, grid.features)
    if len(law.parts()) > 1:
        return np.asarray(sum(weight * cell_masses(grid, part) for weight, part in law.parts()))
    laws = law.laws if isinstance(law, Independent) else (law,)
    total = np.ones(1)
    for axis, one in zip(grid_axes(grid).values(), laws, strict=True):
        total = np.multiply.outer(total, _along(axis, one)).ravel()
    return total


def grid_axes(grid: Grid) -> dict[str, Axis]:
    """Return the axis of each context field, whose product is the grid.

    >>> from onepull.environment import energy_harvesting
    >>> axes = grid_axes(Grid(energy_harvesting().problem, delta=0.3))
    >>> axes["power"].width
    0.25
    """
    given, spaces = grid.delta, grid.problem.context
    assert given is not None  # noqa: S101 - every grid has a delta
    return {
        name: listed_axis(space)
        if isinstance(space, Finite)
        else cut_axis(space, given[name] if isinstance(given, Mapping) else given)
        for name, space in spaces.items()
    }


def counted(places: NDArray[np.int64], weights: Array, count: int) -> Array:
    """Return the sum of the weights at each of `count` places.

    >>> counted(np.array([0, 2, 2]), np.array([0.5, 0.25, 0.25]), 3)
    array([0.5, 0. , 0.5])
    """
    return np.asarray(np.bincount(places, weights, count), np.float64)


def _along(axis: Axis, law: Distribution) -> Array:
    """Return the probability of each cell of one axis."""
    if law.atoms is not None:
        rows, weights = law.atoms
        return counted(axis.cells(rows[:, 0]), weights, len(axis.centres))
    if len(law.parts()) > 1:
        return np.asarray(sum(weight * _along(axis, part) for weight, part in law.parts()))
    ((_, law),) = law.parts()
    if not isinstance(law, Continuous):
        raise ParameterError(
            f"the probabilities of cells need a law with atoms or a density, given {law!r}"
        )
    low = np.clip(axis.edges[0], *law.bulk)
    width = np.clip(axis.edges[1], *law.bulk) - low
    s, weights = np.polynomial.legendre.leggauss(CELL_NODES)
    # Nodes crowd at both ends of a cell, where a density may be infinite.
    place, slope = smooth((s + 1) / 2)
    values = law.density(low[:, None] + width[:, None] * place)
    masses = (values * slope) @ weights * width
    return np.asarray(masses / masses.sum())
