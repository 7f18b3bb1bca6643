"""The tables of a log in SQLite, their version, and how older files are brought up to it."""

from __future__ import annotations

import sqlite3

from onepull.errors import StoreError

APPLICATION = 0x31707531  # marks the file as ours: "1pu1"

# Step i brings a file of version i to version i + 1.
MIGRATIONS = (
    """
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        problem TEXT NOT NULL,
        id TEXT,
        slot INTEGER,
        body BLOB NOT NULL
    );
    CREATE UNIQUE INDEX events_by_id ON events (problem, id, slot) WHERE id IS NOT NULL;
    CREATE TABLE snapshots (
        problem TEXT NOT NULL,
        seq INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (problem, seq)
    );
    CREATE TABLE horizons (
        problem TEXT PRIMARY KEY,
        seq INTEGER NOT NULL,
        time REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE settled (
        problem TEXT NOT NULL,
        id TEXT NOT NULL,
        PRIMARY KEY (problem, id)
    ) WITHOUT ROWID;
    """,
)
VERSION = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring a file to this version; raises StoreError if it is not ours or of a newer one."""
    if version_of(connection) == VERSION:
        check_owner(connection, path)
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in MIGRATIONS[_known_version(connection, path) :]:
            for statement in step.split(";"):
                if statement.strip():
                    connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _known_version(connection: sqlite3.Connection, path: str) -> int:
    """Return the version of a file that can be migrated, once no other process can change it."""
    found = version_of(connection)
    if found == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise foreign(path)
    if found:
        check_owner(connection, path)
    check_version(connection, path, most=VERSION)
    return found


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of a file, 0 of a new one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def check_owner(connection: sqlite3.Connection, path: str) -> None:
    """Raise StoreError if a database is not a log of onepull."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise foreign(path)


def check_version(connection: sqlite3.Connection, path: str, *, most: int = VERSION) -> None:
    """Raise StoreError if a newer onepull has changed the file, perhaps while it was open."""
    if (found := version_of(connection)) > most:
        raise StoreError(
            f"{path} was written by a newer onepull (its version is {found}, this one knows up to "
            f"{most}); upgrade onepull"
        )


def foreign(path: str) -> StoreError:
    """Return the error for a database of another program."""
    return StoreError(f"{path} is a database, but not a log of onepull")
