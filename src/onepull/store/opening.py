"""Open a log by its name."""

from __future__ import annotations

import os
import re
from typing import Any

from onepull.checks import shown
from onepull.errors import ParameterError
from onepull.store.memory_store import MemoryStore
from onepull.store.postgres_store import PostgresStore
from onepull.store.sqlite_store import SQLiteStore
from onepull.store.store import Store


def without_password(where: str | os.PathLike[str]) -> str:
    """Return the name of a log as messages may show it.

    >>> without_password("postgresql://ada:s3cret@host/routers?sslpassword=x&sslmode=require")
    'postgresql://ada:…@host/routers?sslpassword=…&sslmode=require'
    >>> without_password("router.db")
    'router.db'
    """
    text = str(where)
    if "://" not in text:
        return text
    # Up to the last "@", since a password may have one though it should be written %40.
    text = re.sub(r"(://[^:/@]*):.*@", r"\1:…@", text)
    return re.sub(r"(password=)[^&]*", r"\1…", text, flags=re.IGNORECASE)


def open_store(where: str | os.PathLike[str] | Store | None) -> Store:
    """Return a log: in memory for None, in Postgres for its address, otherwise in a SQLite file.

    >>> open_store(None)  # doctest: +ELLIPSIS
    <onepull.store.memory_store.MemoryStore object at ...>
    """
    given: Any = where
    if given is None:
        return MemoryStore()
    if isinstance(given, Store):
        return given
    if isinstance(given, str) and re.match(r"postgres(ql)?://", given):
        return PostgresStore(given)
    if isinstance(given, (str, os.PathLike)):
        if str(given) in ("", ":memory:") or re.match(r"[a-z]+://", str(given)):
            raise ParameterError(
                "store takes the path of a file, postgresql://…, or None for memory, "
                f"given {shown(without_password(given))}"
            )
        return SQLiteStore(given)
    raise ParameterError(
        f"store takes the path of a file, postgresql://…, a Store or None, given {shown(given)}"
    )
