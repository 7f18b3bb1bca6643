"""The known reward as machine code that kernels can call."""

from __future__ import annotations

import hashlib
from typing import Any

import numba

from onepull.formula.operations import NAMESPACE
from onepull.payoff import Payoff
from onepull.payoff.written import WrittenPayoff
from onepull.policies.savefile import write
from onepull.simulation.compiled import cache_folder, kept

SIGNATURE = numba.void(
    numba.types.Array(numba.float64, 2, "C"), numba.types.Array(numba.float64, 1, "C")
)


def machine_code(payoff: Payoff) -> Any:
    """Return g as a function of columns, and of the rewards that it writes, one a row.

    The columns are the context fields, then the state fields.

    A kernel takes it as a function pointer, so a new formula compiles in a moment and the
    kernel not at all; its source and its code are kept, so the next process has it at once.
    A reward in Python code has none, and gives NaN where it is called.
    """
    # Underscores, since a field may be called anything else.
    source = "def _g(_columns, _rewards):\n    for _i in _range(_rewards.size):\n"
    if isinstance(payoff, WrittenPayoff):
        unpacked = ", ".join(f"_columns[{f}, _i]" for f in range(len(payoff.names)))
        body = payoff.formula.source.split(":", 1)[1]
        source += f"        {', '.join(payoff.names)}, = ({unpacked},)\n"
        source += f"        _rewards[_i] = _float({body})\n"
    else:
        source += "        _rewards[_i] = _nan\n"
    scope: dict[str, Any] = {**NAMESPACE, "__builtins__": {}, "_nan": float("nan")}
    scope.update(_range=range, _float=float, __name__=__name__)
    del scope["_np"]
    # The compiler keeps code for functions that are in a file, so the source goes into one.
    file = cache_folder() / f"formula_{hashlib.sha256(source.encode()).hexdigest()[:32]}.py"
    if not file.exists():
        write(file, source.encode())
    exec(compile(source, str(file), "exec"), scope)  # noqa: S102 - generated from a checked tree
    with kept():
        return numba.cfunc(SIGNATURE, error_model="numpy", cache=True)(scope["_g"])
