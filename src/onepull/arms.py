"""The arms of a problem: their names and what is known about each."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from onepull.checks import plain_text, real, shown
from onepull.errors import ProblemError
from onepull.spaces import Box, Finite

MOST_ARMS = 1_000_000
SURROGATE = re.compile("[\ud800-\udfff]")

# The attributes of each arm, by its name.
Attributes: TypeAlias = Mapping[str, Mapping[str, float | str]]
Arms: TypeAlias = Iterable[str] | Attributes


def arm_names(arms: Arms) -> tuple[str, ...]:
    """Return the names of the arms; raises `ProblemError` if they cannot be names.

    >>> arm_names(["wifi", "lte"]), arm_names({"wifi": {"price": 1}})
    (('wifi', 'lte'), ('wifi',))
    """
    if isinstance(arms, str):
        raise ProblemError(f"arms takes a list of names, given the text {shown(arms)}")
    # The order of a set differs between runs.
    if isinstance(arms, (bytes, set, frozenset)) or not isinstance(arms, Iterable):
        raise ProblemError(f"arms takes a list of names, given {shown(arms)}")
    try:
        listed = list(itertools.islice(arms, MOST_ARMS + 1))
    except TypeError:  # an array without dimensions
        raise ProblemError(f"arms takes a list of names, given {shown(arms)}") from None
    if not listed:
        raise ProblemError("a problem needs at least one arm, given none")
    if len(listed) > MOST_ARMS:
        raise ProblemError(f"a problem may have at most {MOST_ARMS:,} arms, given more")
    names: dict[str, None] = {}
    for name in listed:
        if not isinstance(name, str) or not name:  # type: ignore[redundant-expr]
            raise ProblemError(f"an arm's name must be text and not empty, given {shown(name)}")
        if not name.isascii() and SURROGATE.search(name):
            raise ProblemError(f"an arm's name must be valid Unicode, given {shown(name)}")
        if name in names:
            raise ProblemError(f"arm names must be unique, given {shown(name)} twice")
        names[plain_text(name)] = None
    return tuple(names)


def arm_attributes(arms: Arms) -> dict[str, dict[str, float | str]]:
    """Return the attributes of each arm; none for an arm that is only a name.

    >>> arm_attributes({"wifi": {"price": 1}, "lte": {"price": 3}})
    {'wifi': {'price': 1.0}, 'lte': {'price': 3.0}}
    """
    if not isinstance(arms, Mapping):
        return {}
    found = {}
    names: tuple[str, ...] | None = None
    for arm, given in arms.items():
        if not isinstance(given, Mapping):
            raise ProblemError(
                f"arm {shown(arm)} takes its attributes by name, as in {{'price': 0.2}}, "
                f"given {shown(given)}"
            )
        names = tuple(given) if names is None else names
        if set(given) != set(names):
            raise ProblemError(
                f"all arms need the same attributes: arm {shown(arm)} has "
                f"{_listed(given)}, and the first arm has {_listed(names)}"
            )
        found[arm] = {plain_text(name): _value(arm, name, given[name]) for name in names}
    return found if names else {}


def attribute_spaces(attributes: Attributes, words: Iterable[str] = ()) -> Box:
    """Return the values that occur of each attribute.

    `words` are those that formulas compare with.  No arm needs to have them: arms come and go.

    >>> attribute_spaces({"wifi": {"price": 1.0}, "lte": {"price": 3.0}})
    Box(price=Finite([1, 3]))
    >>> attribute_spaces({"wifi": {"tier": "gold"}}, ["plain"])
    Box(tier=Finite(["gold", "plain"]))
    """
    compared = list(words)
    columns: dict[str, list[Any]] = {}
    for given in attributes.values():
        for name, value in given.items():
            columns.setdefault(name, []).append(value)
    spaces = {}
    for name, values in columns.items():
        named = [value for value in values if isinstance(value, str)]
        if named and len(named) < len(values):
            raise ProblemError(
                f"attribute {name!r} takes numbers or words, not both, given {shown(values)}"
            )
        known = list(dict.fromkeys([*values, *compared])) if named else sorted(set(values))
        spaces[name] = Finite(known)
    return Box(spaces)


def _value(arm: str, name: str, value: Any) -> float | str:
    if isinstance(value, str):
        return plain_text(value)
    try:
        return float(value) if isinstance(value, bool) else real(value)
    except TypeError:
        raise ProblemError(
            f"attribute {shown(name)} of arm {shown(arm)} must be a number or a word, "
            f"given {shown(value)}"
        ) from None


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(map(shown, names)) or "none"
