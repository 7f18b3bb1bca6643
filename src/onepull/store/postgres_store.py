"""A log in Postgres, shared by any number of machines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from onepull.errors import MissingExtra, StoreError
from onepull.store.appending import Appending
from onepull.store.forks import Forkable, leave_to_parent
from onepull.store.group_commit import GroupCommit, Rows
from onepull.store.sql_store import SQLStore
from onepull.store.store import Appended
from onepull.store.tables import Statements

APPEND_LOCK = 0x6F6E6570756C6C  # the advisory lock of all who append: "onepull"

# Step i brings a schema of version i to version i + 1.
MIGRATIONS = (
    """
    CREATE TABLE onepull_events (
        seq bigint PRIMARY KEY,
        problem text NOT NULL,
        id text,
        slot smallint,
        body bytea NOT NULL
    );
    CREATE UNIQUE INDEX onepull_events_by_id ON onepull_events (problem, id, slot)
        WHERE id IS NOT NULL;
    CREATE TABLE onepull_snapshots (
        problem text NOT NULL,
        seq bigint NOT NULL,
        checksum bigint NOT NULL,
        body bytea NOT NULL,
        PRIMARY KEY (problem, seq)
    );
    CREATE TABLE onepull_horizons (
        problem text PRIMARY KEY,
        seq bigint NOT NULL,
        time double precision NOT NULL
    );
    CREATE TABLE onepull_settled (
        problem text NOT NULL,
        id text NOT NULL,
        PRIMARY KEY (problem, id)
    );
    """,
)
VERSION = len(MIGRATIONS)


class PostgresStore(SQLStore, Forkable):
    """A log in a Postgres database, for any number of machines.

    Who appends holds an advisory lock until the commit.  So the order of commits is the order of
    sequence numbers, and a reader never sees a number before all lower ones.  One thread of each
    process writes, and all calls that wait share its next commit.  The server must run with
    `fsync` on, and sessions use `synchronous_commit = on`.

    It needs the extra `postgres`: `pip install '.[postgres]'` in a checkout.

    Parameters
    ----------
    dsn
        The address: `postgresql://user:password@host/database`, or any other form that libpq takes.

    Examples
    --------
    >>> with PostgresStore("postgresql://me@host/routing") as store:  # doctest: +SKIP
    ...     store.problems()
    ['default']
    """

    _tables = Statements("onepull_", "%s")

    def __init__(self, dsn: str) -> None:
        try:
            self._driver = import_module("psycopg")
        except ImportError:
            raise MissingExtra.of("a log in Postgres needs", "postgres") from None
        self._dsn = dsn
        self._is_open = True
        self._begin()
        try:
            self._migrate(self._connected())
        except BaseException:
            if self._reader is not None:
                self._reader.close()
            raise
        self._group = GroupCommit(self._commit)
        self._follow_forks()

    def __repr__(self) -> str:
        """Return its class; the address may have a password."""
        return "PostgresStore(…)"

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._reader: Any = None
        self._writer: Any = None
        self._is_healthy = True

    def _after_fork_in_child(self) -> None:
        leave_to_parent(self._reader, self._writer)
        self._begin()

    # Connections

    def _connect(self) -> Any:
        try:
            connection = self._driver.connect(self._dsn, autocommit=True, connect_timeout=10)
            # Each statement must see what was committed before it, also after waiting for a lock.
            connection.isolation_level = self._driver.IsolationLevel.READ_COMMITTED
            connection.execute("SET synchronous_commit = on")
        except self._driver.Error as error:
            raise self._error("cannot be reached", error) from error
        return connection

    def _connected(self) -> Any:
        """Return the connection for reading; the caller holds the lock."""
        self._check()
        if self._reader is None or self._reader.closed:
            self._reader = self._connect()
        return self._reader

    def _check(self) -> None:
        if not self._is_open:
            raise StoreError("the store is closed")

    def _error(self, what: str, error: Exception) -> StoreError:
        # Without the address, which may hold a password.
        return StoreError(f"the log in Postgres {what}: {' '.join(str(error).split())}")

    def _migrate(self, connection: Any) -> None:
        """Bring the tables to this version."""
        try:
            with connection.transaction():
                self._lock_appending(connection)
                connection.execute("CREATE TABLE IF NOT EXISTS onepull_version (version int)")
                found = self.version_in(connection)
                for step in MIGRATIONS[found:]:
                    connection.execute(step)
                if found < VERSION:
                    connection.execute("DELETE FROM onepull_version")
                    connection.execute("INSERT INTO onepull_version VALUES (%s)", (VERSION,))
        except self._driver.Error as error:
            raise self._error("cannot be prepared", error) from error

    @staticmethod
    def version_in(connection: Any) -> int:
        """Return the version of the tables, 0 if there are none; raises if it is newer."""
        row = connection.execute("SELECT version FROM onepull_version").fetchone()
        found = int(row[0]) if row else 0
        if found > VERSION:
            raise StoreError(
                f"the log in Postgres was written by a newer onepull (its version is {found}, this "
                f"one knows up to {VERSION}); upgrade onepull"
            )
        return found

    @staticmethod
    def _lock_appending(connection: Any) -> None:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (APPEND_LOCK,))

    # Writing

    def _commit(self, jobs: list[Rows]) -> list[list[Appended]]:
        """Store the events of several calls in one transaction."""
        if not any(jobs) and self._is_healthy:
            return [[] for _ in jobs]
        try:
            self._check()
            if self._writer is None or self._writer.closed:
                self._writer = self._connect()
            with self._writer.transaction():
                self._lock_appending(self._writer)
                self.version_in(self._writer)
                with self._writer.cursor() as cursor:
                    results = Appending(cursor, self._tables, self._one_of).all(jobs)
        except (self._driver.Error, StoreError) as error:
            # Whether a commit that failed was done is not known, so nothing of it is relied on.
            self._is_healthy = False
            if self._writer is not None:
                with suppress(self._driver.Error):
                    self._writer.close()
            if isinstance(error, StoreError):
                raise
            raise self._error("cannot be written", error) from error
        self._is_healthy = True
        return results

    # Reading and other changes

    def _all(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._lock:
            connection = self._connected()
            try:
                rows: list[Any] = connection.execute(statement, values).fetchall()
            except self._driver.Error as error:
                with suppress(self._driver.Error):
                    connection.close()
                raise self._error("cannot be read", error) from error
            return rows

    def _one_of(self, ids: Sequence[str]) -> tuple[str, Any]:
        return "= ANY(%s)", list(ids)

    def _change(self, change: Callable[[Any], Any]) -> Any:
        """Make a change in a transaction of its own, while nobody appends."""
        with self._lock:
            connection = self._connected()
            try:
                with connection.transaction():
                    self._lock_appending(connection)
                    with connection.cursor() as cursor:
                        return change(cursor)
            except self._driver.Error as error:
                raise self._error("cannot be written", error) from error

    # Operating

    @property
    def is_healthy(self) -> bool:
        """Whether the last attempt to write succeeded."""
        return self._is_open and self._is_healthy

    def backup(self, path: Any) -> None:
        """Raise StoreError: use Postgres's own tools, or export the log."""
        del path
        raise StoreError("use pg_dump for a log in Postgres, or onepull log export")

    def close(self) -> None:
        """Store what was recorded, and close."""
        if not self._is_open:
            return
        self._group.close()
        self._is_open = False
        with self._lock:
            for connection in (self._reader, self._writer):
                if connection is not None:
                    connection.close()
