"""A formula as a sum of products, which tells what two formulas have in common."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from fractions import Fraction
from math import isfinite
from typing import NamedTuple, TypeAlias

from onepull.formula import operations as op
from onepull.formula.formula import Formula
from onepull.formula.tree import Apply, Field, Number, Term, names_in

MOST_PRODUCTS = 64  # products of a sum; what has more stays as it is written


class Factor(NamedTuple):
    """A part of a product that is not taken apart, with the fields that occur in it."""

    written: Hashable  # the part as nested tuples, without its place in the text
    names: frozenset[str]
    power: int = 1


Product: TypeAlias = frozenset[Factor]
Sum: TypeAlias = dict[Product, Fraction]  # products with their coefficients, none of which is 0
ONE: Product = frozenset()


def common_factor(new: Formula, old: Formula, moving: Collection[str]) -> float | None:
    """Return c if `new - c * old` is proved not to depend on the names `moving`, else None.

    The mean of `new` over states then follows from that of `old`, whatever the states are.

    >>> names = ["size", "delay"]
    >>> old = Formula("-delay - 2 * size", names)
    >>> common_factor(Formula("-(delay + 3 * size)", names), old, ["delay"])
    1.0
    >>> common_factor(Formula("4 - delay / 2", names), old, ["delay"])
    0.5
    >>> common_factor(Formula("delay < 3", names), old, ["delay"]) is None
    True
    """
    after, before = (
        {
            product: number
            for product, number in sum_of_products(each.tree).items()
            if any(not factor.names.isdisjoint(moving) for factor in product)
        }
        for each in (new, old)
    )
    if not after:
        return 0.0
    if after.keys() != before.keys():
        return None
    ratios = {number / before[product] for product, number in after.items()}
    try:
        return float(ratios.pop()) if len(ratios) == 1 else None
    except OverflowError:
        return None


def is_multilinear(formula: Formula, names: Collection[str]) -> bool:
    """Whether a formula is proved to be linear in each of these names, with the others fixed.

    >>> names = ["size", "delay", "rate"]
    >>> is_multilinear(Formula("log(size) - delay * (1 + rate)", names), ["delay", "rate"])
    True
    >>> is_multilinear(Formula("min(size, delay)", names), ["delay"])
    False
    """
    return all(
        factor.names.isdisjoint(names) or (factor.written in names and factor.power == 1)
        for product in sum_of_products(formula.tree)
        for factor in product
    )


def sum_of_products(term: Term) -> Sum:
    """Return a term as a sum of products with exact coefficients."""
    if (value := _constant(term)) is not None:
        return {ONE: Fraction(value)} if value else {}
    match term:
        case Apply(operation=op.ADD, terms=(left, right)):
            found = _plus(sum_of_products(left), sum_of_products(right))
        case Apply(operation=op.SUBTRACT, terms=(left, right)):
            found = _plus(sum_of_products(left), sum_of_products(right), Fraction(-1))
        case Apply(operation=op.NEGATIVE, terms=(inner,)):
            found = _plus({}, sum_of_products(inner), Fraction(-1))
        case Apply(operation=op.MULTIPLY, terms=(left, right)):
            found = _times(sum_of_products(left), sum_of_products(right))
        case Apply(operation=op.DIVIDE, terms=(left, right)) if value := _constant(right):
            found = _plus({}, sum_of_products(left), 1 / Fraction(value))
        case Apply(operation=op.DIVIDE, terms=(left, right)):
            found = _times(sum_of_products(left), _single(right, -1))
        case Apply(operation=op.WHERE, terms=(condition, body, orelse)):
            if (value := _constant(condition)) is not None:
                return sum_of_products(body if value else orelse)
            truth, other = _single(condition), sum_of_products(orelse)
            found = _plus(sum_of_products(body), other, Fraction(-1))
            found = _plus(other, _times(truth, found))
        case _:
            return _single(term)
    return found if len(found) <= MOST_PRODUCTS else _single(term)


def _constant(term: Term) -> float | None:
    """Return the value of a term without fields, None if it has fields or no finite value."""
    if isinstance(term, Number):
        return term.value if isfinite(term.value) else None
    if not isinstance(term, Apply) or term.names:
        return None
    values = [_constant(inner) for inner in term.terms]
    if any(value is None for value in values):
        return None
    try:
        found = float(term.operation.on_numbers(len(values))(*values))
    except (ArithmeticError, TypeError, ValueError):
        return None
    return found if isfinite(found) else None


def _single(term: Term, power: int = 1) -> Sum:
    """Return a term as it is written, as the only factor."""
    return {frozenset([Factor(_written(term), names_in(term), power)]): Fraction(1)}


def _written(term: Term) -> Hashable:
    match term:
        case Number(value=value):
            return value
        case Field(name=name):
            return name
        case Apply(operation=operation, terms=terms):
            return (operation, *map(_written, terms))


def _plus(left: Sum, right: Sum, times: Fraction = Fraction(1)) -> Sum:
    found = dict(left)
    for product, number in right.items():
        found[product] = found.get(product, Fraction(0)) + times * number
    return {product: number for product, number in found.items() if number}


def _times(left: Sum, right: Sum) -> Sum:
    found: Sum = {}
    for one, number in left.items():
        for two, other in right.items():
            product = _joined(one, two)
            found[product] = found.get(product, Fraction(0)) + number * other
    return {product: number for product, number in found.items() if number}


def _joined(one: Product, two: Product) -> Product:
    powers: dict[tuple[Hashable, frozenset[str]], int] = {}
    for factor in (*one, *two):
        part = factor.written, factor.names
        powers[part] = powers.get(part, 0) + factor.power
    return frozenset(Factor(*part, power) for part, power in powers.items() if power)
