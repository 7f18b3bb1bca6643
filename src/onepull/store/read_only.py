"""Logs that are only looked at: nothing is created, migrated or written."""

from __future__ import annotations

import os
import sqlite3
from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

from onepull.errors import MissingExtra, StoreError
from onepull.store.events import Event
from onepull.store.file_systems import refuse_network
from onepull.store.group_commit import Rows
from onepull.store.postgres_store import PostgresStore
from onepull.store.sql_store import SQLStore
from onepull.store.sqlite_schema import check_owner, check_version, foreign, version_of
from onepull.store.sqlite_store import SQLiteStore
from onepull.store.store import Appended, Store


def open_to_read(where: str | os.PathLike[str]) -> Store | None:
    """Return a log that can be read and not be changed; None if it does not exist yet.

    Raises StoreError if it cannot be read, is none of onepull's, or of a newer version.

    >>> open_to_read("nowhere.db") is None
    True
    """
    if "://" in str(where):
        return PostgresReader(str(where)).if_any()
    path = Path(where).absolute()
    refuse_network(path)
    if not path.parent.is_dir():
        raise StoreError(f"{path} cannot be opened: the folder {path.parent} does not exist")
    return SQLiteReader(path).if_any() if path.exists() else None


class Reader(SQLStore):
    """A log in tables that is not changed."""

    _connection: Any
    _failure: type[Exception]  # of the database
    _name: str

    @abstractmethod
    def _version(self) -> int:
        """Return the version of the tables, 0 if there are none; raises if it is newer."""

    def if_any(self) -> Store | None:
        """Return this log, None if it has no tables."""
        try:
            if self._version():
                return self
        except self._failure as error:
            self.close()
            raise self._error(error) from error
        except StoreError:
            self.close()
            raise
        self.close()
        return None

    def _error(self, error: Exception) -> StoreError:
        return StoreError(f"{self._name} cannot be read: {' '.join(str(error).split())}")

    def _all(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            rows: list[Any] = self._connection.execute(statement, values).fetchall()
        except self._failure as error:
            raise self._error(error) from error
        return rows

    def _refuse(self) -> NoReturn:
        raise StoreError(f"{self._name} was opened to read only")

    def _commit(self, jobs: list[Rows]) -> list[list[Appended]]:
        del jobs
        self._refuse()

    def _change(self, change: Callable[[Any], Any]) -> Any:
        del change
        self._refuse()

    def submit(self, events: Sequence[Event]) -> Future[list[Appended]]:
        """Raise StoreError."""
        del events
        self._refuse()

    def record(self, event: Event) -> None:
        """Raise StoreError."""
        del event
        self._refuse()

    def flush(self) -> None:
        """Return at once: nothing waits."""

    @property
    def is_healthy(self) -> bool:
        """Return True: nothing was written."""
        return True

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Raise StoreError."""
        del path
        self._refuse()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class SQLiteReader(Reader):
    """A log in a file that is not changed, and beside which no file is created."""

    _tables = SQLiteStore._tables  # noqa: SLF001 - the same tables
    _one_of = SQLiteStore._one_of  # noqa: SLF001 - the same
    _failure = sqlite3.Error

    def __init__(self, path: Path) -> None:
        self._name = str(path)
        log, index = Path(f"{path}-wal"), Path(f"{path}-shm")
        # Without a write-ahead log, all is in the file.  SQLite makes an index of it if it may.
        how = "mode=ro&readonly_shm=1" if index.exists() else "mode=ro"
        if not log.exists() or not log.stat().st_size:
            how = "immutable=1"
        try:
            self._connection = sqlite3.connect(
                f"file:{quote(str(path))}?{how}", uri=True, isolation_level=None, timeout=10.0,
                check_same_thread=False,
            )  # fmt: skip
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _version(self) -> int:
        connection = self._connection
        found = version_of(connection)
        if found == 0:
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise foreign(self._name)
            return 0
        check_owner(connection, self._name)
        check_version(connection, self._name)
        return found


class PostgresReader(Reader):
    """A log in Postgres that is not changed."""

    _tables = PostgresStore._tables  # noqa: SLF001 - the same tables
    _one_of = PostgresStore._one_of  # noqa: SLF001 - the same
    _name = "the log in Postgres"  # without the address, which may hold a password

    def __init__(self, dsn: str) -> None:
        try:
            driver = import_module("psycopg")
        except ImportError:
            raise MissingExtra.of("a log in Postgres needs", "postgres") from None
        self._failure = driver.Error
        try:
            self._connection = driver.connect(dsn, autocommit=True, connect_timeout=10)
            self._connection.execute("SET default_transaction_read_only = on")
        except driver.Error as error:
            raise self._error(error) from error

    def _version(self) -> int:
        if self._all("SELECT to_regclass('onepull_version')")[0][0] is None:
            return 0
        return PostgresStore.version_in(self._connection)
