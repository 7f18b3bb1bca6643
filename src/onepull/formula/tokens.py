"""The text of a formula and its tokens."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from onepull.checks import is_field_name
from onepull.errors import FormulaError
from onepull.formula import operations as op

LENGTH = 4000
# The words of the fields that have words, in the order of their numbers.
WordsOfFields: TypeAlias = Mapping[str, Sequence[str]]


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a formula's fields; raises `FormulaError` if one cannot be a name."""
    given: Any = names
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise _bad_name("the names of a formula must be a list of names", given)
    listed = tuple(given)
    for name in listed:
        valid = is_field_name(name)
        if not valid or name in op.FUNCTIONS:
            raise _bad_name(
                "a name is a letter followed by letters, digits and _, and neither a Python "
                "keyword nor a function of the formula language",
                name,
            )
    if len(set(listed)) < len(listed):
        raise _bad_name("the names of a formula must differ", listed)
    return listed


def _bad_name(reason: str, given: Any) -> FormulaError:
    shown = _shown(reprlib.repr(given))
    return FormulaError(f"{reason}; given", text=shown, start=0, stop=len(shown))


def formula_line(text: str) -> str:
    """Return the text of a formula on one line; raises `FormulaError` if it cannot be one."""
    if not isinstance(text, str):
        raise FormulaError(
            f"a formula must be text, given {type(text).__name__}",
            text=_shown(reprlib.repr(text)),
            start=0,
            stop=1,
        )
    if len(text) <= 16 * LENGTH:  # layout may take more characters than the formula
        text = "".join(
            part if is_word else re.sub(r"\s+", " ", part) for part, is_word in _parts(text)
        ).strip()
    if not text:
        raise FormulaError("a formula cannot be empty", text="", start=0, stop=1)
    if len(text) > LENGTH:
        raise FormulaError(
            f"a formula may have at most {LENGTH} characters, given {len(text)}",
            text=_shown(text[: LENGTH + 1]),
            start=LENGTH,
            stop=LENGTH + 1,
        )
    place = 0
    for part, is_word in _parts(text):
        for character in part:
            # Lines have been joined, so a comment would hide the rest of the formula.
            allowed = is_word or (character.isascii() and character != "#")
            if not allowed or not character.isprintable():
                raise FormulaError(
                    "a formula must be plain ASCII without comments, except for words in quotes; "
                    f"given {character!a}",
                    text=_shown(text),
                    start=place,
                    stop=place + 1,
                )
            place += 1
    return text


def _parts(text: str) -> Iterable[tuple[str, bool]]:
    """Return the parts of a text, and whether each is a word in quotes."""
    return ((part, i % 2 == 1) for i, part in enumerate(_QUOTED.split(text)))


class Token(NamedTuple):
    """A part of the text of a formula, and where it is."""

    kind: str
    text: str
    start: int
    stop: int


_QUOTED = re.compile(r"""('[^']*+'|"[^"]*+")""")
# Possessive repeats ('*+') never go back, so a long token takes time linear in its length.
_DECIMAL = r"(?:[0-9][0-9_]*+\.?+[0-9_]*+|\.[0-9][0-9_]*+)(?:[eE][+-]?[0-9][0-9_]*+)?+"
TOKENS = re.compile(
    rf"""\s*(?:
      (?P<dotted>[A-Za-z_][A-Za-z0-9_]*+(?:\.[A-Za-z_][A-Za-z0-9_]*+)++)
    | (?P<prefixed>(?!(?:if|or)['"])[A-Za-z]{{1,2}}(?:'[^']*+'|"[^"]*+"))
    | (?P<text>'[^']*+'|"[^"]*+")
    | (?P<complex>{_DECIMAL}[jJ])
    | (?P<number>0[xX][0-9A-Fa-f_]++ | 0[oO][0-7_]++ | 0[bB][01_]++ | {_DECIMAL})
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*+)
    | (?P<sign>\*\*|//|<<|>>|<=|>=|==|!=|:=|\.\.\.|[-+*/%<>(),])
    | (?P<other>.)
    )""",
    re.VERBOSE,
)
REFUSED = {
    "dotted": "a dotted name",
    "prefixed": "text with a prefix",
    "complex": "a complex number",
}


def _shown(text: str) -> str:
    """Return text that any terminal and file can take, of the same length."""
    unknown = "\N{REPLACEMENT CHARACTER}"
    return "".join([c if c.isprintable() else unknown for c in text[: LENGTH + 1]])
