"""A formula that can be evaluated on numbers, on arrays and on boxes."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.checks import LARGEST
from onepull.errors import FormulaError
from onepull.formula import operations as op
from onepull.formula.enclosure import Enclosure, Undefined, point
from onepull.formula.grammar import parse
from onepull.formula.operations import Operation
from onepull.formula.tokens import WordsOfFields, check_names, formula_line
from onepull.formula.tree import Apply, Field, Number, Term, names_in


class Formula:
    """A known function of named numbers, written as text.

    >>> formula = Formula("min(bits, capacity)", ["bits", "capacity"])
    >>> formula.scalar(3.0, 2.0)
    2.0
    >>> formula.vector(np.array([1.0, 2.0, 3.0]), 2.0)
    array([1., 2., 2.])
    >>> float(formula.enclose({"bits": (3.0, 3.0), "capacity": (0.0, 7.0)}).high)
    3.0

    A name may stand for one of several words, which are numbered from 0:

    >>> Formula("2 if region == 'us' else 1", ["region"], {"region": ["eu", "us"]}).scalar(1.0)
    2.0
    """

    def __init__(
        self,
        text: str,
        names: Sequence[str],
        words: WordsOfFields | None = None,
        *,
        hidden: Collection[str] = (),
    ) -> None:
        self.names = check_names(names)
        self.text = formula_line(text)
        # Hidden names take a value and cannot be written.
        known = [name for name in self.names if name not in hidden]
        self.tree, self.compared = parse(self.text, known, words)

    def unless(self, name: str, other: Formula) -> Formula:
        """Return this formula where the field `name` is 0, and another one where it is 1.

        >>> names = ["x", "failed"]
        >>> Formula("x", names).unless("failed", Formula("-1", names)).scalar(5.0, 1.0)
        -1.0
        """
        condition = Apply(op.GREATER, (Field(name), Number(0.5)), names=frozenset([name]))
        terms = condition, other.tree, self.tree
        twin = object.__new__(Formula)
        twin.names, twin.text = self.names, self.text
        twin.compared = self.compared | other.compared
        # Errors point at this formula's text, so the other one must be checked before.
        twin.tree = Apply(op.WHERE, terms, names=frozenset().union(*map(names_in, terms)))
        return twin

    def fixed(self, values: Mapping[str, float]) -> Formula:
        """Return the formula of the other names, with these at given values.

        >>> Formula("price * x", ["price", "x"]).fixed({"price": 2.0}).scalar(5.0)
        10.0
        """
        twin = object.__new__(Formula)
        twin.names = tuple(name for name in self.names if name not in values)
        twin.text, twin.compared = self.text, self.compared
        twin.tree = _substitute(self.tree, values)
        return twin

    def __repr__(self) -> str:
        """Show the text."""
        return f"Formula({self.text!r}, {list(self.names)})"

    @cached_property
    def cost(self) -> int:
        """What enclosing one box costs, in units of a sum."""
        return _cost(self.tree)

    @cached_property
    def body(self) -> ast.expr:
        """The code of the formula on numbers, an expression in the names."""
        return _code(self.tree, _scalar)

    def computes_as(self, other: Formula) -> bool:
        """Whether another formula does the same operations, however the two are written.

        >>> spaced = Formula("x + (y * 2)", ["x", "y"])
        >>> [spaced.computes_as(Formula(text, ["x", "y"])) for text in ("x+y*2.0", "y * 2 + x")]
        [True, False]
        """
        return self.names == other.names and ast.dump(self.body) == ast.dump(other.body)

    @cached_property
    def scalar(self) -> Callable[..., float]:
        """The function on numbers, one for each name in order."""
        return self._function(self.body)

    @cached_property
    def arrays(self) -> Callable[..., Any]:
        """The function on arrays; its result has the shape of those it depends on."""
        compute = self._function(_code(self.tree, _vector))

        # A branch may divide by zero in elements where it is not taken.  Numpy can ignore that,
        # Python's own floats cannot.
        @np.errstate(all="ignore")
        def quietly(*columns: Any) -> Any:
            return compute(*[np.asarray(column, np.float64) for column in columns])

        return quietly

    @cached_property
    def is_alike_on_arrays(self) -> bool:
        """Whether numbers and arrays give the same to the last digit.

        >>> [Formula(text, ["x"]).is_alike_on_arrays for text in ("x * x", "exp(x)")]
        [True, False]
        """
        return _is_alike(self.tree)

    def _function(self, body: ast.expr) -> Callable[..., Any]:
        source = f"lambda {', '.join(self.names)}: _value"
        # The code is built from a checked tree and sees no builtins.
        function: Callable[..., Any] = eval(  # noqa: S307 - our own code
            op.program(source, {"_value": body}), dict(op.NAMESPACE)
        )
        return function

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
        bodies = []
        for values in points:
            here = dict(zip(self.names, values, strict=False))
            bodies.append(_code(_substitute(self.tree, here), _scalar))
        source = (
            f"def rows(_state):\n    {', '.join(self.names[fixed:])}, = _state\n    return _value"
        )
        scope = dict(op.NAMESPACE)
        code = op.program(source, {"_value": op.listing(bodies)}, mode="exec")
        exec(code, scope)  # noqa: S102 - built from a checked tree, as in `_function`
        rows: Callable[[tuple[float, ...]], list[float]] = scope["rows"]
        return rows

    def enclose(self, box: Mapping[str, tuple[Any, Any]], along: Sequence[str] = ()) -> Enclosure:
        """Enclose the values on a box or an array of boxes, and the slopes along some names.

        Raises `FormulaError`, pointing at the offending part, if the formula is undefined
        anywhere on a box.
        """
        fields, finite = {}, {}
        for name in names_in(self.tree):
            low, high = box[name]
            bounds = np.asarray(low, float), np.asarray(high, float)
            fields[name] = Enclosure(*bounds, {name: point(1.0)} if name in along else {})
            finite[name] = Enclosure(*(np.clip(end, -LARGEST, LARGEST) for end in bounds))
        bounded = not any(np.any(field.infinite) for field in fields.values())
        with np.errstate(all="ignore"):
            # Where fields are finite, an infinity is an overflow.
            if not bounded:
                self._enclose(self.tree, finite, overflow=True)
            return self._enclose(self.tree, fields, overflow=bounded)

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
                parts = [truth]
                for branch, taken, never in (
                    (body, True, truth.high == 0),
                    (orelse, False, truth.low == 1),
                ):
                    known = self._narrow(condition, fields, truth=taken)
                    here = {name: known[name].without(never) for name in names_in(branch)}
                    parts.append(self._enclose(branch, here, overflow=overflow))
            case Apply(terms=terms):
                parts = [self._enclose(part, fields, overflow=overflow) for part in terms]
        try:
            if overflow:
                _refuse_overflow(term.operation, parts)
            return term.operation.enclosure(*parts)
        except Undefined as reason:
            start, stop = term.span
            raise FormulaError(str(reason), text=self.text, start=start, stop=stop) from None

    def _narrow(
        self, condition: Term, fields: dict[str, Enclosure], *, truth: bool
    ) -> dict[str, Enclosure]:
        """Return the fields narrowed to where `condition` is true, or false."""
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
            most = np.maximum(field.low, np.minimum(field.high, limit))
            least = np.broadcast_to(field.low, most.shape)
            narrowed[low.name] = Enclosure(least, most, field.slopes)
        if isinstance(high, Field) and _is_plain(low):
            field, limit = fields[high.name], self._enclose(low, fields).low
            limit = np.nextafter(limit, np.inf) if strict else limit
            least = np.minimum(field.high, np.maximum(field.low, limit))
            most = np.broadcast_to(field.high, least.shape)
            narrowed[high.name] = Enclosure(least, most, field.slopes)
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


def _is_alike(term: Term) -> bool:
    """Whether a term has no operation whose last digits depend on the library."""
    return not isinstance(term, Apply) or (
        term.operation.name not in op.OF_LIBRARIES and all(map(_is_alike, term.terms))
    )


def _cost(term: Term) -> int:
    if not isinstance(term, Apply):
        return 1
    costs = [_cost(inner) for inner in term.terms]
    if term.operation is op.WHERE:
        # A condition is worked out again to narrow the fields of each branch.
        costs += [2 * costs[0], *[len(names_in(branch)) for branch in term.terms[1:]]]
    return term.operation.cost + sum(costs)


def _scalar(operation: Operation) -> op.Code:
    return operation.scalar


def _vector(operation: Operation) -> op.Code:
    return operation.vector


def _code(term: Term, form: Callable[[Operation], op.Code]) -> ast.expr:
    match term:
        case Number(value=value):
            return op.number_node(value)
        case Field(name=name):
            return op.name(name)
        case Apply(operation=operation, terms=terms):
            return form(operation)(*[_code(inner, form) for inner in terms])


def _substitute(term: Term, values: Mapping[str, float]) -> Term:
    """Return the tree with some names replaced by numbers and constants folded."""
    match term:
        case Field(name=name) if name in values:
            return Number(values[name], term.span)
        case Apply(operation=operation, terms=terms):
            replaced = [_substitute(inner, values) for inner in terms]
            if operation.gives == "number":
                numbers = [inner.value for inner in replaced if isinstance(inner, Number)]
                if len(numbers) == len(replaced) and (value := _value(operation, numbers)):
                    return value
            names = frozenset().union(*map(names_in, replaced))
            return Apply(operation, tuple(replaced), term.span, term.height, names)
    return term


def _value(operation: Operation, numbers: Sequence[float]) -> Number | None:
    """Return an operation on numbers, None if it has no finite value.

    The latter happens in branches of a choice that are never taken.
    """
    try:
        value = float(operation.on_numbers(len(numbers))(*numbers))
    except (ArithmeticError, TypeError, ValueError):
        return None
    return Number(value) if math.isfinite(value) else None
