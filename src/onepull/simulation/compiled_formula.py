"""Compile the known reward to machine code that kernels can call."""

from __future__ import annotations

import ast
import hashlib
import math
from functools import cache
from typing import Any

import llvmlite.binding  # type: ignore[import-untyped]
import numba
import numpy as np

from onepull.formula.operations import NAMESPACE, program
from onepull.payoff import Payoff
from onepull.payoff.formula_payoff import FormulaPayoff
from onepull.simulation.compiled import cache_folder, inlined, kept

SIGNATURE = numba.void(
    numba.types.Array(numba.float64, 2, "C"), numba.types.Array(numba.float64, 1, "C")
)


# Numba's math.floor and math.ceil return 64-bit integers.


@inlined
def _floor(value: float) -> Any:
    return np.floor(value) + 0.0  # turns numpy's -0.0 into 0.0, as in Python


@inlined
def _ceil(value: float) -> Any:
    return np.ceil(value) + 0.0


# A name that the compiler does not know.  It would replace a square by a product and a power of
# two by another function, which differ in the last digit.
_pow = numba.types.ExternalFunction("onepull_pow", numba.float64(numba.float64, numba.float64))


@cache
def _name_pow() -> Any:
    with kept():
        power = numba.cfunc(_pow.sig, cache=True)(_power)
    llvmlite.binding.add_symbol(_pow.symbol, power.address)
    return power  # cached, so that its code is not freed


def _power(base: float, exponent: float) -> float:
    return math.pow(base, exponent)


def machine_code(payoff: Payoff) -> Any:
    """Return the reward g as a compiled function of columns and of the rewards that it writes.

    The columns are the context fields, then the state fields; there is one reward per column
    entry.  A kernel takes the function as a pointer, so a new formula compiles quickly and the
    kernel does not have to be compiled again.  The code is cached on disk.  A
    reward in Python code cannot be compiled; the function then writes NaN.
    """
    # Names begin with an underscore, so that they do not clash with names of fields.
    source = "def _g(_columns, _rewards):\n    for _i in _range(_rewards.size):\n"
    terms = {}
    if isinstance(payoff, FormulaPayoff):
        unpacked = ", ".join(f"_columns[{f}, _i]" for f in range(len(payoff.names)))
        source += f"        {', '.join(payoff.names)}, = ({unpacked},)\n"
        source += "        _rewards[_i] = _float(_value)\n"
        terms["_value"] = payoff.formula.body
        # The text is not enough: words stand for the numbers that their space gives them.
        written = f"{source}{ast.dump(payoff.formula.body)}"
    else:
        source += "        _rewards[_i] = _nan\n"
        written = source
    scope: dict[str, Any] = {**NAMESPACE, "__builtins__": {}, "_nan": float("nan")}
    scope.update(_range=range, _float=float, __name__=__name__)
    scope.update(_floor=_floor, _ceil=_ceil, _pow=_pow)
    scope.update({name: inlined(scope[name]) for name in ("_square", "_cube")})
    _name_pow()
    del scope["_np"]
    # Numba names its cache after the file of a function; there need not be one.
    file = cache_folder() / f"formula_{hashlib.sha256(written.encode()).hexdigest()[:32]}.py"
    exec(program(source, terms, file=str(file), mode="exec"), scope)  # noqa: S102 - a checked tree
    with kept():
        return numba.cfunc(SIGNATURE, error_model="numpy", cache=True)(scope["_g"])
