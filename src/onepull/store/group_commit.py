"""One thread that writes for all: whoever waits while the disk is busy shares the next write."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from onepull.errors import StoreError
from onepull.store.events import Decided, Event, decode, encode_all, set_place
from onepull.store.forks import Forkable
from onepull.store.store import Appended, Follower, Stored

LINGER = 0.05  # seconds that recorded events wait for others
MOST_TOGETHER = 4000  # events in one transaction, so that other processes get their turn
MOST_UNWRITTEN = 200_000  # recorded events that may wait for a disk that has failed or is slow

Rows: TypeAlias = Sequence[tuple[Event, bytes]]  # events, each with its written form
Commit: TypeAlias = Callable[[list[Rows]], list[list[Appended]]]


class Job(NamedTuple):
    """The events of one call, with their written forms, and who waits for them."""

    rows: Rows
    future: Future[list[Appended]] | None  # None if nobody waits


class GroupCommit(Forkable):
    """A queue of events and the thread that commits them.

    `commit` gets the events of several calls, stores them in one transaction, and returns what
    became of each.  If it raises, all of these calls raise the same, and it is not tried again.

    Attributes
    ----------
    lost
        The recorded events that were not stored.

    Examples
    --------
    >>> group = GroupCommit(lambda jobs: [[Appended(7) for _ in events] for events in jobs])
    >>> group.submit([Event()]).result()
    [Appended(seq=7, before=None)]
    >>> group.close()
    """

    def __init__(self, commit: Commit) -> None:
        self._commit = weakref.WeakMethod(commit) if hasattr(commit, "__self__") else lambda: commit
        self._followers: list[tuple[str, weakref.WeakMethod[Follower]]] = []
        self._start()
        self._follow_forks()

    def _start(self) -> None:
        self._queue: deque[Job | Event] = deque()  # an event alone is a recorded one
        self._wake, self._hurry = threading.Event(), threading.Event()
        self._lock, self._committing = threading.Lock(), threading.RLock()
        self._thread: threading.Thread | None = None
        self._is_open = True
        self.lost = 0
        self.trouble = ""  # why the last commit failed

    def _after_fork_in_child(self) -> None:
        was_open = self._is_open
        self._start()  # what waits is the parent's
        self._is_open = was_open

    def submit(self, events: Sequence[Event]) -> Future[list[Appended]]:
        """Commit events as soon as the disk is free; the future has the result."""
        rows = [*zip(events, encode_all(events), strict=True)]  # raises here, not for others
        future: Future[list[Appended]] = Future()
        self._hurry.set()  # before the writer wakes, so that it need not wait a second time
        self._put(Job(rows, future))
        self._hurry.set()  # it may have been cleared for an earlier job
        return future

    def record(self, event: Event) -> None:
        """Commit an event with the next ones; it is dropped if too many wait."""
        if len(self._queue) >= MOST_UNWRITTEN:
            self.lost += 1
            return
        self._put(event)

    def _put(self, job: Job | Event) -> None:
        # Checked and queued at once: what is queued is committed by the thread, never by a caller,
        # who may hold a lock that a follower needs.
        with self._lock:
            if not self._is_open:
                raise StoreError("the store is closed")
            self._queue.append(job)
            if self._thread is None:
                self._begin()
        if not self._wake.is_set():
            self._wake.set()

    def _begin(self) -> None:
        self._thread = threading.Thread(
            target=_write, args=(weakref.ref(self),), name="onepull-store", daemon=True
        )
        self._thread.start()

    def wait_for_work(self) -> bool:
        """Wait for something to do, but not for long; return whether to go on."""
        self._wake.wait(1.0)
        if not self._wake.is_set():
            return True  # look from time to time whether anybody still needs this thread
        self._wake.clear()
        if self._is_open:
            self._hurry.wait(LINGER)
        self._hurry.clear()
        return self._is_open

    def commit_all(self) -> None:
        """Commit what waits, in transactions of limited size."""
        with self._committing:
            while self._queue:
                self._commit_jobs(self._next_jobs())

    def _next_jobs(self) -> list[Job]:
        """Take jobs from the queue; recorded events that follow each other are one job."""
        jobs: list[Job] = []
        recorded: list[Event] = []
        count = 0
        while self._queue and count < MOST_TOGETHER:
            job = self._queue.popleft()
            if isinstance(job, Job):
                jobs += self._recorded(recorded)
                recorded = []
                jobs.append(job)
                count += len(job.rows)
            else:
                recorded.append(job)
                count += 1
        return jobs + self._recorded(recorded)

    def _recorded(self, events: list[Event]) -> list[Job]:
        """Return a job of recorded events, without those that cannot be written."""
        if not events:
            return []
        try:
            return [Job([*zip(events, encode_all(events), strict=True)], None)]
        except Exception:  # noqa: BLE001 - nobody waits for it, and others must not suffer
            if len(events) > 1:
                return [job for event in events for job in self._recorded([event])]
            self.lost += 1
            return []

    def _commit_jobs(self, jobs: list[Job]) -> None:
        try:
            commit = self._commit()
            if commit is None:
                raise StoreError("the store is closed")  # noqa: TRY301 - told like any other
            results = commit([job.rows for job in jobs])
        except BaseException as error:  # noqa: BLE001 - the thread must live, and the callers learn it
            self.trouble = str(error)
            self.lost += sum(len(job.rows) for job in jobs if job.future is None)
            for job in jobs:
                if job.future is not None and job.future.set_running_or_notify_cancel():
                    job.future.set_exception(error)
            return
        self.trouble = ""
        self._tell_followers(jobs, results)
        for job, result in zip(jobs, results, strict=True):
            if job.future is not None and job.future.set_running_or_notify_cancel():
                job.future.set_result(result)

    def follow(self, problem: str, follower: Follower) -> None:
        """Call a method with what each commit stored of a problem, while its object lives."""
        self._followers.append((problem, weakref.WeakMethod(follower)))

    def _tell_followers(self, jobs: list[Job], results: list[list[Appended]]) -> None:
        # Before those who wait: they then find the work done, instead of queueing for it.
        new = [
            (done.seq, event, body, job.future)
            for job, all_done in zip(jobs, results, strict=True)
            for (event, body), done in zip(job.rows, all_done, strict=True)
            if done.before is None
        ]
        for problem, ref in list(self._followers) if new else ():
            follower = ref()
            if follower is None:
                self._followers.remove((problem, ref))
                continue
            with suppress(Exception):  # it tells its own troubles
                own = [_as_read(*each) for each in new if each[1].problem == problem]
                if own:
                    follower(Stored(new[0][0] - 1, new[-1][0], own))

    def close(self) -> None:
        """Commit what waits, and end the thread."""
        with self._lock:
            self._is_open = False
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            self._wake.set()
            self._hurry.set()
            thread.join()
        self.commit_all()


def _as_read(seq: int, event: Event, body: bytes, future: Future[Any] | None) -> Any:
    """Return an event as it is read from the log, so that all processes learn the same."""
    if future is None and type(event) is Decided:  # from which nothing is learned
        set_place(event, seq)
        return event
    return decode(body, seq=seq, problem=event.problem)


def _write(ref: weakref.ref[GroupCommit]) -> None:
    """Commit until the group is closed or nobody holds it any more."""
    while True:
        group = ref()
        if group is None:
            return
        goes_on = group.wait_for_work()
        group.commit_all()
        if not goes_on:
            return
        del group
