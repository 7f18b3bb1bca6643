"""A process that runs cases one after the other and reports each to its parent."""

from __future__ import annotations

import os
import sys
import time
from multiprocessing.connection import Connection

from torture.area import Area, limit_memory, run_case


def work(area: Area, first: int, until: float, pipe: Connection) -> None:
    """Run the cases from `first` on until the time is up, and one case in any time.

    Each outcome is sent at once, so the parent knows which case is running.  None is sent at the
    end: a process that ends without it was ended by a case.
    """
    silence()
    run_case(area, first)  # imports and compiles what cases need
    limit_memory()
    seed = first
    while seed == first or time.monotonic() < until:
        outcome = run_case(area, seed)
        if seed > first and (outcome.failure or "").startswith("MemoryError"):
            break  # earlier cases took the memory: a new process tries this one again
        pipe.send(outcome)
        seed += 1
    pipe.send(None)


def silence() -> None:
    """Send what cases print to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(nowhere, stream.fileno())
