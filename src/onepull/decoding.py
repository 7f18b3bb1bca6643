"""What is wrong with a file or a body that was read into declared types, in our own words.

msgspec says that a value does not fit, and where.  The declared type says what would fit: the
fields that a table may have, the words that are allowed, the range of a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import inspect

from onepull.checks import shown, some, unknown
from onepull.errors import ProblemError
from onepull.html import printable

Kind = TypeVar("Kind")
MOST_NAMES_IN_ERROR = 30  # that an error lists
_AT = re.compile(r"(?: - at `(?P<key>key in )?\$(?P<path>[^`]*)`)?\Z")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_GOT = re.compile(r"Expected `.*`, got `(.*)`", re.DOTALL)
_LIMIT = re.compile(r"Expected `(\w+)` (?:[<>]|of length|matching)")
_LIMITED: dict[str, Any] = {
    "int": inspect.IntType,
    "float": inspect.FloatType,
    "str": inspect.StrType,
    "array": (inspect.ListType, inspect.VarTupleType),
}
_NAMES = {bool: "bool", int: "int", float: "float", str: "str", list: "array", dict: "object"}


class Complaint(NamedTuple):
    """What is wrong, and where: the path of the field, empty if it is the whole."""

    words: str
    path: str


def converted(value: Any, kind: type[Kind], what: str) -> Kind:
    """Return plain values as a declared type; raises `ProblemError` if they are not `what`.

    >>> class Link(msgspec.Struct, forbid_unknown_fields=True):
    ...     capacity: float
    >>> converted({"capcity": 3.0}, Link, "a link")
    Traceback (most recent call last):
    onepull.errors.ProblemError: not a link: unknown field 'capcity', did you mean 'capacity'? \
The fields are capacity
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ProblemError(f"not {what}: {complaint(error, kind, value).words}") from None


def complaint(
    error: msgspec.ValidationError, kind: Any, given: Any, *, table: str = "a table"
) -> Complaint:
    """Return in words why a value is not of a declared type; `given` is UNSET if it is not known.

    >>> def words(given, kind):
    ...     try:
    ...         msgspec.convert(given, kind)
    ...     except msgspec.ValidationError as error:
    ...         return complaint(error, kind, given).words
    >>> from typing import Annotated, Literal
    >>> words("fast", Literal["live", "off"])
    "must be one of live, off, given 'fast'"
    >>> words({"port": 70_000}, dict[str, Annotated[int, msgspec.Meta(ge=0, le=65535)]])
    "'port' must be a whole number from 0 to 65,535, given 70000"
    """
    text = str(error)
    at = _AT.search(text)
    path = (at["path"] or "") if at else ""
    message = text[: at.start()] if at else text
    steps = [field or place for field, place in _STEP.findall(path)]
    declared = list(_types(inspect.type_info(kind), steps))
    if at is not None and at["key"]:
        return Complaint(f"{_name(path)}has a key that is not text", path.removeprefix("."))
    got = _GOT.fullmatch(message)
    found = list(_values(given, steps, "", got[1] if got else None))
    # Where several values could be meant, it is the first of a wrong type; of those outside a
    # range the error does not tell which one it is.
    is_known = len(found) == 1 or (got is not None and bool(found))
    where, value = found[0] if is_known else (path, None)
    told = f", given {'null' if value is None else shown(value)}" if is_known else ""
    if stray := _UNKNOWN.fullmatch(message):
        words = f"{_within(where)}{_unknown(stray[1], declared)}"
        where = f"{where}.{stray[1]}"
    elif missing := _MISSING.fullmatch(message):
        words = f"{_within(where)}field {shown(missing[1])} is missing"
        where = f"{where}.{missing[1]}"
    elif message.startswith(("Expected", "Invalid enum")) and (
        fits := _fitting(_meant(declared, message), table)
    ):
        words = f"{_name(where)}must be {fits}{told}"
        if fits.startswith("a list") and isinstance(value, Mapping) and table == "a table":
            words += f"; write [[{where.removeprefix('.')}]]"
    else:
        words = f"{_name(where)}is wrong: {printable(message[:1].lower() + message[1:])}"
    return Complaint(words, where.removeprefix("."))


def _name(path: str) -> str:
    return f"{path.removeprefix('.')!r} " if path else ""


def _within(path: str) -> str:
    return f"in {path.removeprefix('.')!r}: " if path else ""


def _types(node: Any, steps: list[str]) -> Iterator[Any]:
    """Yield the declared types at a path; several if one of them may be of several types."""
    if isinstance(node, inspect.Metadata):
        yield from _types(node.type, steps)
    elif isinstance(node, inspect.UnionType):
        for each in node.types:
            yield from _types(each, steps)
    elif not steps:
        yield node
    elif isinstance(node, inspect.StructType):
        for field in node.fields:
            if field.encode_name == steps[0]:
                yield from _types(field.type, steps[1:])
    elif isinstance(node, inspect.DictType) and steps[0] == "...":
        yield from _types(node.value_type, steps[1:])
    elif isinstance(node, (inspect.ListType, inspect.VarTupleType)) and steps[0].isdigit():
        yield from _types(node.item_type, steps[1:])


def _values(value: Any, steps: list[str], path: str, got: str | None) -> Iterator[tuple[str, Any]]:
    """Yield the values at a path with their own paths; several where a key is not told."""
    if value is msgspec.UNSET:
        return
    if not steps:
        if got is None or _NAMES.get(type(value), got) == got:
            yield path, value
        return
    step, rest = steps[0], steps[1:]
    if step.isdigit() and isinstance(value, list) and int(step) < len(value):
        yield from _values(value[int(step)], rest, f"{path}[{step}]", got)
    elif isinstance(value, Mapping):
        for key in value if step == "..." else [step] if step in value else []:
            yield from _values(value[key], rest, f"{path}.{key}", got)


def _unknown(name: str, declared: list[Any]) -> str:
    """Return that a field is unknown, with the nearest known one and all of them."""
    structs = [node for node in declared if isinstance(node, inspect.StructType)]
    known = list(dict.fromkeys(field.encode_name for node in structs for field in node.fields))
    return unknown(
        "field", name, known, f"the fields are {some(known, MOST_NAMES_IN_ERROR)}" * bool(known)
    )


def _meant(declared: list[Any], message: str) -> list[Any]:
    """Return the types that an error is about: one whose limits are not kept, or all of them."""
    limited = _LIMIT.match(message)
    if limited is None:
        # A number may be whole.
        has_numbers = any(isinstance(node, inspect.FloatType) for node in declared)
        return [node for node in declared if not (has_numbers and type(node) is inspect.IntType)]
    return [node for node in declared if isinstance(node, _LIMITED.get(limited[1], object))]


def _fitting(declared: list[Any], table: str) -> str:
    """Return what would fit, in words; empty if that is not known."""
    found = list(dict.fromkeys(_one(node, table) for node in declared))
    if not found or "" in found:
        return ""
    return " or ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


def _one(node: Any, table: str) -> str:  # noqa: PLR0911 - one for each kind
    if isinstance(node, inspect.LiteralType):
        values = [str(value) for value in node.values]
        return f"one of {some(values, MOST_NAMES_IN_ERROR)}" if len(values) > 1 else values[0]
    if isinstance(node, inspect.IntType):
        return f"a whole number{_range(node)}"
    if isinstance(node, inspect.FloatType):
        return f"a number{_range(node)}"
    if isinstance(node, inspect.StrType):
        matching = f" that matches {node.pattern}" if node.pattern else ""
        return f"text{_length(node, 'character')}{matching}"
    if isinstance(node, inspect.BoolType):
        return "true or false"
    if isinstance(node, (inspect.ListType, inspect.VarTupleType)):
        return f"a list{_length(node, 'entry')}"
    if isinstance(node, (inspect.StructType, inspect.DictType)):
        return table
    return "null" if isinstance(node, inspect.NoneType) else ""


def _range(node: Any) -> str:
    """Return the range of a number, such as " from 0 to 9".

    >>> _range(inspect.IntType(gt=0)), _range(inspect.FloatType(ge=0.0, le=1.0))
    (' above 0', ' from 0 to 1')
    """
    low, high = node.ge, node.le
    if low is not None and high is not None:
        return f" from {_number(low)} to {_number(high)}"
    parts = {"of at least": low, "above": node.gt, "of at most": high, "below": node.lt}
    told = [f"{word} {_number(end)}" for word, end in parts.items() if end is not None]
    return f" {' and '.join(told)}" if told else ""


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _length(node: Any, unit: str) -> str:
    """Return the length that something must have, such as " of 1 to 200 characters"."""
    low, high = node.min_length, node.max_length
    many = "entries" if unit == "entry" else f"{unit}s"
    if low is not None and high is not None:
        return f" of {low:,} to {high:,} {many}"
    if high is not None:
        return f" of at most {high:,} {many}"
    return f" of at least {low:,} {unit if low == 1 else many}" if low else ""
