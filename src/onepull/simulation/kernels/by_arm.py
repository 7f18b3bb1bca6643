"""Values that are the same for all arms, or one for each arm if arms have attributes.

The compiler decides by their type which of the two it is, so this costs nothing in a loop.
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from onepull.simulation.compiled import overload


def of_arm(values: Any, j: Any) -> Any:
    """Return φ of an arm, given the φ of all arms or one row for each."""
    raise NotImplementedError  # the compiled forms are below


def bound_of_arm(values: Any, j: Any) -> Any:
    """Return a bound of an arm's rewards, given the bound of all arms or one for each."""
    raise NotImplementedError  # the compiled forms are below


def _same(values: Any, j: Any) -> Any:
    return values


def _own(values: Any, j: Any) -> Any:
    return values[j]


@overload(of_arm)
def _of_arm(values: Any, j: Any) -> Any:
    return _same if values.ndim == 1 else _own


@overload(bound_of_arm)
def _bound_of_arm(values: Any, j: Any) -> Any:
    return _own if isinstance(values, types.Array) else _same
