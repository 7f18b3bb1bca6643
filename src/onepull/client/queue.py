"""Observations that could not be delivered yet: in memory, or in a file that survives a crash."""

from __future__ import annotations

import logging
import os
import threading
from abc import ABC, abstractmethod
from collections import deque
from itertools import islice
from typing import Any, TypeAlias

import msgspec

from onepull.atomic_files import path_of
from onepull.checks import whole_number
from onepull.errors import StoreError

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows
    fcntl = None  # type: ignore[assignment]

LOGGER = logging.getLogger("onepull.client")

Entry: TypeAlias = dict[str, Any]
MOST_QUEUED = 100_000


class ObservationQueue(ABC):
    """Keeps observations in order until they are delivered.

    All methods may be called from any thread.  What was delivered and is still kept, because of a
    crash, is delivered again, which does no harm: an id counts once.

    Attributes
    ----------
    dropped
        How many were dropped because the queue was full; the oldest go first.
    """

    dropped: int = 0

    @abstractmethod
    def put(self, entries: list[Entry]) -> None:
        """Keep observations."""

    @abstractmethod
    def first(self, count: int) -> list[Entry]:
        """Return the oldest ones without removing them."""

    @abstractmethod
    def delivered(self, count: int) -> None:
        """Remove the oldest ones."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how many are kept."""

    def close(self) -> None:  # noqa: B027 - a queue in memory has nothing to close
        """Let go of files."""


class MemoryQueue(ObservationQueue):
    """A queue that ends with the process.

    Examples
    --------
    >>> queue = MemoryQueue(most=2)
    >>> queue.put([{"id": "1"}, {"id": "2"}, {"id": "3"}])
    >>> queue.first(9), queue.dropped
    ([{'id': '2'}, {'id': '3'}], 1)
    """

    def __init__(self, *, most: int = MOST_QUEUED) -> None:
        self._most = whole_number("most", most)
        self._entries: deque[Entry] = deque()
        self._lock = threading.Lock()

    def put(self, entries: list[Entry]) -> None:
        """Keep observations."""
        with self._lock:
            self._add(entries)

    def _add(self, entries: list[Entry]) -> None:
        self._entries.extend(entries)
        while len(self._entries) > self._most:
            self._entries.popleft()
            self.dropped += 1

    def first(self, count: int) -> list[Entry]:
        """Return the oldest ones without removing them."""
        with self._lock:
            return list(islice(self._entries, count))

    def delivered(self, count: int) -> None:
        """Remove the oldest ones."""
        with self._lock:
            self._drop(count)

    def _drop(self, count: int) -> None:
        for _ in range(min(count, len(self._entries))):
            self._entries.popleft()

    def __len__(self) -> int:
        """Return how many are kept."""
        return len(self._entries)

    def close(self) -> None:
        """Warn how many observations are lost."""
        if self._entries:
            LOGGER.warning(
                "observations that waited in memory and are lost: %d; queue=… keeps them in a file",
                len(self._entries),
            )


class FileQueue(MemoryQueue):
    """A queue in a file, an observation a line; on disk when `put` returns.

    One process at a time uses a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     queue = FileQueue(Path(folder, "observations"))
    ...     queue.put([{"id": "1"}, {"id": "2"}])
    ...     queue.delivered(1)
    ...     queue.close()
    ...     again = FileQueue(Path(folder, "observations"))
    ...     again.first(9)
    ...     again.close()
    [{'id': '1'}, {'id': '2'}]
    """

    def __init__(self, path: str | os.PathLike[str], *, most: int = MOST_QUEUED) -> None:
        super().__init__(most=most)
        self._path = path_of(path)
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._own()
            self._entries.extend(self._read())
        except BaseException:
            os.close(self._file)
            raise

    def _own(self) -> None:
        if fcntl is None:  # pragma: no cover - not on Windows
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StoreError(
                f"{self._path} is in use by another process; give each its own queue"
            ) from None

    def _read(self) -> list[Entry]:
        """Return the observations in a file, without a last line that a crash has cut off."""
        text = b""
        while piece := os.pread(self._file, 1 << 20, len(text)):
            text += piece
        *lines, cut = text.split(b"\n")
        if cut:
            os.ftruncate(self._file, len(text) - len(cut))
        try:
            return [msgspec.json.decode(line, type=Entry) for line in lines]
        except msgspec.DecodeError as error:
            raise StoreError(f"{self._path} is not a queue of observations: {error}") from None

    def put(self, entries: list[Entry]) -> None:
        """Keep observations; they are on disk when this returns."""
        text = b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries)
        with self._lock:
            before = os.fstat(self._file).st_size
            try:
                view = memoryview(text)
                while view:
                    view = view[os.write(self._file, view) :]
                os.fsync(self._file)
            except OSError as error:
                os.ftruncate(self._file, before)
                raise StoreError(f"{self._path}: {error.strerror or error}") from error
            self._add(entries)

    def delivered(self, count: int) -> None:
        """Remove the oldest ones; the file is emptied when all are delivered."""
        with self._lock:
            self._drop(count)
            if not self._entries:
                os.ftruncate(self._file, 0)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1


def open_queue(given: Any) -> ObservationQueue:
    """Return a queue: in memory for None, in a file for a path.

    >>> type(open_queue(None)).__name__
    'MemoryQueue'
    """
    if isinstance(given, ObservationQueue):
        return given
    return MemoryQueue() if given is None else FileQueue(given)
