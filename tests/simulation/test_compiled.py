"""What is compiled is kept for the next process, whatever other processes do meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from onepull.simulation import compiled
from onepull.simulation.compiled import DAYS_UNUSED, cache_folder, prune

DAY = 24 * 3600


@pytest.fixture
def base(tmp_path, monkeypatch):
    """A cache of our own, empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "onepull"


def folder(base, name, days):
    """A folder with a file in it, last used so many days ago."""
    made = base / name
    (made / "simulation_1").mkdir(parents=True)
    (made / "simulation_1" / "kernel.nbi").write_bytes(b"code")
    then = time.time() - days * DAY
    os.utime(made, (then, then))
    return made


def test_folders_of_other_versions_go_when_they_were_not_used_for_a_month(base):
    old = folder(base, "kernels-0123456789abcdef", DAYS_UNUSED + 1)
    left_behind = folder(base, "pruned-0123456789abcdef", DAYS_UNUSED + 1)
    recent = folder(base, "kernels-fedcba9876543210", DAYS_UNUSED - 1)
    not_ours = folder(base, "results", DAYS_UNUSED + 1)
    current = cache_folder.__wrapped__()
    assert not old.exists()
    assert not left_behind.exists()
    assert sorted(base.iterdir()) == sorted([recent, not_ours, current])
    assert (recent / "simulation_1" / "kernel.nbi").read_bytes() == b"code"


def test_to_use_a_folder_keeps_it(base):
    current = cache_folder.__wrapped__()
    long_ago = time.time() - 10 * DAYS_UNUSED * DAY
    os.utime(current, (long_ago, long_ago))
    assert cache_folder.__wrapped__() == current
    prune(base / "kernels-of-another-version")
    assert current.exists()


def test_a_link_or_a_file_is_nobodys_folder(base, tmp_path):
    elsewhere = folder(tmp_path, "kernels-elsewhere", DAYS_UNUSED + 1)
    current = cache_folder.__wrapped__()
    link, file = base / "kernels-link", base / "kernels-file"
    link.symlink_to(elsewhere)
    file.write_text("text")
    os.utime(file, (0, 0))
    prune(current)
    assert link.is_symlink()
    assert file.read_text() == "text"
    assert (elsewhere / "simulation_1" / "kernel.nbi").exists()


def at_once(*calls):
    """Start every call at the same moment, in a thread of its own; raise what one of them raises.

    What they share is on disk, so to each other they are as processes.
    """
    ready = threading.Barrier(len(calls))

    def begin(call):
        ready.wait()
        call()

    with ThreadPoolExecutor(len(calls)) as pool:
        for started in [pool.submit(begin, call) for call in calls]:
            started.result()


def test_several_may_prune_at_once(base):
    current = folder(base, "kernels-current", 0)
    for i in range(200):
        folder(base, f"kernels-{i}", DAYS_UNUSED + 1)
    at_once(*[partial(prune, current)] * 4)
    assert list(base.iterdir()) == [current]


def same(value):
    return value


def test_those_who_compile_at_once_never_get_each_others_code(tmp_path, monkeypatch):
    # A function's signatures stand in one index, each with a file of its own; here every
    # signature and its code are a text.
    monkeypatch.setattr(compiled, "cache_folder", lambda: tmp_path)
    compile_it: Any = compiled.compiled
    caches = [compile_it(same)._cache for _ in range(3)]
    caches[0]._impl.locator.ensure_cache_path()

    def keep(j):
        for i in range(100):
            caches[j]._cache_file.save(f"{j} {i}", f"code for {j} {i}")

    at_once(*[partial(keep, j) for j in range(3)])
    file = caches[0]._cache_file
    kept = {signature: file.load(signature) for signature in file._load_index()}
    assert len(kept) >= 100
    assert kept == {signature: f"code for {signature}" for signature in kept}


def test_functions_run_where_the_compiler_is_told_not_to_compile():
    code = (
        "from onepull.simulation.compiled import compiled; print(compiled(lambda value: value)(3))"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == "3\n"
