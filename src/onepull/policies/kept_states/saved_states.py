"""What a save file holds of kept states, and what is checked when it is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.checks import Count, FiniteNumber
from onepull.errors import SaveFileError
from onepull.spaces import Box


class KeptState(msgspec.Struct, forbid_unknown_fields=True):
    """What a save file holds of the states."""

    clock: Count
    merges: Count
    pulls: list[Count]
    states: list[list[list[FiniteNumber]]]
    stands_for: list[list[FiniteNumber]]
    seen_at: list[list[Count]]
    drift: Any = None
    counts_for: list[list[list[FiniteNumber]]] | None = None
    room: Count = 0
    means: list[list[FiniteNumber]] | None = None
    blurred: list[list[bool]] | None = None
    merged_otherwise: list[bool] | None = None


def check_arms(saved: KeptState, shown: Box, arms: int, most: int) -> None:
    """Raise SaveFileError unless the states are of so many arms with at most so many states."""
    shapes = {len(saved.pulls), len(saved.states), len(saved.stands_for), len(saved.seen_at)}
    if shapes != {arms}:
        raise SaveFileError(f"the saved states are not of {arms} arms")
    found = max(len(rows) for rows in saved.states)
    if found > most:  # there may have been fewer arms when they were kept
        raise SaveFileError(f"an arm has {found} saved states; at most {most} are kept")
    for arm in range(arms):
        _check_arm(saved, shown, arm)


def _check_arm(saved: KeptState, shown: Box, arm: int) -> None:
    rows, stands_for, times = saved.states[arm], saved.stands_for[arm], saved.seen_at[arm]
    if {len(stands_for), len(times)} - {len(rows)}:
        raise SaveFileError("the saved states, weights and times of an arm differ in number")
    if abs(sum(stands_for) - saved.pulls[arm]) > 1e-6 * max(1, saved.pulls[arm]):
        raise SaveFileError(
            f"the saved states of an arm stand for {sum(stands_for):g} pulls, "
            f"and it has {saved.pulls[arm]}"
        )
    if times != sorted(times) or (times and times[-1] >= max(saved.clock, 1)):
        raise SaveFileError("the saved trials of an arm are not in order")
    for row in rows:
        _check_state(row, shown)


def _check_state(row: Sequence[float], shown: Box) -> None:
    if len(row) != len(shown):
        raise SaveFileError("a saved state has a wrong number of fields")
    for space, value in zip(shown.values(), row, strict=True):
        if not space.low <= value <= space.high or (
            hasattr(space, "values") and value not in space.values
        ):
            raise SaveFileError(f"a saved state is {value!r}, and must be {space}")


def restored_counts(
    saved: Sequence[Sequence[Sequence[float]]], kept: Sequence[int], room: int
) -> tuple[Array, Array]:
    """Return how much each state counts; raises SaveFileError if their number is wrong."""
    found = []
    for each in saved:
        if [len(row) for row in each] != kept:
            raise SaveFileError("the saved counts of states differ from their number")
        counts = np.zeros((len(kept), room))
        for j, row in enumerate(each):
            counts[j, : len(row)] = row
        found.append(counts)
    if len(found) != 2:
        raise SaveFileError("the saved counts of states are not two lists")
    return found[0], found[1]


def restored_means(saved: Sequence[Sequence[float]], shape: tuple[int, ...]) -> Array:
    """Return the means of each arm; raises SaveFileError if their number is wrong."""
    if [len(row) for row in saved] != [shape[1]] * shape[0]:
        raise SaveFileError(f"the saved means are not of {shape[0]} arms in {shape[1]} contexts")
    return np.array(saved, np.float64).reshape(shape)


def restored_blurs(
    saved: Sequence[Sequence[bool]] | None,
    kept: Sequence[int],
    pulls: Sequence[int],
    shape: tuple[int, ...],
) -> NDArray[np.bool_]:
    """Return in which fields merged states of each arm differed; raises SaveFileError if invalid.

    If a file does not say it, merged states may have differed in all.
    """
    if saved is None:
        is_merged = np.array(kept) < np.array(pulls)
        return np.repeat(is_merged[:, None], shape[1], axis=1)
    if [len(row) for row in saved] != [shape[1]] * shape[0]:
        raise SaveFileError(f"the saved blurs are not of {shape[0]} arms with {shape[1]} fields")
    return np.array(saved, bool).reshape(shape)


def restored_merges(saved: Sequence[bool] | None, blurred: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which arms have states merged by an earlier reward; raises SaveFileError if invalid.

    If a file does not say it, all that were merged may have been.
    """
    if saved is None:
        return np.asarray(blurred.any(axis=1))
    if len(saved) != len(blurred):
        raise SaveFileError(f"the saved merges are not of {len(blurred)} arms")
    return np.array(saved, bool)
