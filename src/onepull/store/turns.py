"""Turns of processes that write to one file, so that a busy one lets others in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows
    fcntl = None  # type: ignore[assignment]


class Turns:
    """Says whether another process waits to write.

    SQLite has no queue: who commits again at once keeps others waiting.  So a process that waits
    holds a shared lock on a file beside the log, and a process that has just written looks whether
    anybody does.  The locks end with the process, whatever ends it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     one, two = Turns(Path(folder, "turns")), Turns(Path(folder, "turns"))
    ...     with one.waiting():
    ...         is_wanted = two.is_wanted()
    ...     is_wanted, two.is_wanted()
    ...     one.close()
    ...     two.close()
    (True, False)
    """

    def __init__(self, path: Path) -> None:
        self._files: tuple[int, ...] = ()
        if fcntl is not None:
            with suppress(OSError):  # then there are no turns
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
                self._files = tuple(os.open(path, flags, 0o666) for _ in range(2))

    @contextmanager
    def waiting(self) -> Iterator[bool]:
        """Tell other processes during a block that this one waits; yield True."""
        if not self._files:
            yield True
            return
        with suppress(OSError):
            fcntl.flock(self._files[0], fcntl.LOCK_SH | fcntl.LOCK_NB)
        try:
            yield True
        finally:
            with suppress(OSError):
                fcntl.flock(self._files[0], fcntl.LOCK_UN)

    def is_wanted(self) -> bool:
        """Return whether anybody waits, other than this process."""
        if not self._files:
            return False
        try:
            fcntl.flock(self._files[1], fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(self._files[1], fcntl.LOCK_UN)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            os.close(file)
        self._files = ()
