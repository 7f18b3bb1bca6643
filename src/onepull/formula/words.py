"""Words in formulas: the same word is the same value in every field that has it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from typing import TypeAlias

MOST_COMMON = 64  # words that two fields have in common and number differently

# The number of each word of a field.
Numbers: TypeAlias = Mapping[str, int]


def common(mine: Numbers, theirs: Numbers) -> list[tuple[int, int]]:
    """Return the numbers that each word has in two fields, of those that both have.

    >>> common({"eu": 0, "us": 1}, {"us": 0, "asia": 1})
    [(1, 0)]
    """
    return [(place, theirs[word]) for word, place in mine.items() if word in theirs]


def are_aligned(mine: Numbers, theirs: Numbers) -> bool:
    """Return whether two fields have the same word if and only if they have the same number.

    >>> are_aligned({"eu": 0, "us": 1}, {"eu": 0}), are_aligned({"eu": 0, "us": 1}, {"us": 0})
    (True, False)
    """
    both = common(mine, theirs)
    return len(both) == min(len(mine), len(theirs)) and all(i == j for i, j in both)


def slip_of(given: str, words: Collection[str]) -> str | None:
    """Return the word that differs from `given` by a slip of the keyboard, None if none does.

    A slip is one letter that is wrong, missing, too much or exchanged with the next one, or another
    case.  Words that differ by a digit are different words, and so are those of two letters.

    >>> slip_of("glod", ["gold"]), slip_of("eu-west-2", ["eu-west-1"]), slip_of("uk", ["us"])
    ('gold', None, None)
    """
    return next((word for word in words if word != given and _is_slip(given, word)), None)


def _is_slip(one: str, two: str) -> bool:
    short, long = sorted((one.casefold(), two.casefold()), key=len)
    if short == long:
        return True
    if len(long) < 3 or len(long) - len(short) > 1:
        return False
    place = next((i for i, c in enumerate(short) if c != long[i]), len(short))
    if any(c.isdigit() for c in short[place : place + 1] + long[place]):
        return False
    if len(long) > len(short):
        return short[place:] == long[place + 1 :]
    swapped = long[place + 1 : place + 2] + long[place] + long[place + 2 :]
    return short[place + 1 :] == long[place + 1 :] or short[place:] == swapped


def first_words(words: Collection[str]) -> str:
    """Return the first of some words as text.

    >>> first_words(["eu", "us"])
    "'eu', 'us'"
    """
    shown = [repr(word) for word in itertools.islice(words, 12)]
    return ", ".join(shown) + ", …" * (len(words) > 12)
