"""Workers that are killed while they choose and observe, and what must hold after each kill."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from problems import channels

from onepull import DiscountedUCB, Router, SQLiteStore
from onepull.router.state.fold import Fold
from onepull.store import Observed

WORKERS = 3
EVERY = 5  # after so many outcomes a worker tells its state


def build(problem):
    """Return a policy for which the order of observations matters."""
    return DiscountedUCB(problem, discount=0.9)


def work(path: str, told: str, seed: int) -> None:
    """Choose and observe until killed; write down what was acknowledged."""
    luck = random.Random(seed)  # noqa: S311 - not a secret
    router = Router(channels(3), policy=build, store=path, snapshot_every=150, poll=0.01)
    with open(told, "ab", buffering=0) as file:  # noqa: PTH123 - unbuffered
        threads = [
            threading.Thread(target=_load, args=(router, file, luck.random()), daemon=True)
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _load(router: Router, file: Any, seed: float) -> None:
    luck = random.Random(seed)  # noqa: S311 - not a secret
    for i in range(100_000):
        decision = router.choose(bits=luck.randrange(1, 5))
        capacity = luck.randrange(8)
        if luck.random() < 0.1:
            continue
        router.observe(decision, capacity=capacity)
        if luck.random() < 0.2:
            router.observe(decision.id, capacity=capacity)
        # One write each, which a kill does not tear.
        file.write(f"seen {decision.id} {decision.arm} {capacity}\n".encode())
        if i % EVERY == 0:
            with router._lock:
                state = hashlib.sha256(router.state()).hexdigest()
                line = f"state {router.sequence} {state}\n"
            file.write(line.encode())


class Killing:
    """A log, workers that use it, and a fold of the log that goes along."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.path, self.folder = folder / "router.db", folder
        self.luck = random.Random(seed)  # noqa: S311 - not a secret
        self.started = self.kills = self.acknowledged = self.compared = 0
        self._context = multiprocessing.get_context("forkserver")
        # Not this file: the server does not look into the folder of the tests for it.
        self._context.set_forkserver_preload(["onepull.router", "onepull.store"])
        self._running: list[tuple[Any, Path]] = []
        self._offsets: dict[Path, int] = {}
        self._fold: Fold | None = None
        self._states: list[tuple[int, str]] = []

    def start(self) -> None:
        """Start another worker, and wait until it has something acknowledged."""
        told = self.folder / f"told-{self.started}"
        told.touch()
        process = self._context.Process(
            target=work, args=(str(self.path), str(told), self.luck.randrange(2**32)), daemon=True
        )
        process.start()
        self.started += 1
        self._running.append((process, told))
        until = time.monotonic() + 300  # the machine and its disk may be busy
        while b"\n" not in told.read_bytes():
            assert process.is_alive(), "a worker ended by itself"
            assert time.monotonic() < until, "a worker does nothing"
            time.sleep(0.002)

    def kill(self) -> None:
        """Kill one worker, or all at the same time, and check."""
        while len(self._running) < WORKERS:
            self.start()
        time.sleep(self.luck.random() * 0.06)
        count = WORKERS if self.luck.random() < 0.2 else 1
        victims = self.luck.sample(self._running, count)
        for process, _ in victims:
            os.kill(process.pid, signal.SIGKILL)
        for victim in victims:
            victim[0].join()
            self._running.remove(victim)
        self.kills += count
        self.check([told for _, told in victims])

    def check(self, files: list[Path]) -> None:
        """Check the promise for what killed workers were told."""
        with SQLiteStore(self.path) as store:
            for told in files:
                for line in told.read_text().splitlines():
                    kind, *rest = line.split(" ")
                    if kind == "state":
                        self._states.append((int(rest[0]), rest[1]))
                        continue
                    id_, arm, capacity = rest
                    stored = store.answer("default", id_)
                    assert isinstance(stored, Observed), f"{id_} was acknowledged and is lost"
                    assert (stored.arm, stored.state) == (arm, {"capacity": float(capacity)})
                    self.acknowledged += 1
            self._follow(store)
            assert store._all("PRAGMA integrity_check") == [("ok",)]
            twice = store._all(
                "SELECT id FROM events WHERE slot = 1 GROUP BY problem, id HAVING count(*) > 1"
            )
            assert not twice, f"stored twice: {twice}"

    def _follow(self, store: SQLiteStore) -> None:
        """Fold the log from its first event, and compare with what workers told on the way."""
        fold = Fold(None, 60.0, lambda *_: ())
        states = dict(self._states)
        for event in store.events("default"):
            fold.apply(event)
            if event.seq in states:
                state = hashlib.sha256(fold.state()).hexdigest()
                assert state == states[event.seq], f"another state after event {event.seq}"
                self.compared += 1
        self._states.clear()
        assert fold.counts.refused == 0

    def end(self) -> None:
        """Kill all workers, and open the log as a restart would."""
        for process, _ in self._running:
            process.kill()
            process.join()
        self.check([told for _, told in self._running])
        self._running.clear()
        with Router(channels(3), policy=build, store=self.path, poll=3000.0) as router:
            fold = Fold(None, 60.0, lambda *_: ())
            for event in router.log():
                fold.apply(event)
            assert router.state() == fold.state()  # from a snapshot, and from the first event


def killed(folder: Path, seed: int, kills: int) -> Killing:
    """Kill workers so many times, and check after each."""
    killing = Killing(folder, seed)
    try:
        while killing.kills < kills:
            killing.kill()
    finally:
        for process, _ in killing._running:
            process.kill()
    killing.end()
    return killing


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        started = time.monotonic()
        done = killed(Path(name), int(sys.argv[1]), int(sys.argv[2]))
        print(  # noqa: T201 - says what it did
            f"{done.kills} kills, {done.acknowledged} acknowledged, {done.compared} states "
            f"compared, {time.monotonic() - started:.1f} s"
        )
