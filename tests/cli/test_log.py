"""`onepull log`: what is exported can be imported, and gives the same state."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from problems import channels
from router_workers import quiet

from onepull import DCB, UCB1, SQLiteStore
from onepull.cli import main


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
    assert "does not exist" in run("check", "--store", tmp_path / "none.db", code=2).output
