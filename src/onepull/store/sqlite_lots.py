"""Append a lot of events to SQLite in one statement, which is a transaction of its own.

Python's lock is released while SQLite works, and another busy thread may then hold it for
milliseconds.  So all events that wait are one statement, and not one each.  The statement assumes
that the place of no event is taken.  If one is, nothing is written, and `Appending` finds out
which.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from itertools import accumulate
from typing import Any, TypeAlias

import msgspec

from onepull.store.forgetting import is_old
from onepull.store.group_commit import Rows
from onepull.store.sqlite_schema import VERSION
from onepull.store.store import Appended

DIGITS = 12  # digits of the place of a body among all bodies
NO_HORIZON = -1.0  # of a problem of which nothing was deleted

# SQLite numbers the rows: the next is the last one plus one, as `Appending` does it.
STATEMENT = f"""
    INSERT INTO events (problem, id, slot, body)
    SELECT
        :problem,
        value,
        CASE WHEN value IS NOT NULL THEN CAST(substr(:slots, key + 1, 1) AS INTEGER) END,
        substr(
            :bodies,
            CAST(substr(:ends, {DIGITS} * key + 1, {DIGITS}) AS INTEGER) + 1,
            CAST(substr(:ends, {DIGITS} * key + {DIGITS + 1}, {DIGITS}) AS INTEGER)
            - CAST(substr(:ends, {DIGITS} * key + 1, {DIGITS}) AS INTEGER)
        )
    FROM json_each(:ids)
    WHERE (SELECT user_version FROM pragma_user_version) <= {VERSION}
    AND coalesce((SELECT time FROM horizons WHERE problem = :problem), {NO_HORIZON}) = :horizon
    AND (
        :horizon = {NO_HORIZON}
        OR NOT EXISTS (
            SELECT 1 FROM settled
            WHERE problem = :problem AND id IN (SELECT value FROM json_each(:ids))
        )
    )
"""  # noqa: S608 - constants only

# Executes a statement with its parameters, when no other process writes.
Execute: TypeAlias = Callable[[str, Any], Any]


def append_lot(
    jobs: list[Rows], horizons: dict[str, float], execute: Execute
) -> list[list[Appended]] | None:
    """Append the events of several calls; None, with nothing written, if one statement cannot.

    `horizons` are those of the log when it was read last.  If they have moved since, or if the file
    is of a newer version, nothing is written either.
    """
    rows = [row for job in jobs for row in job]
    if not rows:
        return None
    problem = rows[0][0].problem
    horizon = horizons.get(problem, NO_HORIZON)
    ids = [getattr(event, "id", None) for event, _ in rows]
    if len({event.problem for event, _ in rows}) > 1 or (
        horizon != NO_HORIZON and any(id_ is not None and is_old(id_, horizon) for id_ in ids)
    ):
        return None
    slots = [event.slot for event, _ in rows]
    bodies = [body for _, body in rows]
    ends = tuple(accumulate(map(len, bodies), initial=0))
    try:
        done = execute(
            STATEMENT,
            {
                "problem": problem,
                "ids": msgspec.json.encode(ids).decode(),
                "slots": b"".join([b"-" if slot is None else b"%d" % slot for slot in slots]),
                "bodies": b"".join(bodies),
                "ends": b"%012d" * len(ends) % ends,
                "horizon": horizon,
            },
        )
    except sqlite3.Error as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_CONSTRAINT:
            return None
        raise
    if done.rowcount != len(rows):
        return None
    seq = done.lastrowid - len(rows)
    found = []
    for job in jobs:
        found.append([*map(Appended, range(seq + 1, seq + len(job) + 1))])
        seq += len(job)
    return found
