"""Keep what was learned for a problem whose spaces have become wider, where that is exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from onepull.errors import ParameterError
from onepull.payoff import State
from onepull.problem import Problem
from onepull.spaces import Box, Interval, Space


def holds(new: Space, old: Space) -> bool:
    """Return whether a space holds all values of another, apart from clipping.

    >>> from onepull import Finite
    >>> holds(Interval(0, 9), Interval(0, 7)), holds(Finite([1, 2]), Finite([3, 1]))
    (True, False)
    """
    if isinstance(old, Interval):
        return isinstance(new, Interval) and new.low <= old.low and old.high <= new.high
    if isinstance(new, Interval):
        return not old.words and new.low <= old.low and old.high <= new.high
    if bool(old.words) != bool(new.words):
        return False
    return set(old.words or old.values) <= set(new.words or new.values)


def is_as_before(new: Space, old: Space) -> bool:
    """Return whether two spaces have the same values in the same order, apart from clipping.

    >>> is_as_before(Interval(0, 9, outside="clip"), Interval(0, 9))
    True
    """
    if isinstance(new, Interval) and isinstance(old, Interval):
        return (new.low, new.high) == (old.low, old.high)
    return new == old


def changed_fields(new: Box, old: Box, *, only_intervals: bool = False) -> list[str]:
    """Return the names of the fields whose values have changed."""
    return [
        name
        for name, space in old.items()
        if not is_as_before(new[name], space)
        and (not only_intervals or Interval in (type(space), type(new[name])))
    ]


def translated(values: Sequence[State], old: Box, new: Box) -> list[State]:
    """Return values of a box as those of another, in which words may have other numbers."""
    if not old.words:
        return list(values)
    return [new.read(old.fields(row)) for row in values]


def features_inherited(new: Any, old: Any) -> list[int | None]:
    """Return which feature of an old factorisation is each feature of a new one.

    None is a listed state that could not occur before.  Raises ParameterError if a feature of
    the new one was not learned.
    """
    problem, before = new.problem, old.problem
    points, places = getattr(new, "points", None), getattr(old, "points", None)
    if new.keeps_states and old.keeps_states and points is not None and places is not None:
        if grown := changed_fields(problem.state, before.state, only_intervals=True):
            raise ParameterError(
                f"{names(grown)} {are(grown)} sketched on knots between the old bounds"
            )
        rows = translated([tuple(r) for r in places.tolist()], before.state, problem.state)
        place = {row: i for i, row in enumerate(rows)}
        return [place.get(tuple(row)) for row in points.tolist()]
    if new.at_contexts is not None and old.at_contexts is not None:
        rows = translated(old.at_contexts, before.context, problem.context)
        place = {row: i for i, row in enumerate(rows)}
        found: list[int | None] = []
        for context in new.at_contexts:
            if context not in place:
                raise ParameterError(
                    "only mean rewards of the old contexts are stored, and "
                    f"{problem.context.shown(context)} is not one of them"
                )
            found.append(place[context])
        return found
    if grown := [
        *changed_fields(problem.state, before.state),
        *changed_fields(problem.context, before.context),
    ]:
        raise ParameterError(f"what is stored depends on the values of {names(grown)}")
    return list(range(old.features))


def with_features(state: Any, places: Sequence[int | None]) -> Any:
    """Return the saved form of statistics with other features.

    >>> with_features({"pulls": [2, 0], "means": [[0.25, 0.75], []]}, [1, None, 0])["means"]
    [[0.75, 0.0, 0.25], []]
    """
    plain = msgspec.to_builtins(state)
    for name in ("means", "rows"):
        if name in plain:
            plain[name] = [_with_features(row, places) for row in plain[name]]
    if "kept" in plain:
        plain["kept"] = with_features(plain["kept"], places)
    return plain


def _with_features(row: Any, places: Sequence[int | None]) -> list[float]:
    if isinstance(row, dict):  # the few values of a long row that are not 0
        few = dict(zip(row["at"], row["values"], strict=True))
        return [0.0 if i is None else few.get(i, 0.0) for i in places]
    return [0.0 if i is None else row[i] for i in places] if row else []


def check_scale(statistics: Any, new: Any, old: Any) -> None:
    """Raise ParameterError if statistics depend on bounds of features that have changed."""
    if getattr(statistics, "depends_on_bounds", False) and new != old:
        raise ParameterError("its change detectors are scaled to the old bounds of the reward")


def check_cells(problem: Problem, before: Problem) -> None:
    """Raise ParameterError if interval contexts are divided into other cells."""
    if grown := changed_fields(problem.context, before.context, only_intervals=True):
        raise ParameterError(f"the cells of {names(grown)} lie between the old bounds")


def cells_of(old: Any, new: Any) -> list[int]:
    """Return the cell of a new partition in which each cell of an old one lies."""
    context = new.problem.context
    centres = translated(old.centres, old.problem.context, context)
    return [new.locate(context.fields(centre)) for centre in centres]


def names(fields: Sequence[str]) -> str:
    """Return the names of fields in a sentence.

    >>> names(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(fields[:-1]), fields[-1]] if fields[1:] else fields)


def are(fields: Sequence[str]) -> str:
    """Return the verb that follows these names."""
    return "are" if len(fields) > 1 else "is"
