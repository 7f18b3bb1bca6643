"""Logs that last: events in memory, in a SQLite file or in Postgres.

A store knows nothing of policies.  It keeps events in order, each once, and says when they are on
disk.  `onepull.testing.STORE_CHECKS` is the contract as a battery of tests.
"""

from onepull.store.events import (
    ArmAdded,
    ArmRemoved,
    AttributesSet,
    Control,
    Decided,
    Defined,
    Drained,
    Event,
    Expired,
    Failed,
    FallbackSet,
    GaveUp,
    Identified,
    ModeSet,
    Observed,
    Paused,
    Pinned,
    Resumed,
    RewardSet,
    ShareSet,
    Slot,
)
from onepull.store.ids import new_id
from onepull.store.log_files import export_log, import_log
from onepull.store.memory_store import MemoryStore
from onepull.store.opening import open_store
from onepull.store.postgres_store import PostgresStore
from onepull.store.sqlite_store import SQLiteStore
from onepull.store.store import Appended, Forgotten, Snapshot, Store

__all__ = [
    "Appended",
    "ArmAdded",
    "ArmRemoved",
    "AttributesSet",
    "Control",
    "Decided",
    "Defined",
    "Drained",
    "Event",
    "Expired",
    "Failed",
    "FallbackSet",
    "Forgotten",
    "GaveUp",
    "Identified",
    "MemoryStore",
    "ModeSet",
    "Observed",
    "Paused",
    "Pinned",
    "PostgresStore",
    "Resumed",
    "RewardSet",
    "SQLiteStore",
    "ShareSet",
    "Slot",
    "Snapshot",
    "Store",
    "export_log",
    "import_log",
    "new_id",
    "open_store",
]
