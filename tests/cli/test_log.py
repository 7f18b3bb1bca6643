"""`onepull log`: what is exported can be imported, and gives the same state."""

from __future__ import annotations

import json
import time

import pytest
from click.testing import CliRunner
from problems import channels
from router_workers import quiet

from onepull import DCB, UCB1, Interval, Problem, Router, SQLiteStore
from onepull.cli import main
from onepull.store import events


def run(*arguments, code=0):
    done = CliRunner().invoke(main, ["log", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "router.db"
    with (
        quiet(DCB, channels(3), path, name="one") as one,
        quiet(UCB1, channels(2), path, name="two") as two,
    ):
        for i in range(20):
            for router in (one, two):
                router.observe(router.choose(bits=i % 4 + 1), capacity=i % 8)
        one.pause("channel-2", by="ada")
    return path


def states(path):
    with (
        quiet(DCB, channels(3), path, name="one") as one,
        quiet(UCB1, channels(2), path, name="two") as two,
    ):
        return one.state(), two.state()


@pytest.mark.parametrize("name", ["log.ndjson", "log.jsonl", "log.parquet"])
def test_export_and_import(log, tmp_path, name):
    file, copy = tmp_path / name, tmp_path / "copy.db"
    assert "83 events written" in run("export", file, "--store", log).output
    assert "83 events read" in run("import", file, "--store", copy).output
    assert states(copy) == states(log)
    assert "already" in run("import", file, "--store", copy, code=2).output
    assert "exists" in run("export", file, "--store", log, code=2).output
    with SQLiteStore(log) as one, SQLiteStore(copy) as two:
        assert list(one.events("one")) == list(two.events("one"))


def test_one_problem_as_lines(log, tmp_path):
    run("export", tmp_path / "two.ndjson", "--store", log, "--problem", "two")
    lines = [json.loads(line) for line in (tmp_path / "two.ndjson").read_text().splitlines()]
    assert {line["problem"] for line in lines} == {"two"}
    assert lines[0]["event"] == "defined"
    assert lines[2]["event"] == "observed"
    assert set(lines[2]) >= {"seq", "time", "id", "arm", "context", "state"}
    run("export", tmp_path / "none.ndjson", "--store", log, "--problem", "three", code=2)


def test_columns_of_parquet(log, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    run("export", tmp_path / "log.parquet", "--store", log)
    rows = parquet.read_table(tmp_path / "log.parquet").to_pylist()
    decided = next(row for row in rows if row["event"] == "decided")
    assert json.loads(decided["context"]) == {"bits": 1.0}
    assert (decided["mode"], decided["chance"]) == ("live", 1.0)
    assert [row["seq"] for row in rows] == list(range(1, 84))


def test_what_is_not_a_whole_log_is_refused(log, tmp_path):
    run("export", tmp_path / "log.ndjson", "--store", log)
    lines = (tmp_path / "log.ndjson").read_bytes().splitlines(keepends=True)
    (tmp_path / "rest.ndjson").write_bytes(b"".join(lines[1:]))
    assert (
        "not a whole log"
        in run("import", tmp_path / "rest.ndjson", "--store", tmp_path / "new.db", code=2).output
    )
    (tmp_path / "odd.ndjson").write_bytes(lines[0] + b'{"event": "dreamed"}\n')
    assert (
        "line 2: not an event"
        in run("import", tmp_path / "odd.ndjson", "--store", tmp_path / "new.db", code=2).output
    )
    run("import", tmp_path / "nothing.ndjson", "--store", tmp_path / "new.db", code=2)
    run("import", tmp_path / "log.csv", "--store", tmp_path / "new.db", code=2)
    with SQLiteStore(tmp_path / "new.db") as store:
        assert store.last_sequence == 0


def test_backup_and_check(log, tmp_path):
    run("backup", tmp_path / "backup.db", "--store", log)
    assert states(tmp_path / "backup.db") == states(log)
    assert "no damage found up to event 83" in run("check", "--store", log).output
    with SQLiteStore(log) as store:
        store._change(lambda c: c.execute("UPDATE events SET body = x'00' WHERE seq = 5"))
    assert "event 5 cannot be read" in run("check", "--store", log, code=1).output
    assert "there is no log at" in run("check", "--store", tmp_path / "none.db", code=2).output


@pytest.mark.parametrize("name", ["log.ndjson", "log.parquet"])
def test_every_kind_of_event_is_exported(tmp_path, name):
    problem = Problem(
        arms={"a": {"price": 1.0}, "b": {"price": 2.0}}, state={"x": Interval(0, 1)},
        reward="x - 0.1 * price", failure=-1,
    )  # fmt: skip
    log, copy = tmp_path / "router.db", tmp_path / "copy.db"
    with Router(problem, store=log, name="one", fallback="a", expires=0.05) as router:
        router.observe(router.choose(key="session"), x=0.5)
        router.failed(router.choose())
        router.gave_up(router.choose())
        router.choose()
        while router.stats().expired == 0:
            time.sleep(0.02)
        router.pin("a", by="ada")
        router.pin(None)
        router.pause("b")
        router.resume("b")
        router.drain("b")
        router.share("a", least=0.1)
        router.set_mode("shadow")
        router.set_fallback("b")
        router.set_attributes("a", price=3.0)
        router.add_arm("c", price=4.0)
        router.remove_arm("c")
        router.set_reward("x - 0.2 * price", failure="-price")
        kinds = {type(event) for event in router.log()}
    assert kinds == {kind for kind in vars(events).values() if _is_kind(kind)}
    run("export", tmp_path / name, "--store", log)
    run("import", tmp_path / name, "--store", copy)
    with SQLiteStore(log) as one, SQLiteStore(copy) as two:
        assert list(one.events("one")) == list(two.events("one"))


def _is_kind(kind):
    return isinstance(kind, type) and issubclass(kind, events.Event) and not kind.__subclasses__()


def test_an_export_that_fails_leaves_no_file(log, tmp_path):
    with SQLiteStore(log) as store:
        store._change(lambda c: c.execute("UPDATE events SET body = x'00' WHERE seq = 60"))
    for name in ("log.ndjson", "log.parquet"):
        run("export", tmp_path / name, "--store", log, code=2)
    assert not [file for file in tmp_path.iterdir() if "log." in file.name]


def test_other_parquet_files_are_refused(tmp_path):
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    (tmp_path / "text.parquet").write_text("seq")
    parquet.write_table(arrow.table({"gain": [1.5]}), tmp_path / "gains.parquet")
    parquet.write_table(arrow.table({"body": ["x", None]}), tmp_path / "bodies.parquet")
    parquet.write_table(arrow.table({"body": [7]}), tmp_path / "numbers.parquet")
    for name, said in (
        ("text", "is not an exported log"),
        ("gains", "is not an exported log"),
        ("bodies", "bodies.parquet, row 1: not an event"),
        ("numbers", "numbers.parquet, row 1: not an event"),
    ):
        done = run("import", tmp_path / f"{name}.parquet", "--store", tmp_path / "new.db", code=2)
        assert said in done.output
