"""Atomic writes: the old file or the new one, with its mode, after kills and on full disks."""

from __future__ import annotations

import errno
import gc
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from onepull import InputError
from onepull.atomic_files import write

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def in_child(work):
    """Run a function in a forked process; return what `waitpid` says of it."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = work() or 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o400, 0o666, 0o777])
def test_a_replaced_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    write(path, b"new")
    assert path.read_bytes() == b"new"
    assert mode_of(path) == mode


@root_only
def test_a_replaced_file_keeps_its_owner(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, 1234, 4321)
    write(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


@pytest.fixture
def open_folder():
    """A folder in which every user may write; the usual ones are closed to other users."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


def as_other_user(work):
    """Run a function in a forked process of a user with few rights; return its exit code."""

    def limited():
        os.setgroups([])
        os.setgid(4321)
        os.setuid(1234)
        return work()

    return in_child(limited)


@root_only
def test_a_group_that_cannot_be_kept_loses_its_rights(open_folder):
    path = open_folder / "file"
    path.write_bytes(b"old")
    path.chmod(0o664)
    assert as_other_user(lambda: write(path, b"new")) == 0
    assert path.read_bytes() == b"new"
    assert path.stat().st_uid == 1234
    assert mode_of(path) == 0o604


@root_only
@pytest.mark.parametrize(
    ("mode", "kept"), [(0o604, 0o600), (0o647, 0o604), (0o666, 0o606), (0o770, 0o700)]
)
def test_a_group_that_cannot_be_kept_gains_no_rights_as_others(open_folder, mode, kept):
    path = open_folder / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    assert as_other_user(lambda: write(path, b"new")) == 0
    assert mode_of(path) == kept


@root_only
def test_an_owner_that_the_system_does_not_know_is_not_kept(open_folder):
    """In a user namespace that maps one user, `chown` to any other is an invalid argument."""
    path = open_folder / "file"
    path.write_bytes(b"old")
    os.chown(path, 1234, 4321)
    path.chmod(0o666)
    code = "import sys; from onepull.atomic_files import write; write(sys.argv[1], b'new')"
    command = ["unshare", "--user", "--map-root-user", sys.executable, "-c", code, str(path)]
    if (
        not shutil.which("unshare")
        or subprocess.run(["unshare", "--user", "true"], check=False).returncode  # noqa: S607
    ):
        pytest.skip("the system has no user namespaces")
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert path.read_bytes() == b"new"
    assert (path.stat().st_uid, path.stat().st_gid) == (0, 0)
    assert mode_of(path) == 0o606


@pytest.mark.parametrize("number", [errno.EPERM, errno.EINVAL, errno.ENOTSUP, errno.ENOSYS])
def test_a_disk_that_refuses_modes_gets_the_stricter_one(tmp_path, monkeypatch, number):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o644)

    def refuse(_file, _mode):
        raise OSError(number, os.strerror(number))

    # As FAT and CIFS do, which cannot be mounted everywhere.
    monkeypatch.setattr(os, "fchmod", refuse)
    write(path, b"new")
    assert path.read_bytes() == b"new"
    assert mode_of(path) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def at_every_line(work, seen):
    """Run a function, and call `seen` with a number before each line that it executes."""
    count = 0

    def trace(_frame, event, _value):
        nonlocal count
        if event in ("line", "return"):
            count += 1
            seen(count)
        return trace

    before = sys.gettrace()
    gc.disable()  # what others run after a collection is not part of the work
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o604, 0o400, 0o000, None])
def test_the_part_is_never_more_open_than_the_file(tmp_path, mode, umask):
    path, part = tmp_path / "file", tmp_path / ".file.part"
    if mode is not None:
        path.write_bytes(b"old")
        path.chmod(mode)
    modes = set()

    def seen(_count):
        if part.exists():
            modes.add(mode_of(part))

    before = os.umask(umask)
    try:
        at_every_line(lambda: write(path, b"new"), seen)
    finally:
        os.umask(before)
    assert modes
    assert mode_of(path) == (0o666 & ~umask if mode is None else mode)
    for found in modes:
        assert found & 0o077 & ~mode_of(path) == 0


# An interrupt just after the part was opened leaves it to the interpreter to close it.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.parametrize("replaced", [True, False])
def test_an_interrupt_goes_on_and_removes_no_part_of_another_process(tmp_path, replaced):
    path, part = tmp_path / "file", tmp_path / ".file.part"
    written = 0

    def prepare():
        part.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        if replaced:
            path.write_bytes(b"old")

    prepare()
    total = at_every_line(lambda: write(path, b"new"), lambda _count: None)
    for i in range(1, total + 1):
        prepare()
        is_theirs = False

        def interrupt(count, i=i):
            nonlocal is_theirs
            if count < i:
                return
            if path.exists() and path.read_bytes() == b"new":  # the name of the part is free
                part.write_bytes(b"theirs")
                is_theirs = True
            raise KeyboardInterrupt

        try:
            at_every_line(lambda: write(path, b"new"), interrupt)
        except KeyboardInterrupt:
            pass
        else:  # there were fewer lines than at the first time, which may fill caches
            continue
        assert part.exists() >= is_theirs
        assert not path.exists() or path.read_bytes() in (b"old", b"new")
        if is_theirs:
            assert part.read_bytes() == b"theirs"
            written += 1
        else:  # what an interrupt leaves is not locked
            write(path, b"new")
            assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert 0 < written < total


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o027, 0o077])
def test_a_new_file_gets_the_mode_of_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        write(tmp_path / "file", b"new")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "file") == 0o666 & ~umask


def test_links_are_followed(tmp_path):
    folder = tmp_path / "real"
    folder.mkdir()
    (folder / "file").write_bytes(b"old")
    (tmp_path / "second").symlink_to("real/file")
    (tmp_path / "first").symlink_to("second")
    write(tmp_path / "first", b"new")
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert (folder / "file").read_bytes() == b"new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["first", "real", "second"]


def test_a_dangling_link_gets_its_file(tmp_path):
    (tmp_path / "link").symlink_to("file")
    write(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_link_into_a_missing_folder_is_an_error(tmp_path):
    (tmp_path / "link").symlink_to("missing/file")
    with pytest.raises(FileNotFoundError, match="link"):
        write(tmp_path / "link", b"new")


def test_a_circle_of_links_is_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        write(tmp_path / "a", b"new")
    assert (tmp_path / "a").is_symlink()


def test_a_folder_is_not_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="folder"):
        write(tmp_path / "folder", b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing/file'$"):
        write(tmp_path / "missing" / "file", b"new")


@root_only
def test_a_read_only_folder_is_named(open_folder):
    path = open_folder / "file"
    path.write_bytes(b"old")
    open_folder.chmod(0o555)

    def work():
        try:
            write(path, b"new")
        except PermissionError as error:
            return 0 if str(error).endswith(f"{str(path)!r}") else 2

    assert as_other_user(work) == 0
    assert path.read_bytes() == b"old"
    assert [p.name for p in open_folder.iterdir()] == ["file"]


def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def work():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write(path, b"n" * 5000)
        except OSError as error:
            return 0 if str(path) in str(error) else 2

    assert in_child(work) == 0
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write(pipe, b"new")
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_the_longest_name_can_be_written(tmp_path):
    for name in ("n" * 255, "ü" * 127):
        write(tmp_path / name, b"new")
        assert (tmp_path / name).read_bytes() == b"new"


@pytest.mark.parametrize("path", [3, None, b"file", "", "a\0b", ["file"], 1.5, True])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(InputError, match="a path must be text or a Path"):
        write(path, b"new")


def test_kills_leave_a_whole_file_and_at_most_one_part(tmp_path):
    program = Path(__file__).with_name("file_kills.py")
    path = tmp_path / "file"
    done = subprocess.run(
        [sys.executable, program, path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout), "no kill hit a write; the test shows nothing"
    write(path, b"last")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_part_that_is_being_written_is_left_alone(tmp_path):
    """Several processes write the same file at once, and some are killed."""
    path = tmp_path / "file"
    texts = [bytes([97 + i]) * 20_000 * (i + 1) for i in range(4)]

    def forever(text):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for _ in range(30):
                    write(path, text)
                code = 0
            finally:
                os._exit(code)
        return child

    children = [forever(text) for text in texts]
    time.sleep(0.02)
    os.kill(children[0], signal.SIGKILL)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert codes[0] in (-signal.SIGKILL, 0)
    assert codes[1:] == [0, 0, 0]
    assert path.read_bytes() in texts
    assert len(list(tmp_path.iterdir())) <= 2


def test_a_leftover_that_is_a_link_is_not_followed(tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"kept")
    (tmp_path / ".file.part").symlink_to("other")
    write(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert other.read_bytes() == b"kept"


def test_a_path_may_be_relative_to_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("file", b"one")
    write(Path("file"), b"two")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"two"
