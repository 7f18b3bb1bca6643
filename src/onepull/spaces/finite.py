"""A finite set of numbers or of words."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onepull.checks import is_numeral, plain_text, real, shown, written
from onepull.errors import ProblemError

MOST_VALUES = 2**20  # of a finite space


@dataclass(frozen=True, slots=True)
class Finite:
    """A finite set of numbers or of words, in the order given.

    A word is stored as its place in the list, counted from 0.  Formulas compare it with `==` and
    `!=`.  The numbers 0 and 1 can also be given as False and True.

    >>> Finite([1, 2, 3, 4])
    Finite([1, 2, 3, 4])
    >>> regions = Finite(["eu", "us"])
    >>> regions.accept("us"), regions.shown(1.0)
    (1.0, 'us')
    """

    values: tuple[float, ...]
    words: tuple[str, ...]
    # The value of everything that `accept` takes without a conversion.
    _accepted: Mapping[Any, float] = field(repr=False, compare=False)

    def __init__(self, values: Iterable[float] | Iterable[str]) -> None:
        given = _listed(values)
        words = _words(given)
        if words and isinstance(values, AbstractSet):
            raise ProblemError(
                f"Finite takes a list of words, given {shown(values)}; the order of a set differs "
                "between runs"
            )
        if words:
            numbers = tuple(map(float, range(len(words))))
            accepted: dict[Any, float] = dict(zip(words, numbers, strict=True))
        else:
            numbers = _numbers(given)
            accepted = {number: number for number in numbers}
        if len(accepted) < len(given):
            values_given: list[float | str] = [*words] or [*numbers]
            twice = Counter(values_given).most_common(1)[0][0]
            raise ProblemError(f"Finite takes each value once, given {_value(twice)} twice")
        object.__setattr__(self, "values", numbers)
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "_accepted", accepted)

    def __repr__(self) -> str:
        """Show the space as it was written."""
        values = map(json.dumps, self.words) if self.words else map(written, self.values)
        return f"Finite([{', '.join(values)}])"

    @property
    def low(self) -> float:
        """The smallest value."""
        return min(self.values)

    @property
    def high(self) -> float:
        """The largest value."""
        return max(self.values)

    def accept(self, value: Any) -> float:
        """Return `value` as a float; raises `ValueError` if it is not in this space."""
        kind = type(value)
        key = value if kind is float or (kind is int and not self.words) else self._converted(value)
        try:
            return self._accepted[key]
        except KeyError:
            raise ValueError(f"is not {self}") from None

    def _converted(self, value: Any) -> Any:
        if self.words:
            if not isinstance(value, str):
                raise TypeError("is not a word")
            return plain_text(value)
        if isinstance(value, bool | np.bool_) and self.values in ((0.0, 1.0), (1.0, 0.0)):
            return float(value)
        return real(value)

    def shown(self, value: float) -> str:
        """Return a value of this space as text: the word, or the number."""
        return self.words[int(value)] if self.words else f"{value:.12g}"

    def __str__(self) -> str:
        """Return the words that follow 'must be' in an error message."""
        values = self.words or self.values
        if len(values) <= 12:
            return f"one of {', '.join(map(_value, values))}"
        first, last = map(_value, values[:6]), map(_value, values[-2:])
        return f"one of {', '.join([*first, '…', *last])}"


def _listed(values: Any) -> list[Any]:
    try:
        is_list = not isinstance(values, str | bytes | Mapping)
        given = list(itertools.islice(values if is_list else (), MOST_VALUES + 1))
    except TypeError:
        given = []
    if not given:
        raise ProblemError(f"Finite takes a list of numbers or of words, given {shown(values)}")
    if len(given) > MOST_VALUES:
        raise ProblemError(f"Finite takes at most {MOST_VALUES:,} values, given more")
    return given


def _words(given: list[Any]) -> tuple[str, ...]:
    """Return the values if all are words, and nothing if none is."""
    words = tuple(plain_text(value) for value in given if isinstance(value, str))
    if words and len(words) < len(given):
        raise ProblemError(f"Finite takes numbers or words, not both, given {shown(given)}")
    for word in words:
        if not word.strip() or not word.isprintable():
            raise ProblemError(f"Finite takes words of printable characters, given {shown(word)}")
        if is_numeral(word):  # it was probably meant as a number
            raise ProblemError(
                f"Finite takes a list of numbers or of words, given {shown(given)}; "
                f"{shown(word)} is a number in quotes"
            )
    return words


def _numbers(given: list[Any]) -> tuple[float, ...]:
    both = len(given) == 2 and all(isinstance(value, bool | np.bool_) for value in given)
    try:
        numbers = tuple(float(value) if both else real(value) for value in given)
    except TypeError:
        raise ProblemError(
            f"Finite takes a list of numbers or of words, given {shown(given)}"
        ) from None
    for number in numbers:
        if not math.isfinite(number):
            raise ProblemError(f"Finite takes finite numbers, given {number}")
    return numbers


def _value(value: float | str) -> str:
    return shown(value) if isinstance(value, str) else f"{value:.12g}"
