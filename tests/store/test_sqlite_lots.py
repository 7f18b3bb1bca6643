"""Lots in one statement store what events one by one store, and answer the same."""

from __future__ import annotations

import random

import pytest

from onepull import StoreError
from onepull.store import Decided, GaveUp, Observed, Paused, SQLiteStore, new_id
from onepull.store import sqlite_store as stores

IDS = ["order 66", 'say "no"', "naïve\n", "日本", "\U0001f600", "back\\slash", "null", "1"]


def one_by_one(monkeypatch):
    monkeypatch.setattr(stores, "append_lot", lambda *_: None)


def random_lots(seed):
    """Return lots of events of which some come twice, some have no id, and some are of others."""
    luck = random.Random(seed)  # noqa: S311 - for tests
    ids = [*IDS, *(new_id() for _ in range(60))]
    kinds = [
        lambda p, id_: Decided(problem=p, id=id_, arm="a", context={"x": 1}),
        lambda p, id_: Observed(problem=p, id=id_, arm="a", state={"x": 0.1}, time=5.0),
        lambda p, id_: Observed(problem=p, id=id_, arm="b", counts=False, time=6.0),
        lambda p, id_: GaveUp(problem=p, id=id_, arm="a"),
        lambda p, _: Paused(problem=p, arm="a" * luck.randrange(500)),
    ]
    return [
        [
            luck.choice(kinds)("q" if luck.random() < 0.02 else "p", luck.choice(ids))
            for _ in range(luck.randrange(8))
        ]
        for _ in range(60)
    ]


def stored(store):
    return store._all("SELECT seq, problem, id, slot, body, typeof(body) FROM events")


@pytest.mark.parametrize("seed", range(5))
def test_the_same_answers_and_the_same_rows(tmp_path, monkeypatch, seed):
    lots = random_lots(seed)

    def run(name):
        with SQLiteStore(tmp_path / name) as store:
            answers = []
            for place, lot in enumerate(lots):
                answers.append(store.append(lot))
                if place == 40:
                    store.forget("p", until=30)
            return answers, stored(store)

    together = run("together.db")
    one_by_one(monkeypatch)
    assert run("alone.db") == together


def test_most_lots_need_one_statement(tmp_path, monkeypatch):
    """So that the comparison above compares two ways."""
    with SQLiteStore(tmp_path / "router.db") as store:
        monkeypatch.setattr(SQLiteStore, "_append", None)  # the other way
        done = store.append([Decided(problem="p", id=id_, arm="a") for id_ in IDS])
        assert [one.seq for one in done] == [1, 2, 3, 4, 5, 6, 7, 8]
        assert [event.id for event in store.read("p")] == IDS


def test_events_that_another_process_has_deleted(tmp_path):
    """The horizon that a process knows may be an old one."""
    old, new = new_id(), "order 67"
    with (
        SQLiteStore(tmp_path / "router.db") as store,
        SQLiteStore(tmp_path / "router.db") as other,
    ):
        store.append([Observed(problem="p", id=id_, arm="a", time=9e9) for id_ in (old, new)])
        other.append([Paused(problem="p", arm="a")])
        assert other.forget("p", until=2) == 2
        again = [Observed(problem="p", id=id_, arm="a") for id_ in (old, new, "order 68")]
        done = store.append(again)
        assert [repr(one.before) for one in done] == ["FORGOTTEN", "FORGOTTEN", "None"]
        for each in again:  # now the horizon is known
            assert store.append([each])[0].before is not None


def test_a_lot_is_stored_whole_or_not_at_all(tmp_path):
    with SQLiteStore(tmp_path / "router.db") as store:
        store.append([Decided(problem="p", id="a", arm="a")])
        store._writing().execute(
            "CREATE TEMP TRIGGER full BEFORE INSERT ON main.events WHEN new.id = 'c' "
            "BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
        with pytest.raises(StoreError, match="no room"):
            store.append([Decided(problem="p", id=id_, arm="a") for id_ in "bc"])
        assert [event.id for event in store.read("p")] == ["a"]
