"""`onepull run`, `compare` and `plan` with a battery or a queue, and who does not take one."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from onepull.cli import main
from onepull.experiments import BufferExperiment
from onepull.simulation.buffered import simulate_buffer

BATTERY = """
application = "harvesting-battery"
horizon = 60
replications = 3
seed = 2
baseline = "all"
[[controllers]]
controller = "Myopic"
policy = "DCB"
name = "all"
[[controllers]]
controller = "DriftPlusPenalty"
policy = "DCB"
weight = [2.0, 4.0]
"""
QUICK = ("--horizon", 60, "--replications", 2)


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # To start processes takes longer than these runs.
    monkeypatch.setattr("onepull.cli.buffers.EVERYWHERE", "serial")
    (tmp_path / "battery.toml").write_text(BATTERY)

    def call(*arguments):
        done = CliRunner().invoke(main, list(map(str, arguments)), env={"COLUMNS": "100"})
        return subprocess.CompletedProcess([], done.exit_code, done.stdout, done.stderr)

    return call


@pytest.fixture
def ready(invoke):
    assert invoke("run", "battery.toml", "--on", "serial").returncode == 0
    return Path("battery")


def test_a_run_shows_and_keeps_what_the_library_finds(invoke):
    done = invoke("run", "battery.toml", "--on", "serial")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Means a slot over 60 slots, 3 replications\n")
    assert "the best there is" in done.stdout
    assert "vs all" in done.stdout
    assert done.stderr.splitlines()[-1] == "results in battery"
    experiment = BufferExperiment.read("battery.toml")
    simulation = experiment.simulation
    called = simulate_buffer(
        simulation.environment, simulation.controllers, horizon=60, replications=3, seed=2
    )
    rows = list(csv.DictReader(Path("battery/result.csv").read_text().splitlines()))
    for row, found, paired in zip(rows, called.rows(), called.rows("all"), strict=True):
        assert row["controller"] == found["controller"]
        assert row["replications"] == "3"
        assert float(row["reward"]) == found["reward"]
        assert float(row["level_high"]) == found["level_high"]
        assert float(row["reward vs baseline"]) == paired["reward"]


def test_on_all_cores_unless_told_otherwise(onepull, tmp_path):
    (tmp_path / "battery.toml").write_text(BATTERY)
    everywhere = onepull("run", "battery.toml", "--out", "a", "--json")
    assert everywhere.returncode == 0, everywhere.stderr
    assert onepull("run", "battery.toml", "--out", "b", "--on", "serial").returncode == 0
    (a, b) = ((tmp_path / name / "result.csv").read_text() for name in "ab")
    assert a == b
    ((title, rows),) = json.loads(everywhere.stdout).items()
    assert title == "Means a slot over 60 slots, 3 replications"
    assert rows[0]["vs all"] is None
    assert rows[-1]["controller"] == "the best there is"


def test_a_run_can_be_shown_again_and_added_to(invoke, ready):
    first = invoke("run", "battery.toml", "--on", "serial").stdout
    assert invoke("compare", ready).stdout == first
    other = invoke("compare", ready, "--baseline", "DriftPlusPenalty(DCB, weight=2.0)")
    assert "vs DriftPlusPenalty(DCB, weight=2.0)" in other.stdout
    Path("battery.toml").write_text(BATTERY.replace("replications = 3", "replications = 4"))
    assert "4 replications" in invoke("run", "battery.toml", "--on", "serial").stdout


def test_a_backlog_is_told_by_its_cost(invoke):
    text = BATTERY.replace("harvesting-battery", "metered-backlog")
    Path("backlog.toml").write_text(text)
    done = invoke("run", "backlog.toml", "--on", "serial", "--json")
    ((_, rows),) = json.loads(done.stdout).items()
    assert rows[0]["controller"] == "all"
    assert len(rows) == 3  # no best there is
    assert rows[0]["cost"] > 0


def test_what_does_not_take_a_buffer_says_so(invoke, refuses, ready):
    refuses(invoke("plot", ready, "--out", "a.svg"), "has a buffer, which only `onepull run`")
    refuses(invoke("report", ready), "battery/experiment.toml: has a buffer, which only")
    refuses(invoke("theory", "battery.toml"), "battery.toml: has a buffer, which only")
    refuses(invoke("compare", ready, "--pulls"), "so --pulls is not available")
    refuses(invoke("compare", ready, "--baseline", "none"), "unknown baseline 'none'")
    assert not Path("a.svg").exists()


def test_a_bad_file_is_named_and_nothing_is_run(invoke, refuses, tmp_path):
    for old, new, words in [
        ("horizon = 60", "horizn = 60", "unknown field 'horizn'"),
        ('"Myopic"', '"Myopik"', "controller 1: unknown controller 'Myopik'"),
        ("weight = [2.0, 4.0]", "", "controller 2: DriftPlusPenalty needs weight"),
        ("[[controllers]]", "[[policies]]", "unknown field 'policies'"),
    ]:
        Path("battery.toml").write_text(BATTERY.replace(old, new))
        refuses(invoke("run", "battery.toml"), "battery.toml: ", words)
    assert [file.name for file in tmp_path.iterdir()] == ["battery.toml"]


def test_a_plan_proposes_a_controller(invoke):
    done = invoke("plan", "battery.toml", *QUICK, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["slots"], told["replications"]) == (60, 2)
    calls = {option["name"]: option["call"] for option in told["options"]}
    assert told["proposed"]["call"] == calls[told["proposed"]["name"]]
    assert {"Myopic", "BatteryPlan"} < set(calls)
    again = invoke("plan", "--application", "harvesting-battery", *QUICK, "--seed", 2)
    assert f"Proposed: {told['proposed']['call']}\n" in again.stdout


def test_nothing_that_keeps_to_the_limits_is_exit_code_1(invoke):
    done = invoke("plan", "--application", "metered-backlog", *QUICK, "--level", 0.01)
    assert done.returncode == 1
    assert "No controller loses at most 0.1 % of the arrivals and holds at most" in done.stdout


def test_what_a_plan_refuses(invoke, refuses, small):
    refuses(invoke("plan", "battery.toml", "--regret", 3), "has a buffer; --regret cannot be used")
    refuses(
        invoke("plan", "battery.toml", "--storage", "4kB", "--picture", "a.svg"),
        "battery: has a buffer; --storage, --picture cannot be used with it",
    )
    refuses(invoke("plan", "battery.toml", "--level", 3), "a battery is judged by its reward only")
    refuses(invoke("plan", small, "--level", 3), "--level and --lost need a file with a backlog")
    Path("battery.toml").write_text(BATTERY.replace("horizon = 60", "horizon = 60\nsize = 1"))
    refuses(invoke("plan", "battery.toml"), "battery.toml: ", "unknown field 'size'")
