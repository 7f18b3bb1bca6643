"""The contract of `Store`, on every store."""

import pytest

from onepull.store import MemoryStore, SQLiteStore
from onepull.testing import STORE_CHECKS


@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
def test_memory(check):
    store = MemoryStore()
    check(lambda: store)


@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
def test_sqlite(check, tmp_path):
    check(lambda: SQLiteStore(tmp_path / "router.db"))
