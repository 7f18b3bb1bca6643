"""`onepull theory`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from onepull.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        done = CliRunner(env={"COLUMNS": "80"}).invoke(main, ["theory", *map(str, arguments)])
        return subprocess.CompletedProcess([], done.exit_code, done.stdout, done.stderr)

    return call


def tables(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_application(invoke):
    found = tables(invoke("--application", "channel-selection", "--json"))
    assert [title.split(",")[0].split(":")[0] for title in found] == [
        "The problem",
        "Contexts",
        "Arms",
        "Non-optimal pulls of DCB(0.01)",
        "Lemma 1",
        "Bounds on regret",
        "Limits",
        "Storage after 100",
    ]
    limits = {row["of"]: row["c"] for row in found["Limits, n = 100,000"]}
    assert [round(value, 1) for value in limits.values()] == [26.6, 32.6, 156.7, 36.7, 147.4]
    kept = {row["policy"]: row["numbers"] for row in found["Storage after 100,000 trials"]}
    assert kept == {"UCB1": 14, "Multi-UCB": 56, "DCB": 35}


def test_an_experiment_has_its_own_horizon_and_policies(invoke, small):
    found = tables(invoke(small, "--json"))
    assert [row["policy"] for row in found["Storage after 300 trials"]] == ["DCB", "UCB1"]
    assert "Limits, n = 5,000" in tables(invoke(small, "--horizon", "5000", "--json"))


def test_continuous_contexts_and_states(invoke):
    found = tables(invoke("--application", "energy-harvesting", "--delta", "0.1", "--json"))
    bounds = {row["bound"]: row["corrected"] for row in found["Bounds on regret, n = 100,000"]}
    assert bounds["δLT"] == pytest.approx(0.1 * 4 * 1e5)
    assert bounds["theorem 4"] == pytest.approx(bounds["theorem 3 on the centres"] + bounds["δLT"])
    found = tables(invoke(EXAMPLES / "links.toml", "--json"))
    cells = {row["symbol"]: row["value"] for row in found["The problem"]}
    assert cells["M"] == 71  # T^-1/2 of the width at T = 5000


def test_it_fits_the_terminal(invoke):
    lines = invoke("--application", "channel-selection").stdout.splitlines()
    assert max(map(len, lines)) <= 80


def test_bad_input(invoke, refuses, small):
    refuses(invoke(), "give either an experiment FILE or --application")
    refuses(invoke(small, "--application", "offloading"), "give either an experiment FILE")
    refuses(invoke("none.toml"), "none.toml: No such file or directory")
    refuses(invoke(EXAMPLES / "drift.toml"), "laws that do not change", "after trial 5000")
    refuses(invoke(small, "--delta", "0.1"), "all are finite")
    refuses(invoke(small, "--epsilon", "0"), "epsilon must be from 1e-06 to 10, given 0.0")
    refuses(invoke("--application", "energy-harvesting", "--delta", "-1"), "above 0, given -1.0")
    assert invoke("--application", "nonsense").returncode == 2
    assert invoke(small, "--horizon", "1").returncode == 2
