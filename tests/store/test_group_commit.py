"""One writer for all: what one call does wrong is told to that call alone."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import msgspec
import pytest

from onepull import StoreError
from onepull.store import Appended, Decided, Observed, Paused, SQLiteStore
from onepull.store.group_commit import GroupCommit


def decided(**context):
    return Decided(problem="p", id="a", arm="a", context=context)


def test_calls_that_wait_share_a_commit():
    begun, go_on = threading.Event(), threading.Event()
    sizes = []

    def commit(jobs):
        sizes.append(len(jobs))
        begun.set()
        go_on.wait()
        return [[Appended(1)] * len(rows) for rows in jobs]

    group = GroupCommit(commit)
    first = group.submit([decided()])
    begun.wait()
    others = [group.submit([decided()]) for _ in range(5)]
    go_on.set()
    for future in (first, *others):
        assert future.result(10) == [Appended(1)]
    assert sizes == [1, 5]
    group.close()


def test_an_event_that_cannot_be_written():
    stored: list[Any] = []

    def commit(jobs):
        stored.extend(event for rows in jobs for event, _ in rows)
        return [[Appended(1)] * len(rows) for rows in jobs]

    group = GroupCommit(commit)
    with pytest.raises(TypeError):
        group.submit([decided(x=object())])
    group.record(decided(x=object()))
    group.record(decided(x=1.0))
    assert group.submit([decided(x=2.0)]).result(10) == [Appended(1)]
    assert [event.context for event in stored] == [{"x": 1.0}, {"x": 2.0}]
    assert group.lost == 1
    group.close()


def test_a_commit_that_fails_is_told_to_all_and_not_tried_again():
    calls = []

    def commit(jobs):
        calls.append(len(jobs))
        raise StoreError("the disk has failed")

    group = GroupCommit(commit)
    group.record(decided())
    with pytest.raises(StoreError, match="disk"):
        group.submit([decided()]).result(10)
    group.close()
    assert sum(calls) == 2
    assert group.lost == 1
    with pytest.raises(StoreError, match="closed"):
        group.submit([decided()])


def test_a_cancelled_call_is_stored_all_the_same():
    begun, go_on = threading.Event(), threading.Event()
    stored: list[Any] = []

    def commit(jobs):
        begun.set()
        go_on.wait()
        stored.extend(rows for rows in jobs)
        return [[Appended(1)] * len(rows) for rows in jobs]

    group = GroupCommit(commit)
    group.submit([decided()])
    begun.wait()
    waiting = group.submit([decided()])
    assert waiting.cancel()
    go_on.set()
    group.close()
    assert len(stored) == 2


class Reader:
    """Follows a log under a lock, as a router does."""

    def __init__(self):
        self.lock = threading.Lock()
        self.waits = threading.Event()

    def sync(self, _stored):
        self.waits.set()
        with self.lock:
            pass


def test_closing_while_a_caller_holds_what_a_follower_needs():
    """A caller that records under its lock while the store is being closed must not commit."""
    reader = Reader()
    group = GroupCommit(lambda jobs: [[Appended(1)] * len(rows) for rows in jobs])
    group.follow("p", reader.sync)
    closing = threading.Thread(target=group.close, daemon=True)

    class ClosedMeanwhile(deque[Any]):
        def append(self, job):
            super().append(job)
            if reader.waits.is_set() and not closing.is_alive():
                closing.start()
                closing.join(0.2)  # it has said that it is closing, or waits to say so

    group._queue = ClosedMeanwhile()

    def record():
        with reader.lock:
            waiting = group.submit([decided()])
            reader.waits.wait(10)
            group.record(decided())
        waiting.result(10)

    caller = threading.Thread(target=record, daemon=True)
    caller.start()
    caller.join(10)
    closing.join(10)
    assert not caller.is_alive()
    assert not closing.is_alive()
    assert not group._queue


class Follower:
    """Keeps what it is told."""

    def __init__(self):
        self.told = []

    def follow(self, stored):
        self.told.append(stored)


def test_a_follower_gets_what_was_stored_as_it_is_read(tmp_path):
    follower = Follower()
    with SQLiteStore(tmp_path / "log.db") as store:
        store.follow("p", follower.follow)
        one = Observed(problem="p", id="1", arm="a", state={"x": 1}, time=1.0)
        other = Observed(problem="q", id="1", arm="a", time=1.0)
        store.append([other, one, other])  # the third is there already
        store.append([one])
        store.append([other, msgspec.structs.replace(one, id="2"), Paused(problem="p", arm="a")])
        assert [(told.before, told.last) for told in follower.told] == [(0, 2), (2, 4)]
        told = [event for stored in follower.told for event in stored.events]
        assert told == store.read("p")
        assert isinstance(told[0].state["x"], float)  # it was a whole number
