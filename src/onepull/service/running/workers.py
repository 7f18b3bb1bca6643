"""Several worker processes on one port: started, watched, started again, stopped."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from logging import WARNING
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import FrameType
from typing import Protocol

from onepull.service.running.json_log import start_logging, tell
from onepull.service.running.metrics import Measures
from onepull.service.running.systemd import tell_systemd_ready
from onepull.service.settings import ServiceSettings

WORKERS_CHECKED_EVERY = 0.2  # seconds between two looks at the workers
QUICK_DEATH = 5.0  # seconds; a worker that ends sooner did not start
MOST_QUICK_DEATHS = 3
RETRIED_AFTER = 5.0  # seconds after which a worker is started again whose files are wrong
STARTED = "started"  # what a worker tells its parent
WORKERS_FAILED = 3  # the exit code of a service whose workers do not start
# Spawned, not forked: no connection to a database survives a fork.
_SPAWNED = multiprocessing.get_context("spawn")


class Work(Protocol):
    """What the processes of a service do."""

    def __call__(
        self, settings: ServiceSettings, slot: int, measures: Path, listening: socket.socket,
        parent: Connection,
    ) -> None:  # fmt: skip
        """Serve, and tell the parent when it has started."""

    def check(self, settings: ServiceSettings) -> None:
        """Exit with a code other than 0 if a worker could not start."""


class Worker:
    """One process and the pipe by which it sees its parent end, and tells that it has started."""

    def __init__(
        self,
        work: Work,
        settings: ServiceSettings,
        slot: int,
        measures: Path,
        listening: socket.socket,
    ) -> None:
        self._pipe, parent = _SPAWNED.Pipe()
        self.started = time.monotonic()
        self._has_told = False
        self.process: SpawnProcess = _SPAWNED.Process(
            target=work, args=(settings, slot, measures, listening, parent), name=f"worker {slot}"
        )
        self.process.start()
        parent.close()

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self.process.is_alive()

    @property
    def has_started(self) -> bool:
        """Whether it has answered requests, or could have."""
        try:
            if not self._has_told and self._pipe.poll():
                self._has_told = self._pipe.recv() == STARTED
        except (EOFError, OSError):
            pass  # it has ended
        return self._has_told

    def ask_to_stop(self) -> None:
        """Let it drain."""
        if self.process.pid is not None and self.process.is_alive():
            os.kill(self.process.pid, signal.SIGTERM)

    def end(self, seconds: float) -> None:
        """Wait until it has ended, and make it end if it does not."""
        self.process.join(max(seconds, 0.0))
        if self.process.is_alive():
            tell("a worker did not stop in time", slot=self.process.name)
            self.process.kill()
            self.process.join()
        self._pipe.close()


def end_with_parent(parent: Connection, stop: Callable[[], None]) -> None:
    """Stop when the parent ends, however it ends."""

    def listen() -> None:
        try:
            parent.recv()
        except (EOFError, OSError):
            stop()

    threading.Thread(target=listen, name="parent", daemon=True).start()


def tell_parent(parent: Connection) -> None:
    """Tell the parent that requests are answered."""
    with suppress(OSError):  # it has ended, and this process is about to
        parent.send(STARTED)


class Supervisor:
    """Keeps workers running until it gets SIGTERM or SIGINT; SIGHUP renews them one by one."""

    def __init__(self, work: Work, settings: ServiceSettings, listening: socket.socket) -> None:
        self._work, self._settings, self._listening = work, settings, listening
        self._is_stopping = False
        self._renew = False
        self._workers: list[Worker] = []
        self._failures = 0  # workers in a row that ended at once

    def run(self) -> int:
        """Run until told to stop; return the exit code."""
        start_logging(self._settings.log)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, self._hang_up)
        with tempfile.TemporaryDirectory(prefix="onepull-") as folder:
            measures = Path(folder, "measures")
            Measures.make_file(measures, self._settings.workers)
            return self._watch(measures)

    def _watch(self, measures: Path) -> int:
        def start(slot: int) -> Worker:
            return Worker(self._work, self._settings, slot, measures, self._listening)

        self._workers = [start(slot) for slot in range(self._settings.workers)]
        code, has_told = 0, False
        while not self._is_stopping:
            time.sleep(WORKERS_CHECKED_EVERY)
            if not self._keep_running(start):
                code = WORKERS_FAILED
                break
            if not has_told and all(worker.has_started for worker in self._workers):
                has_told = True
                tell_systemd_ready()
            if self._renew:
                self._renew = False
                self._renew_workers(start)
        self._listening.close()
        for worker in self._workers:
            worker.ask_to_stop()
        deadline = time.monotonic() + self._settings.drain + 5.0
        for worker in self._workers:
            worker.end(deadline - time.monotonic())
        return code

    def _keep_running(self, start: Callable[[int], Worker]) -> bool:
        """Start workers again that have ended; return whether workers start at all."""
        for slot, worker in enumerate(self._workers):
            has_started = worker.has_started
            if worker.is_alive or self._is_stopping:
                continue
            tell("a worker ended", slot=slot, code=worker.process.exitcode)
            worker.end(0.0)
            lived = time.monotonic() - worker.started
            self._failures = self._failures + 1 if lived < QUICK_DEATH else 0
            is_wrong = not has_started and worker.process.exitcode == WORKERS_FAILED
            if self._others_serve(worker):
                # A file that is wrong by now must not end what is served.
                self._wait(RETRIED_AFTER if is_wrong else 0.0)
            elif is_wrong or self._failures > MOST_QUICK_DEATHS:
                tell("workers do not start; giving up")
                return False
            self._workers[slot] = start(slot)
        return True

    def _others_serve(self, worker: Worker) -> bool:
        return any(
            other is not worker and other.is_alive and other.has_started for other in self._workers
        )

    def _renew_workers(self, start: Callable[[int], Worker]) -> None:
        """Replace each worker, and go on to the next when the new one answers requests."""
        if not self._can_start():
            tell("the workers go on as they are", WARNING)
            return
        for slot, worker in enumerate(self._workers):
            worker.ask_to_stop()
            worker.end(self._settings.drain + 5.0)
            self._workers[slot] = new = start(slot)
            while not (new.has_started or self._is_stopping):
                if not new.is_alive:
                    tell("a new worker does not start; the other workers go on", WARNING)
                    return
                self._wait(WORKERS_CHECKED_EVERY)
        tell("renewed", workers=len(self._workers))

    def _can_start(self) -> bool:
        """Return whether workers could start now; a child process checks, to keep memory small."""
        process = _SPAWNED.Process(target=self._work.check, args=(self._settings,), name="check")
        process.start()
        process.join()
        return process.exitcode == 0

    def _wait(self, seconds: float) -> None:
        """Wait unless stopping."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._is_stopping:
            time.sleep(WORKERS_CHECKED_EVERY / 4)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._is_stopping = True

    def _hang_up(self, _number: int, _frame: FrameType | None) -> None:
        self._renew = True
