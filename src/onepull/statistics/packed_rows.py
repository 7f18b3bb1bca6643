"""Rows of features that take little memory: of a state in a sketch only a few are not 0."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.checks import Count, FiniteNumber
from onepull.errors import SaveFileError
from onepull.payoff import COMPACT, Features

# The positions and values that are not 0, or all values.
Packed: TypeAlias = tuple[NDArray[np.int32], Array] | Array | list[float]


class FewValues(msgspec.Struct, forbid_unknown_fields=True):
    """The saved form of a row with few values that are not 0."""

    at: list[Count]
    values: list[FiniteNumber]


SavedRow: TypeAlias = list[FiniteNumber] | FewValues


def packed(row: Features) -> Packed:
    """Return a row in little memory; a short one stays a list, which is quicker.

    >>> packed([0.5, 0.0]), len(packed([0.0] * 1000)[0])
    ([0.5, 0.0], 0)
    """
    if len(row) <= COMPACT:
        return [float(feature) for feature in row]
    values = np.array(row, np.float64)
    at = np.flatnonzero((values != 0.0) | np.signbit(values))  # a negative 0 stays one
    return (at.astype(np.int32), values[at]) if 3 * len(at) < 2 * len(values) else values


def numbers_in(row: Packed) -> int:
    """Return how many numbers a packed row takes.

    >>> numbers_in(packed([0.0] * 99 + [2.0]))
    2
    """
    return 2 * len(row[0]) if isinstance(row, tuple) else len(row)


def unpacked(row: Packed, features: int) -> Any:
    """Return a row with all of its features.

    >>> row = [0.0] * 99 + [2.0]
    >>> unpacked(packed(row), 100).tolist() == row
    True
    """
    if not isinstance(row, tuple):
        return row
    values = np.zeros(features)
    values[row[0]] = row[1]
    return values


def saved_row(row: Packed) -> SavedRow:
    """Return a row as it is saved.

    >>> saved_row(packed([0.0] * 99 + [2.0]))
    FewValues(at=[99], values=[2.0])
    """
    if isinstance(row, tuple):
        return FewValues(row[0].tolist(), row[1].tolist())
    return row if isinstance(row, list) else row.tolist()


def restored_row(row: SavedRow, features: int) -> Packed:
    """Return a saved row in little memory; raises SaveFileError if it has a wrong length.

    >>> restored_row([1.0], 2)
    Traceback (most recent call last):
    onepull.errors.SaveFileError: a saved observation has a wrong length; expected 2 features
    """
    if isinstance(row, FewValues):
        increasing = all(a < b for a, b in pairwise(row.at))
        if len(row.at) == len(row.values) and increasing and max(row.at, default=-1) < features:
            values = np.zeros(features)
            values[row.at] = row.values
            return packed(values)
    elif len(row) == features:
        return packed(row)
    raise SaveFileError(f"a saved observation has a wrong length; expected {features} features")
