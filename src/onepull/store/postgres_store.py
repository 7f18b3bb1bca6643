"""A log in Postgres, shared by any number of machines."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module
from typing import Any

from onepull.errors import MissingExtra, StoreError
from onepull.store.events import Event, Slot, decode
from onepull.store.forgetting import horizon_of, is_old
from onepull.store.group_commit import GroupCommit, Rows
from onepull.store.store import BATCH, FORGOTTEN, KEPT, Appended, Snapshot, Store

LOCK = 0x6F6E6570756C6C  # the advisory lock of all who append: "onepull"

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

INSERT = "INSERT INTO onepull_events VALUES (%s, %s, %s, %s, %s)"
TAKEN = "SELECT seq, body FROM onepull_events WHERE problem = %s AND id = %s AND slot = %s"
OF_ID = "SELECT slot, seq, body FROM onepull_events WHERE problem = %s AND id = %s"
LEFT = "SELECT 1 FROM onepull_events WHERE problem = %s AND id = %s LIMIT 1"
NAMED = "SELECT 1 FROM onepull_settled WHERE problem = %s AND id = %s"


class PostgresStore(Store):
    """A log in a Postgres database, for any number of machines.

    Who appends holds an advisory lock until the commit.  So the order of commits is the order of
    sequence numbers, and a reader never sees a number before all lower ones.  One thread of each
    process writes, and all calls that wait share its next commit.  The server must run with
    `fsync` on, and sessions use `synchronous_commit = on`.

    It needs the extra `postgres`: `pip install 'onepull[postgres]'`.

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

    def __init__(self, dsn: str) -> None:
        try:
            self._driver = import_module("psycopg")
        except ImportError:
            raise MissingExtra(
                "a log in Postgres needs psycopg: pip install 'onepull[postgres]'"
            ) from None
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
        _everyone.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._reader: Any = None
        self._writer: Any = None
        self._is_healthy = True

    # Connections

    def _connect(self) -> Any:
        try:
            connection = self._driver.connect(self._dsn, autocommit=True, connect_timeout=10)
            connection.execute("SET synchronous_commit = on")
        except self._driver.Error as error:
            raise self._error("cannot be reached", error) from error
        return connection

    def _connected(self) -> Any:
        """Return the connection for reading; the caller holds the lock."""
        if not self._is_open:
            raise StoreError("the store is closed")
        if self._reader is None or self._reader.closed:
            self._reader = self._connect()
        return self._reader

    def _error(self, what: str, error: Exception) -> StoreError:
        # Without the address, which may hold a password.
        return StoreError(f"the log in Postgres {what}: {str(error).strip()}")

    def _migrate(self, connection: Any) -> None:
        """Bring the tables to this version."""
        try:
            with connection.transaction():
                self._lock_appending(connection)
                connection.execute("CREATE TABLE IF NOT EXISTS onepull_version (version int)")
                found = self._version(connection)
                for step in MIGRATIONS[found:]:
                    connection.execute(step)
                if found < VERSION:
                    connection.execute("DELETE FROM onepull_version")
                    connection.execute("INSERT INTO onepull_version VALUES (%s)", (VERSION,))
        except self._driver.Error as error:
            raise self._error("cannot be prepared", error) from error

    def _version(self, connection: Any) -> int:
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
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))

    # Writing

    def submit(self, events: Sequence[Event]) -> Future[list[Appended]]:
        """Store events; the future has its result when they are on disk."""
        return self._group.submit(events)

    def record(self, event: Event) -> None:
        """Store an event in the background."""
        self._group.record(event)

    def _commit(self, jobs: list[Rows]) -> list[list[Appended]]:
        """Store the events of several calls in one transaction."""
        if not any(jobs) and self._is_healthy:
            return [[] for _ in jobs]
        try:
            if self._writer is None or self._writer.closed:
                self._writer = self._connect()
            with self._writer.transaction():
                self._lock_appending(self._writer)
                self._version(self._writer)
                results = self._insert(self._writer, jobs)
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

    def _insert(self, connection: Any, jobs: list[Rows]) -> list[list[Appended]]:
        with connection.cursor() as cursor:
            horizons = cursor.execute("SELECT problem, time FROM onepull_horizons").fetchall()
            last = cursor.execute("SELECT max(seq) FROM onepull_events").fetchone()[0] or 0
            appending = _Appending(cursor, dict(horizons), last)
            results = [[appending.put(*row) for row in rows] for rows in jobs]
            appending.write()
        return results

    # Reading

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

    def read(
        self, problem: str, *, after: int = 0, until: int | None = None, limit: int = BATCH
    ) -> list[Any]:
        """Return the events of a problem in order, at most `limit`."""
        rows = self._all(
            "SELECT seq, body FROM onepull_events WHERE seq > %s AND seq <= %s AND problem = %s "
            "ORDER BY seq LIMIT %s",
            (after, 2**62 if until is None else until, problem, limit),
        )
        return [decode(bytes(body), seq=seq, problem=problem) for seq, body in rows]

    @property
    def last_sequence(self) -> int:
        """The sequence number of the newest event of any problem."""
        return self._all("SELECT max(seq) FROM onepull_events")[0][0] or 0

    def first_sequence(self, problem: str) -> int:
        """Return the number after which all events of a problem are kept."""
        rows = self._all("SELECT seq FROM onepull_horizons WHERE problem = %s", (problem,))
        return rows[0][0] if rows else 0

    def of_id(self, problem: str, id_: str) -> dict[Slot, Any]:
        """Return the events of an id by slot."""
        return {
            Slot(slot): decode(bytes(body), seq=seq, problem=problem)
            for slot, seq, body in self._all(OF_ID, (problem, id_))
        }

    def of_ids(self, problem: str, ids: Sequence[str]) -> dict[str, dict[Slot, Any]]:
        """Return the events of several ids by slot."""
        rows = self._all(
            "SELECT id, slot, seq, body FROM onepull_events WHERE problem = %s AND id = ANY(%s)",
            (problem, list(ids)),
        )
        found: dict[str, dict[Slot, Any]] = {}
        for id_, slot, seq, body in rows:
            found.setdefault(id_, {})[Slot(slot)] = decode(bytes(body), seq=seq, problem=problem)
        return found

    def problems(self) -> list[str]:
        """Return the names of the problems that have events."""
        rows = self._all("SELECT DISTINCT problem FROM onepull_events WHERE id IS NOT NULL")
        return sorted(name for (name,) in rows)

    # Snapshots and retention

    def _change(self, change: Callable[[Any], Any]) -> Any:
        """Make a change in a transaction of its own, while nobody appends."""
        with self._lock:
            connection = self._connected()
            try:
                with connection.transaction():
                    self._lock_appending(connection)
                    return change(connection)
            except self._driver.Error as error:
                raise self._error("cannot be written", error) from error

    def put_snapshot(self, problem: str, snapshot: Snapshot) -> None:
        """Keep a snapshot, durably; only the newest few are kept."""

        def put(connection: Any) -> None:
            connection.execute(
                "INSERT INTO onepull_snapshots VALUES (%s, %s, %s, %s) ON CONFLICT (problem, seq) "
                "DO UPDATE SET checksum = excluded.checksum, body = excluded.body",
                (problem, snapshot.seq, snapshot.checksum, snapshot.body),
            )
            connection.execute(
                "DELETE FROM onepull_snapshots WHERE problem = %s AND seq NOT IN (SELECT seq FROM "
                "onepull_snapshots WHERE problem = %s ORDER BY seq DESC LIMIT %s)",
                (problem, problem, KEPT),
            )

        self._change(put)

    def snapshots(self, problem: str) -> list[Snapshot]:
        """Return the undamaged snapshots of a problem, the newest first."""
        rows = self._all(
            "SELECT seq, checksum, body FROM onepull_snapshots WHERE problem = %s "
            "ORDER BY seq DESC",
            (problem,),
        )
        found = [(Snapshot(seq, bytes(body)), checksum) for seq, checksum, body in rows]
        return [snapshot for snapshot, checksum in found if snapshot.checksum == checksum]

    def forget(self, problem: str, *, until: int) -> int:
        """Delete the events of a problem up to a number; return how many were deleted."""

        def delete(connection: Any) -> int:
            last = connection.execute("SELECT max(seq) FROM onepull_events").fetchone()[0] or 0
            end = min(until, last - 1)  # the newest stays, so that its number is not given again
            rows = connection.execute(
                "SELECT seq, id, body FROM onepull_events "
                "WHERE seq <= %s AND problem = %s AND slot = %s",
                (end, problem, int(Slot.OUTCOME)),
            ).fetchall()
            times = [
                (id_, decode(bytes(body), seq=seq, problem=problem).time) for seq, id_, body in rows
            ]
            horizon = horizon_of(times, time.time())
            connection.execute(
                "INSERT INTO onepull_horizons AS old VALUES (%s, %s, %s) ON CONFLICT (problem) "
                "DO UPDATE SET seq = greatest(old.seq, excluded.seq), "
                "time = greatest(old.time, excluded.time)",
                (problem, end, horizon),
            )
            deleted = connection.execute(
                "DELETE FROM onepull_events WHERE seq <= %s AND problem = %s", (end, problem)
            )
            named = [
                (problem, id_)
                for id_, _ in times
                if not is_old(id_, horizon)
                or connection.execute(LEFT, (problem, id_)).fetchone() is not None
            ]
            with connection.cursor() as cursor:
                cursor.executemany(
                    "INSERT INTO onepull_settled VALUES (%s, %s) ON CONFLICT DO NOTHING", named
                )
            return int(deleted.rowcount)

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

    def backup(self, path: Any) -> None:
        """Raise StoreError: use Postgres's own tools, or export the log."""
        del path
        raise StoreError("use pg_dump for a log in Postgres, or onepull log export")

    def integrity(self) -> list[str]:
        """Return what is wrong with the stored data, an empty list if nothing is."""
        rows = self._all("SELECT problem, seq, checksum, body FROM onepull_snapshots")
        found = [
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
            for connection in (self._reader, self._writer):
                if connection is not None:
                    connection.close()


class _Appending:
    """Events that get their numbers and are then written together."""

    def __init__(self, cursor: Any, horizons: dict[str, float], last: int) -> None:
        self._cursor, self._horizons, self._last = cursor, horizons, last
        self._rows: list[tuple[Any, ...]] = []
        self._mine: dict[tuple[str, str, int], tuple[int, bytes]] = {}

    def put(self, event: Event, body: bytes) -> Appended:
        """Give an event its number, or return the one that took its place."""
        slot, problem = event.slot, event.problem
        if slot is None:
            return self._add(event, body, None)
        id_: str = event.id  # type: ignore[attr-defined]  # an event with a slot has one
        key = problem, id_, int(slot)
        before = self._mine.get(key) or self._cursor.execute(TAKEN, key).fetchone()
        if before is not None:
            seq, kept = before
            return Appended(seq, decode(bytes(kept), seq=seq, problem=problem))
        if problem in self._horizons and slot is not Slot.DEFINITION and self._is_settled(key[:2]):
            return Appended(0, FORGOTTEN)
        return self._add(event, body, key)

    def _is_settled(self, key: tuple[str, str]) -> bool:
        """Whether an event belongs to a decision whose events were deleted."""
        if self._cursor.execute(NAMED, key).fetchone() is not None:
            return True
        if not is_old(key[1], self._horizons[key[0]]):
            return False
        return self._cursor.execute(LEFT, key).fetchone() is None

    def _add(self, event: Event, body: bytes, key: tuple[str, str, int] | None) -> Appended:
        self._last += 1
        _, id_, slot = key or (None, None, None)
        self._rows.append((self._last, event.problem, id_, slot, body))
        if key is not None:
            self._mine[key] = self._last, body
        return Appended(self._last)

    def write(self) -> None:
        """Write all events."""
        if self._rows:
            self._cursor.executemany(INSERT, self._rows)


_everyone: weakref.WeakSet[PostgresStore] = weakref.WeakSet()
_of_parents: list[Any] = []  # never closed, since the parent still uses them


def _after_fork() -> None:
    for store in list(_everyone):
        _of_parents.extend((store._reader, store._writer))  # noqa: SLF001 - of this module
        store._begin()  # noqa: SLF001 - of this module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
