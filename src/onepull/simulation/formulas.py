"""The known reward as machine code that kernels can call."""

from __future__ import annotations

from typing import Any

import numba

from onepull.formula.operations import NAMESPACE
from onepull.payoff import Payoff
from onepull.payoff.written import WrittenPayoff

SIGNATURE = numba.float64(numba.types.Array(numba.float64, 1, "C"))


def machine_code(payoff: Payoff) -> Any:
    """Return g as a function of one array: the context fields, then the state fields.

    A kernel takes it as a function pointer, so it compiles in milliseconds and the kernel
    not at all.  A reward in Python code has none, and gives NaN where it is called.
    """
    source = "def g(values):\n"
    if isinstance(payoff, WrittenPayoff):
        unpacked = ", ".join(f"values[{i}]" for i in range(len(payoff.names)))
        body = payoff.formula.source.split(":", 1)[1]
        source += f"    {', '.join(payoff.names)}, = ({unpacked},)\n    return float({body})\n"
    else:
        source += "    return _nan\n"
    scope: dict[str, Any] = {**NAMESPACE, "__builtins__": {"float": float}, "_nan": float("nan")}
    del scope["_np"]
    exec(source, scope)  # noqa: S102 - generated from a checked tree
    return numba.cfunc(SIGNATURE, error_model="numpy")(scope["g"])
