"""A service that is killed under load, and what must hold afterwards."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
from serving import Process, client_of, wait_for, write_problem

from onepull import Router
from onepull.router.state.fold import Fold
from onepull.store import Failed, Observed

CLIENTS = 4
ENOUGH = 60  # observations that are acknowledged between two kills
ROUNDS = 3  # kills of one worker, before all are killed; more in a row, and the service gives up


class Killed:
    """A log, a service on it with clients, and what they were told."""

    def __init__(self, folder: Path, seed: int, workers: int) -> None:
        self.file, self.workers = write_problem(folder), workers
        self.luck = random.Random(seed)  # noqa: S311 - not a secret
        self.kills = self.starts = 0
        self.acknowledged: dict[str, float] = {}  # ids with their states
        self.sent: set[str] = set()
        self.wrong: list[str] = []  # answers that must not be

    def run(self) -> None:
        """Start the service, load it, kill workers and then everything, and check."""
        self.starts += 1
        server = Process(self.file, "--workers", self.workers)
        stop = threading.Event()
        clients = [
            threading.Thread(target=self._load, args=(server.url, stop, f"{self.starts}-{i}"))
            for i in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        try:
            self._wait()
            for _ in range(ROUNDS if self.workers > 1 else 0):
                self._kill(self.luck.choice(children_of(server.process.pid)))
                self._wait()
                wait_for(
                    lambda: len(children_of(server.process.pid)) == self.workers, seconds=300.0
                )
            workers = children_of(server.process.pid)
            for process in self.luck.sample([*workers, server.process.pid], len(workers) + 1):
                self._kill(process)
        finally:
            stop.set()
            for client in clients:
                client.join()
            server.end(signal.SIGKILL)
        self.check()

    def _wait(self) -> None:
        enough = len(self.acknowledged) + ENOUGH
        wait_for(lambda: len(self.acknowledged) > enough, seconds=300.0)
        time.sleep(self.luck.random() * 0.03)

    def _kill(self, process: int) -> None:
        os.kill(process, signal.SIGKILL)
        self.kills += 1

    def _load(self, url: str, stop: threading.Event, name: str) -> None:
        """Decide and observe, alone and in batches, and report again what was not answered."""
        luck = random.Random(f"{name} {self.luck.random()}")  # noqa: S311 - not a secret
        client = client_of(f"{url}/v1/problems/llm", timeout=5)
        waiting: list[dict[str, Any]] = []
        count = 0
        while not stop.is_set():
            try:
                if not waiting:
                    count += 1
                    waiting = self._observations(client, luck, f"{name}-{count}")
                body = waiting if len(waiting) > 1 else waiting[0]
                answer = client.post("/observations", json=body)
            except httpx.TransportError:  # its worker was killed; another one takes the next
                client.close()
                client = client_of(f"{url}/v1/problems/llm", timeout=5)
                time.sleep(0.01)
                continue
            if answer.status_code == 200:
                told = answer.json()
                if told["learned"] + told["duplicates"] != len(waiting):
                    self.wrong.append(answer.text)
                self.acknowledged |= {one["id"]: one["state"]["seconds"] for one in waiting}
                waiting = []
            elif answer.status_code != 503:
                self.wrong.append(answer.text)
                waiting = []
        client.close()

    def _observations(
        self, client: httpx.Client, luck: random.Random, name: str
    ) -> list[dict[str, Any]]:
        """Return outcomes of decisions, and of ids that the service does not know."""
        found = []
        for i in range(luck.randint(1, 3)):
            one: dict[str, Any] = {"id": f"{name}-{i}", "arm": "beta", "context": {"tokens": 1}}
            if luck.random() < 0.5:
                decided = client.post("/decisions", json={"context": {"tokens": 100}}).json()
                one = {"id": decided["id"], "arm": decided["arm"], "context": {"tokens": 100}}
            found.append({**one, "state": {"seconds": float(luck.randrange(30))}})
        self.sent |= {one["id"] for one in found}
        return found

    def check(self) -> None:
        """Acknowledged ⊆ stored ⊆ sent, none twice, a whole file, and the state is the log's."""
        assert not self.wrong, self.wrong
        path = self.file.parent / "router.db"
        with sqlite3.connect(path) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        with Router.open(self.file, store=path, poll=3000.0) as router:
            fold = Fold(None, 60.0, lambda *_: ())
            stored: list[tuple[str, Any]] = []
            for event in router.log():
                fold.apply(event)
                assert not isinstance(event, Failed)
                if isinstance(event, Observed):
                    stored.append((event.id, (event.state or {})["seconds"]))
            assert router.state() == fold.state()  # from a snapshot, and from the first event
        assert fold.counts.refused == 0
        found = dict(stored)
        assert len(found) == len(stored), "stored twice"
        assert found.keys() <= self.sent
        lost = {id_ for id_, state in self.acknowledged.items() if found.get(id_) != state}
        assert not lost, f"acknowledged and lost: {lost}"


def children_of(parent: int) -> list[int]:
    """Return the worker processes of a process; its resource tracker is none."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == parent and fields[0] != "Z" and b"resource_tracker" not in command:
            found.append(int(folder.name))
    return found


def killed_service(folder: Path, seed: int, *, workers: int, starts: int) -> Killed:
    """Start a service on the same log so many times, and kill it each time."""
    killing = Killed(folder, seed, workers)
    for _ in range(starts):
        killing.run()
    return killing


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        began = time.monotonic()
        seed, count, starts = map(int, sys.argv[1:])
        done = killed_service(Path(name), seed, workers=count, starts=starts)
        print(  # noqa: T201 - says what it did
            f"{done.kills} kills in {done.starts} starts, {len(done.acknowledged)} acknowledged, "
            f"{time.monotonic() - began:.1f} s"
        )
