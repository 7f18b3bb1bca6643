"""Fit a law to a space: number its words, clip it where the space clips, and check the rest."""

from __future__ import annotations

import math
from typing import Any

from onepull.distributions.combined import Independent
from onepull.distributions.distribution import Distribution
from onepull.errors import ParameterError
from onepull.spaces import Box, Finite, Interval

WAYS_OUT = (
    "; give a law that stays inside (Truncated or Clipped), declare the field with "
    "outside='clip', or declare a wider interval"
)


def fitted(law: Any, box: Box, what: str) -> Distribution:
    """Return a law as a space shows it; raises `ParameterError` if its values can leave the space.

    Words get the numbers of the space.  Values outside an interval that clips become its nearest
    end, as they do when a policy is told of them.

    >>> from onepull.distributions import Exponential
    >>> fitted(Exponential(2), Box(seconds=Interval(0, 30, outside="clip")), "the states")
    Clipped(Exponential(mean=2), low=0, high=30)
    """
    if isinstance(law, Distribution):
        law = law.on(box)
        ends = [_clip_ends(space) for space in box.values()]
        law = law.clipped(ends) if law.fields == len(ends) else law
    check_fit(law, box, what)
    return law  # type: ignore[no-any-return]  # checked


def _clip_ends(space: Any) -> tuple[float, float]:
    clips = isinstance(space, Interval) and space.clips
    return (space.low, space.high) if clips else (-math.inf, math.inf)


def check_fit(law: Any, box: Box, what: str) -> None:
    """Raise `ParameterError` if values of a law can leave the space; `what` names them."""
    if not isinstance(law, Distribution):
        raise ParameterError(f"{what} need a Distribution, given {law!r}")
    if law.fields != len(box):
        raise ParameterError(
            f"{what} need {len(box)} field{'s' * (len(box) > 1)} ({', '.join(box)}), "
            f"given {law.fields} by {law!r}"
        )
    for _, piece in law.pieces():
        for place, (name, space) in enumerate(box.items()):
            is_word = bool(piece.words and piece.words[place])
            if is_word != (name in box.words):
                raise ParameterError(
                    f"{what} need {'numbers' if is_word else 'words'} for {name}, which must be "
                    f"{space}; given {piece!r}"
                )
            low, high = piece.support[place]
            if low < space.low or high > space.high:
                ways = "" if isinstance(space, Finite) else WAYS_OUT
                raise ParameterError(
                    f"{what} leave the declared space: {name} goes from {low:g} to {high:g}, "
                    f"and must be {space}{ways}"
                )
            if isinstance(space, Finite):
                _check_values(piece, place, name, space, what)


def _check_values(law: Distribution, place: int, name: str, space: Finite, what: str) -> None:
    if isinstance(law, Independent):
        law, place = law.laws[place], 0
    atoms = law.atoms
    if atoms is None:
        raise ParameterError(f"{what} are continuous, but {name} must be {space}")
    rows, weights = atoms
    for value, weight in zip(rows[:, place].tolist(), weights.tolist(), strict=True):
        if weight and value not in space.values:
            raise ParameterError(f"{what} can be {name}={value:g}, which is not {space}")
