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
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import FrameType

from onepull.service.running.json_log import start_logging, tell
from onepull.service.running.metrics import Measures
from onepull.service.settings import ServiceSettings

WORKERS_CHECKED_EVERY = 0.2  # seconds between two looks at the workers
QUICK_DEATH = 5.0  # seconds; a worker that ends sooner did not start
MOST_QUICK_DEATHS = 3
WORKERS_FAILED = 3  # the exit code of a service whose workers do not start


class Worker:
    """One process and the pipe by which it sees its parent end."""

    def __init__(
        self,
        run: Callable[[ServiceSettings, int, Path, socket.socket, Connection], None],
        settings: ServiceSettings,
        slot: int,
        measures: Path,
        listening: socket.socket,
    ) -> None:
        # Spawned, not forked: no connection to a database survives a fork.
        context = multiprocessing.get_context("spawn")
        ear, self._mouth = context.Pipe(duplex=False)
        self.started = time.monotonic()
        self.process: SpawnProcess = context.Process(
            target=run, args=(settings, slot, measures, listening, ear), name=f"worker {slot}"
        )
        self.process.start()
        ear.close()

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self.process.is_alive()

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
        self._mouth.close()


def end_with_parent(ear: Connection, stop: Callable[[], None]) -> None:
    """Stop when the parent ends, however it ends."""

    def listen() -> None:
        try:
            ear.recv()
        except (EOFError, OSError):
            stop()

    threading.Thread(target=listen, name="parent", daemon=True).start()


class Supervisor:
    """Keeps workers running until it gets SIGTERM or SIGINT; SIGHUP renews them one by one."""

    def __init__(
        self,
        run: Callable[[ServiceSettings, int, Path, socket.socket, Connection], None],
        settings: ServiceSettings,
        listening: socket.socket,
    ) -> None:
        self._run, self._settings, self._listening = run, settings, listening
        self._is_stopping = False
        self._renew = False

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
            return Worker(self._run, self._settings, slot, measures, self._listening)

        workers = [start(slot) for slot in range(self._settings.workers)]
        quick, code = 0, 0
        while not self._is_stopping:
            time.sleep(WORKERS_CHECKED_EVERY)
            for slot, worker in enumerate(workers):
                if worker.is_alive or self._is_stopping:
                    continue
                lived = time.monotonic() - worker.started
                tell("a worker ended", slot=slot, code=worker.process.exitcode)
                worker.end(0.0)
                quick = quick + 1 if lived < QUICK_DEATH else 0
                if quick > MOST_QUICK_DEATHS or worker.process.exitcode == WORKERS_FAILED:
                    tell("workers do not start; giving up")
                    self._is_stopping, code = True, WORKERS_FAILED
                    break
                workers[slot] = start(slot)
            if self._renew:
                self._renew = False
                for slot, worker in enumerate(workers):
                    worker.ask_to_stop()
                    worker.end(self._settings.drain + 5.0)
                    workers[slot] = start(slot)
        self._listening.close()
        for worker in workers:
            worker.ask_to_stop()
        deadline = time.monotonic() + self._settings.drain + 5.0
        for worker in workers:
            worker.end(deadline - time.monotonic())
        return code

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._is_stopping = True

    def _hang_up(self, _number: int, _frame: FrameType | None) -> None:
        self._renew = True
