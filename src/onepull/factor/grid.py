"""Continuous contexts divided into cells: the factorisation of CCB."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from onepull.checks import real
from onepull.errors import ParameterError
from onepull.factor.cells import MOST_CELLS, Cells, cut_axis, listed_axis
from onepull.problem import Problem, given_problem
from onepull.spaces import Finite


class Grid(Cells):
    """Interval contexts divided into equal cells no wider than δ; one feature per cell centre.

    Several context fields form a product grid; finite fields keep their values.  If the reward
    is L-Lipschitz in a field, cells of width w cause an error of at most L·w/2.

    Parameters
    ----------
    delta
        Largest width of a cell: one number for all interval fields, or one per field by name.

    Examples
    --------
    >>> from onepull import Interval
    >>> grid = Grid(Problem(
    ...     arms=["a", "b"],
    ...     context={"power": Interval(0, 1)},
    ...     state={"gain": Interval(0, 4)},
    ...     reward="log(1 + power * gain)",
    ... ), delta=0.3)
    >>> grid.features, grid.centres[0], grid.error
    (4, (0.125,), 0.5)
    """

    def __init__(self, problem: Problem, *, delta: float | Mapping[str, float]) -> None:
        fields = given_problem(problem).context
        intervals = [n for n, s in fields.items() if not isinstance(s, Finite)]
        if not intervals:
            raise ParameterError(
                "a grid needs an interval context field, but all are finite; use a table or DCB"
            )
        widths = _by_field(delta, intervals)
        self.delta = widths if isinstance(delta, Mapping) else widths[intervals[0]]
        axes = {}
        for name, space in problem.context.items():
            if isinstance(space, Finite):
                axes[name] = listed_axis(space)
                continue
            if not math.isfinite(space.width):
                raise ParameterError(
                    f"context field {name!r} is {space!r}, but only a bounded interval can be "
                    "divided into cells"
                )
            if space.extent / widths[name] > MOST_CELLS + 0.5:
                raise ParameterError(
                    f"delta={widths[name]:g} divides context field {name!r} into more than "
                    f"{MOST_CELLS:,} cells; take a larger delta"
                )
            axes[name] = cut_axis(space, widths[name])
        super().__init__(problem, axes)
        lipschitz = problem.payoff.lipschitz
        self.error = sum(lipschitz[name].value * axes[name].width / 2 for name in intervals)

    def _rebuilt(self, problem: Problem) -> Grid:
        assert self.delta is not None  # noqa: S101 - set by the constructor
        return Grid(problem, delta=self.delta)

    @classmethod
    def finest(cls, problem: Problem, *, delta: float | Mapping[str, float]) -> Grid:
        """Return the grid of δ, with δ doubled until there are at most `MOST_CELLS` cells."""
        intervals = {n: s for n, s in problem.context.items() if not isinstance(s, Finite)}
        if not all(math.isfinite(space.width) for space in intervals.values()):
            return cls(problem, delta=1.0)  # raises the error
        widths = _by_field(delta, list(intervals)) if intervals else {}
        while _count(problem, widths) > MOST_CELLS and any(
            widths[name] < space.extent for name, space in intervals.items()
        ):
            widths = {name: 2 * width for name, width in widths.items()}
        return cls(problem, delta=widths if len(widths) != 1 else next(iter(widths.values())))


def _count(problem: Problem, widths: Mapping[str, float]) -> float:
    return math.prod(
        len(space.values) if isinstance(space, Finite) else space.extent / widths[name] + 1
        for name, space in problem.context.items()
    )


def _by_field(delta: Any, intervals: list[str]) -> dict[str, float]:
    given = dict(delta) if isinstance(delta, Mapping) else dict.fromkeys(intervals, delta)
    if set(given) != set(intervals):
        raise ParameterError(
            f"delta must be given for the interval fields {', '.join(intervals)}, given for "
            f"{', '.join(map(str, given)) or 'none'}"
        )
    for name, width in given.items():
        try:
            given[name] = real(width)
        except TypeError:
            raise ParameterError(f"delta must be a number above 0, given {width!r}") from None
        if not 0 < given[name] < math.inf:
            raise ParameterError(f"delta must be a number above 0, given {width!r}")
    return given
