"""Keep what was learned for a problem whose spaces have become wider, where that is exact."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

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


class Inheritance(NamedTuple):
    """How new features follow from old ones.

    `parts` has the numbers of old features, with weights, whose sum is each new feature; none for
    a listed state that could not occur before.  `error` bounds the error of an estimate that
    this causes.
    """

    parts: list[list[tuple[int, float]]]
    error: float

    @property
    def is_identity(self) -> bool:
        """Whether the features are the same as before."""
        return all(part == [(i, 1.0)] for i, part in enumerate(self.parts))


def same_features(count: int) -> Inheritance:
    """Return that the features are the same as before."""
    return Inheritance([[(i, 1.0)] for i in range(count)], 0.0)


def features_inherited(new: Any, old: Any, accepted: float = 0.0) -> Inheritance:
    """Return how the features of a new factorisation follow from those of an old one.

    Raises ParameterError if they do not, or with an error of estimates that is not accepted.
    """
    problem, before = new.problem, old.problem
    points, places = getattr(new, "points", None), getattr(old, "points", None)
    if new.keeps_states and old.keeps_states and points is not None and places is not None:
        rows = translated([tuple(r) for r in places.tolist()], before.shown, problem.shown)
        if grown := changed_fields(problem.shown, before.shown, only_intervals=True):
            return _resketched(new, old, rows, grown, accepted)
        place = {row: i for i, row in enumerate(rows)}
        found = [place.get(tuple(row)) for row in points.tolist()]
        return Inheritance([[] if i is None else [(i, 1.0)] for i in found], 0.0)
    if new.at_contexts is not None and old.at_contexts is not None:
        rows = translated(old.at_contexts, before.context, problem.context)
        place = {row: i for i, row in enumerate(rows)}
        for context in new.at_contexts:
            if context not in place:
                raise ParameterError(
                    "only mean rewards of the old contexts are stored, and "
                    f"{problem.context.shown(context)} is not one of them"
                )
        return Inheritance([[(place[context], 1.0)] for context in new.at_contexts], 0.0)
    if grown := [
        *changed_fields(problem.state, before.state),
        *changed_fields(problem.context, before.context),
    ]:
        raise ParameterError(f"what is stored depends on the values of {names_in_sentence(grown)}")
    return same_features(old.features)


def _resketched(
    new: Any, old: Any, knots: Sequence[State], grown: Sequence[str], accepted: float
) -> Inheritance:
    """Return the weights of old knots on the new ones.

    An observation was shared out to the old knots, and each of these is shared out to the new
    ones.  Both steps interpolate the reward, so their errors add up.
    """
    low, high = new.problem.payoff.whole_range
    error = min(old.error + new.error, high - low)
    if error > accepted:
        raise ParameterError(
            f"{names_in_sentence(grown)} {'are' if len(grown) > 1 else 'is'} sketched on knots "
            f"between the old bounds, so estimates may be off by up to {error:.6g}, where the "
            f"reward goes from {low:.6g} to {high:.6g}; load(…, error={error:.6g}) accepts that"
        )
    parts: list[list[tuple[int, float]]] = [[] for _ in range(new.features)]
    for i, knot in enumerate(knots):
        for feature, weight in enumerate(new.psi((*new.problem.known[0], *knot))):
            if weight:
                parts[feature].append((i, float(weight)))
    return Inheritance(parts, error)


def with_features(state: Any, inheritance: Inheritance) -> Any:
    """Return the saved form of statistics with other features.

    >>> swapped = Inheritance([[(1, 1.0)], [], [(0, 1.0)]], 0.0)
    >>> with_features({"pulls": [2, 0], "means": [[0.25, 0.75], []]}, swapped)["means"]
    [[0.75, 0.0, 0.25], []]
    """
    plain = msgspec.to_builtins(state)
    for name in ("means", "rows"):
        if name in plain:
            plain[name] = [_with_features(row, inheritance.parts) for row in plain[name]]
    if "kept" in plain:
        plain["kept"] = with_features(plain["kept"], inheritance)
    return plain


def _with_features(row: Any, parts: Sequence[Sequence[tuple[int, float]]]) -> list[float]:
    if isinstance(row, dict):  # the few values of a long row that are not 0
        few = dict(zip(row["at"], row["values"], strict=True))
        return [_sum(few.get(i, 0.0) * weight for i, weight in part) for part in parts]
    return [_sum(row[i] * weight for i, weight in part) for part in parts] if row else []


def _sum(products: Iterable[float]) -> float:
    """Return a sum; that of a single negative 0 stays one."""
    listed = list(products)
    return listed[0] if len(listed) == 1 else math.fsum(listed)


def check_scale(statistics: Any, is_as_before: bool) -> None:  # noqa: FBT001 - a fact
    """Raise ParameterError if statistics depend on bounds of features that have changed."""
    if getattr(statistics, "depends_on_bounds", False) and not is_as_before:
        raise ParameterError("its change detectors are scaled to the old bounds of the reward")


def check_cells(problem: Problem, before: Problem) -> None:
    """Raise ParameterError if interval contexts are divided into other cells."""
    if grown := changed_fields(problem.context, before.context, only_intervals=True):
        raise ParameterError(f"the cells of {names_in_sentence(grown)} lie between the old bounds")


def cells_of(old: Any, new: Any) -> list[int]:
    """Return the cell of a new partition in which each cell of an old one lies."""
    context = new.problem.context
    centres = translated(old.centres, old.problem.context, context)
    return [new.locate(context.fields(centre)) for centre in centres]


def names_in_sentence(fields: Sequence[str]) -> str:
    """Return the names of fields in a sentence.

    >>> names_in_sentence(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(fields[:-1]), fields[-1]] if fields[1:] else fields)
