"""A run that is killed, interrupted or out of disk goes on where it was, to the same result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest
from click.testing import CliRunner

from onepull.cli import main

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")

# About half a second on two cores, in six blocks of 40 kB.
TEXT = """
application = "channel-selection"
horizon = 50_000
replications = 240
[[policies]]
policy = "DCB"
[[policies]]
policy = "UCB1"
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the folder of a run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "long.toml").write_text(TEXT)
    done = CliRunner().invoke(main, ["run", str(folder / "long.toml"), "--on", "threads:2"])
    assert done.exit_code == 0, done.output
    return folder / "long"


@pytest.fixture
def long(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "long.toml").write_text(TEXT)
    return tmp_path / "long"


def command(before, *arguments):
    """Return a call of the command, in a process that first runs some code."""
    call = f"from onepull.cli import main; main({[*map(str, arguments)]!r}, prog_name='onepull')"
    return [sys.executable, "-c", f"{before}\n{call}"]


def blocks(folder):
    return {file.name: file.stat().st_mtime_ns for file in (folder / "blocks").glob("[0-9]*.npz")}


@contextmanager
def running(folder, on):
    """Start a run and hand it over once it has written a block."""
    # A shell may have had us ignore interrupts, which processes inherit.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    arguments = command(heed, "run", "long.toml", "--on", on)
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not blocks(folder):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def goes_on(folder, whole):
    """Check that running again keeps what there is and ends as if nothing had happened."""
    before = blocks(folder)
    assert 1 <= len(before) < len(blocks(whole))
    assert not (folder / "result.csv").exists()
    again = CliRunner().invoke(main, ["run", "long.toml"])
    assert again.exit_code == 0, again.output
    assert blocks(folder).items() >= before.items()
    assert (folder / "result.csv").read_bytes() == (whole / "result.csv").read_bytes()


def test_killed(long, whole):
    with running(long, "threads:2") as process:
        process.send_signal(signal.SIGKILL)
        assert process.wait(10) == -signal.SIGKILL
    goes_on(long, whole)


@pytest.mark.parametrize("on", ["threads:2", "processes:2"])
def test_interrupted(long, whole, on):
    with running(long, on) as process:
        process.send_signal(signal.SIGINT)
        shown, told = process.communicate(timeout=30)
    assert process.returncode == 130, told
    assert shown == ""
    assert told.split("\n")[-2] == "onepull: stopped; run the same command to resume"
    assert "Traceback" not in told
    goes_on(long, whole)


def test_a_full_disk(long, whole, refuses):
    long.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=80k", "tmpfs", str(long)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a small disk can be mounted by root only")
    try:
        stopped = subprocess.run(
            command("", "run", "long.toml"), capture_output=True, text=True, check=False
        )
        refuses(stopped, "cannot be written: No space left on device", str(long.name))
        for name in blocks(long):
            kept, good = (np.load(folder / "blocks" / name) for folder in (long, whole))
            with kept, good:
                np.testing.assert_array_equal(kept["regrets"], good["regrets"])
        assert not list((long / "blocks").glob(".*"))
        subprocess.run(["mount", "-o", "remount,size=10m", long], check=True)  # noqa: S607
        goes_on(long, whole)
    finally:
        subprocess.run(["umount", long], check=True)  # noqa: S607


def test_a_file_that_may_not_grow(long, refuses):
    """The same for those who cannot mount: a first small block, then a limit of 16 kB."""
    few = TEXT.replace("replications = 240", "replications = 4")
    (long.parent / "long.toml").write_text(few)
    assert CliRunner().invoke(main, ["run", "long.toml", "--on", "serial"]).exit_code == 0
    (long.parent / "long.toml").write_text(TEXT)
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (16_000, 16_000))"
    stopped = subprocess.run(
        command(limit, "run", "long.toml"), capture_output=True, text=True, check=False
    )
    refuses(stopped, "cannot be written: File too large", str(long.name))
    assert list(blocks(long)) == ["0000000-0000004.npz"]
    assert not list((long / "blocks").glob(".*"))


# An interrupt at any time


@pytest.fixture
def stopped(long, whole):
    """Return a check that an interrupt so many seconds after the start ends the command well."""
    del whole  # the kernels are compiled
    # It does not end by itself, so no delay is too long.
    (long.parent / "long.toml").write_text(
        TEXT.replace("replications = 240", "replications = 24_000")
    )

    def check(delay, *arguments):
        # The interpreter itself cannot be interrupted well until the command takes over.
        ready = "import sys; print('ready', flush=True)"
        heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
        name = f"sys.argv = {['onepull', *arguments]!r}"
        take_over = "from onepull.__main__ import start"
        code = f"{heed}\n{take_over}\n{ready}\n{name}\nstart()"
        with subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(delay)
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
            _, told = process.communicate(timeout=60)
        assert process.returncode == 130, told
        assert told.split("\n")[-2].startswith("onepull: stopped")
        assert "Traceback" not in told
        assert "Aborted" not in told

    return check


LONGER = ["run", "long.toml", "--on", "threads:2"]


@pytest.mark.parametrize("delay", [0.02, 0.06, 0.12, 0.25, 0.5])
def test_interrupted_while_it_starts(stopped, delay):
    stopped(delay, *LONGER)


@pytest.mark.parametrize("delay", [0.7, 1.1])
def test_interrupted_while_workers_start(stopped, delay):
    stopped(delay, "run", "long.toml", "--on", "processes:2")


@pytest.mark.parametrize("delay", [1.0, 1.6])
def test_interrupted_while_it_compiles(stopped, delay, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cold"))
    stopped(delay, "run", "long.toml", "--on", "serial")


# An exception in a callback from C is only printed, and the callback's caller goes on.
IN_A_CALLBACK = """
import ctypes, os, time
def called():
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        pass
def main(**_):
    ctypes.CFUNCTYPE(None)(called)()
    time.sleep(50)
    print("not stopped")
import onepull.cli
onepull.cli.main = main
"""
# Some C code clears every exception, as this Python does, and goes on.
CLEARED = """
import os, time
def main(**_):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(50)
    except BaseException:
        pass
    time.sleep(50)
    print("not stopped")
import onepull.cli
onepull.cli.main = main
"""
# Cleaning up after an interrupt may take long, and is not interrupted again.
CLEANED_UP = """
import os, time
def main(**_):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(50)
    finally:
        try:
            {}["missing"]
        except KeyError:
            time.sleep(0.5)
        print("cleaned up", flush=True)
import onepull.cli
onepull.cli.main = main
"""
# The same for a generator that the interrupt closes, and for what is freed with the interrupt.
CLEANED_UP_LATE = """
import os, time
class Freed:
    def __del__(self):
        time.sleep(0.5)
        print("freed", flush=True)
def numbers():
    try:
        yield 1
    finally:
        time.sleep(0.5)
        print("closed", flush=True)
def main(**_):
    freed = Freed()
    for _ in numbers():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(50)
import onepull.cli
onepull.cli.main = main
"""
# Python turns an exception in `__set_name__` into another.
IN_A_CLASS = """
import os
class Named:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass
def main(**_):
    class Owner:
        field = Named()
import onepull.cli
onepull.cli.main = main
"""


@pytest.mark.parametrize(
    ("before", "printed"),
    [
        (IN_A_CALLBACK, ""),
        (CLEARED, ""),
        (CLEANED_UP, "cleaned up\n"),
        (CLEANED_UP_LATE, "closed\nfreed\n"),
        (IN_A_CLASS, ""),
    ],
)
def test_an_interrupt_that_other_code_loses_or_changes_still_stops(before, printed):
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    start = "from onepull.__main__ import start; start()"
    done = subprocess.run(
        [sys.executable, "-c", f"{heed}\n{before}\n{start}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=40,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, printed, "\nonepull: stopped\n")


def test_an_interrupt_that_a_shell_ignores_stays_ignored():
    code = (
        "import os, signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "import onepull.cli; onepull.cli.main = lambda **_: os.kill(os.getpid(), signal.SIGINT)\n"
        "from onepull.__main__ import start; start()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
