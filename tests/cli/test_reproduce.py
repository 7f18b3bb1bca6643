"""`onepull reproduce`, on a small scale."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from onepull.cli import main
from onepull.experiments.reproduction import QUICK, Scale


@pytest.fixture
def invoke(monkeypatch, tmp_path):
    monkeypatch.setattr("onepull.cli.reproduce.QUICK", Scale(2000, 2, 2000, 2, 2))
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        done = CliRunner(env={"COLUMNS": "80"}).invoke(main, ["reproduce", "--quick", *arguments])
        assert done.exit_code == 0, done.output
        return done

    return call


def test_quick_is_as_long_as_the_paper_with_fewer_runs():
    assert (QUICK.channel_trials, QUICK.harvesting_trials) == (10**5, 10**6)


def test_reproduce(invoke, tmp_path):
    done = invoke("--tried", "--out", "new/folder")
    assert (tmp_path / "new" / "folder" / "report.html").exists()
    assert done.stderr.splitlines()[-1] == "report written to new/folder/report.html"
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    # Nothing wraps: below each rule there is a line for each row.
    rules = [i for i, line in enumerate(lines) if line.startswith("──")]
    lengths = [next(n for n, line in enumerate(lines[i + 1 :]) if not line) for i in rules]
    assert lengths == [6, 10, 18, 5, 3, 2, 2]
    assert all(lines[i - 2] == "" for i in rules)


def test_json_and_seed(invoke, monkeypatch):
    monkeypatch.setattr("onepull.experiments.reproduction.Reproduction.write", lambda *_: "")
    first, again, other = (
        json.loads(invoke("--json", "--seed", seed).stdout) for seed in ("1", "1", "2")
    )
    assert first == again != other
    assert list(first)[:2] == [
        "Table I: regret at T = 2,000, mean of 2 runs",
        "Table II: regret at T = 2,000, mean of 2 runs",
    ]
