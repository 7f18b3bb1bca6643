"""The contract of `Store` and the promise of a router, on a real Postgres server."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from postgres_server import server, why_not
from problems import channels
from router_workers import quiet

from onepull import DCB, UCB1, DiscountedUCB, MissingExtra, PostgresStore, StoreError, open_store
from onepull.router.definition.preview import Preview
from onepull.store import Decided
from onepull.store.read_only import PostgresReader, open_to_read
from onepull.testing import STORE_CHECKS

needs_server = pytest.mark.skipif(bool(why_not()), reason=why_not())


@pytest.fixture(scope="module")
def running():
    pytest.importorskip("psycopg", reason="pip install '.[postgres]'")
    with server() as dsn:
        yield dsn


@pytest.fixture
def address(running):
    """The address of a database without tables."""
    import psycopg  # noqa: PLC0415 - an extra

    with psycopg.connect(running, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return running


@needs_server
@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
def test_battery(check, address):
    check(lambda: PostgresStore(address))


@needs_server
def test_a_log_is_looked_at_without_a_change(address):
    assert open_to_read(address) is None  # and no table was made
    assert open_to_read(address) is None
    with quiet(DCB, channels(3), address) as router:
        router.observe(router.choose(bits=1), capacity=2)
        store = open_to_read(address)
        assert isinstance(store, PostgresReader)
        with Preview(channels(3), policy=UCB1, store=store) as preview:
            assert str(preview.redefinition) == "changed: the policy; the one outcome was kept"
        with pytest.raises(StoreError, match="was opened to read only"):
            store.append([Decided(id="one", arm="channel-1", problem="default")])
        with pytest.raises(StoreError, match="read-only transaction"):
            store._all("DELETE FROM onepull_events RETURNING seq")
        store.close()
    with PostgresStore(address) as store:
        store._change(lambda cursor: cursor.execute("UPDATE onepull_version SET version = 99"))
    with pytest.raises(StoreError, match="written by a newer onepull"):
        open_to_read(address)


@needs_server
def test_workers_learn_together(address):
    def build(problem):
        return DiscountedUCB(problem, discount=0.9)

    workers = [quiet(build, channels(3), address) for _ in range(3)]

    def load(me):
        for i in range(25):
            decision = workers[me].choose(bits=i % 4 + 1)
            workers[(me + i) % 3].observe(decision, bits=i % 4 + 1, capacity=(i * me) % 8)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(load, range(3)))
    workers[0].snapshot()
    workers.append(quiet(build, channels(3), address))
    for worker in workers:
        worker.sync()
    assert len({worker.state() for worker in workers}) == 1
    assert workers[0].stats().policy.trials == 75
    for worker in workers:
        worker.close()


@needs_server
def test_a_lost_connection_is_told_and_opened_anew(address):
    import psycopg  # noqa: PLC0415 - an extra

    with PostgresStore(address) as store:
        store.append([Decided(problem="p", id="a", arm="a")])
        with psycopg.connect(address, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        with pytest.raises(StoreError, match="cannot be written"):
            store.append([Decided(problem="p", id="b", arm="a")])
        assert not store.is_healthy
        assert store.append([Decided(problem="p", id="b", arm="a")])[0].seq == 2
        assert store.is_healthy
        with pytest.raises(StoreError, match="cannot be read"):
            store.read("p")
        assert len(store.read("p")) == 2


@needs_server
def test_a_database_with_another_isolation(address):
    """Numbers are given after waiting for the lock, whatever the database's default is."""
    import psycopg  # noqa: PLC0415 - an extra

    with psycopg.connect(address, autocommit=True) as connection:
        (name,) = connection.execute("SELECT current_database()").fetchone() or ("",)
        connection.execute(
            f"ALTER DATABASE \"{name}\" SET default_transaction_isolation = 'repeatable read'"
        )
    stores = [PostgresStore(address) for _ in range(4)]
    try:
        with ThreadPoolExecutor(4) as pool:
            for me, store in enumerate(stores):
                for i in range(10):
                    pool.submit(store.append, [Decided(problem="p", id=f"{me}-{i}", arm="a")])
        assert stores[0].last_sequence == 40
    finally:
        for store in stores:
            store.close()
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f'ALTER DATABASE "{name}" RESET default_transaction_isolation')


@needs_server
def test_a_newer_version_is_refused(address):
    with PostgresStore(address) as store:
        store._change(lambda c: c.execute("UPDATE onepull_version SET version = 99"))
        with pytest.raises(StoreError, match="newer onepull"):
            store.append([Decided(problem="p", id="b", arm="a")])
    with pytest.raises(StoreError, match="newer onepull"):
        PostgresStore(address)


def test_a_server_that_is_not_there(tmp_path):
    pytest.importorskip("psycopg", reason="pip install '.[postgres]'")
    with pytest.raises(StoreError, match="cannot be reached") as told:
        open_store(f"postgresql://me:secret@/none?host={tmp_path}")
    assert "secret" not in str(told.value)


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match="\\.\\[postgres\\]"):
        PostgresStore("postgresql://host/database")
