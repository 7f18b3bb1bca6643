"""The tree of a formula: numbers, fields, and operations on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from onepull.formula.operations import Operation


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
class Word:
    """A word in quotes, which is compared with a field of words."""

    text: str
    span: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation applied to terms.

    `height` counts the operations within one another, and `names` holds the fields that occur.
    """

    operation: Operation
    terms: tuple[Term, ...]
    span: tuple[int, int] = (0, 0)
    height: int = 1
    names: frozenset[str] = frozenset()


Term: TypeAlias = Number | Field | Apply
Operand: TypeAlias = Term | Word


def names_in(term: Term) -> frozenset[str]:
    """Return the fields that occur in a term."""
    if isinstance(term, Apply):
        return term.names
    return frozenset([term.name]) if isinstance(term, Field) else frozenset()


def gives(term: Term) -> str:
    """Return whether a term gives a "number" or a "truth"."""
    return term.operation.gives if isinstance(term, Apply) else "number"


def height_of(term: Term) -> int:
    """Return how many operations of a term are in one another."""
    return term.height if isinstance(term, Apply) else 0
