"""The compiled simulator: runs policies on an environment, many times, on the same draws.

Everything here can be imported without the compiler.  What runs a simulation raises
`MissingExtra` when it is called and the `simulate` extra is not installed.
"""

from typing import Any

from onepull.errors import MissingExtra
from onepull.simulation.buffered import BufferResult, simulate_buffer
from onepull.simulation.compile_decisions import compile_decisions
from onepull.simulation.replicate import simulate
from onepull.simulation.result import Result

try:
    from onepull.simulation.simulation import Simulation
except MissingExtra as _missing:
    _reason = str(_missing)

    class Simulation:  # type: ignore[no-redef]
        """A simulation, which needs the `simulate` extra."""

        def __init__(self, *_args: Any, **_kwargs: Any) -> None:
            raise MissingExtra(_reason)


__all__ = [
    "BufferResult",
    "Result",
    "Simulation",
    "compile_decisions",
    "simulate",
    "simulate_buffer",
]
