"""A process that runs cases one after the other and reports them to its parent."""

from __future__ import annotations

import os
import sys
import time
from multiprocessing.connection import Connection

from torture.area import limit_memory, run_case
from torture.areas import AREAS

PERIOD = 0.25  # seconds between two reports


def work(name: str, first: int, until: float, pipe: Connection) -> None:
    """Run the cases from `first` on until the time is up; report in small batches.

    The number of the case is sent before it runs, so that the parent knows which one hung or
    killed the process.
    """
    silence()
    area = AREAS[name]
    run_case(area, first)  # imports and compiles what cases need
    limit_memory()
    seed, done, reported = first, [], time.monotonic()
    pipe.send(("at", seed))
    while time.monotonic() < until:
        done.append(run_case(area, seed))
        seed += 1
        if time.monotonic() - reported > PERIOD or done[-1].failure or done[-1].seconds > PERIOD:
            pipe.send(("done", done))
            pipe.send(("at", seed))
            done, reported = [], time.monotonic()
    pipe.send(("done", done))
    pipe.send(("end", seed))


def silence() -> None:
    """Send what cases print to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(nowhere, stream.fileno())
