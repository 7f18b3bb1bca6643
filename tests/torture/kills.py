"""Processes that are killed while they save or run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import numpy as np
from router_kills import killed
from service_kills import killed_service

from onepull import Policy
from torture.area import Area

SAVER = """
import sys
from pathlib import Path
from onepull import DCB, Finite, Interval, Problem
problem = Problem(arms=["a", "b"], context={"y": Finite(range(1, 400))},
                  state={"x": Interval(0, 1)}, reward="x * y")
policy = DCB(problem)
path = Path(sys.argv[1])
while True:
    policy.observe("a", x=0.5)
    policy.save(path)
    print(policy.trials, flush=True)
"""

RUN = """
application = "channel-selection"
horizon = 20_000
replications = 40
[[policies]]
policy = "DCB"
[[policies]]
policy = "Random"
"""


def save_case(seed: int) -> bool:
    """Kill a process that saves again and again; the file is one of the two last saves."""
    generator = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.bin"
        process = subprocess.Popen([sys.executable, "-c", SAVER, path], stdout=subprocess.PIPE)
        stream = process.stdout
        assert stream is not None
        stream.readline()
        time.sleep(float(generator.random()) * 0.05)
        process.kill()
        told = stream.read().split()
        process.wait()
        stream.close()
        trials = Policy.load(path).trials
        saved = int(told[-1]) if told else 1
        assert saved <= trials <= saved + 1, (saved, trials)
        Policy.load(path).save(path)
        left = [name for name in os.listdir(folder) if name != "policy.bin"]  # noqa: PTH208 - names
        assert not left, f"files left behind: {left}"
    return True


def killed_run_case(seed: int) -> bool:
    """Kill a run at any time; it goes on to the same result, and no process is left."""
    generator = np.random.default_rng(seed)
    on = ("threads:2", "processes:2")[int(generator.integers(2))]
    expected = unbroken()
    with tempfile.TemporaryDirectory() as folder:
        command = run_command(Path(folder), on)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, **quiet, start_new_session=True)  # type: ignore[call-overload]
        time.sleep(float(generator.random()) * 1.2)  # a run takes about as long
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert_session_ends(process.pid)
        assert run_to_end(command, Path(folder)) == expected, "other numbers after a kill"
    return True


@cache
def unbroken() -> str:
    """Return the numbers of a run that nobody killed."""
    with tempfile.TemporaryDirectory() as folder:
        return run_to_end(run_command(Path(folder), "threads:2"), Path(folder))


def run_command(folder: Path, on: str) -> list[str]:
    """Write the experiment into a folder, and return the command that runs it."""
    file = folder / "run.toml"
    file.write_text(RUN, encoding="utf-8")
    return [sys.executable, "-m", "onepull", "run", str(file), "--on", on]


def run_to_end(command: list[str], folder: Path) -> str:
    """Run an experiment, and return its numbers at every checkpoint as CSV."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return (folder / "run" / "result.csv").read_text(encoding="utf-8")


def assert_session_ends(session: int, seconds: float = 10.0) -> None:
    """Check that no process of a session remains."""
    deadline = time.monotonic() + seconds
    while left := [pid for pid in processes() if session_of(pid) == session]:
        assert time.monotonic() < deadline, f"processes left behind: {left}"
        time.sleep(0.05)


def processes() -> list[int]:
    """Return the numbers of all running processes."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - names


def session_of(pid: int) -> int | None:
    """Return the session of a process, None if it is gone or a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, _, _, session = text.rpartition(")")[2].split()[:4]
    return None if state == "Z" else int(session)


def killed_log_case(seed: int) -> bool:
    """Kill workers that share a log, five times; see `router_kills` for what must hold."""
    with tempfile.TemporaryDirectory() as folder:
        killed(Path(folder), seed, kills=5)
    return True


def killed_service_case(seed: int) -> bool:
    """Kill the workers of a service, and then all of it; see `service_kills` for what must hold."""
    with tempfile.TemporaryDirectory() as folder:
        killed_service(Path(folder), seed, workers=1 + seed % 4, starts=2)
    return True


SAVES = Area(
    name="killed-saves",
    tries="a process that saves in a loop is killed with SIGKILL; the file is loaded and saved",
    case=save_case,
    in_tests=10,
    fixed=(
        "129 of 200 killed saves left a temporary file behind",
        "`save` changed the mode 0600 to 0644 and replaced a symbolic link",
    ),
)
RUNS = Area(
    name="killed-runs",
    tries="`onepull run` is killed with SIGKILL; the same command then ends with the same numbers",
    case=killed_run_case,
    in_tests=2,
    share=2.0,
    fixed=("worker processes outlived a killed parent",),
)
LOGS = Area(
    name="killed-logs",
    tries="workers that share a log are killed with SIGKILL, five times; nothing that was "
    "acknowledged is lost or counted twice, and the state is what the log says",
    case=killed_log_case,
    in_tests=1,
    seconds=30.0,
    silence=600.0,  # it waits for the disk often
    share=2.0,
)
SERVICES = Area(
    name="killed-services",
    tries="workers of `onepull serve` are killed with SIGKILL under load, and then all of it, "
    "twice; nothing that was acknowledged over HTTP is lost or counted twice",
    case=killed_service_case,
    in_tests=0,
    seconds=60.0,
    silence=600.0,  # the same
    share=3.0,
)
