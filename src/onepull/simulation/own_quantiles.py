"""The compiled quantile functions of a user's own distributions, called by their addresses."""

from __future__ import annotations

from threading import Lock
from typing import Any

from onepull.simulation.compiled import inlined, intrinsic, ir, numba, types

_LOCK = Lock()  # simulations may be prepared in several threads
_COMPILED_QUANTILES: dict[Any, Any] = {}  # must not be freed while kernels call them


def quantile_address(quantile: Any, size: int) -> int:
    """Return the address of the compiled quantile function of a user's own distribution.

    Kernels are compiled once for all distributions.  They call such a function by its address,
    which is stored as the kind of the distribution.
    """
    with _LOCK:
        return _address(quantile, size)


def _address(quantile: Any, size: int) -> int:
    if (quantile, size) not in _COMPILED_QUANTILES:
        plain, number = inlined(quantile), types.float64

        def none(u: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
            return plain(u)

        def one(u: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
            return plain(u, a)

        def two(u: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
            return plain(u, a, b)

        def three(u: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
            return plain(u, a, b, c)

        def four(u: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
            return plain(u, a, b, c, d)

        signature = number(number, number, number, number, number)
        made = numba.cfunc(signature, error_model="numpy")((none, one, two, three, four)[size])
        _COMPILED_QUANTILES[quantile, size] = made
    return int(_COMPILED_QUANTILES[quantile, size].address)


@intrinsic
def call_at(typing: Any, address: Any, u: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Call a function of five numbers by its address."""
    del typing, address, u, a, b, c, d
    number = types.float64
    signature = number(types.int64, number, number, number, number, number)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        double = ir.DoubleType()
        pointer = ir.FunctionType(double, [double] * 5).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], pointer), arguments[1:])

    return signature, generate
