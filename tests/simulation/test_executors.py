"""Wherever a simulation runs, and whatever dies on the way, the numbers are the same."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

import pytest

from onepull import DCB, MultiUCB
from onepull.environment import channel_selection
from onepull.errors import ClusterError, MissingExtra, ParameterError
from onepull.simulation import Simulation, executors
from onepull.simulation.executors import Serial, open_executor, parallelism, workers

BLOCKS = [(start, start + 6) for start in range(0, 60, 6)]
SECONDS = 60.0  # that any wait may take

needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="the 'distributed' extra is missing"
)


@pytest.fixture(scope="module")
def simulation():
    environment = channel_selection(7)
    problem = environment.problem
    policies = {"DCB": DCB(problem), "Multi-UCB": MultiUCB(problem)}
    return Simulation(environment, policies, horizon=100_000, seed=7)


@pytest.fixture(scope="module")
def serial(simulation):
    with open_executor("serial") as executor:
        return run(simulation, executor)


def run(simulation, executor, meanwhile=lambda: None):
    futures = [executor.submit(simulation.block, *block) for block in BLOCKS]
    meanwhile()
    return simulation.result([done.result() for done in as_completed(futures, timeout=SECONDS)])


def assert_identical(one, other):
    assert one.regrets.tobytes() == other.regrets.tobytes()
    assert one.pulls.tobytes() == other.pulls.tobytes()
    assert one.best_pulls.tobytes() == other.best_pulls.tobytes()


# On this machine


@pytest.mark.parametrize("where", ["threads", "threads:1", "threads:2", "processes:2"])
def test_results_are_those_of_the_serial_run(where, simulation, serial):
    with open_executor(where) as executor:
        assert_identical(run(simulation, executor), serial)


@pytest.mark.parametrize("where", ["serial", "threads:2", "processes:1"])
def test_an_error_in_a_task_reaches_whoever_asks(where):
    with open_executor(where) as executor:
        failed = executor.submit(math.sqrt, -1)
        with pytest.raises(ValueError, match="math domain error"):
            failed.result(SECONDS)
        assert executor.submit(int, "ff", base=16).result(SECONDS) == 255


def test_what_is_submitted_has_run_when_the_block_is_left():
    with open_executor("threads:1") as executor:
        futures = [executor.submit(time.sleep, 0.01) for _ in range(5)]
    assert all(future.done() and not future.cancelled() for future in futures)


def test_an_exception_drops_what_has_not_begun():
    go = threading.Event()
    with pytest.raises(KeyboardInterrupt), open_executor("threads:1") as executor:  # noqa: PT012
        begun = executor.submit(go.wait, SECONDS)
        waiting = executor.submit(go.wait, SECONDS)
        threading.Timer(0.2, go.set).start()
        raise KeyboardInterrupt
    assert begun.result() is True
    assert waiting.cancelled()


def test_a_process_keeps_what_it_was_sent(simulation):
    packed = pickle.dumps(simulation.block)
    assert pickle.dumps(simulation.block) == packed
    assert executors._unpacked(packed) is executors._unpacked(pickle.dumps(simulation.block))


@pytest.mark.parametrize(
    ("where", "count"), [("serial", 1), ("threads:3", 3), ("processes:2", 2), ("threads", None)]
)
def test_parallelism(where, count):
    with open_executor(where) as executor:
        assert parallelism(executor) == (count or workers())


def test_a_foreign_executor_is_taken_to_use_this_machine():
    with ThreadPoolExecutor(1) as foreign:
        assert parallelism(foreign) == workers()


def test_serial_runs_in_the_thread_that_submits():
    assert Serial().submit(threading.get_ident).result() == threading.get_ident()


# What is refused, before any work


@pytest.mark.parametrize("where", ["", "gpu", "Threads", "thread:2", "tcp://127.0.0.1:8786"])
def test_unknown_places_are_refused_with_a_list(where):
    with pytest.raises(ParameterError, match="processes:N or dask:ADDRESS") as caught:
        open_executor(where)
    assert repr(where) in str(caught.value)


@pytest.mark.parametrize("kind", ["threads", "processes"])
@pytest.mark.parametrize("number", ["", "0", "-1", "two", "1.5", " 2", "²"])
def test_bad_numbers_are_refused(kind, number):
    with pytest.raises(ParameterError, match=f"{kind}:N takes a whole number N from 1"):
        open_executor(f"{kind}:{number}")


@pytest.mark.parametrize(("where", "reason"), [("serial:2", "no number"), ("dask:", "address")])
def test_other_malformed_places_are_refused(where, reason):
    with pytest.raises(ParameterError, match=reason):
        open_executor(where)


def test_dask_that_is_not_installed_is_told_with_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[distributed\]'"):
        open_executor("dask:tcp://127.0.0.1:8786")


def test_dask_is_not_imported_unless_asked_for():
    script = (
        "import sys; from onepull.simulation.executors import open_executor\n"
        "with open_executor('threads:2') as executor: executor.submit(int).result()\n"
        "assert not {'dask', 'distributed', 'cloudpickle'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=SECONDS)


# On a cluster


def until(condition):
    """Wait until a condition holds and return what it gave."""
    end = time.monotonic() + SECONDS
    while not (found := condition()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)
    return found


@contextmanager
def dask(log, *arguments):
    """Run a `dask` command for as long as the block lasts."""
    with log.open("wb") as output:
        command = [sys.executable, "-m", "dask", *arguments]
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """A scheduler on a free loopback port; gives the file with its address."""
    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    loopback = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    with dask(folder / "log", "scheduler", *loopback, "--scheduler-file", str(file)):
        until(file.exists)
        until(lambda: file.read_text().strip().endswith("}"))
        yield file


@pytest.fixture(scope="module")
def address(scheduler):
    return json.loads(scheduler.read_text())["address"]


@contextmanager
def worker(scheduler, name):
    folder = scheduler.parent
    settings = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
    place = ["--local-directory", str(folder / name), "--scheduler-file", str(scheduler)]
    with dask(folder / f"{name}.log", "worker", *settings, *place, "--name", name) as process:
        yield process


@pytest.fixture(scope="module")
def survivor(scheduler):
    with worker(scheduler, "survivor") as process:
        yield process


@pytest.fixture
def observer(address, survivor):
    """A second client, to look at the cluster with."""
    from distributed import Client  # noqa: PLC0415 - not always installed

    with Client(address, timeout=SECONDS, set_as_default=False) as client:
        until(client.nthreads)
        assert survivor.poll() is None
        yield client


@needs_dask
def test_a_worker_killed_at_work_changes_nothing(scheduler, address, observer, simulation, serial):
    before = set(observer.nthreads())
    with worker(scheduler, "victim") as victim:
        (doomed,) = until(lambda: set(observer.nthreads()) - before)

        def kill():
            until(lambda: observer.processing().get(doomed))
            os.kill(victim.pid, signal.SIGKILL)

        with open_executor(f"dask:{address}") as executor:
            assert parallelism(executor) == 2
            result = run(simulation, executor, meanwhile=kill)
        assert victim.wait(SECONDS) == -signal.SIGKILL
    assert_identical(result, serial)
    assert set(observer.nthreads()) == before


@needs_dask
def test_a_cluster_passes_errors_and_arguments_on(address, observer):
    del observer
    with open_executor(f"dask:{address}") as executor:
        with pytest.raises(ValueError, match="math domain error"):
            executor.submit(math.sqrt, -1).result(SECONDS)
        # Dask takes `key` and the like for itself.
        assert executor.submit(max, [3, -5], key=abs).result(SECONDS) == -5


@needs_dask
def test_an_exception_drops_what_a_cluster_has_not_done(address, observer):
    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt), open_executor(f"dask:{address}") as executor:  # noqa: PT012
        futures = [executor.submit(time.sleep, 1.0) for _ in range(60)]
        raise KeyboardInterrupt
    assert time.monotonic() - before < SECONDS
    assert not any(future.done() and not future.cancelled() for future in futures)
    until(lambda: not any(observer.processing().values()))


@needs_dask
def test_workers_of_another_version_are_refused(address, observer, monkeypatch):
    del observer
    monkeypatch.setattr("onepull.simulation.compiled.source_digest", lambda: "another")
    refused = pytest.raises(ClusterError, match="another version of onepull or numba")
    with refused, open_executor(f"dask:{address}"):
        pass


@needs_dask
def test_a_worker_is_not_a_scheduler(observer):
    elsewhere = next(iter(observer.nthreads()))
    with pytest.raises(ClusterError, match="it is a Worker"), open_executor(f"dask:{elsewhere}"):
        pass


@needs_dask
@pytest.mark.parametrize("listening", [False, True])
def test_an_unreachable_cluster_is_told_by_its_address(listening, monkeypatch):
    monkeypatch.setattr(executors, "SECONDS_TO_CONNECT", 1.0)
    threads, before = threading.active_count(), time.monotonic()
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        if listening:  # and silent
            port.listen()
        place = "tcp://{}:{}".format(*port.getsockname())
        with pytest.raises(ClusterError, match=f"'{place}'.*1 s"), open_executor(f"dask:{place}"):
            pass
    assert time.monotonic() - before < 5
    assert threading.active_count() == threads


@needs_dask
@pytest.mark.parametrize("place", ["nowhere", "host:port", "carrier-pigeon://roof:1"])
def test_an_address_that_is_none_is_told(place):
    with pytest.raises(ClusterError, match=f"'{place}'"), open_executor(f"dask:{place}"):
        pass


# Processes that are killed or interrupted

needs_posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
WORKERS = """
import os, sys, time
from onepull.simulation.executors import open_executor
if __name__ == "__main__":
    with open_executor("processes:2") as executor:
        for future in [executor.submit(os.getpid) for _ in range(2)]:
            print(future.result(), flush=True)
        work = [executor.submit({work}) for _ in range(4)]
        print("working", flush=True)
        for future in work:
            future.result()
        time.sleep({rest})
"""


def is_running(pid):
    """Whether a process is there, and not only waits for its parent to notice its end."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("work", ["time.sleep, 600", "exec, 'while True: pass'", "os.getpid"])
def test_a_killed_process_leaves_no_workers_behind(tmp_path, work):
    script = tmp_path / "script.py"
    script.write_text(WORKERS.format(work=work, rest=600))  # idle workers wait, too
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().strip() for _ in range(3)]
        assert lines[2] == "working"
        workers = {int(line) for line in lines[:2]}
        assert all(map(is_running, workers))
        process.kill()
    until(lambda: not any(map(is_running, workers)))


def kill_group_at(delay, script):
    """Interrupt a process and its workers, as Ctrl-C in a terminal does; return what they say."""
    with subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        assert process.stderr is not None
        return process.stderr.read()


@needs_posix
def test_workers_that_are_interrupted_while_they_start_say_nothing(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import signal; signal.signal(signal.SIGINT, lambda *_: None)\n"
        + WORKERS.format(work="os.getpid", rest=0)
    )
    for tenths in (4, 9):
        assert kill_group_at(tenths / 10, script) == ""


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "x", "", "1025", "9" * 30, "9" * 5000, "١"])
@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_a_count_that_cannot_be_is_refused(kind, count):
    with pytest.raises(ParameterError, match="takes a whole number N from 1 to 1,024"):
        open_executor(f"{kind}:{count}")
