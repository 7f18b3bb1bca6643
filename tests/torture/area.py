"""An area of torture, and the limits that each of its cases must keep."""

from __future__ import annotations

import resource
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

MEGABYTE = 2**20
MEMORY = 512 * MEGABYTE  # the most that cases may allocate beyond what was there at the start


@dataclass(frozen=True, slots=True)
class Area:
    """Cases of one kind.

    Attributes
    ----------
    name
        The name on the command line and in the tables.
    tries
        What a case does, in a few words.
    case
        Runs the case of a seed.  It returns True if the input was accepted and False if it was
        refused with an error of ours, and raises anything else that happens.
    in_tests
        How many cases `make test` runs.
    seconds
        The longest CPU time of a case.
    silence
        The longest time of a case by the clock; one that takes longer hangs.
    share
        The share of the time that `make torture` spends here, beside the others.
    fixed
        What cases of this kind found, and was fixed.
    """

    name: str
    tries: str
    case: Callable[[int], bool]
    in_tests: int
    seconds: float = 1.0
    silence: float = 60.0
    share: float = 1.0
    fixed: tuple[str, ...] = ()


class Outcome(NamedTuple):
    """What became of a case: accepted, refused or failed, with the reason."""

    seed: int
    accepted: bool
    seconds: float
    failure: str | None = None


def run_case(area: Area, seed: int) -> Outcome:
    """Run one case.  Warnings are failures, and so is a case that takes too long."""
    accepted, failure = False, None
    started = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            accepted = area.case(seed)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what we look for
        where = traceback.extract_tb(error.__traceback__)[-1]
        told = str(error).replace("\n", " ")[:300]
        failure = f"{type(error).__name__}: {told} ({where.name}, line {where.lineno})"
    seconds = time.process_time() - started
    if failure is None and seconds > area.seconds:
        failure = f"took {seconds:.1f} s of CPU time, allowed {area.seconds:g} s"
    return Outcome(seed, accepted, seconds, failure)


def limit_memory() -> None:
    """Make this process fail with MemoryError if its cases allocate too much."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - not a file on disk
        data = int(file.read().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (data + MEMORY, data + MEMORY))
