"""Open objects in forks by several threads, and in forks of forks."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from onepull.store import Paused, SQLiteStore
from onepull.store.forks import Forkable
from onepull.store.store import Snapshot

# Python 3.12 and newer warn of every fork beside other threads.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


class Held(Forkable):
    """An object that is held while a thread forks."""

    def __init__(self):
        self.lock = threading.RLock()
        self._follow_forks()

    def _before_fork(self):
        self.lock.acquire()
        time.sleep(0.002)  # so that other threads come to fork meanwhile

    def _after_fork_in_parent(self):
        self.lock.release()

    def _after_fork_in_child(self):
        self.lock = threading.RLock()


def forked(child=lambda: True):
    """Return whether a forked child ends well."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.alarm(20)  # one that waits for ever fails
            code = 0 if child() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_threads_that_fork_at_once_leave_nothing_locked():
    held = [Held() for _ in range(3)]
    well: list[bool] = []

    def fork():
        well.extend(forked() for _ in range(4))

    threads = [threading.Thread(target=fork, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert well == [True] * 16
    assert all(each.lock.acquire(blocking=False) for each in held)


def test_a_child_forks_again():
    held = Held()
    assert forked(lambda: forked() and held.lock.acquire(blocking=False))


def test_what_begins_while_a_thread_waits_to_fork_begins_anew_in_the_child():
    held, begun = Held(), []

    class Busy(Held):
        def _before_fork(self):
            super()._before_fork()
            begun.append(Held())
            begun[0].lock.acquire()  # by a thread that the child does not have

    busy = Busy()

    def is_free():
        taken: list[bool] = []
        other = threading.Thread(target=lambda: taken.append(begun[0].lock.acquire(timeout=1)))
        other.start()
        other.join()
        return taken == [True]

    assert forked(is_free)
    assert busy.lock.acquire(blocking=False)
    assert held.lock.acquire(blocking=False)


def test_a_child_of_a_busy_store_can_write(tmp_path):
    """A fork waits for the transaction of another thread: SQLite would be locked in the child."""
    store = SQLiteStore(tmp_path / "log.db", patience=3.0)
    is_over = threading.Event()

    def write():
        while not is_over.is_set():
            store.append([Paused(problem="default", arm="a")] * 200)
            store.put_snapshot("default", Snapshot(store.last_sequence, b"x" * 100_000))

    writers = [threading.Thread(target=write, daemon=True) for _ in range(2)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(12):
            assert forked(lambda: store.append([Paused(problem="default", arm="b")]))
    finally:
        is_over.set()
        for writer in writers:
            writer.join()
        store.close()


def test_a_child_writes_on_after_its_parent_has_closed(tmp_path):
    path = tmp_path / "log.db"
    store = SQLiteStore(path)
    store.append([Paused(problem="default", arm="before")])
    (child_reads, parent_writes), (parent_reads, child_writes) = os.pipe(), os.pipe()

    def child():
        store.append([Paused(problem="default", arm="child")])
        os.write(child_writes, b"x")
        os.read(child_reads, 1)
        store.append([Paused(problem="default", arm="late")])
        return True

    def parent():
        os.read(parent_reads, 1)
        store.close()
        with SQLiteStore(path) as again:
            again.append([Paused(problem="default", arm="parent")])
        os.write(parent_writes, b"x")

    closing = threading.Thread(target=parent)
    closing.start()
    assert forked(child)
    closing.join()
    with SQLiteStore(path) as again:
        assert [event.arm for event in again.read("default")] == [
            "before", "child", "parent", "late",
        ]  # fmt: skip
        assert again.integrity() == []
