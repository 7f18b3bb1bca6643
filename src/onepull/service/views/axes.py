"""The contexts along one field, for the axis of a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onepull.problem import Problem
from onepull.spaces import Finite

FAR = 1e6  # where an unbounded field is cut off


def points_of(space: Any, count: int) -> list[Any]:
    """Return values of a field.

    >>> from onepull import Interval
    >>> points_of(Interval(0, 4), 3), points_of(Finite(["eu", "us"]), 9)
    ([0.0, 2.0, 4.0], ['eu', 'us'])
    """
    if isinstance(space, Finite):
        values: list[Any] = [*space.words] or [*space.values]
        step = max(len(values) // count, 1)
        return values[::step][:count]
    low, high = max(space.low, -FAR), min(space.high, FAR)
    if space.is_log and low > 0:
        return [float(value) for value in np.geomspace(low, high, count)]
    return [float(value) for value in np.linspace(low, high, count)]


def middle_of(space: Any) -> Any:
    """Return a value in the middle of a field.

    >>> middle_of(Finite(["eu", "us", "asia"]))
    'us'
    """
    values = points_of(space, 3)
    return values[len(values) // 2]


def others(problem: Problem, field: str, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the other fields: as given, or in the middle."""
    return {
        name: fixed.get(name, middle_of(space))
        for name, space in problem.context.items()
        if problem.context.has_fields and name != field
    }


def contexts_along(
    problem: Problem, field: str, fixed: Mapping[str, Any], points: Sequence[Any]
) -> list[tuple[float, ...]]:
    """Return the contexts at the points of a field, as numbers."""
    rest = others(problem, field, fixed)
    return [problem.context.read({**rest, field: point}) for point in points]
