"""Files that hold code: kept where no other user can write, and checked before they are read.

What the same user writes is trusted, as it is for every program that this user runs.  A key for
the checksums would have to lie where the same user can read it, so it would protect from nobody.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

DIGEST = hashlib.sha256
# A path may be replaced by another kind of file; opening a pipe must not wait for a writer.
READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
READ |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class UntrustedError(OSError):
    """A file or folder that another user may have written, or that is damaged."""


def private_folder(path: Path, *, own: int) -> Path:
    """Create a folder that only this user can use, and return its path without links.

    Parameters
    ----------
    own
        How many of the last folders in the path are ours: they belong to this user and get the
        mode 0700.  The last of them must not be a link, and is replaced by an empty folder if
        others could write to any of them.  All folders above must belong to this user or to
        root, and must not be writable by others unless they are sticky, as /tmp is.  The same
        holds for folders of ours that are found through a link.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     made = private_folder(Path(place) / "onepull" / "kernels", own=2)
    ...     oct(made.stat().st_mode & 0o777), oct(made.parent.stat().st_mode & 0o777)
    ('0o700', '0o700')
    """
    folder = path.parent.resolve() / path.name  # others may have made a link in an open folder
    for level in reversed([folder, *folder.parents]):
        if not level.exists():
            level.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "geteuid"):
        # Beginning at the root: what is below a trusted folder cannot be replaced meanwhile.
        for level in reversed(folder.parents[own - 1 :]):
            _check_shared(level)
        # A link may lead to a folder with another purpose, which may be open on purpose.
        is_linked = folder != path.parents[own - 1].resolve().joinpath(*path.parts[-own:])
        was_open = False
        for level in reversed([folder, *folder.parents][:own]):
            was_open |= _is_open(level)
            if was_open and is_linked:
                raise _open_error(level)
            if was_open and level == folder:
                _replace(folder)
            if stat.S_IMODE(level.lstat().st_mode) != stat.S_IRWXU:
                level.chmod(stat.S_IRWXU)
    return folder


def _check_shared(folder: Path) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise UntrustedError(f"{folder} is not a folder")
    if found.st_uid not in (0, os.geteuid()):
        raise UntrustedError(f"{folder} belongs to another user ({found.st_uid})")
    if found.st_mode & BY_OTHERS and not found.st_mode & stat.S_ISVTX:
        raise _open_error(folder)


def _is_open(folder: Path) -> bool:
    """Check that a folder is ours; return whether others may write to it."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise UntrustedError(f"{folder} is not a folder")
    if found.st_uid != os.geteuid():
        raise UntrustedError(f"{folder} belongs to another user ({found.st_uid})")
    return bool(found.st_mode & BY_OTHERS)


def _replace(folder: Path) -> None:
    """Replace a folder by an empty one.

    The owner of a file is no proof: others may have written into our files, or moved files of ours
    here.  The folder is renamed before its mode changes, so no process takes it for a closed one.
    """
    aside = folder.with_name(f"pruned-{uuid4().hex}")
    with suppress(FileNotFoundError):  # another process was faster
        folder.rename(aside)
    folder.mkdir(mode=0o700, exist_ok=True)
    if _is_open(folder):
        raise _open_error(folder)
    shutil.rmtree(aside, ignore_errors=True)


def _open_error(folder: Path) -> UntrustedError:
    return UntrustedError(
        f"other users may write to {folder} (mode {stat.S_IMODE(folder.lstat().st_mode):04o}); "
        f"to prevent that: chmod go-w {shlex.quote(str(folder))}"
    )


def sealed(name: str, contents: bytes) -> bytes:
    """Return contents with a checksum of them and of the file's name in front.

    >>> len(sealed("kernel.nbc", b"code")) - len(b"code")
    32
    """
    return _digest(name, contents) + contents


def read_sealed(path: str | Path) -> bytes:
    """Return the contents of a file that `sealed` made and that belongs to this user.

    Raises `UntrustedError`, an `OSError`, if the file is damaged or another user's.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     file = Path(place) / "kernel.nbc"
    ...     _ = file.write_bytes(sealed("kernel.nbc", b"code"))
    ...     read_sealed(file)
    b'code'
    """
    with os.fdopen(os.open(path, READ), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise UntrustedError(f"{path} is not a file")
        if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
            raise UntrustedError(f"{path} belongs to another user ({found.st_uid})")
        whole = file.read()
    size = DIGEST().digest_size
    if len(whole) < size or _digest(Path(path).name, whole[size:]) != whole[:size]:
        raise UntrustedError(f"{path} is damaged")
    return whole[size:]


def _digest(name: str, contents: bytes) -> bytes:
    return DIGEST(name.encode() + b"\0" + contents).digest()
