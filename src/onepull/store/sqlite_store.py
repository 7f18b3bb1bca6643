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
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from onepull.atomic_files import path_of
from onepull.checks import number
from onepull.errors import StoreError
from onepull.store.appending import Appending
from onepull.store.file_systems import refuse_network
from onepull.store.forks import Forkable, leave_to_parent
from onepull.store.group_commit import GroupCommit, Rows
from onepull.store.sql_store import SQLStore
from onepull.store.sqlite_lots import append_lot
from onepull.store.sqlite_schema import VERSION, check_version, migrate
from onepull.store.store import Appended
from onepull.store.tables import Statements
from onepull.store.turns import Turns

CHUNK_BYTES = 1 << 20  # bytes of a file that are written again at once
WRITE_PAUSE = 0.0005  # seconds between attempts to write while another process does
TURN = 0.001  # seconds that a process leaves to others that wait
BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class SQLiteStore(SQLStore, Forkable):
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

    _tables = Statements("", "?")

    def __init__(self, path: str | os.PathLike[str], *, patience: float = 10.0) -> None:
        self.path = path_of(path).absolute()
        self._patience = number("patience", patience, above=0.0)
        refuse_network(self.path)
        self._is_open = True
        self._distrusts_log = self._has_log()
        self._file: tuple[int, int] | None = None  # which one was opened
        self._begin()
        try:
            with self._reading():  # raises now if the file cannot be used
                self._writing()
            self._file = self._file_there()
        except BaseException:
            self._close_connections()
            raise
        self._group = GroupCommit(self._commit)
        self._follow_forks()
        _everyone.add(self)

    def __repr__(self) -> str:
        """Return its class and its file."""
        return f"SQLiteStore({str(self.path)!r})"

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._changing = threading.Lock()  # held in every transaction of this process
        self._turns = Turns(Path(f"{self.path}-turns"))
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._horizons: dict[str, float] = {}  # when they were read last
        self._is_healthy = True

    def _before_fork(self) -> None:
        # SQLite keeps in memory which locks a process has.  A child would inherit those of a
        # transaction, without the transaction, and find the log locked for ever.
        self._changing.acquire()
        self._lock.acquire()

    def _after_fork_in_parent(self) -> None:
        self._lock.release()
        self._changing.release()

    def _after_fork_in_child(self) -> None:
        leave_to_parent(self._turns)
        # As long as these are open, SQLite believes that this process has locks, which a fork does
        # not pass on.  Then the parent would delete the write-ahead log under our hands when it
        # closes.  No transaction is open, so closing them changes nothing for the parent.
        for connection in (self._reader, self._writer):
            if connection is not None:
                with suppress(sqlite3.Error):
                    connection.close()
        self._begin()

    def _has_log(self) -> bool:
        """Whether an earlier process left a write-ahead log, which may not be on disk."""
        try:
            return Path(f"{self.path}-wal").stat().st_size > 0
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._error("cannot be opened", error) from error

    def _file_there(self) -> tuple[int, int] | None:
        """Return the identity of the file with the log's name; None if there is none."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._error("cannot be opened", error) from error
        return found.st_dev, found.st_ino

    def _check_file(self) -> None:
        """Raise StoreError if the file was removed or replaced while it was open.

        What is written to it would be lost when the last process closes it.
        """
        if self._file is not None and self._file_there() != self._file:
            raise StoreError(
                f"{self.path} was removed or replaced while it was open, so nothing is written; "
                "put it back, or stop all processes that use it and start them again"
            )

    # Connections

    def _connect(self) -> sqlite3.Connection:
        self._check_file()
        try:
            is_new = not self.path.exists()
            if not self.path.absolute().parent.is_dir():
                raise StoreError(
                    f"{self.path} cannot be opened: the folder {self.path.parent} does not exist"
                )
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

    def _patiently(
        self, connection: sqlite3.Connection, statement: str, values: Any = ()
    ) -> sqlite3.Cursor:
        """Execute a statement that SQLite refuses at once while another process has the file."""
        until = time.monotonic() + self._patience
        waits = False
        with ExitStack() as stack:
            while True:
                try:
                    return connection.execute(statement, values)
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode & 0xFF not in BUSY or time.monotonic() > until:
                        raise
                if not waits:
                    waits = stack.enter_context(self._turns.waiting())
                time.sleep(WRITE_PAUSE)

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
            while chunk := file.read(CHUNK_BYTES):
                file.seek(-len(chunk), os.SEEK_CUR)
                file.write(chunk)
            os.fsync(file.fileno())

    # Writing

    def _commit(self, jobs: list[Rows]) -> list[list[Appended]]:
        """Store the events of several calls in one transaction."""
        if not any(jobs) and self._is_healthy:
            return [[] for _ in jobs]
        with self._changing:
            results = self._commit_at_once(jobs)
        if self._turns.is_wanted():
            time.sleep(TURN)
        return results

    def _commit_at_once(self, jobs: list[Rows]) -> list[list[Appended]]:
        try:
            self._check()
            self._check_file()
            writer, results = self._writing(), None
            if self._is_healthy:
                results = append_lot(jobs, self._horizons, partial(self._patiently, writer))
            if results is None:
                results = self._append(writer, jobs)
        except (sqlite3.Error, StoreError) as error:
            self._give_up_connection(error)
            if isinstance(error, StoreError):
                raise
            raise self._error("cannot be written", error) from error
        self._is_healthy = True
        return results

    def _append(self, writer: sqlite3.Connection, jobs: list[Rows]) -> list[list[Appended]]:
        """Store events one by one, some of which may have been stored before."""
        self._patiently(writer, "BEGIN IMMEDIATE")
        try:
            check_version(writer, str(self.path))
            if not self._is_healthy:  # a write that changes nothing tells whether it works
                writer.execute(f"PRAGMA user_version = {VERSION}")
            appending = Appending(writer.cursor(), self._tables, self._one_of)
            self._horizons = appending.horizons
            results = appending.all(jobs)
            writer.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                writer.execute("ROLLBACK")
            raise
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

    def _one_of(self, ids: Sequence[str]) -> tuple[str, Any]:
        return "IN (SELECT value FROM json_each(?))", json.dumps(list(ids))

    # Other changes

    def _change(self, change: Callable[[Any], Any]) -> Any:
        """Make a change in a transaction of its own, on a connection of its own."""
        self._check()
        with self._changing, closing(self._connect()) as connection:
            try:
                connection.execute("PRAGMA busy_timeout = 0")
                self._patiently(connection, "BEGIN IMMEDIATE")
                check_version(connection, str(self.path))
                result = change(connection.cursor())
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._error("cannot be written", error) from error
            return result

    # Operating

    @property
    def is_healthy(self) -> bool:
        """Whether the last attempt to write succeeded."""
        return self._is_open and self._is_healthy

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
        damage = [text for (text,) in self._all("PRAGMA integrity_check") if text != "ok"]
        return damage or super().integrity()

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


def _check_mode(mode: str, path: str) -> None:
    """Raise StoreError if SQLite could not switch to its write-ahead log."""
    if mode != "wal":
        raise StoreError(f"{path}: SQLite's write-ahead log does not work here (it is {mode})")


def _sync_folder(folder: Path) -> None:
    """Sync the folder of a new file, so that its name survives a crash."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


_everyone: weakref.WeakSet[SQLiteStore] = weakref.WeakSet()


def _at_exit() -> None:
    for store in list(_everyone):
        with suppress(StoreError):
            store.close()


atexit.register(_at_exit)
