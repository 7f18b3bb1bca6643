"""Factorisations on a partition of the contexts into cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.errors import ParameterError
from onepull.factor.arm_ranges import ranges_by_arm
from onepull.factor.factorisation import Factorisation
from onepull.formula import Bounds
from onepull.payoff import State
from onepull.payoff.box_points import all_combinations
from onepull.problem import Problem
from onepull.spaces import Finite, Interval

MOST_CELLS = 1_000_000


@dataclass(frozen=True, slots=True)
class Axis:
    """One context field divided into cells.

    `cell` maps a value to the number of its cell and raises KeyError, TypeError or ValueError
    for a value outside the space.  `cells` maps a column of valid values.
    """

    cell: Callable[[Any], int]
    cells: Callable[[Array], NDArray[np.int64]]
    edges: Bounds
    centres: Sequence[float]

    @property
    def width(self) -> float:
        """The width of the widest cell, 0 if each value is its own cell."""
        first, last = (float(self.edges[1][i] - self.edges[0][i]) for i in (0, -1))
        return last if last > 1.000001 * first else first  # on a log scale they grow


def listed_axis(space: Finite) -> Axis:
    """Return the axis of a finite field, in which each value is its own cell."""
    numbers: dict[Any, int] = {value: i for i, value in enumerate(space.words or space.values)}
    accept, places = space.accept, {value: i for i, value in enumerate(space.values)}

    def cell(value: Any) -> int:
        kind = type(value)
        if kind is float or kind is int or kind is str:  # anything else is converted first
            return numbers[value]
        return places[accept(value)]

    values = np.array(space.values)
    order = np.argsort(values)

    def cells(column: Array) -> NDArray[np.int64]:
        return order[np.searchsorted(values[order], column)]

    return Axis(cell, cells, (values, values), space.values)


def cut_axis(space: Interval, delta: float) -> Axis:
    """Return the axis of an interval divided into equal cells no wider than `delta`.

    A value on the border of two cells belongs to the upper one, the upper end to the last cell.
    """
    count = cells_needed(space, delta)
    if space.is_log:
        return _cut_log(space, count)
    per_unit, last, low, accept = count / space.width, count - 1, space.low, space.accept

    def cell(value: Any) -> int:
        return min(int((accept(value) - low) * per_unit), last)

    def cells(column: Array) -> NDArray[np.int64]:
        return np.minimum(((column - low) * per_unit).astype(np.int64), last)

    edges = np.linspace(space.low, space.high, count + 1)
    centres = low + (np.arange(count) + 0.5) * (space.width / count)
    return Axis(cell, cells, (edges[:-1], edges[1:]), centres.tolist())


def _cut_log(space: Interval, count: int) -> Axis:
    """Return the axis of an interval divided into cells with the same ratio of their ends."""
    per_unit, last, low, accept = count / space.extent, count - 1, space.low, space.accept

    def cell(value: Any) -> int:
        return min(int(math.log(accept(value) / low) * per_unit), last)

    def cells(column: Array) -> NDArray[np.int64]:
        return np.minimum((np.log(column / low) * per_unit).astype(np.int64), last)

    edges = space.places(count + 1)
    return Axis(cell, cells, (edges[:-1], edges[1:]), np.sqrt(edges[:-1] * edges[1:]).tolist())


def cells_needed(space: Interval, delta: float) -> int:
    """Return the number of equal cells no wider than delta, apart from rounding."""
    return max(1, math.ceil(space.extent / delta - 1e-9))


class Cells(Factorisation):
    """A partition of the contexts into cells; a context is treated as the centre of its cell.

    φ is one-hot and ψ lists the reward at each centre, so an estimate is a look-up.

    Attributes
    ----------
    centre_bounds
        The lowest and the highest reward at the centre of each cell; of each arm if arms have
        attributes.
    """

    widens = False
    centre_bounds: tuple[list[Any], list[Any]]

    def __init__(self, problem: Problem, axes: Mapping[str, Axis]) -> None:
        self.problem = problem
        self.features = math.prod(len(axis.centres) for axis in axes.values())
        if self.features > MOST_CELLS:
            raise ParameterError(
                f"{self.features:,} context cells are more than the {MOST_CELLS:,} allowed; "
                "take a larger delta or fewer context fields"
            )
        self._parts = axes
        given = {} if problem.context.implied else axes
        self._axes = [(name, axis.cell, len(axis.centres)) for name, axis in given.items()]
        columns = all_combinations({name: axis.centres for name, axis in axes.items()})
        self.centres = list(zip(*(column.tolist() for column in columns.values()), strict=True))
        self.at_contexts = self.centres
        self.psi = problem.payoff.across(self.centres)
        at_centres = {name: (c, c) for name, c in columns.items()}
        lows, highs = problem.payoff.range(at_centres)
        self._lows, self._highs = lows.tolist(), highs.tolist()
        self.centre_bounds = self._lows, self._highs
        if problem.attributes:
            lows, highs = ranges_by_arm(problem, at_centres)
            self.centre_bounds = lows.tolist(), highs.tolist()

    def _of_arms(self, problem: Problem) -> Factorisation:
        return self._rebuilt(problem)  # with the bounds of each arm

    def locate(self, fields: Mapping[str, Any]) -> int:
        """Return the number of the cell of a context."""
        try:
            number = 0
            for name, cell, count in self._axes:
                number = number * count + cell(fields[name])
            if len(fields) == len(self._axes):
                return number
        except (KeyError, TypeError, ValueError):
            pass
        raise self.problem.context.refusal(fields)

    def look(self, means: Any, fields: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """Return the means in the cell of a context, and bounds on the reward at its centre."""
        cell = self.locate(fields)
        lows, highs = self.centre_bounds
        return means[cell], lows[cell], highs[cell]

    def phi(self, context: State) -> Array:
        """Return the one-hot vector of the cell of a context."""
        one_hot = np.zeros(self.features)
        one_hot[self.locate(self.problem.context.fields(context))] = 1.0
        return one_hot

    def locate_many(self, contexts: Array) -> NDArray[np.int64]:
        """Return the cell of each context (one per row), all of which must be in the space."""
        numbers = np.zeros(len(contexts), np.int64)
        for column, axis in zip(contexts.T, self._parts.values(), strict=True):
            numbers = numbers * len(axis.centres) + axis.cells(column)
        return numbers

    def inherit(self, coarser: Cells, values: Array) -> Array:
        """Interpolate values at the centres of coarser cells to the centres of these.

        Interpolation is linear along interval fields, and constant beyond the outermost centres.
        """
        table = np.reshape(values, [len(axis.centres) for axis in coarser._parts.values()])
        for number, (name, axis) in enumerate(self._parts.items()):
            if axis.width:
                old = coarser._parts[name].centres
                lines = np.moveaxis(table, number, -1)
                new = [np.interp(axis.centres, old, line) for line in lines.reshape(-1, len(old))]
                table = np.moveaxis(
                    np.reshape(new, [*lines.shape[:-1], len(axis.centres)]), -1, number
                )
        return table.ravel()

    def feature_bounds(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return the bounds of the reward at each centre."""
        return self._lows, self._highs

    def cell_bounds(self) -> tuple[list[float], list[float]]:
        """Return bounds on the reward over all contexts of each cell, not only at its centre."""
        low, high = self.problem.payoff.range(self._boxes())
        return low.tolist(), high.tolist()

    def arm_bounds(self) -> tuple[list[Any], list[Any]]:
        """Return the same bounds, of each arm if arms have attributes."""
        if not self.problem.attributes:
            return self.cell_bounds()
        low, high = ranges_by_arm(self.problem, self._boxes())
        return low.tolist(), high.tolist()

    def _boxes(self) -> dict[str, Bounds]:
        """Return the lower and the upper end of each cell along each field."""
        # Rounding may put a context next to the edge into the neighbouring cell.
        slack = {name: 1e-12 * axis.width for name, axis in self._parts.items()}
        spaces = self.problem.context
        lows = all_combinations(
            {n: np.maximum(a.edges[0] - slack[n], spaces[n].low) for n, a in self._parts.items()}
        )
        highs = all_combinations(
            {n: np.minimum(a.edges[1] + slack[n], spaces[n].high) for n, a in self._parts.items()}
        )
        return {name: (lows[name], highs[name]) for name in self._parts}
