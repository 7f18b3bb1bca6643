"""A formula that can be evaluated on numbers, on arrays and on boxes."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.errors import FormulaError
from onepull.formula import operations as op
from onepull.formula.enclosure import Enclosure, Undefined, point
from onepull.formula.grammar import Apply, Field, Number, Term, parse
from onepull.formula.operations import Operation

LARGEST = sys.float_info.max


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
    def size(self) -> int:
        """The cost of enclosing one box: its terms, and the fields that its choices narrow."""
        return _size(self.tree, len(self.names))

    @cached_property
    def body(self) -> str:
        """Python source of the formula as an expression in the names."""
        return _scalar(self.tree)

    @property
    def source(self) -> str:
        """Python source of the function on numbers."""
        return f"lambda {', '.join(self.names)}: {self.body}"

    @cached_property
    def scalar(self) -> Callable[..., float]:
        """The function on numbers, one for each name in order."""
        return _evaluate(self.source)

    @cached_property
    def arrays(self) -> Callable[..., Any]:
        """The function on arrays; its result has the shape of those it depends on."""
        compute = _evaluate(f"lambda {', '.join(self.names)}: {_vector(self.tree)}")

        # A branch may divide by zero in elements where it is not taken.  Numpy can ignore that,
        # Python's own floats cannot.
        @np.errstate(all="ignore")
        def quietly(*columns: Any) -> Any:
            return compute(*[np.asarray(column, np.float64) for column in columns])

        return quietly

    def vector(self, *columns: Any) -> Array:
        """Evaluate the formula on arrays that broadcast together, one for each name in order."""
        shape = np.broadcast_shapes(*(np.shape(column) for column in columns))
        return np.broadcast_to(np.asarray(self.arrays(*columns), dtype=np.float64), shape)

    def rows(self, points: Sequence[Sequence[float]]) -> Callable[[tuple[float, ...]], list[float]]:
        """Return a function that evaluates the formula at every point and returns a list.

        A point holds values of the first names; the function takes a tuple of the others.

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
        # The source is generated from a checked tree, as in `_evaluate`.
        exec(  # noqa: S102 - our own source
            f"def rows(_state):\n"
            f"    {', '.join(self.names[fixed:])}, = _state\n"
            f"    return [{', '.join(bodies)}]",
            scope,
        )
        rows: Callable[[tuple[float, ...]], list[float]] = scope["rows"]
        return rows

    def enclose(self, box: Mapping[str, tuple[Any, Any]], along: Sequence[str] = ()) -> Enclosure:
        """Enclose the values on a box or an array of boxes, and the slopes along some names.

        Raises `FormulaError`, pointing at the offending part, if the formula is undefined
        anywhere on a box.
        """
        fields, finite = {}, {}
        for name, (low, high) in box.items():
            bounds = np.asarray(low, float), np.asarray(high, float)
            fields[name] = Enclosure(*bounds, {name: point(1.0)} if name in along else {})
            finite[name] = Enclosure(*(np.clip(end, -LARGEST, LARGEST) for end in bounds))
        with np.errstate(all="ignore"):
            # Fields are finite here, so an infinity is an overflow.
            self._enclose(self.tree, finite, overflow=True)
            return self._enclose(self.tree, fields)

    def _enclose(
        self, term: Term, fields: dict[str, Enclosure], *, overflow: bool = False
    ) -> Enclosure:
        match term:
            case Number(value=value):
                return Enclosure(*point(value))
            case Field(name=name):
                return fields[name]
            case Apply(operation=op.WHERE, terms=(condition, body, orelse)):
                truth = self._enclose(condition, fields, overflow=overflow)
                when = self._given(condition, fields, truth.high == 0, truth=True)
                otherwise = self._given(condition, fields, truth.low == 1, truth=False)
                parts = [
                    truth,
                    self._enclose(body, when, overflow=overflow),
                    self._enclose(orelse, otherwise, overflow=overflow),
                ]
            case Apply(terms=terms):
                parts = [self._enclose(part, fields, overflow=overflow) for part in terms]
        try:
            if overflow:
                _refuse_overflow(term.operation, parts)
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
        """Return the fields narrowed to where `condition` is true, or false.

        Boxes where that is impossible become NaN: the checks ignore them, and the choice
        between the branches never picks them.
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
                # 'not a < b' is 'b <= a': swap the sides and the strictness.
                if not truth:
                    smaller, strict = not smaller, not strict
                low, high = (left, right) if smaller else (right, left)
                return self._order(low, high, fields, strict=strict)
        return fields

    def _order(
        self, low: Term, high: Term, fields: dict[str, Enclosure], *, strict: bool
    ) -> dict[str, Enclosure]:
        """Narrow the fields, given that the term `low` is below the term `high`."""
        narrowed = dict(fields)
        if isinstance(low, Field) and _is_plain(high):
            field, limit = fields[low.name], self._enclose(high, fields).high
            limit = np.nextafter(limit, -np.inf) if strict else limit
            narrowed[low.name] = Enclosure(
                field.low, np.maximum(field.low, np.minimum(field.high, limit)), field.slopes
            )
        if isinstance(high, Field) and _is_plain(low):
            field, limit = fields[high.name], self._enclose(low, fields).low
            limit = np.nextafter(limit, np.inf) if strict else limit
            narrowed[high.name] = Enclosure(
                np.minimum(field.high, np.maximum(field.low, limit)), field.high, field.slopes
            )
        return narrowed


# Whether the left side of a comparison is the smaller one, and whether strictly.
_ORDER = {
    op.LESS: (True, True),
    op.LESS_EQUAL: (True, False),
    op.GREATER: (False, True),
    op.GREATER_EQUAL: (False, False),
}


def _refuse_overflow(operation: Operation, parts: Sequence[Enclosure]) -> None:
    if operation.may_be_nan is not None and np.any(operation.may_be_nan(*parts)):
        raise Undefined("may overflow and have no value")


def _is_plain(term: Term) -> bool:
    """Whether a term has no choice in it; enclosing nested choices again would take too long."""
    return not isinstance(term, Apply) or (
        term.operation is not op.WHERE and all(map(_is_plain, term.terms))
    )


def _size(term: Term, fields: int) -> int:
    if not isinstance(term, Apply):
        return 1
    own = 1 + 2 * fields if term.operation is op.WHERE else 1
    return own + sum(_size(inner, fields) for inner in term.terms)


def _evaluate(source: str) -> Callable[..., Any]:
    # The source is generated from a checked tree and sees no builtins.
    function: Callable[..., Any] = eval(source, dict(op.NAMESPACE))  # noqa: S307 - our own
    return function


def _scalar(term: Term) -> str:
    return _source(term, lambda operation: operation.scalar)


def _vector(term: Term) -> str:
    return _source(term, lambda operation: operation.vector)


def _source(term: Term, form: Callable[[Operation], Callable[..., str]]) -> str:
    match term:
        case Number(value=value):
            return repr(value)
        case Field(name=name):
            return name
        case Apply(operation=operation, terms=terms):
            return form(operation)(*(_source(inner, form) for inner in terms))


def _substitute(term: Term, values: Mapping[str, float]) -> Term:
    """Return the tree with some names replaced by numbers and constants folded."""
    match term:
        case Field(name=name) if name in values:
            return Number(values[name], term.span)
        case Apply(operation=operation, terms=terms):
            replaced = tuple(_substitute(inner, values) for inner in terms)
            term = Apply(operation, replaced, term.span)
            if operation.gives == "number" and all(isinstance(r, Number) for r in replaced):
                return _constant(term)
    return term


def _constant(term: Apply) -> Term:
    """Return a term without names as a number, or unchanged if it has no finite value.

    The latter happens in branches of a choice that are never taken.
    """
    try:
        value = float(_evaluate(f"lambda: {_scalar(term)}")())
    except (ArithmeticError, TypeError, ValueError):
        return term
    return Number(value, term.span) if math.isfinite(value) else term
