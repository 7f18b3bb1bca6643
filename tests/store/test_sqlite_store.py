"""A log in SQLite: files that are not ours, read-only, on a network, of another version."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from onepull import SQLiteStore, StoreError
from onepull.store import Decided, Observed, events, file_systems, new_id, sqlite_schema
from onepull.store.file_systems import file_system, refuse_network
from onepull.store.forgetting import is_old
from onepull.store.ids import Ids, time_of


def decided(id_="a"):
    return Decided(problem="p", id=id_, arm="a")


def test_the_file_is_synced_at_every_commit(tmp_path):
    with SQLiteStore(tmp_path / "router.db") as store:
        writer = store._writing()
        assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert writer.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_a_foreign_database_is_left_alone(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE things (x)")
    other.close()
    with pytest.raises(StoreError, match="not a log of onepull"):
        SQLiteStore(path)
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("things",)]
    other.close()


def test_another_file_is_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database " * 100)
    with pytest.raises(StoreError, match="not a database"):
        SQLiteStore(path)
    assert path.read_text() == "not a database " * 100


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(StoreError, match=r"cannot be opened: the folder .*nowhere does not exist"):
        SQLiteStore(tmp_path / "nowhere" / "router.db")


def test_a_file_of_a_newer_version_is_refused(tmp_path):
    path = tmp_path / "router.db"
    SQLiteStore(path).close()
    with sqlite3.connect(path) as file:
        file.execute("PRAGMA user_version = 99")
    file.close()
    with pytest.raises(StoreError, match=r"newer onepull \(its version is 99"):
        SQLiteStore(path)


def test_a_newer_version_beside_this_one(tmp_path):
    """A process that has the file open stops writing when a newer one has migrated it."""
    with SQLiteStore(tmp_path / "router.db") as store:
        store.append([decided("a")])
        with sqlite3.connect(store.path) as newer:
            newer.execute("PRAGMA user_version = 99")
        newer.close()
        with pytest.raises(StoreError, match="newer onepull"):
            store.append([decided("b")])
        assert not store.is_healthy
        assert [event.id for event in store.read("p")] == ["a"]


def test_an_event_of_a_newer_version_is_not_skipped(tmp_path):
    with SQLiteStore(tmp_path / "router.db") as store:
        store.append([decided("a")])
        body = events.encode(decided("b")).replace(b"decided", b"dreamed")
        store._change(
            lambda c: c.execute("INSERT INTO events (problem, body) VALUES ('p', ?)", (body,))
        )
        with pytest.raises(StoreError, match="event 2 cannot be read"):
            store.read("p")
        assert any("event 2" in found for found in store.integrity())


def test_an_old_file_is_migrated(tmp_path, monkeypatch):
    """A file of version 1 gets what later versions add, and keeps its events."""
    path = tmp_path / "router.db"
    with SQLiteStore(path) as store:
        store.append([decided("a")])
    more = (*sqlite_schema.MIGRATIONS, "CREATE TABLE notes (x); CREATE INDEX n ON notes (x)")
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", more)
    monkeypatch.setattr(sqlite_schema, "VERSION", len(more))
    monkeypatch.setattr("onepull.store.sqlite_store.VERSION", len(more))
    with SQLiteStore(path) as store:
        assert [event.id for event in store.read("p")] == ["a"]
        assert store._all("SELECT count(*) FROM notes") == [(0,)]
        assert store._all("PRAGMA user_version") == [(len(more),)]


def test_a_migration_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "router.db"
    SQLiteStore(path).close()
    broken = (*sqlite_schema.MIGRATIONS, "CREATE TABLE notes (x); CREATE TABLE events (x)")
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_schema, "MIGRATIONS", broken)
        patch.setattr(sqlite_schema, "VERSION", len(broken))
        with pytest.raises(StoreError, match="already exists"):
            SQLiteStore(path)
    with SQLiteStore(path) as store:
        assert store._all("SELECT count(*) FROM sqlite_master WHERE name = 'notes'") == [(0,)]


READ_ONLY = """
import os, sys
from onepull import SQLiteStore, StoreError
if os.getuid() == 0:  # who may write anything
    os.setuid(65534)
try:
    SQLiteStore(sys.argv[1])
except StoreError as error:
    print(error)
"""


def test_a_read_only_file(tmp_path):
    path = tmp_path / "router.db"
    with SQLiteStore(path) as store:
        store.append([decided()])
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder.stat().st_uid == tmp_path.stat().st_uid and folder.name != "tmp":
            folder.chmod(0o755)
    path.chmod(0o444)
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, path], capture_output=True, text=True, check=False
    )
    assert "readonly database" in done.stdout, done
    tmp_path.chmod(0o700)
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, path], capture_output=True, text=True, check=False
    )
    assert "cannot be opened" in done.stdout or done.stdout == "", done
    assert "Traceback" not in done.stderr, done


@pytest.mark.parametrize("becomes", ["removed", "another"])
def test_nothing_is_acknowledged_in_a_file_that_is_gone(tmp_path, becomes):
    """SQLite writes on to a file without a name, of which nothing is left in the end."""
    path, aside = tmp_path / "router.db", tmp_path / "aside.db"
    with SQLiteStore(path) as store:
        store.append([decided("a")])
        store.backup(tmp_path / "copy.db")
        path.rename(aside)
        if becomes == "another":
            path.write_bytes((tmp_path / "copy.db").read_bytes())
        for _ in range(2):  # also when it is opened anew
            with pytest.raises(StoreError, match="removed or replaced"):
                store.append([decided("b")])
        assert not store.is_healthy
        assert path.exists() == (becomes == "another")  # no new log is begun
        with pytest.raises(StoreError, match="removed or replaced"):
            store.forget("p", until=1)
        aside.replace(path)
        store.append([decided("b")])
        assert store.is_healthy
        assert [event.id for event in store.read("p")] == ["a", "b"]
    with SQLiteStore(path) as store:
        assert [event.id for event in store.read("p")] == ["a", "b"]


def test_a_locked_file_is_waited_for_and_then_told(tmp_path):
    with SQLiteStore(tmp_path / "router.db", patience=0.2) as store:
        other = sqlite3.connect(store.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            store.append([decided("a")])
        other.execute("ROLLBACK")
        other.close()
        assert store.append([decided("a")])[0].seq == 1


MOUNTS = r"""
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 21 0:50 / /srv/my\040share rw - nfs4 host:/share rw
31 21 0:51 / /mnt/windows rw - cifs //host/share rw
32 21 0:52 / /mnt/cloud rw - fuse.sshfs user@host: rw
33 30 8:2 / /srv/my\040share/local rw - xfs /dev/sdb1 rw
34 21 0:53 / /mnt/guest rw - 9p share rw
35 21 0:54 / /overlay rw - overlay overlay rw
"""


@pytest.mark.parametrize(
    ("path", "kind", "refused"),
    [
        ("/home/router.db", "ext4", False),
        ("/srv/my share/router.db", "nfs4", True),
        ("/srv/my share/local/router.db", "xfs", False),
        ("/mnt/windows/a/b/router.db", "cifs", True),
        ("/mnt/cloud/router.db", "fuse.sshfs", True),
        ("/mnt/guest/router.db", "9p", True),
        ("/overlay/router.db", "overlay", False),
    ],
)
def test_network_file_systems_are_refused(monkeypatch, tmp_path, path, kind, refused):
    assert file_system(Path(path), MOUNTS) == kind
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS)
    monkeypatch.setattr(file_systems, "MOUNTS", table)
    if refused:
        with pytest.raises(StoreError, match="network file system"):
            refuse_network(Path(path))
    else:
        refuse_network(Path(path))


def test_a_system_without_a_mount_table(monkeypatch, tmp_path):
    monkeypatch.setattr(file_systems, "MOUNTS", tmp_path / "nothing")
    refuse_network(tmp_path / "router.db")


def test_ids_increase_whatever_the_clock_does(monkeypatch):
    times = iter([5_000, 5_000, 9_000, 1_000, 2_000, 9_000, 9_001])
    monkeypatch.setattr("time.time_ns", lambda: next(times) * 1_000_000)
    ids = Ids()
    made = [ids.next() for _ in range(7)]
    assert made == sorted(made)
    assert len(set(made)) == 7
    assert [time_of(id_) for id_ in made] == [5.0, 5.0, 9.0, 9.0, 9.0, 9.0, 9.001]


def test_many_ids_in_a_millisecond(monkeypatch):
    monkeypatch.setattr("time.time_ns", lambda: 5_000 * 1_000_000)
    ids = Ids()
    made = [ids.next() for _ in range(10_000)]
    assert made == sorted(made)
    assert len(set(made)) == 10_000


def test_forgetting_with_a_clock_that_ran_ahead(tmp_path):
    """An id from the future is kept by name, so that it does not make all others look old."""
    ahead = "ffffffff-ffff-7000-8000-000000000000"
    with SQLiteStore(tmp_path / "router.db") as store:
        for id_ in (ahead, new_id()):
            store.append([Observed(problem="p", id=id_, arm="a", state={"x": 1.0}, time=4e11)])
        store.append([decided("last")])
        store.forget("p", until=2)
        assert store.append([Observed(problem="p", id=ahead, arm="a")])[0].before is not None
        fresh = new_id()
        assert store.append([Observed(problem="p", id=fresh, arm="a")])[0].before is None


def test_an_id_of_the_millisecond_of_the_horizon_is_not_old():
    """It may have been made after what was deleted."""
    id_ = "01890a5d-ac96-774b-bcce-b302099a8057"
    made = 1688096058.518
    assert not is_old(id_, made)
    assert not is_old(id_, made + 0.0009)
    assert is_old(id_, made + 0.0011)
