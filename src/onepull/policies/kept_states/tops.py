"""The highest possible reward in a context."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.errors import FormulaError
from onepull.payoff import State
from onepull.payoff.box_points import all_combinations, pieces
from onepull.payoff.formula_payoff import FormulaPayoff
from onepull.problem import Problem
from onepull.spaces import Finite, Space

CONTEXT_CELLS = 256  # contexts are cut into about so many cells
MOST_LISTED_VALUES = 16  # values of a field that are listed rather than cut
MOST_STATE_PIECES = 64  # states are cut into at most so many
MOST_BOXES = 2**17  # of a cell and a piece, in each of which the reward is enclosed


class Tops:
    """The highest possible reward of each arm in each cell of contexts.

    It is computed once, from the reward's formula.  For a reward in Python it is the same in all
    contexts.

    >>> from onepull import Interval
    >>> tops = Tops(Problem(
    ...     arms=["a", "b"], context={"y": Finite([1, 2])}, state={"x": Interval(0, 9)},
    ...     reward="min(x, y)",
    ... ))
    >>> tops.at((1.0,)), tops.at((2.0,))
    (1.0, 2.0)
    """

    def __init__(self, problem: Problem) -> None:
        fields = list(problem.context.items())
        room, lists = (
            CONTEXT_CELLS,
            set(),
        )  # the fields whose values are listed, as long as there is room
        for name, space in fields:
            if isinstance(space, Finite) and len(space.values) <= min(MOST_LISTED_VALUES, room):
                room //= len(space.values)
                lists.add(name)
        cut = len(fields) - len(lists)
        each = max(1, int(room ** (1 / cut))) if cut else 1
        axes = [_axis(space, each, listed=name in lists) for name, space in fields]
        self._finds = [(find, len(ends[0])) for find, ends in axes]
        lows = all_combinations(
            {name: axis[1][0] for (name, _), axis in zip(fields, axes, strict=True)}
        )
        highs = all_combinations(
            {name: axis[1][1] for (name, _), axis in zip(fields, axes, strict=True)}
        )
        found = _highest(problem, {name: (lows[name], highs[name]) for name, _ in fields})
        self._tops: Any = found.tolist() if found.ndim == 1 else found
        self.table = found.reshape(len(found), -1)  # one row a cell, one column an arm or for all

    def at(self, context: State) -> Any:
        """Return the highest reward in a context: a number, or one for each arm."""
        cell = 0
        for value, (find, count) in zip(context, self._finds, strict=True):
            cell = cell * count + find(value)
        return self._tops[cell]

    def cells(self, contexts: Array) -> NDArray[np.int64]:
        """Return the row of the table for each of many contexts.

        >>> tops = Tops(Problem(
        ...     arms=["a"], context={"y": Finite([1, 2])}, state={"x": Finite([0, 3])},
        ...     reward="min(x, y)",
        ... ))
        >>> tops.table[tops.cells(np.array([[2.0], [1.0]]))].tolist()
        [[2.0], [1.0]]
        """
        rows = np.zeros(len(contexts), np.int64)
        for values, (find, count) in zip(contexts.T.tolist(), self._finds, strict=True):
            rows = rows * count + np.array([find(value) for value in values], np.int64)
        return rows


def _axis(
    space: Space, cells: int, *, listed: bool
) -> tuple[Callable[[float], int], tuple[Array, Array]]:
    """Return the function from a value to its cell, and the ends of the cells."""
    if listed and isinstance(space, Finite):
        values = np.array(space.values)
        return {value: i for i, value in enumerate(space.values)}.__getitem__, (values, values)
    if not np.isfinite(space.high - space.low):
        return (lambda _: 0), (np.array([space.low]), np.array([space.high]))
    edges = np.linspace(space.low, space.high, cells + 1)
    inner = edges[1:-1].tolist()
    return (lambda value: bisect_right(inner, value)), (edges[:-1], edges[1:])


def _highest(problem: Problem, cells: dict[str, tuple[Array, Array]]) -> Array:
    """Return the highest reward in each cell; one column for each arm if they have attributes."""
    count = len(next(iter(cells.values()))[0])
    payoff = problem.payoff
    shape = (count, len(problem.arms)) if problem.attributes else (count,)
    whole = np.full(shape, payoff.whole_range[1])
    if not isinstance(payoff, FormulaPayoff) or payoff.high is not None:
        return whole
    many = int(np.prod(shape))
    if many > MOST_BOXES:
        return whole
    states = pieces(
        problem.shown,
        min(MOST_STATE_PIECES, max(1, MOST_BOXES // many)),
        listing=MOST_BOXES // many,
    )
    boxes = {name: (low[:, None, None], high[:, None, None]) for name, (low, high) in cells.items()}
    known = np.array(problem.known).T
    for name, values in zip(problem.outcome.names, known, strict=False):
        boxes[name] = (values[None, :, None], values[None, :, None])
    try:
        found = payoff.formula.enclose({**boxes, **states}).high
    except FormulaError:  # a cell is too large to tell that the formula is defined in it
        return whole
    full = (count, len(problem.arms) if problem.attributes else 1, 1)
    highest = np.broadcast_to(found, np.broadcast_shapes(np.shape(found), full)).max(axis=-1)
    return np.asarray(np.minimum(highest if problem.attributes else highest[:, 0], whole))
