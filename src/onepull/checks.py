"""Checks of numbers that users pass as parameters, and of values that files contain."""

from __future__ import annotations

import difflib
import itertools
import math
import re
import sys
from collections.abc import Iterable
from keyword import iskeyword
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
import numpy as np

from onepull.errors import ContextError, ParameterError, SaveFileError, StateError
from onepull.html import printable

LARGEST = sys.float_info.max
SMALLEST_PARAMETER, LARGEST_PARAMETER = 1e-100, 1e100  # limits of parameters without a unit
FIELD_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
MOST_LIKENED = 1000  # names among which the nearest to an unknown one is looked for
LONGEST_LIKENED = 100  # characters of that name
MOST_SHOWN_FIELDS = 10  # of a context, in an error
LARGEST_COUNT = 2**53  # whole numbers up to here are exact as floats

# What a save file may contain.  The states of policies are declared with these types, and
# `restored` reads them.
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_COUNT)]
FiniteNumber: TypeAlias = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
Share: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Kind = TypeVar("Kind")


def restored(kind: type[Kind], state: Any, what: str) -> Kind:
    """Return a saved value as its declared kind; raises `SaveFileError` if it is not of it.

    >>> restored(list[Count], [3, 0], "pulls")
    [3, 0]
    >>> restored(list[Count], [3, -1], "pulls")
    Traceback (most recent call last):
    onepull.errors.SaveFileError: the saved pulls are invalid: Expected `int` >= 0 - at `$[1]`
    """
    try:
        return msgspec.convert(state, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise SaveFileError(f"the saved {what} are invalid: {error}") from None


def real(value: Any) -> float:
    """Return `value` as a float; raises `TypeError` if it is not a single number.

    Text and booleans are rejected, although `float` accepts them.

    >>> real(3)
    3.0
    >>> real("3")
    Traceback (most recent call last):
    TypeError: is not a number
    """
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    raise TypeError("is not a number")


def whole_number(name: str, value: Any, *, least: int = 1, most: int | None = LARGEST_COUNT) -> int:
    """Return a parameter as an int; raises `ParameterError` unless it is whole and in range.

    >>> whole_number("window", np.int64(7))
    7
    >>> whole_number("knots", 10**7, least=2, most=1000)
    Traceback (most recent call last):
    onepull.errors.ParameterError: knots must be a whole number from 2 to 1,000, given 10000000
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if whole and least <= value and (most is None or value <= most):
        return int(value)
    up_to = f" to {most:,}" if whole and value >= least else ""
    raise ParameterError(f"{name} must be a whole number from {least}{up_to}, given {shown(value)}")


def number(
    name: str, value: Any, *, above: float, at_least: bool = False, most: float = LARGEST
) -> float:
    """Return a parameter as a float; raises `ParameterError` unless it is a number in range.

    >>> number("c", 3, above=0.0)
    3.0
    >>> number("c", 3, above=0.0, most=1.0)
    Traceback (most recent call last):
    onepull.errors.ParameterError: c must be a number > 0 and <= 1, given 3
    """
    try:
        read = real(value)
    except TypeError:
        read = float("nan")
    if (above <= read if at_least else above < read) and read <= most:
        return read
    sign = ">=" if at_least else ">"
    limits = [f"{sign} {above:g}"] * math.isfinite(above) + [f"<= {most:g}"] * (most < LARGEST)
    limit = f" {' and '.join(limits)}" if limits else ""
    raise ParameterError(f"{name} must be a number{limit}, given {shown(value)}")


def constant(
    name: str, value: Any, *, above: float, at_least: bool = False, most: float = LARGEST_PARAMETER
) -> float:
    """Return a parameter without a unit; like `number`, but neither tiny nor huge.

    Products of a few such numbers stay finite.

    >>> constant("c", 3, above=0.0)
    3.0
    >>> constant("c", 1e-300, above=0.0)
    Traceback (most recent call last):
    onepull.errors.ParameterError: c must be 0 or between 1e-100 and 1e+100, given 1e-300
    """
    read = number(name, value, above=above, at_least=at_least)
    if (read and not SMALLEST_PARAMETER <= abs(read) <= LARGEST_PARAMETER) or read > most:
        limits = (
            f"at most {most:g}"
            if read > most
            else f"0 or between {SMALLEST_PARAMETER:g} and {LARGEST_PARAMETER:g}"
        )
        raise ParameterError(f"{name} must be {limits}, given {shown(value)}")
    return read


def share(name: str, value: Any) -> float:
    """Return a parameter between 0 and 1, neither included; raises `ParameterError` otherwise.

    >>> share("discount", 0.999)
    0.999
    >>> share("failure", 1)
    Traceback (most recent call last):
    onepull.errors.ParameterError: failure must be between 0 and 1, both excluded, given 1
    """
    read = constant(name, value, above=0.0)
    if read >= 1.0:
        raise ParameterError(f"{name} must be between 0 and 1, both excluded, given {shown(value)}")
    return read


def flag(name: str, value: Any) -> bool:
    """Return a parameter that is True or False; raises `ParameterError` if it is not.

    >>> flag("together", np.True_)
    True
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise ParameterError(f"{name} must be True or False, given {shown(value)}")


def some(names: Iterable[str], most: int = 20) -> str:
    """Return names for an error message, only the first and last ones if there are many.

    >>> some("abc"), some(["a", "b", "c", "d", "e"], most=3)
    ('a, b, c', 'a, b, …, e (5 in all)')
    """
    listed = [printable(name) for name in names]
    if len(listed) <= most:
        return ", ".join(listed)
    return f"{', '.join(listed[: most - 1])}, …, {listed[-1]} ({len(listed):,} in all)"


def nearest(given: Any, names: Iterable[str]) -> str | None:
    """Return the name that was probably meant, None if none is similar.

    >>> nearest("Glod", ["plain", "gold"]), nearest("x", ["plain", "gold"])
    ('gold', None)
    """
    known = {name.casefold(): name for name in itertools.islice(names, MOST_LIKENED)}
    text = given.casefold()[:LONGEST_LIKENED] if isinstance(given, str) else ""
    near = difflib.get_close_matches(text, known, 1)
    near = near or [name for name in known if len(text) > 2 and name.startswith(text)]
    return known[near[0]] if near else None


def unknown(what: str, given: Any, names: Iterable[str], known: str) -> str:
    """Return that a name is unknown, with the nearest one, and a sentence that lists the known.

    >>> unknown("field", "capcity", ["capacity"], "the fields are capacity")
    "unknown field 'capcity', did you mean 'capacity'? The fields are capacity"
    """
    told = f"unknown {what} {shown(given)}"
    if (near := nearest(given, names)) is None:
        return f"{told}; {known}" if known else told
    return f"{told}, did you mean {near!r}? {known[:1].upper()}{known[1:]}"


def by_name(method: str, given: Iterable[Any], fields: Iterable[str] | None) -> ContextError:
    """Return the error of a context whose values were given without their names.

    `fields` are those of the context, None if they are not known.

    >>> by_name("choose", (5, "eu"), ["tokens", "region"])
    ContextError("choose takes the context by name: choose(tokens=…, region=…), given 5, 'eu'")
    >>> by_name("choose", (5,), [])
    ContextError('choose takes no context here: choose(), given 5')
    """
    names = [f"{field}=…" for field in itertools.islice(fields or (), MOST_SHOWN_FIELDS)]
    if fields is None:
        names = ["tokens=300"]
    how = "the context by name" if names else "no context here"
    such = ", such as" if fields is None else ":"
    values = ", ".join(shown(value) for value in itertools.islice(given, MOST_SHOWN_FIELDS))
    return ContextError(f"{method} takes {how}{such} {method}({', '.join(names)}), given {values}")


def state_by_name(first: str, given: Iterable[Any], fields: Iterable[str] | None) -> StateError:
    """Return the error of an observation whose values were given without their names.

    `first` is what an observation begins with, and `fields` are those of the state, None if they
    are not known.

    >>> state_by_name("'wifi'", (0.5,), ["capacity"])
    StateError("observe takes the state by name: observe('wifi', capacity=…), given 0.5")
    """
    names = ["seconds=0.5"] if fields is None else [f"{field}=…" for field in fields]
    such = ", such as" if fields is None else ":"
    values = ", ".join(shown(value) for value in itertools.islice(given, MOST_SHOWN_FIELDS))
    call = ", ".join([first, *names[:MOST_SHOWN_FIELDS]])
    return StateError(f"observe takes the state by name{such} observe({call}), given {values}")


def pinned(arm: Any) -> Any:
    """Return the arm to pin; raises ParameterError if none was given, not even None.

    >>> pinned(msgspec.UNSET)
    Traceback (most recent call last):
    onepull.errors.ParameterError: pin takes an arm, or None to choose freely again: pin(None)
    """
    if arm is msgspec.UNSET:
        raise ParameterError("pin takes an arm, or None to choose freely again: pin(None)")
    return arm


def is_field_name(name: Any) -> bool:
    """Return whether a field may have this name: a letter, then letters, digits and _.

    >>> is_field_name("bits_2"), is_field_name("2bits"), is_field_name("if"), is_field_name(3)
    (True, False, False, False)
    """
    return isinstance(name, str) and bool(FIELD_NAME.fullmatch(name)) and not iskeyword(name)


def is_numeral(text: str) -> bool:
    """Return whether text is a number that `float` reads.

    >>> is_numeral("-2e3"), is_numeral("two")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def plain_text(value: Any) -> str:
    """Return text as a plain `str`, which `numpy.str_` and enumerations derive from.

    >>> type(plain_text(np.str_("wifi")))
    <class 'str'>
    """
    return str.__str__(value)


def shown(value: Any, most: int = 200) -> str:
    """Return a value for an error message, cut if it is long.

    >>> shown("a" * 1000, most=10)
    "'aaaaaaaaa…"
    """
    try:
        text = repr(value)
    except ValueError:  # a whole number with thousands of digits
        return f"a {type(value).__name__} with too many digits"
    return text if len(text) <= most else f"{text[:most]}…"


def written(value: float) -> str:
    """Return the shortest text of a number, without a decimal point if it is whole.

    >>> written(3.0), written(0.25)
    ('3', '0.25')
    """
    return repr(value).removesuffix(".0")
