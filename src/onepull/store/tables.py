"""The statements on the tables of a log, in the common part of SQLite's and Postgres's language."""

from __future__ import annotations

from typing import Final


class Statements:
    """The statements, with a prefix of the tables' names and the mark of a parameter.

    >>> Statements("onepull_", "%s").FIRST
    'SELECT seq FROM onepull_horizons WHERE problem = %s'
    """

    def __init__(self, prefix: str, mark: str) -> None:
        def statement(text: str) -> str:
            for name in ("events", "snapshots", "horizons", "settled"):
                text = text.replace(f"[{name}]", f"{prefix}{name}")
            return text.replace("?", mark)

        # Appending
        self.HORIZONS: Final = statement("SELECT problem, time FROM [horizons]")
        self.LAST: Final = statement("SELECT max(seq) FROM [events]")
        # Many rows in a statement: Python's lock changes hands twice for each one that is executed.
        self.INSERTS: Final = {
            count: statement(
                "INSERT INTO [events] (seq, problem, id, slot, body) VALUES "  # noqa: S608 - marks only
                + ", ".join(["(?, ?, ?, ?, ?)"] * count)
            )
            for count in (199, 40, 8, 1)
        }
        self.NAMED: Final = statement("SELECT 1 FROM [settled] WHERE problem = ? AND id = ?")

        # Reading
        self.READ: Final = statement(
            "SELECT seq, body FROM [events] WHERE seq > ? AND seq <= ? AND problem = ? "
            "ORDER BY seq LIMIT ?"
        )
        self.OF_IDS: Final = statement(
            "SELECT id, slot, seq, body FROM [events] WHERE problem = ? AND id "
        )
        self.FIRST: Final = statement("SELECT seq FROM [horizons] WHERE problem = ?")
        # From one name to the next on the index, since the log is long.
        self.PROBLEMS: Final = statement(
            "WITH RECURSIVE names (name) AS ("
            "SELECT min(problem) FROM [events] WHERE id IS NOT NULL UNION ALL "
            "SELECT (SELECT min(problem) FROM [events] WHERE problem > name AND id IS NOT NULL) "
            "FROM names WHERE name IS NOT NULL"
            ") SELECT name FROM names WHERE name IS NOT NULL "
            "UNION SELECT problem FROM [horizons]"  # of which all events may be deleted
        )

        # Snapshots
        self.PUT_SNAPSHOT: Final = statement(
            "INSERT INTO [snapshots] (problem, seq, checksum, body) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (problem, seq) DO UPDATE "
            "SET checksum = excluded.checksum, body = excluded.body"
        )
        self.DROP_SNAPSHOTS: Final = statement(
            "DELETE FROM [snapshots] WHERE problem = ? AND seq NOT IN "
            "(SELECT seq FROM [snapshots] WHERE problem = ? ORDER BY seq DESC LIMIT ?)"
        )
        self.SNAPSHOTS: Final = statement(
            "SELECT seq, checksum, body FROM [snapshots] WHERE problem = ? ORDER BY seq DESC"
        )
        self.ALL_SNAPSHOTS: Final = statement(
            "SELECT problem, seq, checksum, body FROM [snapshots]"
        )

        # Forgetting
        of_outcomes = "FROM [events] AS old WHERE old.seq <= ? AND old.problem = ? AND old.slot = ?"
        self.OUTCOMES: Final = statement(f"SELECT old.seq, old.body {of_outcomes}")
        self.OUTCOME_IDS: Final = statement(f"SELECT old.id {of_outcomes}")
        self.SPLIT_IDS: Final = statement(  # of outcomes whose decision, or what else, is kept
            f"SELECT old.id {of_outcomes} AND EXISTS (SELECT 1 FROM [events] AS kept "  # noqa: S608 - of above
            "WHERE kept.problem = old.problem AND kept.id = old.id AND kept.seq > ?)"
        )
        self.DELETE: Final = statement("DELETE FROM [events] WHERE seq <= ? AND problem = ?")
        self.MOVE_HORIZON: Final = statement(
            "INSERT INTO [horizons] (problem, seq, time) VALUES (?, ?, ?) "
            "ON CONFLICT (problem) DO UPDATE SET "
            "seq = CASE WHEN excluded.seq > [horizons].seq "
            "THEN excluded.seq ELSE [horizons].seq END, "
            "time = CASE WHEN excluded.time > [horizons].time "
            "THEN excluded.time ELSE [horizons].time END"
        )
        self.SETTLE: Final = statement(
            "INSERT INTO [settled] (problem, id) VALUES (?, ?) ON CONFLICT DO NOTHING"
        )
