"""Precomputed bounds on the reward in a context."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.errors import OnepullError
from onepull.factor.arm_ranges import whole_ranges
from onepull.factor.cells import MOST_CELLS
from onepull.factor.context_table import ContextTable
from onepull.factor.grid import Grid
from onepull.payoff import State
from onepull.payoff.box_points import is_finite, size
from onepull.problem import Problem
from onepull.spaces import Finite, Interval

RANGE_CELLS = 4096
FEW_VALUES = 4  # values of a field that stay listed


class Ranges:
    """The range of the reward in each context, or in a small cell around it.

    If arms have attributes, it has one range for each arm.
    """

    def __init__(self, problem: Problem) -> None:
        self._context = problem.context
        self._whole: tuple[Any, Any] = problem.payoff.whole_range
        self._cells = _fine_cells(problem)
        if self._cells is not None:
            self._lows, self._highs = self._cells.arm_bounds()
        elif problem.attributes:
            self._whole = whole_ranges(problem)

    def at(self, context: State) -> tuple[Any, Any]:
        """Return bounds on the reward over all states in a context."""
        if self._cells is None:
            return self._whole
        cell = self._cells.locate(self._context.fields(context))
        return self._lows[cell], self._highs[cell]

    def at_many(self, contexts: Array) -> tuple[Array, Array]:
        """Return bounds on the reward in each context (one per row)."""
        if self._cells is None:
            lows, highs = (np.array(bound) for bound in self._whole)
            shape = (len(contexts), *lows.shape)
            return np.broadcast_to(lows, shape), np.broadcast_to(highs, shape)
        cells = self._cells.locate_many(contexts)
        return np.array(self._lows)[cells], np.array(self._highs)[cells]


def _between(problem: Problem) -> Problem:
    """Return the problem with intervals in place of long lists of numbers in the context."""
    context = {
        name: Interval(space.low, space.high)
        if isinstance(space, Finite) and not space.words and len(space.values) > FEW_VALUES
        else space
        for name, space in problem.context.items()
    }
    return problem.with_spaces(context=context)


def _fine_cells(problem: Problem) -> ContextTable | Grid | None:
    if is_finite(problem.context):
        if size(problem.context) <= MOST_CELLS:
            return ContextTable(problem)
        try:
            return _fine_cells(_between(problem))
        except OnepullError:  # the reward is not defined between the values, or there are too many
            return None
    intervals = {n: s for n, s in problem.context.items() if isinstance(s, Interval)}
    if not all(math.isfinite(space.width) for space in intervals.values()):
        return None
    each = max(1.0, RANGE_CELLS ** (1 / len(intervals)))
    return Grid.finest(problem, delta={n: s.extent / each for n, s in intervals.items()})
