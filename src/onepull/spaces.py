"""The spaces of contexts and states.

A `Finite` space is a list of numbers or of words, an `Interval` is a closed range, and a `Box` is a
product of spaces with a name for each field.  All are immutable, validated on construction,
and compare by their contents.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from onepull.checks import LARGEST, is_field_name, plain_text, real, shown
from onepull.errors import ContextError, InputError, ProblemError, StateError

MOST_VALUES = 2**20  # of a finite space
NARROWEST = 1e-300  # of an interval, whose inverse must be a number
NO_CONTEXT = "no_context"  # the field of a context without fields
FAILED = "failed"  # the field of an outcome that tells whether the pull failed


def _written(value: float) -> str:
    """Return the shortest text of a number, without a decimal point if it is whole."""
    return repr(value).removesuffix(".0")


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
        values = map(json.dumps, self.words) if self.words else map(_written, self.values)
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
        if _is_number(word):
            raise ProblemError(
                f"Finite takes a list of numbers or of words, given {shown(given)}; "
                f"{shown(word)} is a number in quotes"
            )
    return words


def _is_number(text: str) -> bool:
    """Return whether text is a number, which was probably meant as one."""
    try:
        float(text)
    except ValueError:
        return False
    return True


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


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers from `low` to `high`, both included.

    An end may be infinite if the reward stays bounded, as in `min(bits, capacity)`.

    Parameters
    ----------
    low, high
        The ends.
    outside
        What to do with a number outside: "refuse" it with an error, or "clip" it to the nearest
        end.
    scale
        How cells and knots are spread: "linear", or "log" with the same ratio between neighbours,
        for numbers of very different sizes.  Then both ends must be above 0 and finite, and the
        width of a cell is a difference of logarithms.

    Examples
    --------
    >>> Interval(0, 7)
    Interval(0, 7)
    >>> Interval(0.01, 100, scale="log").places(5).tolist()
    [0.01, 0.1, 1.0, 10.0, 100.0]
    >>> Interval(0, 30, outside="clip").accept(31.5)
    30.0
    """

    low: float
    high: float
    outside: str
    scale: str
    # The ends for `accept`: infinity itself is not a valid value.
    _least: float = field(repr=False, compare=False)
    _most: float = field(repr=False, compare=False)

    def __init__(
        self, low: float, high: float, *, outside: str = "refuse", scale: str = "linear"
    ) -> None:
        if not isinstance(outside, str) or outside not in ("refuse", "clip"):  # type: ignore[redundant-expr]
            raise ProblemError(f"outside must be 'refuse' or 'clip', given {shown(outside)}")
        if not isinstance(scale, str) or scale not in ("linear", "log"):  # type: ignore[redundant-expr]
            raise ProblemError(f"scale must be 'linear' or 'log', given {shown(scale)}")
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
        if ends[1] - ends[0] < NARROWEST:
            raise ProblemError(
                f"Interval is too narrow, given low={shown(low)}, high={shown(high)}; "
                f"its width must be at least {NARROWEST:g}"
            )
        if math.isinf(ends[1] - ends[0]) and not any(map(math.isinf, ends)):
            raise ProblemError(
                f"Interval is too wide, given low={shown(low)}, high={shown(high)}; use inf"
            )
        object.__setattr__(self, "low", ends[0])
        object.__setattr__(self, "high", ends[1])
        if scale == "log" and not 0.0 < ends[0] < ends[1] < math.inf:
            raise ProblemError(
                f"scale='log' takes ends above 0 and finite, given low={shown(low)}, "
                f"high={shown(high)}"
            )
        object.__setattr__(self, "outside", str(outside))
        object.__setattr__(self, "scale", str(scale))
        object.__setattr__(self, "_least", max(ends[0], -LARGEST))
        object.__setattr__(self, "_most", min(ends[1], LARGEST))

    def __repr__(self) -> str:
        """Show the space as it was written."""
        clips = ", outside='clip'" if self.clips else ""
        scale = ", scale='log'" if self.is_log else ""
        return f"Interval({_written(self.low)}, {_written(self.high)}{clips}{scale})"

    @property
    def clips(self) -> bool:
        """Whether a number outside is replaced by the nearest end."""
        return self.outside == "clip"

    @property
    def is_log(self) -> bool:
        """Whether cells and knots have the same ratio instead of the same distance."""
        return self.scale == "log"

    @property
    def width(self) -> float:
        """The distance between the ends."""
        return self.high - self.low

    @property
    def extent(self) -> float:
        """The distance between the ends on the scale of the interval.

        >>> round(Interval(1, 100, scale="log").extent, 6)
        4.60517
        """
        return math.log(self.high / self.low) if self.is_log else self.width

    def places(self, count: int) -> Any:
        """Return `count` numbers from the low to the high end, evenly spread on the scale."""
        spread = np.geomspace if self.is_log else np.linspace
        return spread(self.low, self.high, count)

    def accept(self, value: Any) -> float:
        """Return `value` as a float; raises `ValueError` if it is not in this space."""
        number = value if type(value) is float else real(value)
        if self._least <= number <= self._most:
            return number
        if self.clips and math.isfinite(number):
            return min(max(number, self._least), self._most)
        raise ValueError(f"is not {self}")

    def within(self, size: float) -> Interval:
        """Return this interval with numbers of at most a size towards an end that is infinite.

        >>> Interval(0, math.inf).within(1e9).accept(1e10)
        Traceback (most recent call last):
        ValueError: is not a finite number in [0, inf]
        """
        twin = Interval(self.low, self.high, outside=self.outside, scale=self.scale)
        if math.isinf(self.low):
            object.__setattr__(twin, "_least", max(min(-size, self.high), self._least))
        if math.isinf(self.high):
            object.__setattr__(twin, "_most", min(max(size, self.low), self._most))
        return twin

    def too_far(self, value: float) -> float | None:
        """Return the largest size that is accepted, if a number of this interval is beyond it.

        >>> Interval(0, math.inf).within(1e9).too_far(1e10)
        1000000000.0
        """
        if not self.low <= value <= self.high or self._least <= value <= self._most:
            return None
        return abs(self._most if value > self._most else self._least)

    def clips_off(self, value: Any) -> bool:
        """Whether a number is outside, so that `accept` replaces it by the nearest end.

        >>> Interval(0, 30, outside="clip").clips_off(31.5)
        True
        """
        return self.clips and not self._least <= value <= self._most

    def shown(self, value: float) -> str:
        """Return a value of this space as text."""
        return f"{value:.12g}"

    def __str__(self) -> str:
        """Return the words that follow 'must be' in an error message."""
        return f"a finite number in [{self.low:.12g}, {self.high:.12g}]"


Space: TypeAlias = Finite | Interval


class Box(Mapping[str, Space]):
    """A product of spaces, one for each named field.

    >>> job = Box(megabytes=Interval(1, 512), cycles=Finite([1, 10, 100]))
    >>> job.read({"megabytes": 64, "cycles": 10})
    (64.0, 10.0)

    Attributes
    ----------
    names
        The names of the fields, in order.
    words
        The words of each field that has words.
    implied
        The fields that nobody gives, with their values: the one of a context without fields.
    """

    __slots__ = ("_error", "_readers", "_spaces", "_start", "implied", "names", "role", "words")

    def __init__(self, spaces: Mapping[str, Space] | None = None, /, **named: Space) -> None:
        if spaces is not None and not isinstance(spaces, Mapping):
            raise ProblemError(
                f"fields are given with their spaces, as in {{'x': Interval(0, 1)}}, "
                f"given {shown(spaces)}"
            )
        self._spaces: dict[str, Space] = {}
        for name, space in (*(spaces or {}).items(), *named.items()):
            if not is_field_name(name):
                raise ProblemError(
                    f"field {shown(name)}: a name is a letter followed by letters, digits and _, "
                    "and not a Python keyword"
                )
            if not isinstance(space, (Finite, Interval)):
                raise ProblemError(
                    f"field {name!r} takes Finite or Interval, as in Interval(0, 1), "
                    f"given {shown(space)}"
                )
            self._spaces[plain_text(name)] = space
        self.names = tuple(self._spaces)
        self.words: Mapping[str, tuple[str, ...]] = {
            name: space.words
            for name, space in self._spaces.items()
            if isinstance(space, Finite) and space.words
        }
        self._readers = [(name, space.accept) for name, space in self._spaces.items()]
        self._start: tuple[float, ...] = ()
        self.implied: Mapping[str, float] = {}
        self.role = "field"
        self._error: type[InputError] = InputError

    @classmethod
    def without_fields(cls) -> Box:
        """Return the context of a problem without contexts: one field that nobody gives.

        So everything that works on contexts works on a single one.

        >>> box = Box.without_fields()
        >>> box, box.read(box.implied), box.shown((0.0,))
        (Box(), (0.0,), 'no context')
        """
        box = cls({NO_CONTEXT: Finite([0])})
        box.implied = {NO_CONTEXT: 0.0}
        box._start, box._readers = (0.0,), []
        return box

    @property
    def has_fields(self) -> bool:
        """Whether there are fields for a user to give."""
        return not self.implied

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
        spaces = self.items() if self.has_fields else ()
        return f"Box({', '.join(f'{name}={space!r}' for name, space in spaces)})"

    def acting_as(self, role: str) -> Box:
        """Return a copy whose errors speak of the 'context' or the 'state' of a problem."""
        box = Box(self._spaces)
        box.role, box.implied = role, self.implied
        box._start, box._readers = self._start, self._readers
        box._error = {"context": ContextError, "state": StateError}[role]
        return box

    def within(self, size: float) -> Box:
        """Return this context or state with numbers of at most a size where there is no bound.

        >>> Box(x=Interval(0, math.inf)).acting_as("state").within(1e9).read({"x": 1e10})
        Traceback (most recent call last):
        onepull.errors.StateError: state field 'x' must be a finite number in [0, inf], given \
10000000000.0; its rewards are too large to compute with; expected at most 1e+09 in size
        """
        spaces = {
            name: space.within(size) if isinstance(space, Interval) else space
            for name, space in self._spaces.items()
        }
        return self if self.implied else Box(spaces).acting_as(self.role)

    def read(self, fields: Mapping[str, Any]) -> tuple[float, ...]:
        """Return the values of this box's fields from `fields`, in order.

        Other fields are ignored; the caller checks for unknown names.
        """
        try:
            values = self._start
            for name, accept in self._readers:  # for one field, twice as fast as a comprehension
                values += (accept(fields[name]),)
            return values  # noqa: TRY300 - the loop is what may raise
        except (KeyError, TypeError, ValueError):
            raise self.refusal(fields) from None

    def refusal(self, fields: Mapping[str, Any]) -> InputError:
        """Return the error that says what is wrong with `fields`."""
        if self.implied:
            return self.stray(fields)
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
                    f"{_remedy(space, fields[name])}"
                )
        return self.stray(set(fields) - set(self._spaces))

    def fields(self, values: Sequence[float]) -> dict[str, Any]:
        """Return values of this box by name, as a user would give them.

        >>> Box(region=Finite(["eu", "us"]), size=Interval(1, 4)).fields((1.0, 2.5))
        {'region': 'us', 'size': 2.5}
        """
        if self.implied:
            return {}
        named: dict[str, Any] = dict(zip(self.names, values, strict=True))
        for name, words in self.words.items():
            number = named[name]
            if not (0 <= number < len(words) and number == int(number)):
                raise self._error(f"{self.role} field {name!r} has no word number {number!r}")
            named[name] = words[int(number)]
        return named

    def among(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of `fields` that are fields of this box.

        >>> Box(x=Interval(0, 1)).among({"x": 0.5, "y": 3})
        {'x': 0.5}
        """
        return {name: fields[name] for name in self._spaces if name in fields}

    def are_complete(self, fields: Mapping[str, Any]) -> bool:
        """Return whether `fields`, all of which are fields of this box, leave none out."""
        return len(fields) == len(self._spaces) or bool(self.implied)

    def shown(self, values: Sequence[float]) -> str:
        """Return values of this box as text.

        >>> Box(region=Finite(["eu", "us"]), size=Interval(1, 4)).shown((1.0, 2.5))
        'region=us, size=2.5'
        """
        if self.implied:
            return "no context"
        pairs = zip(self._spaces.items(), values, strict=True)
        return ", ".join(f"{name}={space.shown(value)}" for (name, space), value in pairs)

    def stray(self, names: Iterable[str], allowed: Iterable[str] = ()) -> InputError:
        """Return the error for undeclared field names."""
        known = [name for name in (*self._spaces, *allowed) if name != NO_CONTEXT]
        return self._error(
            f"unknown field{'s' * (len(list(names)) > 1)} {', '.join(sorted(map(repr, names)))}; "
            f"allowed here: {', '.join(known) or 'none'}"
        )

    def exactly(self, fields: Mapping[str, Any]) -> tuple[float, ...]:
        """Return the values from `fields`, which must hold exactly this box's fields."""
        if len(fields) == (0 if self.implied else len(self._spaces)):
            return self.read(fields)
        raise self.refusal(fields)


def _remedy(space: Space, value: Any) -> str:
    """Return how to allow a number outside an interval, or why one inside is refused."""
    try:
        number = real(value)
    except TypeError:
        return ""
    if not isinstance(space, Interval) or not math.isfinite(number):
        return ""
    if (most := space.too_far(number)) is not None:
        return f"; its rewards are too large to compute with; expected at most {most:.6g} in size"
    return "; declare it with outside='clip' to use the nearest end instead"
