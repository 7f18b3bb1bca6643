"""A log in a file of SQLite, shared by the processes of one machine."""

from __future__ import annotations

import atexit
import json
import os
import sqlite3
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

from onepull.atomic_files import path_of
from onepull.checks import number
from onepull.errors import StoreError
from onepull.store.events import Event, Slot, decode
from onepull.store.file_systems import refuse_network
from onepull.store.forgetting import horizon_of, is_old
from onepull.store.group_commit import GroupCommit, Rows
from onepull.store.sqlite_schema import VERSION, check_version, migrate
from onepull.store.store import BATCH, FORGOTTEN, KEPT, Appended, Snapshot, Store
from onepull.store.turns import Turns

CHUNK = 1 << 20  # bytes of a file that are written again at once
PAUSE = 0.0005  # seconds between attempts to write while another process does
TURN = 0.001  # seconds that a process leaves to others that wait
BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

INSERT = "INSERT OR IGNORE INTO events (problem, id, slot, body) VALUES (?, ?, ?, ?)"
TAKEN = "SELECT seq, body FROM events WHERE problem = ? AND id = ? AND slot = ?"


class SQLiteStore(Store):
    """A log in one file, for any number of processes and threads of one machine.

    The file uses SQLite's write-ahead log with `synchronous=FULL`: a commit returns when the disk
    has it.  One thread of each process writes, and all calls that wait share its next commit.

    Parameters
    ----------
    path
        The file; it is created if it does not exist.  A network file system is refused.
    patience
        How many seconds to wait for other processes that write.

    Examples
    --------
    >>> import tempfile
    >>> from onepull.store import Paused
    >>> folder = tempfile.TemporaryDirectory()
    >>> with SQLiteStore(Path(folder.name, "router.db")) as store:
    ...     store.append([Paused(problem="default", arm="wifi")])
    [Appended(seq=1, before=None)]
    >>> with SQLiteStore(Path(folder.name, "router.db")) as store:
    ...     store.read("default")[0].arm
    'wifi'
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], *, patience: float = 10.0) -> None:
        self.path = path_of(path).absolute()
        self._patience = number("patience", patience, above=0.0)
        refuse_network(self.path)
        self._is_open = True
        self._distrusts_log = self._has_log()
        self._begin()
        try:
            with self._reading():  # raises now if the file cannot be used
                self._writing()
        except BaseException:
            self._close_connections()
            raise
        self._group = GroupCommit(self._commit)
        _everyone.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._turns = Turns(Path(f"{self.path}-turns"))
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._is_healthy = True

    def _has_log(self) -> bool:
        """Whether a process before left a write-ahead log, which the disk may not hold."""
        try:
            return Path(f"{self.path}-wal").stat().st_size > 0
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._error("cannot be opened", error) from error

    # Connections

    def _connect(self) -> sqlite3.Connection:
        try:
            is_new = not self.path.exists()
            connection = self._open()
            try:
                connection.execute("PRAGMA synchronous = FULL")
                if sys.platform == "darwin":  # where fsync does not reach the disk
                    connection.execute("PRAGMA fullfsync = 1")
                    connection.execute("PRAGMA checkpoint_fullfsync = 1")
                mode = self._patiently(connection, "PRAGMA journal_mode = WAL").fetchone()
                _check_mode(mode[0], str(self.path))
                migrate(connection, str(self.path))
            except BaseException:
                connection.close()
                raise
        except (sqlite3.Error, OSError) as error:
            raise self._error("cannot be opened", error) from error
        if is_new:
            _sync_folder(self.path.parent)
        return connection

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(
            self.path, timeout=self._patience, isolation_level=None, check_same_thread=False
        )

    def _patiently(self, connection: sqlite3.Connection, statement: str) -> sqlite3.Cursor:
        """Execute a statement that SQLite refuses at once while another process has the file."""
        until = time.monotonic() + self._patience
        waits = False
        with ExitStack() as stack:
            while True:
                try:
                    return connection.execute(statement)
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode & 0xFF not in BUSY or time.monotonic() > until:
                        raise
                if not waits:
                    waits = stack.enter_context(self._turns.waiting())
                time.sleep(PAUSE)

    def _error(self, what: str, error: Exception) -> StoreError:
        return StoreError(f"{self.path} {what}: {error}")

    def _check(self) -> None:
        if not self._is_open:
            raise StoreError(f"{self.path} is closed")

    def _reading(self) -> closing[Any]:
        """Return the connection for reading, for the length of a `with` block."""
        self._check()
        self._lock.acquire()
        try:
            if self._reader is None:
                self._reader = self._connect()
        except BaseException:
            self._lock.release()
            raise
        return _Held(self._reader, self._lock)

    def _writing(self) -> sqlite3.Connection:
        """Return the connection for writing, opened anew after a failure."""
        if self._writer is None:
            writer = self._connect()
            writer.execute("PRAGMA busy_timeout = 0")  # `_patiently` waits, and says so to others
            if self._distrusts_log:
                self._settle(writer)
            self._writer = writer
        return self._writer

    def _settle(self, writer: sqlite3.Connection) -> None:
        """Write the write-ahead log again after a sync has failed, here or in a process before.

        The system may have dropped what it could not write, still show it to readers, and report
        success the next time.  So what readers see is written again before it is relied on.
        """
        try:
            self._patiently(writer, "BEGIN IMMEDIATE")  # nobody else writes to it meanwhile
            self._rewrite(Path(f"{self.path}-wal"))
            writer.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            writer.close()
            raise self._error("cannot be put in order", error) from error
        self._distrusts_log = False

    @staticmethod
    def _rewrite(path: Path) -> None:
        """Write the contents of a file to the same place, and sync."""
        with path.open("r+b", buffering=0) as file:
            while chunk := file.read(CHUNK):
                file.seek(-len(chunk), os.SEEK_CUR)
                file.write(chunk)
            os.fsync(file.fileno())

    # Writing

    def submit(self, events: Sequence[Event]) -> Future[list[Appended]]:
        """Store events; the future has its result when they are on disk."""
        self._check()
        return self._group.submit(events)

    def record(self, event: Event) -> None:
        """Store an event in the background."""
        self._group.record(event)

    def _commit(self, jobs: list[Rows]) -> list[list[Appended]]:
        """Store the events of several calls in one transaction."""
        if not any(jobs) and self._is_healthy:
            return [[] for _ in jobs]
        try:
            writer = self._writing()
            self._patiently(writer, "BEGIN IMMEDIATE")
            try:
                check_version(writer, str(self.path))
                if not self._is_healthy:  # a write that changes nothing tells whether it works
                    writer.execute(f"PRAGMA user_version = {VERSION}")
                results = self._insert(writer, jobs)
                writer.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    writer.execute("ROLLBACK")
                raise
        except (sqlite3.Error, StoreError) as error:
            self._give_up_connection(error)
            if isinstance(error, StoreError):
                raise
            raise self._error("cannot be written", error) from error
        self._is_healthy = True
        if self._turns.is_wanted():
            time.sleep(TURN)
        return results

    def _insert(self, writer: sqlite3.Connection, jobs: list[Rows]) -> list[list[Appended]]:
        execute = writer.execute
        horizons = dict(execute("SELECT problem, time FROM horizons").fetchall())
        results = []
        for events in jobs:
            done = []
            for event, body in events:
                slot, problem = event.slot, event.problem
                if slot is None:
                    cursor = execute(INSERT, (problem, None, None, body))
                    done.append(Appended(cursor.lastrowid or 0))
                    continue
                id_ = event.id  # type: ignore[attr-defined]  # an event with a slot has one
                if problem in horizons and _is_settled(writer, event, id_, horizons[problem]):
                    done.append(Appended(0, FORGOTTEN))
                    continue
                cursor = execute(INSERT, (problem, id_, slot, body))
                if cursor.rowcount == 1:
                    done.append(Appended(cursor.lastrowid or 0))
                else:
                    seq, kept = execute(TAKEN, (problem, id_, slot)).fetchone()
                    done.append(Appended(seq, decode(kept, seq=seq, problem=problem)))
            results.append(done)
        return results

    def _give_up_connection(self, error: Exception) -> None:
        """Close the connection after a failure; a sync that failed is never tried again."""
        self._is_healthy = False
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_IOERR:
            self._distrusts_log = True
        if self._writer is not None and code not in BUSY:
            with suppress(sqlite3.Error):
                self._writer.close()
            self._writer = None

    # Reading

    def _all(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._reading() as reader:
            try:
                rows: list[Any] = reader.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                self._reader = None
                with suppress(sqlite3.Error):
                    reader.close()
                raise self._error("cannot be read", error) from error
            return rows

    def read(
        self, problem: str, *, after: int = 0, until: int | None = None, limit: int = BATCH
    ) -> list[Any]:
        """Return the events of a problem in order, at most `limit`."""
        rows = self._all(
            "SELECT seq, body FROM events WHERE seq > ? AND seq <= ? AND problem = ? "
            "ORDER BY seq LIMIT ?",
            (after, 2**62 if until is None else until, problem, limit),
        )
        return [decode(body, seq=seq, problem=problem) for seq, body in rows]

    @property
    def last_sequence(self) -> int:
        """The sequence number of the newest event of any problem."""
        return self._all("SELECT max(seq) FROM events")[0][0] or 0

    def first_sequence(self, problem: str) -> int:
        """Return the number after which all events of a problem are kept."""
        rows = self._all("SELECT seq FROM horizons WHERE problem = ?", (problem,))
        return rows[0][0] if rows else 0

    def of_id(self, problem: str, id_: str) -> dict[Slot, Any]:
        """Return the events of an id by slot."""
        rows = self._all(
            "SELECT slot, seq, body FROM events WHERE problem = ? AND id = ?", (problem, id_)
        )
        return {Slot(slot): decode(body, seq=seq, problem=problem) for slot, seq, body in rows}

    def of_ids(self, problem: str, ids: Sequence[str]) -> dict[str, dict[Slot, Any]]:
        """Return the events of several ids by slot."""
        rows = self._all(
            "SELECT id, slot, seq, body FROM events "
            "WHERE problem = ? AND id IN (SELECT value FROM json_each(?))",
            (problem, json.dumps(list(ids))),
        )
        found: dict[str, dict[Slot, Any]] = {}
        for id_, slot, seq, body in rows:
            found.setdefault(id_, {})[Slot(slot)] = decode(body, seq=seq, problem=problem)
        return found

    def problems(self) -> list[str]:
        """Return the names of the problems that have events."""
        # From one name to the next on the index, since the log is long.
        rows = self._all(
            "WITH RECURSIVE names (name) AS ("
            "SELECT min(problem) FROM events WHERE id IS NOT NULL UNION ALL "
            "SELECT (SELECT min(problem) FROM events WHERE problem > name AND id IS NOT NULL) "
            "FROM names WHERE name IS NOT NULL"
            ") SELECT name FROM names WHERE name IS NOT NULL"
        )
        return [name for (name,) in rows]

    # Snapshots and retention

    def _change(self, change: Any) -> Any:
        """Make a change in a transaction of its own, on a connection of its own."""
        self._check()
        with closing(self._connect()) as connection:
            try:
                connection.execute("PRAGMA busy_timeout = 0")
                self._patiently(connection, "BEGIN IMMEDIATE")
                check_version(connection, str(self.path))
                result = change(connection)
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._error("cannot be written", error) from error
            return result

    def put_snapshot(self, problem: str, snapshot: Snapshot) -> None:
        """Keep a snapshot, durably; only the newest few are kept."""

        def put(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)",
                (problem, snapshot.seq, snapshot.checksum, snapshot.body),
            )
            connection.execute(
                "DELETE FROM snapshots WHERE problem = ? AND seq NOT IN "
                "(SELECT seq FROM snapshots WHERE problem = ? ORDER BY seq DESC LIMIT ?)",
                (problem, problem, KEPT),
            )

        self._change(put)

    def snapshots(self, problem: str) -> list[Snapshot]:
        """Return the undamaged snapshots of a problem, the newest first."""
        rows = self._all(
            "SELECT seq, checksum, body FROM snapshots WHERE problem = ? ORDER BY seq DESC",
            (problem,),
        )
        found = [(Snapshot(seq, bytes(body)), checksum) for seq, checksum, body in rows]
        return [snapshot for snapshot, checksum in found if snapshot.checksum == checksum]

    def forget(self, problem: str, *, until: int) -> int:
        """Delete the events of a problem up to a number; return how many were deleted."""

        def delete(connection: sqlite3.Connection) -> int:
            # The newest event stays, so that its number is not given again.
            (last,) = connection.execute("SELECT max(seq) FROM events").fetchone()
            end = min(until, (last or 0) - 1)
            rows = connection.execute(
                "SELECT seq, id, body FROM events WHERE seq <= ? AND problem = ? AND slot = ?",
                (end, problem, int(Slot.OUTCOME)),
            )
            times = [(id_, decode(body, seq=seq, problem=problem).time) for seq, id_, body in rows]
            horizon = horizon_of(times, time.time())
            connection.execute(
                "INSERT INTO horizons VALUES (?, ?, ?) ON CONFLICT (problem) DO UPDATE SET "
                "seq = max(seq, excluded.seq), time = max(time, excluded.time)",
                (problem, end, horizon),
            )
            deleted = connection.execute(
                "DELETE FROM events WHERE seq <= ? AND problem = ?", (end, problem)
            )
            left = "SELECT 1 FROM events WHERE problem = ? AND id = ? LIMIT 1"
            named = [
                (problem, id_)
                for id_, _ in times
                if not is_old(id_, horizon) or connection.execute(left, (problem, id_)).fetchone()
            ]
            connection.executemany("INSERT OR IGNORE INTO settled VALUES (?, ?)", named)
            return deleted.rowcount

        return int(self._change(delete))

    # Operating

    @property
    def is_healthy(self) -> bool:
        """Whether the last attempt to write succeeded."""
        return self._is_open and self._is_healthy

    @property
    def unrecorded(self) -> int:
        """How many recorded events were lost."""
        return self._group.lost

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a copy of the whole log to a new file while it is in use.

        To restore it, put the file in the place of the log while no process uses it.
        """
        target = path_of(path)
        if target.exists():
            raise StoreError(f"{target} exists; give the name of a new file")
        self.flush()
        try:
            with self._reading() as reader, closing(sqlite3.connect(target)) as copy:
                reader.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
            with target.open("rb") as file:
                os.fsync(file.fileno())
            _sync_folder(target.absolute().parent)
        except (sqlite3.Error, OSError) as error:
            raise self._error(f"cannot be copied to {target}", error) from error

    def integrity(self) -> list[str]:
        """Return what is wrong with the stored data, an empty list if nothing is."""
        found = [text for (text,) in self._all("PRAGMA integrity_check") if text != "ok"]
        rows = self._all("SELECT problem, seq, checksum, body FROM snapshots")
        found += [
            f"the snapshot of {problem!r} after event {seq} is damaged"
            for problem, seq, checksum, body in rows
            if Snapshot(seq, bytes(body)).checksum != checksum
        ]
        for problem in self.problems():
            try:
                for _ in self.events(problem):
                    pass
            except StoreError as error:
                found.append(str(error))
        return found

    def close(self) -> None:
        """Store what was recorded, and close."""
        if not self._is_open:
            return
        self._group.close()
        self._is_open = False
        with self._lock:
            self._close_connections()

    def _close_connections(self) -> None:
        for connection in (self._reader, self._writer):
            if connection is not None:
                with suppress(sqlite3.Error):
                    connection.close()
        self._reader = self._writer = None
        self._turns.close()


class _Held(closing[Any]):
    """A connection that is ours for the length of a block."""

    def __init__(self, thing: Any, lock: threading.Lock) -> None:
        super().__init__(thing)
        self._lock = lock

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _is_settled(connection: sqlite3.Connection, event: Event, id_: str, horizon: float) -> bool:
    """Whether an event belongs to a decision whose events were deleted."""
    if event.slot is Slot.DEFINITION:
        return False
    key = event.problem, id_
    if connection.execute("SELECT 1 FROM settled WHERE problem = ? AND id = ?", key).fetchone():
        return True
    if not is_old(id_, horizon):
        return False
    # Old, but perhaps of a decision that is still there.
    query = "SELECT 1 FROM events WHERE problem = ? AND id = ? LIMIT 1"
    return connection.execute(query, key).fetchone() is None


def _check_mode(mode: str, path: str) -> None:
    """Raise StoreError if SQLite could not switch to its write-ahead log."""
    if mode != "wal":
        raise StoreError(f"{path}: SQLite's write-ahead log does not work here (it is {mode})")


def _sync_folder(folder: Path) -> None:
    """Make the name of a new file last."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


_everyone: weakref.WeakSet[SQLiteStore] = weakref.WeakSet()
_of_parents: list[Any] = []  # never closed, since the parent still uses them


def _after_fork() -> None:
    for store in list(_everyone):
        _of_parents.extend((store._reader, store._writer, store._turns))  # noqa: SLF001 - of this module
        store._begin()  # noqa: SLF001 - of this module


def _at_exit() -> None:
    for store in list(_everyone):
        with suppress(StoreError):
            store.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
