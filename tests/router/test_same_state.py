"""state = fold(log): every worker is in the same state after the same event, bit for bit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from router_workers import SETTINGS, digest, learn, pulls, quiet

from onepull.store import MemoryStore

WORKERS = Path(__file__).parents[1] / "router_workers.py"


@pytest.mark.parametrize("name", SETTINGS)
def test_two_workers_and_one_policy(name):
    """Two workers that choose and observe in turns learn what one policy learns in log order."""
    build, make = SETTINGS[name]
    problem = make()
    store = MemoryStore()
    generator = np.random.default_rng(5)
    workers = [quiet(build, problem, store) for _ in range(2)]
    open_ = []
    for i, (context, state) in enumerate(pulls(problem, 40, seed=2)):
        one, two = (workers[j] for j in generator.permutation(2))
        open_.append((one.choose(**context), state))
        if generator.random() < 0.8:
            decision, shown = open_.pop(int(generator.integers(len(open_))))
            two.observe(decision.id, **shown)
        if i == 20:
            workers[0].sync()
            workers[0].snapshot()
    for worker in workers:
        worker.sync()
    later = quiet(build, problem, store)  # from the snapshot
    store._snapshots.clear()
    anew = quiet(build, problem, store)  # from the first event
    assert len({digest(router) for router in (*workers, later, anew)}) == 1
    alone = build(problem)
    for event in anew.log():
        learn(alone, event)
    assert anew.policy().to_bytes() == alone.to_bytes()
    assert [w.stats().in_flight for w in workers] == [len(open_)] * 2
    assert later.stats().in_flight == anew.stats().in_flight == len(open_)
    flying = [sum(arm.in_flight for arm in w.stats().policy.arms) for w in (*workers, later, anew)]
    assert flying == [len(open_)] * 4


def test_four_processes(tmp_path):
    """Four processes choose and observe at the same time, with every policy, on one file."""
    names = list(SETTINGS)[::3]
    command = [sys.executable, WORKERS, tmp_path / "router.db"]
    processes = [
        subprocess.Popen(
            [*map(str, command), str(me), "6", *names],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for me in range(4)
    ]
    told = []
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "done\n"
        told = [process.communicate("\n", timeout=120)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert len(told[0].splitlines()) == len(names)
    assert len(set(told)) == 1
