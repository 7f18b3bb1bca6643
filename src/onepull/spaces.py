"""The spaces of contexts and states.

A `Finite` space is a list of numbers, an `Interval` is a closed range, and a `Box` is a
product of spaces with a name for each field.  All are immutable, validated on construction,
and compare by their contents.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Any, TypeAlias

from onepull.checks import LARGEST, plain_text, real, shown
from onepull.errors import ContextError, InputError, ProblemError, StateError

MOST_VALUES = 2**20  # of a finite space
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def _written(value: float) -> str:
    """Return the shortest text of a number, without a decimal point if it is whole."""
    return repr(value).removesuffix(".0")


@dataclass(frozen=True, slots=True)
class Finite:
    """A finite set of numbers, in the order given.

    >>> Finite([1, 2, 3, 4])
    Finite([1, 2, 3, 4])
    """

    values: tuple[float, ...]
    _members: frozenset[float] = field(repr=False, compare=False)

    def __init__(self, values: Iterable[float]) -> None:
        try:
            numbers = tuple(real(value) for value in itertools.islice(values, MOST_VALUES + 1))
        except TypeError:
            raise ProblemError(f"Finite takes a list of numbers, given {shown(values)}") from None
        if len(numbers) > MOST_VALUES:
            raise ProblemError(f"Finite takes at most {MOST_VALUES:,} numbers, given more")
        if not numbers:
            raise ProblemError("Finite takes at least one number, given none")
        for number in numbers:
            if not math.isfinite(number):
                raise ProblemError(f"Finite takes finite numbers, given {number}")
        members = frozenset(numbers)
        if len(members) < len(numbers):
            twice = Counter(numbers).most_common(1)[0][0]
            raise ProblemError(f"Finite takes each number once, given {twice:g} twice")
        object.__setattr__(self, "values", numbers)
        object.__setattr__(self, "_members", members)

    def __repr__(self) -> str:
        """Show the space as it was written."""
        return f"Finite([{', '.join(map(_written, self.values))}])"

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
        number = value if type(value) is float else real(value)
        if number in self._members:
            return number
        raise ValueError(f"is not {self}")

    def __str__(self) -> str:
        """Return the words that follow 'must be' in an error message."""
        shown = [f"{value:.12g}" for value in self.values]
        if len(shown) > 12:
            shown = [*shown[:6], "…", *shown[-2:]]
        return f"one of {', '.join(shown)}"


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers from `low` to `high`, both included.

    An end may be infinite if the reward stays bounded, as in `min(bits, capacity)`.

    >>> Interval(0, 7)
    Interval(0, 7)
    """

    low: float
    high: float
    # The ends for `accept`: infinity itself is not a valid value.
    _least: float = field(repr=False, compare=False)
    _most: float = field(repr=False, compare=False)

    def __init__(self, low: float, high: float) -> None:
        try:
            ends = (real(low), real(high))
        except TypeError:
            raise ProblemError(
                f"Interval takes two numbers, given {shown(low)}, {shown(high)}"
            ) from None
        if not ends[0] < ends[1]:
            raise ProblemError(
                f"Interval takes low < high, given low={shown(low)}, high={shown(high)}"
            )
        if math.isinf(ends[1] - ends[0]) and not any(map(math.isinf, ends)):
            raise ProblemError(
                f"Interval is too wide, given low={shown(low)}, high={shown(high)}; use inf"
            )
        object.__setattr__(self, "low", ends[0])
        object.__setattr__(self, "high", ends[1])
        object.__setattr__(self, "_least", max(ends[0], -LARGEST))
        object.__setattr__(self, "_most", min(ends[1], LARGEST))

    def __repr__(self) -> str:
        """Show the space as it was written."""
        return f"Interval({_written(self.low)}, {_written(self.high)})"

    @property
    def width(self) -> float:
        """The distance between the ends."""
        return self.high - self.low

    def accept(self, value: Any) -> float:
        """Return `value` as a float; raises `ValueError` if it is not in this space."""
        number = value if type(value) is float else real(value)
        if self._least <= number <= self._most:
            return number
        raise ValueError(f"is not {self}")

    def __str__(self) -> str:
        """Return the words that follow 'must be' in an error message."""
        return f"a finite number in [{self.low:.12g}, {self.high:.12g}]"


Space: TypeAlias = Finite | Interval


class Box(Mapping[str, Space]):
    """A product of spaces, one for each named field.

    >>> job = Box(megabytes=Interval(1, 512), cycles=Finite([1, 10, 100]))
    >>> job.read({"megabytes": 64, "cycles": 10})
    (64.0, 10.0)
    """

    __slots__ = ("_error", "_readers", "_spaces", "names", "role")

    def __init__(self, spaces: Mapping[str, Space] | None = None, /, **named: Space) -> None:
        if spaces is not None and not isinstance(spaces, Mapping):
            raise ProblemError(
                f"fields are given with their spaces, as in {{'x': Interval(0, 1)}}, "
                f"given {shown(spaces)}"
            )
        self._spaces: dict[str, Space] = {}
        for name, space in (*(spaces or {}).items(), *named.items()):
            if not isinstance(name, str) or not NAME.fullmatch(name) or iskeyword(name):  # type: ignore[redundant-expr]
                raise ProblemError(
                    f"field {shown(name)}: a name is a letter followed by letters, digits and _, "
                    "and not a Python keyword"
                )
            if not isinstance(space, (Finite, Interval)):
                raise ProblemError(f"field {name!r} takes Finite or Interval, given {shown(space)}")
            self._spaces[plain_text(name)] = space
        self.names = tuple(self._spaces)
        self._readers = [(name, space.accept) for name, space in self._spaces.items()]
        self.role = "field"
        self._error: type[InputError] = InputError

    def __getitem__(self, name: str) -> Space:
        """Return the space of one field."""
        return self._spaces[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the field names, in order."""
        return iter(self._spaces)

    def __len__(self) -> int:
        """Return the number of fields."""
        return len(self._spaces)

    def __hash__(self) -> int:
        """Hash the fields, in order."""
        return hash(tuple(self._spaces.items()))

    def __eq__(self, other: object) -> bool:
        """Compare the fields, in order."""
        return isinstance(other, Box) and list(self.items()) == list(other.items())

    def __repr__(self) -> str:
        """Show the box as it was written."""
        return f"Box({', '.join(f'{name}={space!r}' for name, space in self.items())})"

    def acting_as(self, role: str) -> Box:
        """Return a copy whose errors speak of the 'context' or the 'state' of a problem."""
        box = Box(self._spaces)
        box.role = role
        box._error = {"context": ContextError, "state": StateError}[role]
        return box

    def read(self, fields: Mapping[str, Any]) -> tuple[float, ...]:
        """Return the values of this box's fields from `fields`, in order.

        Other fields are ignored; the caller checks for unknown names.
        """
        try:
            values: tuple[float, ...] = ()
            for name, accept in self._readers:  # for one field, twice as fast as a comprehension
                values += (accept(fields[name]),)
            return values  # noqa: TRY300 - the loop is what may raise
        except (KeyError, TypeError, ValueError):
            raise self.refusal(fields) from None

    def refusal(self, fields: Mapping[str, Any]) -> InputError:
        """Return the error that says what is wrong with `fields`."""
        for name, space in self._spaces.items():
            if name not in fields:
                unknown = ", ".join(repr(n) for n in fields if n not in self._spaces)
                told = f" (given the unknown field {unknown})" if unknown else ""
                return self._error(
                    f"{self.role} field {name!r} is missing{told}: it must be {space}"
                )
            try:
                space.accept(fields[name])
            except (TypeError, ValueError) as problem:
                given = shown(fields[name], 60)
                what = f" ({problem})" if isinstance(problem, TypeError) else ""
                return self._error(
                    f"{self.role} field {name!r} must be {space}, given {given}{what}"
                )
        return self.stray(set(fields) - set(self._spaces))

    def stray(self, names: Iterable[str], allowed: Iterable[str] = ()) -> InputError:
        """Return the error for undeclared field names."""
        known = [*self._spaces, *allowed]
        return self._error(
            f"unknown field{'s' * (len(list(names)) > 1)} {', '.join(sorted(map(repr, names)))}; "
            f"allowed here: {', '.join(known) or 'none'}"
        )

    def exactly(self, fields: Mapping[str, Any]) -> tuple[float, ...]:
        """Return the values from `fields`, which must hold exactly this box's fields."""
        if len(fields) != len(self._spaces):
            raise self.refusal(fields)
        return self.read(fields)
