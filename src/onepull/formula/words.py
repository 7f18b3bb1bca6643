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


def some(words: Collection[str]) -> str:
    """Return the first of some words as text.

    >>> some(["eu", "us"])
    "'eu', 'us'"
    """
    shown = [repr(word) for word in itertools.islice(words, 12)]
    return ", ".join(shown) + ", …" * (len(words) > 12)
