"""Values that a log can hold."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from onepull.checks import plain_text, shown
from onepull.errors import InputError
from onepull.store.events import storable

LONGEST_ID = 200  # characters of an id, a key or a name
PLAIN_TYPES = frozenset({int, float, str, bool})
LOWEST, HIGHEST = -(2**63), 2**64 - 1  # whole numbers that a log can hold


def is_plain(value: Any) -> bool:
    """Return whether a log can hold a value as it is.

    >>> is_plain(7), is_plain(2**70)
    (True, False)
    """
    kind = type(value)
    return kind in PLAIN_TYPES and (kind is not int or LOWEST <= value <= HIGHEST)


def text(what: str, value: Any) -> str:
    """Return an id, a key or a name; raises InputError if it is empty, too long or no text.

    >>> text("key", "session 1")
    'session 1'
    """
    if isinstance(value, str) and 0 < len(value) <= LONGEST_ID and storable(value):
        return value if type(value) is str else plain_text(value)
    raise InputError(
        f"{what} must be text of 1 to {LONGEST_ID} characters, none of them NUL or half of a pair, "
        f"given {shown(value)}"
    )


def python_number(value: Any) -> Any:
    """Return a number of numpy as Python's, and a whole number beyond 64 bits as a float.

    The problem's spaces check everything else.

    >>> python_number(2**70)
    1.1805916207174113e+21
    """
    if is_plain(value):
        return value
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "ndim", 1) == 0:
        value = item()
    if isinstance(value, int) and not LOWEST <= value <= HIGHEST:
        with suppress(OverflowError):  # no space has it, and the error tells the field
            return float(value)
    if isinstance(value, (bool, int, float, str)):
        return value
    raise InputError(f"a field takes a number, a word or a truth value, given {shown(value)}")
