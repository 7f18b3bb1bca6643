"""What is compiled is kept for the next process, whatever other processes do meanwhile."""

from __future__ import annotations

import os
import pickle
import shlex
import stat
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from onepull.simulation import compiled
from onepull.simulation.compiled import DAYS_UNUSED, cache_folder, inlined, prune
from onepull.simulation.trusted_files import read_sealed, sealed

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


# Where compiled code may lie

POSIX = pytest.mark.skipif(os.name != "posix", reason="owners and modes of POSIX")
ROOT = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can act as another user"
)
NOBODY = 65534


def in_a_process(code, cache):
    """Run code in a process that caches there; return its output and its notes."""
    environment = os.environ | {"XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr.strip()


WHERE = "from onepull.simulation.compiled import cache_folder; print(cache_folder())"


@pytest.fixture
def where(monkeypatch, caplog):
    """Return a function that finds the folder as a new process does; it returns the notes, too."""

    def find(cache):
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        caplog.clear()
        folder = cache_folder.__wrapped__()
        return str(folder), "\n".join(caplog.messages)

    return find


@POSIX
def test_the_folder_is_for_this_user_only(tmp_path):
    deep = tmp_path / "not" / "there" / "yet"
    folder, told = in_a_process(f"import os; os.umask(0)\n{WHERE}", deep)
    assert told == ""
    assert Path(folder).parent == deep / "onepull"
    for level in (Path(folder), *Path(folder).parents[:4]):
        assert stat.S_IMODE(level.stat().st_mode) == 0o700


@POSIX
def test_a_folder_that_others_may_read_is_closed(where, tmp_path):
    folder, _ = where(tmp_path)
    Path(folder).chmod(0o755)
    Path(folder).parent.chmod(0o755)
    assert where(tmp_path) == (folder, "")
    assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700
    assert stat.S_IMODE(Path(folder).parent.stat().st_mode) == 0o700


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o2770, 0o1777, 0o702])
@pytest.mark.parametrize("levels", [[0], [1], [0, 1]])
def test_a_folder_of_ours_that_others_may_write_is_closed_and_emptied(
    where, tmp_path, levels, mode
):
    folder, _ = where(tmp_path)
    ours = Path(folder).parent / "notes.txt"
    ours.write_text("text")
    (Path(folder) / "kernel.nbi").write_bytes(sealed("kernel.nbi", b"code"))
    for level in levels:
        [Path(folder), *Path(folder).parents][level].chmod(mode)
    assert where(tmp_path) == (folder, "")
    assert list(Path(folder).iterdir()) == []
    assert sorted(Path(folder).parent.iterdir()) == sorted([Path(folder), ours])
    for place in (Path(folder), Path(folder).parent):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o770])
@pytest.mark.parametrize("level", [2, 3])
def test_a_folder_that_others_may_write_is_not_used(where, tmp_path, level, mode):
    cache = tmp_path / "outer place" / "cache"
    folder, _ = where(cache)
    open_to_all = [Path(folder), *Path(folder).parents][level]
    open_to_all.chmod(mode)
    elsewhere, told = where(cache)
    assert elsewhere != folder
    (line,) = told.splitlines()
    assert line == (
        "onepull: compiled code is not kept after this run: "
        f"other users may write to {open_to_all} (mode 0{mode:o}); "
        f"to prevent that: chmod go-w {shlex.quote(str(open_to_all))}"
    )
    subprocess.run(line.partition("to prevent that: ")[2], shell=True, check=True)  # noqa: S602
    assert where(cache) == (folder, "")


@POSIX
def test_a_sticky_folder_may_be_shared(where, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    folder, told = where(tmp_path / "shared")
    assert told == ""
    assert Path(folder).is_relative_to(tmp_path / "shared" / "onepull")


@POSIX
def test_a_link_is_followed_to_a_folder_that_is_checked(where, tmp_path):
    good, bad = tmp_path / "good", tmp_path / "bad"
    for place in (good, bad):
        place.mkdir()
        (tmp_path / f"to {place.name}").symlink_to(place)
    bad.chmod(0o777)
    folder, told = where(tmp_path / "to good")
    assert (Path(folder).parents[1], told) == (good, "")
    _, told = where(tmp_path / "to bad")
    assert f"other users may write to {bad}" in told
    (good / "onepull").rename(good / "moved")
    (good / "onepull").symlink_to(bad)
    _, told = where(good)
    assert f"other users may write to {bad}" in told
    assert stat.S_IMODE(bad.stat().st_mode) == 0o777  # it may be open on purpose


@POSIX
@pytest.mark.parametrize("mode", [0o700, 0o777])
def test_the_folder_itself_may_not_be_a_link(where, tmp_path, mode):
    folder, _ = where(tmp_path / "cache")
    elsewhere = tmp_path / "elsewhere"
    Path(folder).rename(elsewhere)
    elsewhere.chmod(0o755)
    Path(folder).symlink_to(elsewhere)
    Path(folder).parent.chmod(mode)
    _, told = where(tmp_path / "cache")
    assert told.endswith(f"{folder} is not a folder")
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o755


def test_a_file_where_the_folder_should_be(tmp_path):
    (tmp_path / "onepull").write_text("text")
    folder, told = in_a_process(WHERE, tmp_path)
    assert not Path(folder).exists()  # removed at the end of the process
    assert "compiled code is not kept after this run" in told
    assert (tmp_path / "onepull").read_text() == "text"


@ROOT
@pytest.mark.parametrize("level", range(3))
def test_the_folder_of_another_user_is_not_used(where, tmp_path, level):
    folder, _ = where(tmp_path / "cache")
    theirs = [Path(folder), *Path(folder).parents][level]
    os.chown(theirs, NOBODY, NOBODY)
    elsewhere, told = where(tmp_path / "cache")
    assert elsewhere != folder
    assert told.endswith(f"{theirs} belongs to another user ({NOBODY})")


PLANT = """
import hashlib, os, pathlib, pickle
os.setgid({who}); os.setuid({who})
class Evil:
    def __reduce__(self):
        return print, ("their code runs",)
planted = 0
for file in pathlib.Path({cache!r}).rglob("*.nb[ic]"):
    contents = pickle.dumps(Evil())
    sealed = hashlib.sha256(file.name.encode() + bytes(1) + contents).digest()
    if not {in_place}:
        file.rename(file.with_suffix(".aside"))
    file.write_bytes(sealed + contents)
    planted += 1
print(planted)
"""
USE = (
    "from onepull.simulation import compiled\n"
    "from onepull.statistics.arm_statistics import moved\n"
    "print(compiled.compiled(moved)(1.0, 2.0, 0.5))"
)


@pytest.fixture
def open_folder():
    """Return a folder that other users can enter, which those of pytest do not let them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@ROOT
def test_what_another_user_planted_is_not_run(open_folder):
    cache = open_folder / "cache"
    cache.mkdir()
    said = in_a_process(USE, cache)
    # As if the folder had been open to all for a while.
    for level in (cache, *cache.rglob("*")):
        level.chmod(0o777)
    planted, _ = in_a_process(
        PLANT.format(who=NOBODY, cache=str(cache), in_place=False), open_folder / "none"
    )
    assert int(planted) == 2
    assert in_a_process(USE, cache)[0] == said[0]
    # The folders are ours again, their files are not.
    for level in (cache, *cache.rglob("*")):
        if level.is_dir():
            level.chmod(0o700)
    assert in_a_process(USE, cache) == said


@ROOT
@pytest.mark.parametrize("in_place", [False, True], ids=["their files", "our files"])
def test_what_another_user_planted_in_our_folder_is_not_run(open_folder, in_place):
    said = in_a_process(USE, open_folder)
    for level in (open_folder / "onepull").rglob("*"):
        level.chmod(0o777)
    (open_folder / "onepull").chmod(0o777)
    code = PLANT.format(who=NOBODY, cache=str(open_folder), in_place=in_place)
    assert in_a_process(code, open_folder / "none")[0] == "2"
    assert in_a_process(USE, open_folder) == said
    assert in_a_process(USE, open_folder) == said


# What is damaged is compiled again


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """Return the files of a function, and a call that says whether its code was found."""
    monkeypatch.setattr(compiled, "cache_folder", lambda: tmp_path)
    compile_it: Any = compiled.compiled

    def call():
        made = compile_it(same)
        assert made(3) == 3
        return bool(made.stats.cache_hits)

    assert not call()
    assert call()
    return sorted(tmp_path.rglob("*.nb[ic]")), call


def flipped(contents):
    place = len(contents) // 2
    return contents[:place] + bytes([contents[place] ^ 1]) + contents[place + 1 :]


def other_first(contents):
    return bytes([contents[0] ^ 1]) + contents[1:]


def seal(file, contents):
    file.write_bytes(sealed(file.name, contents))


DAMAGES = {
    "emptied": lambda file: file.write_bytes(b""),
    "cut off": lambda file: file.write_bytes(file.read_bytes()[:-1]),
    "checksum only": lambda file: file.write_bytes(file.read_bytes()[:32]),
    "a bit": lambda file: file.write_bytes(flipped(file.read_bytes())),
    "first byte": lambda file: file.write_bytes(other_first(file.read_bytes())),
    "longer": lambda file: file.write_bytes(file.read_bytes() + b"x"),
    "a pickle": lambda file: file.write_bytes(pickle.dumps({})),
    "nonsense": lambda file: file.write_bytes(b"\x80\x05nonsense" * 100),
    "removed": lambda file: file.unlink(),
    "sealed, of a missing module": lambda file: seal(file, b"cno_such_module\nname\n."),
    "sealed, of a missing name": lambda file: seal(file, b"cos\nno_such_name\n."),
    "sealed, no pickle": lambda file: seal(file, b"text"),
    "sealed, empty": lambda file: seal(file, b""),
    "sealed, another type": lambda file: seal(file, pickle.dumps(3)),
    "sealed, a pair of other types": lambda file: seal(file, pickle.dumps(("", 3))),
    "sealed, of another version": lambda file: seal(file, pickle.dumps(("1", {}))),
}


@pytest.mark.parametrize("number", [0, 1], ids=["index", "data"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_replaced(cached, damage, number):
    files, call = cached
    assert sorted(file.suffix for file in files) == [".nbc", ".nbi"]
    damage(next(file for file in files if file.suffix == (".nbi", ".nbc")[number]))
    assert not call()
    assert call()


@POSIX
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_is_no_file_is_replaced(cached, kind, suffix):
    files, call = cached
    file = next(file for file in files if file.suffix == suffix)
    if kind == "link":
        file.symlink_to(file.rename(file.with_suffix(".moved")))
    else:
        file.unlink()
        os.mkfifo(file)
    assert not call()
    assert call()


def test_files_of_two_functions_cannot_be_exchanged(tmp_path):
    name = tmp_path / "one.nbc"
    name.write_bytes(sealed("one.nbc", b"code"))
    assert read_sealed(name) == b"code"
    with pytest.raises(OSError, match="damaged"):
        read_sealed(name.rename(tmp_path / "other.nbc"))


def test_an_interrupt_leaves_no_part_of_a_file(cached, monkeypatch):
    files, call = cached
    for file in files:
        file.unlink()

    def interrupted(_self, _target):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            call()
    assert [file for file in files[0].parent.iterdir() if file.is_file()] == []
    assert not call()


# A full disk


@POSIX
def test_code_that_cannot_be_kept_runs_and_the_folder_is_named(where, tmp_path):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))"
    out, told = in_a_process(f"{limit}\n{USE}", tmp_path)
    assert out == in_a_process(USE, tmp_path)[0]
    folder, _ = where(tmp_path)
    assert told == f"onepull: compiled code cannot be kept in {folder}: File too large"
    assert not list(tmp_path.rglob("*.part"))


def test_a_disk_without_space_is_named_and_not_used(tmp_path, small_disk):
    with suppress(OSError), (small_disk / "all").open("wb", buffering=0) as file:
        while file.write(bytes(1024)):
            pass
    out, told = in_a_process(USE, small_disk)
    assert out == in_a_process(USE, tmp_path)[0]
    assert "compiled code is not kept after this run" in told
    assert "No space left on device" in told


def test_an_inlined_function_is_for_compiled_code_only():
    def half(value):
        return value / 2

    inside = inlined(half)
    outside = compiled.compiled(lambda value: inside(value) + 1, keep=False)
    assert outside(3) == 2.5
    with pytest.raises(TypeError, match="half is for compiled code"):
        inside(3)
    assert inlined(half, from_python=True)(3) == 1.5
