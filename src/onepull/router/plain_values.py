"""Values that a log can hold."""

from __future__ import annotations

import re
from typing import Any

from onepull.checks import plain_text, shown
from onepull.errors import InputError

LONGEST = 200  # characters of an id, a key or a name
SURROGATES = re.compile("[\ud800-\udfff]")  # which no file can hold
PLAIN = frozenset({int, float, str, bool})


def text(what: str, value: Any) -> str:
    """Return an id, a key or a name; raises InputError if it is empty, too long or no text.

    >>> text("key", "session 1")
    'session 1'
    """
    is_text = isinstance(value, str) and 0 < len(value) <= LONGEST and "\0" not in value
    if is_text and (value.isascii() or not SURROGATES.search(value)):
        return value if type(value) is str else plain_text(value)
    raise InputError(f"{what} must be text of 1 to {LONGEST} characters, given {shown(value)}")


def plain(value: Any) -> Any:
    """Return a number of numpy as Python's; the problem's spaces check everything else."""
    if type(value) in PLAIN:
        return value
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "ndim", 1) == 0:
        value = item()
    if isinstance(value, (bool, int, float, str)):
        return value
    raise InputError(f"a field takes a number, a word or a truth value, given {shown(value)}")
