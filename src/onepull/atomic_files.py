"""Atomic writes of files."""

from __future__ import annotations

import errno
import itertools
import os
import stat
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import IO, Any

from onepull.errors import InputError

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows
    fcntl = None  # type: ignore[assignment]  # asked for before use

# Flags that not every system has.
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

    A file that is replaced keeps its mode, owner and group where the system allows it; otherwise
    it gets a stricter mode.  A symbolic link is followed.  The text is written to a temporary file
    in the same folder, `.NAME.part`, and synchronised with the disk.  Nobody can read that file
    who cannot read the final one.

    A killed process may leave the temporary file behind.  The same user's next write to the same
    path removes it.  Where the system has no file locks, as on Windows and some network disks, it
    is never removed, because another process may still be writing it; the next write uses
    `.NAME.part1`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Path(folder, "policy.json"), b"{}")
    ...     Path(folder, "policy.json").read_bytes()
    b'{}'
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
    # A new file gets the mode that the umask allows, the replacement of a file gets its mode later.
    part, file = _new_part(target, 0o666 if old is None else 0o600)
    with file:
        ours = os.fstat(file.fileno())
        try:
            if old is not None and fcntl is not None:  # Windows has other access rights
                _copy_access(old, file.fileno())
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            if fcntl is None:
                file.close()  # Windows does not rename open files
            part.replace(target)
        except BaseException:
            # An interrupt may come after the renaming, when the name is free or another process's.
            # While the name is ours it remains so, because the file is locked.
            with suppress(OSError):
                if os.path.samestat(ours, part.lstat()):
                    part.unlink()
            raise
    _sync_folder(target.parent)


def _new_part(target: Path, mode: int) -> tuple[Path, IO[bytes]]:
    """Create and lock a temporary file; return its path and the open file.

    The system subtracts the umask from the mode.

    Each process that writes to the same target at the same time has a number of its own.  The
    lock ends with the process, so a temporary file that can be locked was left by a dead one.
    """

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, mode)

    for i in itertools.count():
        part = target.with_name(f".{target.name[:60]}.part{i or ''}")
        while True:
            try:
                file = open(part, "xb", opener=opener)  # noqa: SIM115 - Path has no opener
            except FileExistsError:
                if _remove_leftover(part):
                    continue
                break
            taken = _lock(file.fileno()) is Lock.TAKEN
            if not taken and os.fstat(file.fileno()).st_nlink:
                return part, file
            file.close()  # another process takes it for a leftover, and removes it
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


def _copy_access(old: os.stat_result, number: int) -> None:
    """Give an open file of mode 0600 the group, mode and owner of the file that it replaces.

    Any of the three may be impossible: for want of rights, because a container does not know the
    owner, or because the disk's file system has no modes.  The file then has a stricter mode.
    """
    mode, new = stat.S_IMODE(old.st_mode) & 0o777, os.fstat(number)
    if new.st_gid != old.st_gid:
        try:
            os.fchown(number, -1, old.st_gid)
        except OSError:
            # The new group was not meant, and the old one now counts among the others.
            mode &= 0o700 | mode >> 3 & 0o007
    with suppress(OSError):
        os.fchmod(number, mode)
    if new.st_uid != old.st_uid:  # last, because only the owner may set the mode
        with suppress(OSError):
            os.fchown(number, old.st_uid, -1)


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
