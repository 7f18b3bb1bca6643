"""Check that a law stays within a space."""

from __future__ import annotations

from typing import Any

from onepull.distributions.combined import Independent
from onepull.distributions.distribution import Distribution
from onepull.errors import ParameterError
from onepull.spaces import Box, Finite


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
                raise ParameterError(
                    f"{what} leave the declared space: {name} goes from {low:g} to {high:g}, "
                    f"and must be {space}"
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
