"""Loss of power, full disks and disks that fail: what was acknowledged is there."""

from __future__ import annotations

import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from forgetful_disk import Disk, ForgetfulStore

from onepull import SQLiteStore, StoreError
from onepull.store import Observed, Snapshot

names = (f"forgetful-{i}" for i in itertools.count())


@pytest.fixture
def disk():
    return Disk(next(names))


def observed(id_, x=1.0):
    return Observed(problem="p", id=id_, arm="a", state={"x": x})


def left(disk, folder, luck=None):
    """Return the ids of what is left after a loss of power, which must be a sound database."""
    folder.mkdir()
    path = disk.lose_power(folder, luck)
    with SQLiteStore(path) as store:
        assert store.integrity() == []
        events = list(store.events("p"))
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        return [event.id for event in events]


@pytest.mark.parametrize("seed", range(6))
def test_what_was_acknowledged_survives(tmp_path, disk, seed):
    """Threads write; at any moment the power may fail, with any of the unsynced writes done."""
    store = ForgetfulStore(tmp_path / "router.db", disk)
    acknowledged: list[str] = []

    def write(me):
        luck = Random(10 * seed + me)  # noqa: S311 - not a secret
        for i in range(12):
            store.append([observed(f"{me}-{i}-{j}") for j in range(luck.randrange(1, 30))])
            acknowledged.append(f"{me}-{i}-0")
            if i % 5 == 4:
                store.put_snapshot("p", Snapshot(i + 100 * me, b"x" * 5000))

    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(write, me) for me in range(3)]
        for k in range(4):
            while len(acknowledged) < 8 * k:
                time.sleep(0.001)
            before = set(acknowledged)
            luck = Random(seed) if k % 2 else None  # noqa: S311 - not a secret
            assert before <= set(left(disk, tmp_path / f"{k}", luck))
        for job in jobs:
            job.result()
    assert set(acknowledged) <= set(left(disk, tmp_path / "end"))
    store.close()


@pytest.mark.parametrize("level", ["OFF", "NORMAL"])
def test_this_disk_tells_a_store_that_does_not_sync(tmp_path, disk, level):
    """The test above would fail if commits did not wait for the disk."""
    store = ForgetfulStore(tmp_path / "router.db", disk, synchronous=level)
    store.append([observed(f"{i}") for i in range(5)])
    try:
        found = left(disk, tmp_path / "after")
    except (StoreError, AssertionError):
        found = []
    assert found == []


def test_a_failed_sync_is_not_tried_again(tmp_path, disk):
    """After a sync has failed, the log is written again before anything is acknowledged."""
    store = ForgetfulStore(tmp_path / "router.db", disk)
    store.append([observed("one")])
    disk.fails_to_sync = True
    with pytest.raises(StoreError, match="cannot be written"):
        store.append([observed("two")])
    assert not store.is_healthy
    syncs = disk.syncs
    with pytest.raises(StoreError, match="put in order"):
        store.append([observed("three")])
    assert disk.syncs == syncs + 1  # of the log written again, not of the commit
    disk.fails_to_sync = False
    again = store.append([observed("two")])[0]  # it may have been stored, and the disk lost it
    assert store.is_healthy
    store.append([observed("four")])
    assert left(disk, tmp_path / "after")[:2] == ["one", "two"]
    assert again.seq == 2
    store.close()


def test_a_failed_sync_before_a_kill(tmp_path, disk):
    """A new process sees what the disk does not hold, and must not rely on it."""
    store = ForgetfulStore(tmp_path / "router.db", disk)
    store.append([observed("one")])
    disk.fails_to_sync = True
    with pytest.raises(StoreError, match="cannot be written"):
        store.append([observed("two")])
    (tmp_path / "restarted").mkdir()
    other = disk.restarted(tmp_path / "restarted", next(names))
    again = ForgetfulStore(tmp_path / "restarted" / "router.db", other)
    assert again.append([observed("two")])[0].before is not None  # so it is acknowledged
    assert left(other, tmp_path / "after") == ["one", "two"]
    again.close()
    disk.fails_to_sync = False
    store.close()


def test_a_full_disk(tmp_path, disk):
    store = ForgetfulStore(tmp_path / "router.db", disk)
    store.append([observed("one")])
    disk.is_full = True
    with pytest.raises(StoreError, match="full"):
        store.append([observed("two")])
    store.record(observed("three"))
    with pytest.raises(StoreError, match="full"):
        store.flush()
    assert store.unrecorded == 1
    assert not store.is_healthy
    assert [event.id for event in store.read("p")] == ["one"]  # reading still works
    disk.is_full = False
    store.flush()
    assert store.is_healthy
    store.append([observed("two")])
    assert left(disk, tmp_path / "after") == ["one", "two"]
    store.close()
