"""The operations of the formula language, one record each.

A record holds one form of the operation for each use of a formula: Python code on numbers (for
CPython and for the compiler), Python code on numpy arrays, and an enclosure.  To add a function
to the language, add a record here.

Code is built as syntax trees from the templates below, never as text, so a deep formula does
not need a deep stack in Python's parser.

The forms on numbers, on arrays and in machine code give the same floats, with one exception:
`exp`, the logarithms and `**` come from mathematical libraries that differ in the last digits.
`enclosure.py` widens its bounds by what they may differ.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepull.formula import enclosed_operations as enclose
from onepull.formula.enclosure import Enclosure

# The names that generated code may use.  Field names start with a letter, so none clashes.
NAMESPACE: dict[str, Any] = {
    "__builtins__": {},
    "_abs": abs,
    "_ceil": math.ceil,
    "_cube": enclose.cube,
    "_exp": math.exp,
    "_float": float,
    "_floor": math.floor,
    "_log": math.log,
    "_log10": math.log10,
    "_log1p": math.log1p,
    "_log2": math.log2,
    "_max": max,
    "_min": min,
    "_np": np,
    "_pow": math.pow,
    "_sqrt": math.sqrt,
    "_square": enclose.square,
}

OF_LIBRARIES = {"exp", "log", "log2", "log10", "log1p", "**"}  # whose last digits depend on them

Code = Callable[..., ast.expr]


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One operation: its name, its number of arguments and its three forms."""

    name: str
    arguments: tuple[int, int | None]
    scalar: Code
    vector: Code
    enclosure: Callable[..., Enclosure]
    gives: str = "number"
    # Tells where infinite arguments would make the result NaN.
    may_be_nan: Callable[..., NDArray[np.bool_]] | None = None
    # How many parts of a formula it counts as: the time that it takes, for the slowest numbers.
    cost: int = 1

    @cache  # noqa: B019 - the operations live as long as the program
    def on_numbers(self, count: int) -> Callable[..., float]:
        """Return the function of `count` numbers."""
        names = [f"_{i}" for i in range(count)]
        body = self.scalar(*(ast.Name(name, ast.Load(), **_PLACE) for name in names))
        function: Callable[..., float] = eval(  # noqa: S307 - our own code
            program(f"lambda {', '.join(names)}: _value", {"_value": body}), dict(NAMESPACE)
        )
        return function


# Code

_PLACE: dict[str, Any] = {"lineno": 1, "col_offset": 0}


def program(
    source: str, terms: Mapping[str, ast.expr], *, file: str = "<formula>", mode: str = "eval"
) -> CodeType:
    """Compile `source`, our own code, with `terms` in place of some of its names."""
    code: CodeType = compile(_filled(ast.parse(source, mode=mode), terms), file, mode)
    return code


def number_node(value: float) -> ast.expr:
    """Return the code of a number."""
    return ast.Constant(value, **_PLACE)


def name(text: str) -> ast.expr:
    """Return the code of a field."""
    return ast.Name(text, ast.Load(), **_PLACE)


def listing(terms: list[ast.expr]) -> ast.expr:
    """Return the code of a list."""
    return ast.List(terms, ast.Load(), **_PLACE)


def _filled(node: Any, terms: Mapping[str, ast.expr]) -> Any:
    """Return a copy of a syntax tree with `terms` in place of some names."""
    if isinstance(node, list):
        return [_filled(inner, terms) for inner in node]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return terms.get(node.id, node)
    if not isinstance(node, ast.AST) or not node._fields:
        return node
    place = _PLACE if isinstance(node, (ast.expr, ast.stmt, ast.arg)) else {}
    fields = {field: _filled(getattr(node, field, None), terms) for field in node._fields}
    return type(node)(**fields, **place)


def _template(text: str) -> Code:
    """Return the code of an operation on the terms a, b and c."""
    pattern = ast.parse(text, mode="eval").body
    return lambda *terms: _filled(pattern, dict(zip("abc", terms, strict=False)))


def _fold(text: str) -> Code:
    """Return the code of an associative operation on one or more terms, as a balanced tree."""
    pair = _template(text)

    def code(*terms: ast.expr) -> ast.expr:
        middle = len(terms) // 2
        return pair(code(*terms[:middle]), code(*terms[middle:])) if middle else terms[0]

    return code


def _junction(kind: type[ast.boolop]) -> Code:
    return lambda *terms: ast.BoolOp(kind(), list(terms), **_PLACE)


def _folded(function: Callable[[Enclosure, Enclosure], Enclosure]) -> Callable[..., Enclosure]:
    return lambda *terms: reduce(function, terms)


def _is_simple(term: ast.expr) -> bool:
    return isinstance(term, (ast.Name, ast.Constant))


def _pick(comparison: str, function: str) -> Code:
    """Return the code of min or max on numbers.

    A conditional is three times as fast as a call, but it repeats its terms, so it is used
    only if both are names or numbers.
    """
    conditional = _template(f"a if a {comparison} b else b")
    called = name(function)

    def code(*terms: ast.expr) -> ast.expr:
        if len(terms) == 2 and all(map(_is_simple, terms)):
            return conditional(*terms)
        return ast.Call(called, list(terms), [], **_PLACE)

    return code


def _clip(value: Enclosure, low: Enclosure, high: Enclosure) -> Enclosure:
    return enclose.lesser(enclose.greater(value, low), high)


def _swap(function: Callable[[Enclosure, Enclosure], Enclosure]) -> Callable[..., Enclosure]:
    return lambda a, b: function(b, a)


def _infix(sign: str, enclosure: Callable[..., Enclosure], **more: Any) -> Operation:
    code = _template(f"a {sign} b")
    return Operation(sign, (2, 2), code, code, enclosure, **more)


def _function(
    name: str, scalar: str, vector: str, enclosure: Callable[..., Enclosure], **more: Any
) -> Operation:
    return Operation(name, (1, 1), _template(scalar), _template(vector), enclosure, **more)


def _power(name: str, product: str, function: str, enclosure: Any) -> Operation:
    """Return a whole power: a product of names or numbers, else a function of the term."""
    repeated, called = _template(product), _template(f"{function}(a)")

    def code(term: ast.expr) -> ast.expr:
        return repeated(term) if _is_simple(term) else called(term)

    return Operation(name, (1, 1), code, code, enclosure)


# Operations

ADD = _infix("+", enclose.plus, may_be_nan=enclose.opposed)
SUBTRACT = _infix(
    "-", enclose.minus, may_be_nan=lambda a, b: enclose.opposed(a, enclose.negative(b))
)
MULTIPLY = _infix("*", enclose.times, may_be_nan=enclose.zero_times_infinity)
DIVIDE = _infix("/", enclose.over, may_be_nan=lambda a, b: a.infinite & b.infinite)
POWER = Operation(
    "**",
    (2, 2),
    _template("_pow(a, b)"),
    _template("_np.power(a, b)"),
    enclose.power,
    cost=8,
)
REMAINDER = Operation(
    "%",
    (2, 2),
    _template("a % b"),
    _template("_np.mod(a, b)"),
    enclose.remainder,
    may_be_nan=lambda a, _: a.infinite,
    cost=40,
)
NEGATIVE = _function("-", "-a", "-a", enclose.negative)

LESS = _infix("<", enclose.below, gives="truth")
LESS_EQUAL = _infix("<=", enclose.at_most, gives="truth")
GREATER = _infix(">", _swap(enclose.below), gives="truth")
GREATER_EQUAL = _infix(">=", _swap(enclose.at_most), gives="truth")
EQUAL = _infix("==", enclose.equal, gives="truth")
UNEQUAL = _infix("!=", lambda a, b: enclose.opposite(enclose.equal(a, b)), gives="truth")

AND = Operation(
    "and",
    (2, None),
    _junction(ast.And),
    _fold("a & b"),
    _folded(enclose.lesser),
    gives="truth",
)
OR = Operation(
    "or",
    (2, None),
    _junction(ast.Or),
    _fold("a | b"),
    _folded(enclose.greater),
    gives="truth",
)
NOT = _function("not", "not a", "_np.logical_not(a)", enclose.opposite, gives="truth")
# A comparison used as a number is 0 or 1; numpy cannot subtract booleans.
INDICATOR = _function("0 or 1", "1.0 if a else 0.0", "_np.where(a, 1.0, 0.0)", lambda truth: truth)
WHERE = Operation(
    "where",
    (3, 3),
    _template("b if a else c"),
    _template("_np.where(a, b, c)"),
    enclose.choice,
)

FUNCTIONS = {
    operation.name: operation
    for operation in (
        Operation(
            "min",
            (2, None),
            _pick("<", "_min"),
            _fold("_np.minimum(a, b)"),
            _folded(enclose.lesser),
        ),
        Operation(
            "max",
            (2, None),
            _pick(">", "_max"),
            _fold("_np.maximum(a, b)"),
            _folded(enclose.greater),
        ),
        Operation(
            "clip",
            (3, 3),
            _template("_min(_max(a, b), c)"),
            _template("_np.minimum(_np.maximum(a, b), c)"),
            _clip,
        ),
        WHERE,
        _function("abs", "_abs(a)", "_np.abs(a)", enclose.magnitude),
        _function("exp", "_exp(a)", "_np.exp(a)", enclose.exponential, cost=3),
        _function("log", "_log(a)", "_np.log(a)", enclose.logarithm(np.log, "log", math.e), cost=3),
        _function("log2", "_log2(a)", "_np.log2(a)", enclose.logarithm(np.log2, "log2", 2), cost=3),
        _function(
            "log10", "_log10(a)", "_np.log10(a)", enclose.logarithm(np.log10, "log10", 10), cost=3
        ),
        _function(
            "log1p",
            "_log1p(a)",
            "_np.log1p(a)",
            enclose.logarithm(np.log1p, "log1p", math.e, shift=1.0),
            cost=3,
        ),
        _function("sqrt", "_sqrt(a)", "_np.sqrt(a)", enclose.root),
        _function(
            "floor",
            "_float(_floor(a))",
            "_np.floor(a)",
            enclose.enclosed_staircase(np.floor),
            may_be_nan=lambda a: a.infinite,
        ),
        _function(
            "ceil",
            "_float(_ceil(a))",
            "_np.ceil(a)",
            enclose.enclosed_staircase(np.ceil),
            may_be_nan=lambda a: a.infinite,
        ),
    )
}

FLOOR = FUNCTIONS["floor"]

# Powers with these exponents are worked out by operations that are the same in every library.
POWERS = {
    -1.0: _function("** -1", "1.0 / a", "1.0 / a", enclose.reciprocal),
    0.5: FUNCTIONS["sqrt"],
    2.0: _power("** 2", "a * a", "_square", enclose.squared),
    3.0: _power("** 3", "a * a * a", "_cube", enclose.cubed),
}
