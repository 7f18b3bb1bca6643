"""Atomic writes of files."""

from __future__ import annotations

import errno
import itertools
import os
import stat
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Any

from onepull.errors import InputError

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows
    fcntl = None  # type: ignore[assignment]

# Flags that not every system has.
BINARY = getattr(os, "O_BINARY", 0)
NO_SPECIAL = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
NO_FOLDER_SYNC = {errno.EINVAL, errno.EACCES, errno.EPERM, errno.ENOTSUP}


def path_of(path: Any) -> Path:
    """Return a path that a user gave; raises `InputError` if it is not one.

    >>> path_of("policy.json").name
    'policy.json'
    """
    if isinstance(path, (str, os.PathLike)) and str(path) and "\0" not in str(path):
        with suppress(UnicodeEncodeError):  # half of a surrogate pair
            os.fsencode(path)
            return Path(path)
    raise InputError(f"a path must be text or a Path, and not empty, given {path!r}")


def write(path: str | os.PathLike[str], text: bytes) -> None:
    """Write a file atomically: a crash leaves either the old file or the new one.

    A file that is replaced keeps its mode and, where the system allows it, its owner and group.
    A symbolic link is followed.  The text is written to a temporary file in the same folder,
    `.NAME.part`, and synchronised with the disk.  A killed process may leave that one file
    behind; the next write to the same path removes it.
    """
    given = path_of(path)
    try:
        _write(given, text)
    except OSError as error:
        # Otherwise it would name the temporary file.
        raise OSError(error.errno, error.strerror, str(given)) from error


def _write(path: Path, text: bytes) -> None:
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    try:
        old = path.stat()
    except FileNotFoundError:
        old = None
    if old is not None and stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if old is not None and not stat.S_ISREG(old.st_mode):
        path.write_bytes(text)  # a pipe or a device must not be replaced by a file
        return
    part, number = _new_part(target)
    with open(number, "wb") as file:  # noqa: PTH123 - an open file, which has no Path
        try:
            if old is not None:
                _copy_access(old, part)
            file.write(text)
            file.flush()
            os.fsync(number)
            if fcntl is None:
                file.close()  # Windows does not rename open files
            part.replace(target)
        except BaseException:
            part.unlink()  # still locked: once it is not, the name may be another process's
            raise
    _sync_folder(target.parent)


def _new_part(target: Path) -> tuple[Path, int]:
    """Create and lock a temporary file; return its path and its file descriptor.

    Each process that writes to the same target at the same time has a number of its own.  The
    lock ends with the process, so a temporary file that can be locked was left by a dead one.
    """
    for i in itertools.count():
        part = target.with_name(f".{target.name[:60]}.part{i or ''}")
        while True:
            try:
                # The system subtracts the umask from the mode.
                number = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | BINARY, 0o666)
            except FileExistsError:
                if _remove_leftover(part):
                    continue
                break
            taken = _lock(number) is Lock.TAKEN
            if not taken and os.fstat(number).st_nlink:
                return part, number
            os.close(number)  # another process takes it for a leftover, and removes it
            if taken:
                break
    raise AssertionError  # pragma: no cover - the numbers do not end


def _remove_leftover(part: Path) -> bool:
    """Remove a temporary file of a dead process; return whether the name is free."""
    try:
        number = os.open(part, os.O_RDONLY | NO_SPECIAL)
    except FileNotFoundError:
        return True
    except OSError:  # not ours
        return False
    try:
        if _lock(number) is not Lock.HELD:
            return False
        if os.path.samestat(os.fstat(number), part.lstat()):
            part.unlink()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    finally:
        os.close(number)
    return True


class Lock(Enum):
    """What came of the attempt to lock a file."""

    HELD = "held by this process"
    TAKEN = "held by another process"
    UNKNOWN = "the system has no locks here"


def _lock(number: int) -> Lock:
    """Lock an open file, without waiting."""
    if fcntl is None:
        return Lock.UNKNOWN
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return Lock.TAKEN
    except OSError:
        return Lock.UNKNOWN
    return Lock.HELD


def _copy_access(old: os.stat_result, part: Path) -> None:
    """Give a new file the owner, group and mode of the file that it replaces."""
    mode, new = stat.S_IMODE(old.st_mode), part.stat()
    if new.st_gid != old.st_gid:
        try:
            os.chown(part, -1, old.st_gid)
        except PermissionError:
            mode &= ~0o070  # what the old group may do, another group may not
    if new.st_uid != old.st_uid:
        with suppress(PermissionError):
            os.chown(part, old.st_uid, -1)
    part.chmod(mode & 0o777)


def _sync_folder(folder: Path) -> None:
    """Make the new name of a file last through a power failure, where folders can be synced."""
    try:
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
    except OSError as error:
        if error.errno not in NO_FOLDER_SYNC:
            raise
