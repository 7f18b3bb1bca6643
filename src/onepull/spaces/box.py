"""A product of spaces, with a name for each field."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from onepull.checks import is_field_name, nearest, plain_text, real, shown
from onepull.errors import ContextError, InputError, ProblemError, StateError
from onepull.spaces.finite import Finite
from onepull.spaces.interval import Interval

NO_CONTEXT = "no_context"  # the field of a context without fields
FAILED = "failed"  # the field of an outcome that tells whether the pull failed


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
                    f"field {name!r} takes Finite or Interval, as in {_likely(space)}, "
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
                others = [n for n in fields if n not in self._spaces]
                told = f" (given the {_unknown(others, [name])})" if others else ""
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
        told, allowed_here = _unknown(sorted(names, key=repr), known), ", ".join(known) or "none"
        stop = " Allowed" if told.endswith("?") else "; allowed"
        return self._error(f"{told}{stop} here: {allowed_here}")

    def exactly(self, fields: Mapping[str, Any]) -> tuple[float, ...]:
        """Return the values from `fields`, which must hold exactly this box's fields."""
        if len(fields) == (0 if self.implied else len(self._spaces)):
            return self.read(fields)
        raise self.refusal(fields)


def _likely(given: Any) -> str:
    """Return how a space is written that was given in another way.

    >>> _likely(["eu", "us"]), _likely({"low": 0, "high": 3}), _likely(3)
    ("Finite(['eu', 'us'])", 'Interval(0, 3)', 'Interval(0, 1)')
    >>> _likely((1, 4000))
    'Interval(1, 4000) for all numbers between or Finite([1, 4000]) for these two'
    """
    if isinstance(given, (list, tuple, set, frozenset, range)):
        if isinstance(given, (list, tuple)) and len(given) == 2 and _ascends(*given):
            ends = f"{shown(given[0])}, {shown(given[1])}"
            return f"Interval({ends}) for all numbers between or Finite([{ends}]) for these two"
        return f"Finite({shown(given, 60)})"
    if isinstance(given, Mapping) and {"low", "high"} <= given.keys():
        rest = [f", {name}={shown(given[name])}" for name in given if name not in {"low", "high"}]
        return f"Interval({shown(given['low'])}, {shown(given['high'])}{''.join(rest)})"
    return "Interval(0, 1)"


def _ascends(low: Any, high: Any) -> bool:
    return all(isinstance(end, (int, float)) for end in (low, high)) and low < high


def _unknown(names: Sequence[str], known: Sequence[str]) -> str:
    """Return that names are unknown, with the nearest known ones.

    >>> _unknown(["capcity"], ["capacity", "bits"])
    "unknown field 'capcity', did you mean 'capacity'?"
    """
    told = f"unknown field{'s' * (len(names) > 1)} {', '.join(map(repr, names))}"
    near = list(dict.fromkeys(filter(None, (nearest(name, known) for name in names))))
    return f"{told}, did you mean {', '.join(map(repr, near))}?" if near else told


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
