"""A disk that forgets what was not synced, as a loss of power does.

It is a virtual file system of SQLite.  What SQLite writes goes to real files, which readers see,
and to a model of the disk, which gets it when SQLite syncs.  `lose_power` leaves the model's files.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any

import apsw

from onepull.store import SQLiteStore


class Disk:
    """What a disk holds of each file, and what was written since its last sync."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.holds: dict[str, bytearray] = {}
        self.waits: dict[str, list[tuple[int, bytes | None]]] = {}
        self.is_full = self.fails_to_sync = False
        self.syncs = 0
        self._lock = Lock()
        self.vfs = _VFS(self)

    def write(self, path: str, offset: int, data: bytes | None) -> None:
        """Note a write, or with None that the file was cut at an offset."""
        with self._lock:
            self.waits.setdefault(path, []).append((offset, data))

    def sync(self, path: str) -> None:
        """Take in what was written to a file."""
        with self._lock:
            self.syncs += 1
            waits = self.waits.pop(path, [])
            # What could not be written counts as written, which is how Linux does it.
            if not self.fails_to_sync:
                _apply(self.holds.setdefault(path, bytearray()), waits)

    def remove(self, path: str) -> None:
        with self._lock:
            self.holds.pop(path, None)
            self.waits.pop(path, None)

    def restarted(self, folder: Path, name: str) -> Disk:
        """Return the disk as a new process finds it: the system still has what it could not write.

        The files are copied to a folder, since the old process still has them open.
        """
        disk = Disk(name)
        with self._lock:
            for path, held in self.holds.items():
                disk.holds[str(folder / Path(path).name)] = bytearray(held)
                (folder / Path(path).name).write_bytes(Path(path).read_bytes())
        return disk

    def lose_power(self, folder: Path, luck: Random | None = None) -> Path:
        """Write what is left of the files to a folder; return the path of the database.

        With `luck`, some of what was not synced is there, in any order, and some is torn.
        """
        with self._lock:  # all at the same moment
            holds = {path: bytearray(self.holds.get(path, b"")) for path in self.holds | self.waits}
            unsynced = {path: list(waits) for path, waits in self.waits.items()}
        found = None
        for path, held in holds.items():
            if luck is not None:
                waits = [each for each in unsynced.get(path, []) if luck.random() < 0.5]
                luck.shuffle(waits)
                torn = [
                    (
                        offset,
                        data if data is None or luck.random() < 0.8 else data[: len(data) // 2],
                    )
                    for offset, data in waits
                ]
                _apply(held, torn)
            (folder / Path(path).name).write_bytes(held)
            if not path.endswith(("-wal", "-journal", "-shm")):
                found = folder / Path(path).name
        assert found is not None
        return found


def _apply(held: bytearray, waits: list[tuple[int, bytes | None]]) -> None:
    for offset, data in waits:
        if data is None:
            del held[offset:]
            continue
        if len(held) < offset:
            held.extend(bytes(offset - len(held)))
        held[offset : offset + len(data)] = data


class _VFS(apsw.VFS):
    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        super().__init__(disk.name, "")

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802 - SQLite's name
        return _File(self.disk, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802, FBT001 - the same
        super().xDelete(filename, syncdir)
        self.disk.remove(filename)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self.disk = disk
        self.path = name if isinstance(name, str) else name.filename()

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        if self.disk.is_full:
            raise apsw.FullError
        super().xWrite(data, offset)
        self.disk.write(self.path, offset, bytes(data))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's name
        super().xTruncate(newsize)
        self.disk.write(self.path, newsize, None)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        del flags  # the real disk has nothing to do
        self.disk.sync(self.path)
        if self.disk.fails_to_sync:
            error: Any = apsw.IOError()
            error.extendedresult = apsw.SQLITE_IOERR_FSYNC
            raise error


class ForgetfulStore(SQLiteStore):
    """A SQLite store on a forgetful disk; `changes` are pragmas that differ, to spoil it."""

    def __init__(self, path: Path, disk: Disk, **changes: str) -> None:
        self.disk, self.changes = disk, changes
        super().__init__(path)

    def _open(self) -> Any:
        return _Connection(apsw.Connection(str(self.path), vfs=self.disk.name), self.changes)

    def _rewrite(self, path: Path) -> None:  # type: ignore[override]  # of this disk
        self.disk.waits[str(path)] = [(0, path.read_bytes())]
        self.disk.sync(str(path))
        if self.disk.fails_to_sync:
            raise OSError(5, "Input/output error")


class _Connection:
    """A connection of apsw that looks like one of sqlite3."""

    def __init__(self, connection: apsw.Connection, changes: dict[str, str]) -> None:
        self._connection, self._changes = connection, changes
        connection.set_busy_timeout(10_000)

    def cursor(self) -> _Connection:
        return self

    def execute(self, statement: str, values: Any = ()) -> Any:
        for name, value in self._changes.items():
            if statement.startswith(f"PRAGMA {name} ="):
                statement = f"PRAGMA {name} = {value}"
        return self._run(lambda: self._connection.execute(statement, values))

    def executemany(self, statement: str, rows: Any) -> Any:
        return self._run(lambda: self._connection.executemany(statement, rows))

    def _run(self, call: Any) -> Any:
        try:
            cursor = call()
            return _Cursor(cursor.fetchall(), self._connection)
        except apsw.Error as error:
            told = sqlite3.OperationalError(str(error))
            told.sqlite_errorcode = getattr(error, "extendedresult", 0)
            raise told from error

    def close(self) -> None:
        self._connection.close()


class _Cursor:
    def __init__(self, rows: list[Any], connection: apsw.Connection) -> None:
        self._rows = rows
        self.rowcount, self.lastrowid = connection.changes(), connection.last_insert_rowid()

    def __iter__(self) -> Any:
        return iter(self._rows)

    def fetchall(self) -> list[Any]:
        return self._rows

    def fetchone(self) -> Any:
        return self._rows[0] if self._rows else None
