"""A formula in its three forms: on numbers, on arrays, on boxes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepull.errors import FormulaError
from onepull.formula import operations as op
from onepull.formula.enclosure import Array, Enclosure, Undefined, point
from onepull.formula.grammar import Apply, Field, Number, Term, parse


class Formula:
    """A known function of named numbers, written as text.

    >>> formula = Formula("min(bits, capacity)", ["bits", "capacity"])
    >>> formula.scalar(3.0, 2.0)
    2.0
    >>> formula.vector(np.array([1.0, 2.0, 3.0]), 2.0)
    array([1., 2., 2.])
    >>> float(formula.enclose({"bits": (3.0, 3.0), "capacity": (0.0, 7.0)}).high)
    3.0
    """

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.tree = parse(text, self.names)
        self.text = " ".join(text.split())

    def __repr__(self) -> str:
        """Show the text."""
        return f"Formula({self.text!r}, {list(self.names)})"

    @cached_property
    def source(self) -> str:
        """Python source of the function on numbers, for whoever compiles it."""
        return f"lambda {', '.join(self.names)}: {_scalar(self.tree)}"

    @cached_property
    def scalar(self) -> Callable[..., float]:
        """The function on numbers, one for each name in order."""
        return _evaluate(self.source)

    @cached_property
    def arrays(self) -> Callable[..., Any]:
        """The function on arrays; what it does not depend on does not shape its result."""
        compute = _evaluate(f"lambda {', '.join(self.names)}: {_vector(self.tree)}")
        # A branch not taken may divide by zero in elements that it is not used for.
        quietly: Callable[..., Any] = np.errstate(all="ignore")(compute)
        return quietly

    def vector(self, *columns: Any) -> Array:
        """Return the formula on arrays that broadcast together, one for each name in order."""
        shape = np.broadcast_shapes(*(np.shape(column) for column in columns))
        return np.broadcast_to(np.asarray(self.arrays(*columns), dtype=np.float64), shape)

    def rows(self, points: Sequence[Sequence[float]]) -> Callable[[tuple[float, ...]], list[float]]:
        """Return one function that lists the formula at every point.

        A point gives values to the first names; the function takes a tuple of the others.

        >>> formula = Formula("min(bits, capacity)", ["bits", "capacity"])
        >>> formula.rows([(1.0,), (2.0,), (3.0,)])((2.0,))
        [1.0, 2.0, 2.0]
        """
        fixed = len(points[0])
        bodies = [
            _scalar(_substitute(self.tree, dict(zip(self.names, values, strict=False))))
            for values in points
        ]
        scope = dict(op.NAMESPACE)
        # Generated from a checked tree, like `_evaluate`'s source, but with a line to unpack.
        exec(  # noqa: S102
            f"def rows(_state):\n"
            f"    {', '.join(self.names[fixed:])}, = _state\n"
            f"    return [{', '.join(bodies)}]",
            scope,
        )
        rows: Callable[[tuple[float, ...]], list[float]] = scope["rows"]
        return rows

    def enclose(self, box: Mapping[str, tuple[Any, Any]], along: Sequence[str] = ()) -> Enclosure:
        """Enclose the values on a box, or an array of boxes, and the slopes along some names.

        Raises `FormulaError`, pointing at the part, where the formula is not defined.
        """
        fields = {}
        for name, (low, high) in box.items():
            slopes = {name: point(1.0)} if name in along else {}
            fields[name] = Enclosure(np.asarray(low, float), np.asarray(high, float), slopes)
        return self._enclose(self.tree, fields)

    def _enclose(self, term: Term, fields: dict[str, Enclosure]) -> Enclosure:
        match term:
            case Number(value=value):
                return Enclosure(*point(value))
            case Field(name=name):
                return fields[name]
            case Apply(operation=op.WHERE, terms=(condition, body, orelse)):
                truth = self._enclose(condition, fields)
                when = self._given(condition, fields, truth.high == 0, truth=True)
                otherwise = self._given(condition, fields, truth.low == 1, truth=False)
                parts = [truth, self._enclose(body, when), self._enclose(orelse, otherwise)]
            case Apply(terms=terms):
                parts = [self._enclose(part, fields) for part in terms]
        try:
            return term.operation.enclosure(*parts)
        except Undefined as reason:
            start, stop = term.span
            raise FormulaError(str(reason), text=self.text, start=start, stop=stop) from None

    def _given(
        self,
        condition: Term,
        fields: dict[str, Enclosure],
        impossible: NDArray[np.bool_],
        *,
        truth: bool,
    ) -> dict[str, Enclosure]:
        """Return the fields as they can be where `condition` has this truth.

        Boxes where it cannot have it become NaN, which no check complains about and which
        the choice between the branches never picks.
        """
        known = self._narrow(condition, fields, truth=truth)
        return {
            name: Enclosure(
                np.where(impossible, np.nan, field.low),
                np.where(impossible, np.nan, field.high),
                field.slopes,
            )
            for name, field in known.items()
        }

    def _narrow(
        self, condition: Term, fields: dict[str, Enclosure], *, truth: bool
    ) -> dict[str, Enclosure]:
        match condition:
            case Apply(operation=op.NOT, terms=(inner,)):
                return self._narrow(inner, fields, truth=not truth)
            case Apply(operation=operation, terms=terms) if operation is (
                op.AND if truth else op.OR
            ):
                for term in terms:
                    fields = self._narrow(term, fields, truth=truth)
                return fields
            case Apply(operation=operation, terms=(left, right)) if operation in _ORDER:
                smaller, strict = _ORDER[operation]
                # 'not a < b' is 'b <= a': the other way round, the other strictness.
                if not truth:
                    smaller, strict = not smaller, not strict
                low, high = (left, right) if smaller else (right, left)
                return self._order(low, high, fields, strict=strict)
        return fields

    def _order(
        self, low: Term, high: Term, fields: dict[str, Enclosure], *, strict: bool
    ) -> dict[str, Enclosure]:
        """Narrow the fields knowing that the term `low` is below the term `high`."""
        narrowed = dict(fields)
        if isinstance(low, Field):
            field, limit = fields[low.name], self._enclose(high, fields).high
            limit = np.nextafter(limit, -np.inf) if strict else limit
            narrowed[low.name] = Enclosure(
                field.low, np.maximum(field.low, np.minimum(field.high, limit)), field.slopes
            )
        if isinstance(high, Field):
            field, limit = fields[high.name], self._enclose(low, fields).low
            limit = np.nextafter(limit, np.inf) if strict else limit
            narrowed[high.name] = Enclosure(
                np.minimum(field.high, np.maximum(field.low, limit)), field.high, field.slopes
            )
        return narrowed


# Which side of a comparison is the smaller one, and whether it is strictly so.
_ORDER = {
    op.LESS: (True, True),
    op.LESS_EQUAL: (True, False),
    op.GREATER: (False, True),
    op.GREATER_EQUAL: (False, False),
}


def _evaluate(source: str) -> Callable[..., Any]:
    # The source is generated from a checked tree and sees no builtins.
    function: Callable[..., Any] = eval(source, dict(op.NAMESPACE))  # noqa: S307
    return function


def _scalar(term: Term) -> str:
    match term:
        case Number(value=value):
            return repr(value)
        case Field(name=name):
            return name
        case Apply(operation=operation, terms=terms):
            return operation.scalar(*map(_scalar, terms))


def _vector(term: Term) -> str:
    match term:
        case Number(value=value):
            return repr(value)
        case Field(name=name):
            return name
        case Apply(operation=operation, terms=terms):
            return operation.vector(*map(_vector, terms))


def _substitute(term: Term, values: Mapping[str, float]) -> Term:
    """Return the tree with some names replaced by numbers, and what is constant worked out."""
    match term:
        case Field(name=name) if name in values:
            return Number(values[name], term.span)
        case Apply(operation=operation, terms=terms):
            replaced = tuple(_substitute(inner, values) for inner in terms)
            constant = all(isinstance(inner, Number) for inner in replaced)
            term = Apply(operation, replaced, term.span)
            if constant and operation.gives == "number":
                return Number(float(_evaluate(f"lambda: {_scalar(term)}")()), term.span)
    return term
