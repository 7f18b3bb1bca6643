"""Compiled ψ: a plain function, or the reward at some contexts.

As with rules, each type stands for one plain function.  The type of the sketch has a name here,
so that kernels compiled for it can be cached on disk.  A user's own function is compiled once per
process.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.core import types

from onepull.factor import Factorisation
from onepull.factor.plain_psi import PlainPsi, shared_out
from onepull.simulation.compiled import compiled, inlined, overload


class SketchPsi(NamedTuple):
    """The interpolation weights of a state on the knots of a sketch."""

    constants: Any


KernelPsi = Any  # the named tuple above, or one for a user's own function
_TYPES: dict[tuple[Any, bool], type[Any]] = {(shared_out, True): SketchPsi}
_FUNCTIONS: dict[type[Any], tuple[Any, bool]] = {kind: key for key, kind in _TYPES.items()}


# No function: ψ is tabulated, or the reward at some contexts.  A type of its own would need one
# more kernel for every rule, so it is a sketch without knots, which no kernel calls.
NO_PSI = SketchPsi((np.zeros(0), np.zeros(0), np.zeros(0, np.int64), 0, np.zeros(0, np.bool_)))


def is_own_psi(psi: KernelPsi) -> bool:
    """Return whether ψ is a user's own function, for which kernels are not cached on disk."""
    return type(psi) is not SketchPsi


def kernel_psi(factor: Factorisation) -> KernelPsi:
    """Return the kernel form of a factorisation's ψ."""
    plain = factor.plain_psi
    if plain is None:
        return NO_PSI
    return _type_of(plain)(tuple(_as_array(constant) for constant in plain.constants) or (0.0,))


def _as_array(constant: Any) -> Any:
    return np.asarray(constant) if isinstance(constant, (list, tuple, np.ndarray)) else constant


def _type_of(plain: PlainPsi) -> type[Any]:
    key = plain.function, bool(plain.constants)
    if key not in _TYPES:
        own = NamedTuple(f"OwnPsi{len(_TYPES)}", [("constants", Any)])  # type: ignore[misc]  # noqa: UP014 - made at run time
        _TYPES[key], _FUNCTIONS[own] = own, key
    return _TYPES[key]


def write_psi(psi: Any, shown: Any, out: Any) -> None:
    """Write ψ of a state into `out`."""
    raise NotImplementedError  # the compiled forms are below


@overload(write_psi)
def _write_psi(psi: Any, shown: Any, out: Any) -> Any:
    if not isinstance(psi, (types.NamedTuple, types.NamedUniTuple)):
        return None
    plain, has_constants = _FUNCTIONS[psi.instance_class]
    function = inlined(plain)

    def with_constants(psi: Any, shown: Any, out: Any) -> None:
        out[:] = 0.0
        function(shown, out, *psi.constants)

    def without(psi: Any, shown: Any, out: Any) -> None:
        out[:] = 0.0
        function(shown, out)

    return with_constants if has_constants else without


@compiled
def write_once(psi: Any, shown: Any, out: Any) -> None:
    """Write ψ of one state."""
    write_psi(psi, shown, out)
