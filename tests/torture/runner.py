"""Run areas in processes of their own, watch them, and count what happens."""

from __future__ import annotations

import itertools
import multiprocessing
import select
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from torture.area import Area, Outcome
from torture.record import Record
from torture.worker import work


def torture(
    areas: Iterable[Area],
    minutes: float,
    record: Record,
    tell: Callable[[Area, Outcome], None],
    workers: int = 1,
) -> None:
    """Run the areas, `workers` of them at a time, each for its share of the time."""
    chosen = list(areas)
    total = sum(area.share for area in chosen)
    with ThreadPoolExecutor(workers) as pool:
        runs = [
            pool.submit(_run, area, 60 * minutes * workers * area.share / total, record, tell)
            for area in chosen
        ]
        for run in runs:
            run.result()


def _run(area: Area, seconds: float, record: Record, tell: Callable[[Area, Outcome], None]) -> None:
    """Run one area.  Cases that failed before are tried again; those that pass are no failures."""
    tally, until = record.of(area.name), time.monotonic() + seconds
    for seed in [*tally.failures]:
        for again in itertools.islice(outcomes(area, int(seed), until), 1):
            if again.failure is None:
                del tally.failures[seed]
    while time.monotonic() < until:
        for outcome in outcomes(area, tally.next_seed, until):
            tally.add(outcome)
            tell(area, outcome)
        record.save()


def outcomes(area: Area, first: int, until: float) -> Iterable[Outcome]:
    """Run cases in a new process until the time is up, or until one of them ends the process.

    A case that hangs ends the process, too.
    """
    spawn: Any = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe(duplex=False)
    process = spawn.Process(target=work, args=(area, first, until, theirs), daemon=False)
    process.start()
    theirs.close()
    ready = select.poll()  # far faster than `ours.poll`, and there are many short cases
    ready.register(ours, select.POLLIN)
    seed = first  # the case that is running
    try:
        while ready.poll(1000 * area.silence):
            outcome = ours.recv()
            if outcome is None:
                return
            seed = outcome.seed + 1
            yield outcome
        yield Outcome(seed, False, area.silence, f"hung for {area.silence:g} s")
    except EOFError:
        process.join()
        yield Outcome(seed, False, 0.0, f"ended the process with code {process.exitcode}")
    finally:
        process.kill()
        process.join()
        ours.close()
