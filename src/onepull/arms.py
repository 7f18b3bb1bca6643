"""The arms of a problem: their names and what is known about each."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeAlias

from onepull.checks import plain_text, real, shown
from onepull.errors import ProblemError
from onepull.spaces import Box, Finite

MOST_ARMS = 1_000_000
SURROGATE = re.compile("[\ud800-\udfff]")

# The attributes of each arm, by its name.
Attributes: TypeAlias = Mapping[str, Mapping[str, float | str]]
GivenArms: TypeAlias = Iterable[str] | Attributes
# Words by attribute.
WordsOfAttributes: TypeAlias = Mapping[str, tuple[str, ...]]


def arm_names(arms: GivenArms) -> tuple[str, ...]:
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
        if not isinstance(name, str) or not name:  # type: ignore[redundant-expr]  # users may give anything
            raise ProblemError(f"an arm's name must be text and not empty, given {shown(name)}")
        if not name.isascii() and SURROGATE.search(name):
            raise ProblemError(f"an arm's name must be valid Unicode, given {shown(name)}")
        if name in names:
            raise ProblemError(f"arm names must be unique, given {shown(name)} twice")
        names[plain_text(name)] = None
    return tuple(names)


def arm_attributes(arms: GivenArms) -> dict[str, dict[str, float | str]]:
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


def attribute_spaces(attributes: Attributes) -> Box:
    """Return the values that occur of each attribute.

    >>> attribute_spaces({"wifi": {"price": 1.0}, "lte": {"price": 3.0}})
    Box(price=Finite([1, 3]))
    """
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
        spaces[name] = Finite(list(dict.fromkeys(values)) if named else sorted(set(values)))
    return Box(spaces)


def further_words(declared: Any, spaces: Box) -> WordsOfAttributes:
    """Return the declared words of attributes, by attribute.

    >>> further_words({"tier": ["gold", "plain"]}, attribute_spaces({"wifi": {"tier": "gold"}}))
    {'tier': ('gold', 'plain')}
    """
    if not isinstance(declared, Mapping):
        raise ProblemError(
            "words takes the words of attributes by name, as in {'tier': ['gold']}, "
            f"given {shown(declared)}"
        )
    found: dict[str, tuple[str, ...]] = {}
    for name, words in declared.items():
        if name not in spaces.words:
            known = ", ".join(map(repr, spaces.words)) or "none"
            raise ProblemError(
                f"words takes attributes of words, given {shown(name)}; there are {known}"
            )
        try:
            listed = Finite(words).words
        except ProblemError as error:
            raise ProblemError(f"words of attribute {name!r}: {error}") from None
        if not listed:
            raise ProblemError(f"words of attribute {name!r} must be words, given {shown(words)}")
        found[str(name)] = tuple(listed)
    return found


def words_left(
    before: WordsOfAttributes,
    after: Box,
    mentioned: Collection[str],
    declared: WordsOfAttributes | None = None,
) -> WordsOfAttributes:
    """Return the words of attributes that stay known whether or not an arm has them.

    A formula may compare with a word of an arm that was removed: arms come and go.  Words that
    nothing mentions are forgotten, unless they were declared.

    >>> arms = attribute_spaces({"lte": {"tier": "plain"}})
    >>> words_left({"tier": ("gold", "plain", "basic")}, arms, ["gold"])
    {'tier': ('gold',)}
    """
    left = {}
    for name, words in after.words.items():
        stated = (declared or {}).get(name, ())
        left[name] = tuple(
            w for w in before.get(name, ()) if w in stated or (w in mentioned and w not in words)
        )
    return {name: words for name, words in left.items() if words}


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
