"""Parse the text of a formula into a tree.

Python's parser reads the text, and the tree is rebuilt node by node from a whitelist.  It can
only hold numbers, declared names and the operations of `operations.py`.  Length, size, depth
and exponents are limited, so no formula can hang or exhaust memory.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias

from onepull.errors import FormulaError
from onepull.formula import operations as op
from onepull.formula.operations import Operation

LENGTH = 4000
SIZE = 1000
DEPTH = 60
EXPONENT = 100.0


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: float
    span: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Field:
    """A declared field."""

    name: str
    span: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation applied to terms."""

    operation: Operation
    terms: tuple[Term, ...]
    span: tuple[int, int] = (0, 0)


Term: TypeAlias = Number | Field | Apply

_INFIX: dict[type[ast.AST], Operation] = {
    ast.Add: op.ADD,
    ast.Sub: op.SUBTRACT,
    ast.Mult: op.MULTIPLY,
    ast.Div: op.DIVIDE,
    ast.FloorDiv: op.QUOTIENT,
    ast.Mod: op.REMAINDER,
    ast.Pow: op.POWER,
    ast.Lt: op.LESS,
    ast.LtE: op.LESS_EQUAL,
    ast.Gt: op.GREATER,
    ast.GtE: op.GREATER_EQUAL,
    ast.Eq: op.EQUAL,
    ast.NotEq: op.UNEQUAL,
    ast.And: op.AND,
    ast.Or: op.OR,
}


def parse(text: str, names: Collection[str]) -> Term:
    """Return the tree of `text`, a number-valued formula over `names`."""
    if not isinstance(text, str):
        raise FormulaError(
            f"a formula must be text, given {type(text).__name__}", text=repr(text), start=0, stop=1
        )
    text = " ".join(text.split())
    if not text:
        raise FormulaError("a formula cannot be empty", text="", start=0, stop=1)
    if len(text) > LENGTH:
        raise FormulaError(
            f"a formula may have at most {LENGTH} characters, given {len(text)}",
            text=text,
            start=LENGTH,
            stop=len(text),
        )
    for place, character in enumerate(text):
        # Lines have been joined, so a comment would hide the rest of the formula.
        if not (character.isascii() and character.isprintable()) or character == "#":
            raise FormulaError(
                f"a formula must be plain ASCII without comments, given {character!r}",
                text=text,
                start=place,
                stop=place + 1,
            )
    return _Reader(text, names).read()


class _Reader:
    """Rebuilds a parsed text as a tree; anything outside the language raises `FormulaError`."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.text = text
        self.names = names
        self.size = 0

    def read(self) -> Term:
        try:
            with warnings.catch_warnings():
                # Python warns about odd literals; the whitelist below decides.
                warnings.simplefilter("ignore")
                body = ast.parse(self.text, mode="eval").body
        except SyntaxError as error:
            start = max(0, (error.offset or 1) - 1)
            reason = f"not a formula: {error.msg}"
            raise FormulaError(reason, text=self.text, start=start, stop=start + 1) from None
        except (ValueError, MemoryError, RecursionError):
            raise FormulaError(
                "not a formula: nested too deeply", text=self.text, start=0, stop=len(self.text)
            ) from None
        return self.number(body, 0)

    def refuse(self, node: ast.AST, reason: str) -> FormulaError:
        start, stop = _span(node)
        return FormulaError(reason, text=self.text, start=start, stop=max(stop, start + 1))

    def number(self, node: ast.expr, depth: int) -> Term:
        """Read a term as a number; a comparison becomes 0 or 1."""
        term = self.term(node, depth)
        if _gives(term) == "truth":
            return Apply(op.INDICATOR, (term,), _span(node))
        return term

    def truth(self, node: ast.expr, depth: int) -> Term:
        """Read a term as a condition."""
        term = self.term(node, depth)
        if _gives(term) != "truth":
            raise self.refuse(node, "expected a condition, such as 'x >= y', not a number")
        return term

    def term(self, node: ast.expr, depth: int) -> Term:  # noqa: C901, PLR0911 - the whitelist
        self.size += 1
        if self.size > SIZE:
            raise self.refuse(node, f"a formula may have at most {SIZE} parts")
        if depth > DEPTH:
            raise self.refuse(node, f"a formula may be nested at most {DEPTH} deep")
        match node:
            case ast.Constant():
                return self.constant(node)
            case ast.Name(id=name):
                return self.field(node, name)
            case ast.BinOp(left=left, op=kind, right=right):
                return self.binary(node, kind, (left, right), depth)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Apply(op.NOT, (self.truth(operand, depth + 1),), _span(node))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Apply(op.NEGATIVE, (self.number(operand, depth + 1),), _span(node))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.number(operand, depth + 1)
            case ast.BoolOp(op=kind, values=values):
                terms = tuple(self.truth(value, depth + 1) for value in values)
                return Apply(_INFIX[type(kind)], terms, _span(node))
            case ast.Compare():
                return self.comparison(node, depth)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.choice(node, (test, body, orelse), depth)
            case ast.Call():
                return self.call(node, depth)
        raise self.refuse(node, f"{_kind(node)} is not part of the formula language")

    def constant(self, node: ast.Constant) -> Number:
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
            raise self.refuse(node, f"{_kind(node)} is not part of the formula language")
        try:
            value = float(node.value)
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            raise self.refuse(node, "this number is too large")
        return Number(value, _span(node))

    def field(self, node: ast.Name, name: str) -> Field:
        if name not in self.names:
            hint = "call it with parentheses" if name in op.FUNCTIONS else self.vocabulary()
            raise self.refuse(node, f"unknown name {name!r}; {hint}")
        return Field(name, _span(node))

    def vocabulary(self) -> str:
        return f"the fields are {', '.join(self.names) or 'none'}"

    def binary(
        self, node: ast.BinOp, kind: ast.operator, sides: tuple[ast.expr, ast.expr], depth: int
    ) -> Term:
        operation = _INFIX.get(type(kind))
        if operation is None:
            raise self.refuse(node, "this operator is not part of the formula language")
        left, right = (self.number(side, depth + 1) for side in sides)
        if operation is op.POWER and _largest(right) > EXPONENT:
            raise self.refuse(
                sides[1], f"an exponent must lie between -{EXPONENT:g} and {EXPONENT:g}"
            )
        return Apply(operation, (left, right), _span(node))

    def comparison(self, node: ast.Compare, depth: int) -> Term:
        sides = [self.number(node.left, depth + 1)]
        for side in node.comparators:
            before = self.size
            sides.append(self.number(side, depth + 1))
            if side is not node.comparators[-1]:
                self.size += self.size - before  # 'a < b < c' is 'a < b and b < c'
        if self.size > SIZE:
            raise self.refuse(node, f"a formula may have at most {SIZE} parts")
        links = []
        for kind, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if type(kind) not in _INFIX:
                raise self.refuse(
                    node, "this comparison is not part of the language; use < <= > >= == or !="
                )
            links.append(Apply(_INFIX[type(kind)], (left, right), _span(node)))
        self.size += len(links)
        return links[0] if len(links) == 1 else Apply(op.AND, tuple(links), _span(node))

    def choice(
        self, node: ast.expr, parts: tuple[ast.expr, ast.expr, ast.expr], depth: int
    ) -> Term:
        condition = self.truth(parts[0], depth + 1)
        branches = (self.number(part, depth + 1) for part in parts[1:])
        return Apply(op.WHERE, (condition, *branches), _span(node))

    def call(self, node: ast.Call, depth: int) -> Term:
        known = ", ".join(sorted(op.FUNCTIONS))
        if not isinstance(node.func, ast.Name) or node.func.id not in op.FUNCTIONS:
            raise self.refuse(node.func, f"not a function of the formula language; use {known}")
        operation = op.FUNCTIONS[node.func.id]
        for argument in (*node.args, *node.keywords):
            if isinstance(argument, (ast.Starred, ast.keyword)):
                raise self.refuse(argument, f"{operation.name} takes positional arguments only")
        least, most = operation.arguments
        if len(node.args) < least or (most is not None and len(node.args) > most):
            wanted = f"{least}" if least == most else f"{least} or more"
            given = len(node.args)
            raise self.refuse(node, f"{operation.name} takes {wanted} arguments, given {given}")
        if operation is op.WHERE:
            condition, body, orelse = node.args
            return self.choice(node, (condition, body, orelse), depth)
        terms = tuple(self.number(argument, depth + 1) for argument in node.args)
        return Apply(operation, terms, _span(node))


def _span(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "col_offset", 0), getattr(node, "end_col_offset", None) or 0


def _gives(term: Term) -> str:
    return term.operation.gives if isinstance(term, Apply) else "number"


def _largest(term: Term) -> float:
    """Return the size of a constant exponent; enclosures bound the others."""
    match term:
        case Number(value=value):
            return abs(value)
        case Apply(operation=op.NEGATIVE, terms=(inner,)):
            return _largest(inner)
    return 0.0


_KINDS: dict[type[ast.AST], str] = {
    ast.Attribute: "a dotted name",
    ast.Subscript: "indexing",
    ast.Lambda: "a function",
    ast.NamedExpr: "an assignment",
    ast.ListComp: "a loop",
    ast.SetComp: "a loop",
    ast.DictComp: "a loop",
    ast.GeneratorExp: "a loop",
    ast.JoinedStr: "text",
}


def _kind(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return "text" if isinstance(node.value, (str, bytes)) else repr(node.value)
    return _KINDS.get(type(node), f"a {type(node).__name__.lower()}")
