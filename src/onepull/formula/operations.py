"""The operations of the formula language, one record each.

A record holds one form of the operation for each use of a formula: Python source on numbers
(for CPython and for the compiler), Python source on numpy arrays, and an enclosure.  To add a
function to the language, add a record here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepull.formula import enclosure as enclose
from onepull.formula.enclosure import Enclosure

# The names that generated source may use.  Field names start with a letter, so none clashes.
NAMESPACE: dict[str, Any] = {
    "__builtins__": {},
    "_abs": abs,
    "_ceil": math.ceil,
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
}

Source = Callable[..., str]


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One operation: its name, its number of arguments and its three forms."""

    name: str
    arguments: tuple[int, int | None]
    scalar: Source
    vector: Source
    enclosure: Callable[..., Enclosure]
    gives: str = "number"
    # Tells where infinite arguments would make the result NaN.
    may_be_nan: Callable[..., NDArray[np.bool_]] | None = None


def _template(text: str) -> Source:
    return text.format


def _fold(text: str) -> Source:
    """Return the source of an associative operation on one or more terms.

    It nests as a balanced tree, since Python limits the depth of parentheses.
    """

    def source(*terms: str) -> str:
        middle = len(terms) // 2
        return text.format(source(*terms[:middle]), source(*terms[middle:])) if middle else terms[0]

    return source


def _folded(function: Callable[[Enclosure, Enclosure], Enclosure]) -> Callable[..., Enclosure]:
    return lambda *terms: reduce(function, terms)


def _pick(comparison: str, fallback: str) -> Source:
    """Return the source of min or max on numbers.

    A conditional is three times as fast as a call, but it repeats its terms, so it is used
    only if both are names or numbers.
    """

    def source(*terms: str) -> str:
        if len(terms) == 2 and not set("( ") & set("".join(terms)):
            return "({0} if {0} {2} {1} else {1})".format(*terms, comparison)
        return f"{fallback}({', '.join(terms)})"

    return source


def _clip(value: Enclosure, low: Enclosure, high: Enclosure) -> Enclosure:
    return enclose.lesser(enclose.greater(value, low), high)


def _swap(function: Callable[[Enclosure, Enclosure], Enclosure]) -> Callable[..., Enclosure]:
    return lambda a, b: function(b, a)


def _infix(name: str, enclosure: Callable[..., Enclosure], **more: Any) -> Operation:
    source = _template(f"({{}} {name} {{}})")
    return Operation(name, (2, 2), source, source, enclosure, **more)


def _function(
    name: str, scalar: str, vector: str, enclosure: Callable[..., Enclosure], **more: Any
) -> Operation:
    return Operation(name, (1, 1), _template(scalar), _template(vector), enclosure, **more)


ADD = _infix("+", enclose.plus, may_be_nan=enclose.opposed)
SUBTRACT = _infix(
    "-", enclose.minus, may_be_nan=lambda a, b: enclose.opposed(a, enclose.negative(b))
)
MULTIPLY = _infix("*", enclose.times, may_be_nan=enclose.zero_times_infinity)
DIVIDE = _infix("/", enclose.over, may_be_nan=lambda a, b: a.infinite & b.infinite)
POWER = Operation(
    "**",
    (2, 2),
    _template("_pow({}, {})"),
    _template("(({}) ** {})"),  # '-2.0 ** 2.0' would mean -(2.0 ** 2.0)
    enclose.power,
)
REMAINDER = Operation(
    "%",
    (2, 2),
    _template("({} % {})"),
    _template("_np.mod({}, {})"),
    enclose.remainder,
    may_be_nan=lambda a, _: a.infinite,
)
QUOTIENT = Operation(
    "//",
    (2, 2),
    _template("_float(_floor({} / {}))"),
    _template("_np.floor({} / {})"),
    enclose.quotient,
    may_be_nan=lambda a, b: a.infinite | enclose.over(a, b).infinite,
)
NEGATIVE = Operation("-", (1, 1), _template("(-{})"), _template("(-{})"), enclose.negative)

LESS = _infix("<", enclose.below, gives="truth")
LESS_EQUAL = _infix("<=", enclose.at_most, gives="truth")
GREATER = _infix(">", _swap(enclose.below), gives="truth")
GREATER_EQUAL = _infix(">=", _swap(enclose.at_most), gives="truth")
EQUAL = _infix("==", enclose.equal, gives="truth")
UNEQUAL = _infix("!=", lambda a, b: enclose.opposite(enclose.equal(a, b)), gives="truth")

AND = Operation(
    "and",
    (2, None),
    _fold("({} and {})"),
    _fold("({} & {})"),
    _folded(enclose.lesser),
    gives="truth",
)
OR = Operation(
    "or",
    (2, None),
    _fold("({} or {})"),
    _fold("({} | {})"),
    _folded(enclose.greater),
    gives="truth",
)
NOT = Operation(
    "not",
    (1, 1),
    _template("(not {})"),
    _template("_np.logical_not({})"),
    enclose.opposite,
    gives="truth",
)
# A comparison used as a number is 0 or 1; numpy cannot subtract booleans.
INDICATOR = Operation(
    "0 or 1",
    (1, 1),
    _template("(1.0 if {} else 0.0)"),
    _template("_np.where({}, 1.0, 0.0)"),
    lambda truth: truth,
)
WHERE = Operation(
    "where",
    (3, 3),
    _template("({1} if {0} else {2})"),
    _template("_np.where({}, {}, {})"),
    enclose.choice,
)

FUNCTIONS = {
    operation.name: operation
    for operation in (
        Operation(
            "min",
            (2, None),
            _pick("<", "_min"),
            _fold("_np.minimum({}, {})"),
            _folded(enclose.lesser),
        ),
        Operation(
            "max",
            (2, None),
            _pick(">", "_max"),
            _fold("_np.maximum({}, {})"),
            _folded(enclose.greater),
        ),
        Operation(
            "clip",
            (3, 3),
            _template("_min(_max({}, {}), {})"),
            _template("_np.minimum(_np.maximum({}, {}), {})"),
            _clip,
        ),
        WHERE,
        _function("abs", "_abs({})", "_np.abs({})", enclose.magnitude),
        _function("exp", "_exp({})", "_np.exp({})", enclose.exponential),
        _function("log", "_log({})", "_np.log({})", enclose.logarithm(np.log, "log", math.e)),
        _function("log2", "_log2({})", "_np.log2({})", enclose.logarithm(np.log2, "log2", 2)),
        _function("log10", "_log10({})", "_np.log10({})", enclose.logarithm(np.log10, "log10", 10)),
        _function(
            "log1p",
            "_log1p({})",
            "_np.log1p({})",
            enclose.logarithm(np.log1p, "log1p", math.e, shift=1.0),
        ),
        _function("sqrt", "_sqrt({})", "_np.sqrt({})", enclose.root),
        _function(
            "floor",
            "_float(_floor({}))",
            "_np.floor({})",
            enclose.staircase(np.floor),
            may_be_nan=lambda a: a.infinite,
        ),
        _function(
            "ceil",
            "_float(_ceil({}))",
            "_np.ceil({})",
            enclose.staircase(np.ceil),
            may_be_nan=lambda a: a.infinite,
        ),
    )
}
