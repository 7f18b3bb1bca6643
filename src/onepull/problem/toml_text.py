"""TOML text and plain values."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from onepull.checks import shown
from onepull.errors import ProblemError
from onepull.html import printable

MOST_KEY_PARTS = 64  # of a dotted key in a file
# What Python says about TOML, and what we say.
TOML_ERRORS = {
    "Invalid value": "expected a number, a list, a table, or text in quotes",
    "Cannot overwrite a value": "a key is given twice",
    "Cannot declare": "a table is given twice:",
}
TOML_STRING = re.compile(r"""\"(?:[^"\\\n]|\\.)*+\"|'[^'\n]*+'""")


def toml_values(text: str | bytes, what: str) -> dict[str, Any]:
    """Return TOML text as plain values; raises `ProblemError` if it is not `what` it should be.

    >>> toml_values("horizon = 1000", "an experiment")
    {'horizon': 1000}
    """
    if not isinstance(text, str | bytes):
        raise ProblemError(f"not {what}: given {shown(text)}, which is not text")
    try:
        written = text if isinstance(text, str) else text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ProblemError(f"not {what}: not UTF-8 text ({error})") from None
    if "\0" in written:
        raise ProblemError(f"not {what}: has null characters; save it as UTF-8")
    # Keys of many parts take Python time and memory that grow with the square of their number.
    outside = TOML_STRING.sub('""', written)
    if any(run.count(".") > MOST_KEY_PARTS for run in re.split(r"[,=\[\]{}#\n]", outside)):
        raise ProblemError(f"not {what}: has a key of more than {MOST_KEY_PARTS} parts")
    try:
        found: dict[str, Any] = msgspec.toml.decode(written.removeprefix("\ufeff"))
    except msgspec.DecodeError as error:
        told = str(error)
        for words, ours in TOML_ERRORS.items():
            told = told.replace(words, ours)
        raise ProblemError(f"not {what}: {printable(told)}") from None
    except ValueError:  # Python converts no longer text to a number
        raise ProblemError(f"not {what}: has a number of thousands of digits") from None
    except RecursionError:
        raise ProblemError(f"not {what}: lists or tables are nested too deeply") from None
    return found


def toml(value: Any) -> str:
    """Return a plain value as TOML text.

    >>> toml({"low": 0, "high": [1, "inf"]})
    '{low = 0, high = [1, "inf"]}'
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        # A JSON string is a valid TOML string, except for DEL and surrogate pairs.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
