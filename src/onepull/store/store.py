"""The contract of a log that lasts."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

from onepull.store.events import Event, Slot

EVENTS_AT_ONCE = 2000  # events that are read at once
KEPT_SNAPSHOTS = 2  # snapshots of a problem: the one before, should the newest be damaged


class Appended(NamedTuple):
    """What became of an event that was appended.

    Attributes
    ----------
    seq
        Its place in the log, or that of the event already stored.
    before
        The event that was stored already and stays, FORGOTTEN if it was deleted since; None if
        this event was stored.
    """

    seq: int
    before: Any = None


class Stored(NamedTuple):
    """What one commit stored of a problem: the newest part of the log, with nothing between.

    Attributes
    ----------
    before
        The number of the last event before the commit, of any problem.
    last
        The number of its last event, of any problem.
    events
        Its events of the problem, as they are read from the log.
    """

    before: int
    last: int
    events: list[Any]


Follower: TypeAlias = Callable[[Stored], Any]


class Forgotten:
    """Stands for an event that was deleted from the log, while its id is still known.

    >>> from onepull.store.store import FORGOTTEN
    >>> FORGOTTEN
    FORGOTTEN
    """

    def __repr__(self) -> str:
        """Return its name."""
        return "FORGOTTEN"


FORGOTTEN = Forgotten()


class Snapshot(NamedTuple):
    """The state of one problem after an event; checked when it is read."""

    seq: int
    body: bytes

    @property
    def checksum(self) -> int:
        """The checksum that is stored with it."""
        return zlib.crc32(self.body, self.seq & 0xFFFFFFFF)


class Store(ABC):
    """A log of events, for any number of problems, processes and threads.

    A caller can rely on this:

    - **Order.** Every event gets a sequence number: 1, 2, 3 and so on, over all problems and all
      processes.  Who reads up to a number has read everything up to it: no event with a lower
      number appears later.
    - **Durable.** When `append` returns, or the result of `submit` is there, the events are on
      disk and survive a loss of power.  `record` promises nothing: its events are stored
      together with the next ones, or after 50 milliseconds.  Events of one thread keep their
      order, whichever of the three wrote them.
    - **All or nothing.** The events of one call are stored together or not at all.
    - **Once.** Events with an id have a slot, such as its decision or its outcome.  The first
      event of a slot is stored.  A later one is not: it gets the one before as its answer.
    - **Errors.** If the disk or the connection fails, all waiting calls raise StoreError and
      `is_healthy` is False until the store has opened anew.  Whether their events were stored is
      then unknown.  Give them again: what was stored is not stored twice.
    - **Threads and processes.** All methods may be called from any thread.  After a fork the
      child opens its own connections; events that wait are written by the parent alone.

    Examples
    --------
    >>> from onepull.store import MemoryStore, Paused
    >>> store = MemoryStore()
    >>> store.append([Paused(problem="default", arm="wifi")])
    [Appended(seq=1, before=None)]
    >>> [event.arm for event in store.read("default")]
    ['wifi']
    """

    lasts: ClassVar[bool] = True  # whether the log is there after the process has ended

    # Writing

    @abstractmethod
    def submit(self, events: Sequence[Event]) -> Future[list[Appended]]:
        """Store events; the future has its result when they are on disk."""

    @abstractmethod
    def record(self, event: Event) -> None:
        """Store an event in the background, without waiting for the disk or raising its errors."""

    def append(self, events: Sequence[Event]) -> list[Appended]:
        """Store events, and return when they are on disk."""
        return self.submit(events).result()

    def flush(self) -> None:
        """Wait until everything that was recorded so far is on disk."""
        self.append([])

    def follow(self, problem: str, follower: Follower) -> None:  # noqa: B027 - optional
        """Call a method with what was stored here of a problem, before `append` returns.

        A store may leave it out.  It ends when the object of the method is gone.
        """

    # Reading

    @abstractmethod
    def read(
        self, problem: str, *, after: int = 0, until: int | None = None, limit: int = EVENTS_AT_ONCE
    ) -> list[Any]:
        """Return the events of a problem in order, at most `limit`."""

    def events(self, problem: str, *, after: int = 0, until: int | None = None) -> Iterator[Any]:
        """Yield the events of a problem in order, however many there are."""
        while batch := self.read(problem, after=after, until=until):
            yield from batch
            after = batch[-1].seq

    @property
    @abstractmethod
    def last_sequence(self) -> int:
        """The sequence number of the newest event of any problem, 0 if there is none."""

    @abstractmethod
    def first_sequence(self, problem: str) -> int:
        """Return the number after which all events of a problem are kept; 0 if none was deleted."""

    @abstractmethod
    def of_id(self, problem: str, id_: str) -> dict[Slot, Any]:
        """Return the events of an id by slot."""

    def of_ids(self, problem: str, ids: Sequence[str]) -> dict[str, dict[Slot, Any]]:
        """Return the events of several ids by slot; ids without events are left out."""
        found = ((id_, self.of_id(problem, id_)) for id_ in dict.fromkeys(ids))
        return {id_: slots for id_, slots in found if slots}

    def decision(self, problem: str, id_: str) -> Any:
        """Return the decision with an id, or None."""
        return self.of_id(problem, id_).get(Slot.DECISION)

    def answer(self, problem: str, id_: str) -> Any:
        """Return the outcome of a decision, or None."""
        return self.of_id(problem, id_).get(Slot.OUTCOME)

    @abstractmethod
    def problems(self) -> list[str]:
        """Return the names of the problems that have or had events, in alphabetical order."""

    # Snapshots and retention

    @abstractmethod
    def put_snapshot(self, problem: str, snapshot: Snapshot) -> None:
        """Keep a snapshot, durably; only the newest few are kept."""

    @abstractmethod
    def snapshots(self, problem: str) -> list[Snapshot]:
        """Return the undamaged snapshots of a problem, the newest first."""

    @abstractmethod
    def forget(self, problem: str, *, until: int) -> int:
        """Delete the events of a problem up to a number; return how many were deleted.

        The ids of deleted outcomes are still known, so that none is learned twice.
        """

    # Operating

    @property
    @abstractmethod
    def is_healthy(self) -> bool:
        """Whether the last attempt to write or read succeeded."""

    @property
    def trouble(self) -> str:
        """Why the last attempt to write failed; an empty text if it did not, or is not known."""
        return ""

    @property
    def unrecorded(self) -> int:
        """How many events of `record` were lost, because the disk failed or was too slow."""
        return 0

    @abstractmethod
    def backup(self, path: str | PathLike[str]) -> None:
        """Write a copy of the whole store to a file while it is in use."""

    @abstractmethod
    def integrity(self) -> list[str]:
        """Return what is wrong with the stored data, an empty list if nothing is."""

    @abstractmethod
    def close(self) -> None:
        """Store what was recorded, and close; later calls raise StoreError."""

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the store."""
        self.close()
