"""Checks of numbers that users pass as parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onepull.errors import ParameterError


def real(value: Any) -> float:
    """Return `value` as a float; raises `TypeError` if it is not a single number.

    Text and booleans are rejected, although `float` accepts them.

    >>> real(3)
    3.0
    >>> real("3")
    Traceback (most recent call last):
    TypeError: is not a number
    """
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    raise TypeError("is not a number")


def whole_number(name: str, value: Any, *, least: int = 1) -> int:
    """Return a parameter as an int; raises `ParameterError` unless it is whole and >= `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ParameterError(f"{name} must be a whole number from {least}, given {value!r}")
    return int(value)


def number(name: str, value: Any, *, above: float, at_least: bool = False) -> float:
    """Return a parameter as a float; raises `ParameterError` unless it is a number in range."""
    try:
        read = real(value)
    except TypeError:
        read = float("nan")
    if (above <= read if at_least else above < read) and read < float("inf"):
        return read
    sign = ">=" if at_least else ">"
    limit = f" {sign} {above:g}" if math.isfinite(above) else ""
    raise ParameterError(f"{name} must be a number{limit}, given {value!r}")
