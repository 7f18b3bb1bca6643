"""What a router costs beside its policy, and what durable observations cost beside bare SQLite.

    python benchmarks/router_cost.py

Machines and disks differ, and so do minutes on a shared one.  So everything is measured in turns
within one run, and ratios count.  The cost of choosing is the median time of one call.
"""

from __future__ import annotations

import queue
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from onepull import Finite, Interval, Problem, Router
from onepull.store import MemoryStore, new_id

CHOICES = 2000
ROUNDS = 7
THREADS = 32
BATCH = 200
SECONDS = 1.5  # for each measurement of durable writes

PROBLEM = Problem(
    arms=[f"endpoint {j}" for j in range(1, 8)],
    context={"tokens": Finite([1, 10, 100, 1000])},
    state={"seconds": Interval(0, 7)},
    reward="min(tokens / 100, seconds)",
)
POLICIES = ("DCB", "UCB1", {"name": "EpsilonGreedy", "c": 0.2, "seed": 1}, "recommended")


def latency(call: Callable[[], Any], count: int) -> float:
    """Return the median time of one call in microseconds."""
    times = []
    for _ in range(count):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return median(times) * 1e6


def choosing(folder: Path) -> None:
    """Print the cost of `Router.choose` beside that of the policy's own `choose`."""
    print(f"{'policy':<16}{'policy µs':>10}{'memory µs':>11}{'ratio':>7}{'file µs':>9}{'ratio':>7}")
    for policy in POLICIES:
        name = policy if isinstance(policy, str) else str(policy["name"])
        told = [
            {"id": new_id(), "arm": arm, "state": {"seconds": i % 8}, "context": {"tokens": 10}}
            for i in range(300)
            for arm in PROBLEM.arms
        ]
        routers = [
            Router(PROBLEM, policy=policy, store=store, poll=10.0, snapshot_every=10**9)
            for store in (MemoryStore(), folder / f"{name}.db")
        ]
        for router in routers:
            router.observe_many(told)
        alone = routers[0].policy()
        alone.pulled(PROBLEM.arms[0], tokens=100)  # a router has pulls in flight, too
        costs: list[list[float]] = [[], [], []]
        for _ in range(ROUNDS):
            costs[0].append(latency(partial(alone.choose, tokens=100), CHOICES))
            for i, router in enumerate(routers, start=1):
                costs[i].append(latency(partial(router.choose, tokens=100), CHOICES))
        own, memory, file = (min(cost) for cost in costs)
        print(
            f"{name:<16}{own:>10.1f}{memory:>11.1f}{memory / own:>7.2f}"
            f"{file:>9.1f}{file / own:>7.2f}"
        )
        for router in routers:
            router.close()


def per_second(work: Callable[[], int], threads: int = 1) -> float:
    """Return how many units are done in a second by threads that work for a while."""
    done = [0] * threads
    until = time.perf_counter() + SECONDS

    def run(me: int) -> None:
        while time.perf_counter() < until:
            done[me] += work()

    workers = [threading.Thread(target=run, args=(i,)) for i in range(threads)]
    started = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(done) / (time.perf_counter() - started)


class Bare:
    """A bare group-commit loop: a queue, a thread, one table, no ids, no learning."""

    def __init__(self, path: Path) -> None:
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._path = path
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def append(self, rows: list[bytes]) -> int:
        """Store rows, and return when they are on disk."""
        done = threading.Event()
        self._queue.put((rows, done))
        done.wait()
        return len(rows)

    def close(self) -> None:
        """End the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        connection = sqlite3.connect(self._path, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, body BLOB)")
        while (job := self._queue.get()) is not None:
            jobs = [job]
            while not self._queue.empty() and jobs[-1] is not None:
                jobs.append(self._queue.get())
            connection.execute("BEGIN IMMEDIATE")
            for rows, _ in filter(None, jobs):
                connection.executemany(
                    "INSERT INTO events (body) VALUES (?)", [(row,) for row in rows]
                )
            connection.execute("COMMIT")
            for each in filter(None, jobs):
                each[1].set()
            if jobs[-1] is None:
                break
        connection.close()


def observing(folder: Path) -> None:
    """Print durable observations per second beside a bare group-commit loop."""
    bare = Bare(folder / "bare.db")
    router = Router(
        PROBLEM, policy="DCB", store=folder / "observed.db", poll=10.0, snapshot_every=10**9
    )
    body, arm = b"x" * 120, PROBLEM.arms[0]

    def one() -> int:
        router.observe(new_id(), arm=arm, tokens=10, seconds=1.0)
        return 1

    def many() -> int:
        told = [
            {"id": new_id(), "arm": arm, "state": {"seconds": 1.0}, "context": {"tokens": 10}}
            for _ in range(BATCH)
        ]
        return router.observe_many(told).learned

    cases: list[tuple[str, Callable[[], int], Callable[[], int], int]] = [
        ("one at a time", lambda: bare.append([body]), one, 1),
        (f"{THREADS} threads", lambda: bare.append([body]), one, THREADS),
        (f"batches of {BATCH}", lambda: bare.append([body] * BATCH), many, 1),
    ]
    print(f"\n{'durable observations/s':<24}{'bare SQLite':>12}{'router':>9}{'ratio':>7}")
    for name, plain, ours, threads in cases:
        pairs = [(per_second(plain, threads), per_second(ours, threads)) for _ in range(3)]
        rate, own = median(p for p, _ in pairs), median(o for _, o in pairs)
        ratio = median(o / p for p, o in pairs)
        print(f"{name:<24}{rate:>12,.0f}{own:>9,.0f}{ratio:>7.2f}")
    bare.close()
    router.close()


def starting(folder: Path) -> None:
    """Print how long a start takes from a snapshot and from the first event."""
    path = folder / "started.db"
    with Router(PROBLEM, policy="DCB", store=path, snapshot_every=10**9) as router:
        for _ in range(50):
            router.observe_many(
                [
                    {"id": new_id(), "arm": PROBLEM.arms[i % 7], "state": {"seconds": 1.0}}
                    for i in range(1000)
                ]
            )
        events = router.sequence
        started = time.perf_counter()
        Router(PROBLEM, policy="DCB", store=path).close()
        folded = time.perf_counter() - started
        router.snapshot()
        started = time.perf_counter()
        Router(PROBLEM, policy="DCB", store=path).close()
        restored = time.perf_counter() - started
    print(f"\nstart with {events:,} events: {folded:.2f} s from the first event, ", end="")
    print(f"{restored:.3f} s from a snapshot")


def main() -> None:
    """Measure everything."""
    with tempfile.TemporaryDirectory() as name:
        choosing(Path(name))
        observing(Path(name))
        starting(Path(name))


if __name__ == "__main__":
    main()
