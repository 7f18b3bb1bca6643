"""`onepull plan`: from a file to a proposal, a picture, JSON, or a refusal."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from onepull.cli import main
from onepull.cli.plan import size, trials

PROBLEM = """
[problem]
arms = ["near", "far"]
reward = "min(bits, capacity)"
context = {bits = {low = 1, high = 4}}
state = {capacity = {low = 0, high = 4}}
"""
QUICK = ("--replications", 2, "--no-timing")


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        done = CliRunner().invoke(main, ["plan", *map(str, arguments)], env={"COLUMNS": "100"})
        return subprocess.CompletedProcess([], done.exit_code, done.stdout, done.stderr)

    return call


@pytest.fixture
def file(tmp_path):
    written = tmp_path / "bits.toml"
    written.write_text(f"horizon = 500\n{PROBLEM}")
    return written


def test_an_experiment_file_is_planned_for_its_own_horizon(invoke, small):
    done = invoke(small, *QUICK)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("At trial 300\n")
    assert "\nProposed: " in done.stdout
    assert "At trial 100\n" in invoke(small, *QUICK, "--horizon", 100).stdout


def test_a_problem_alone_is_enough(invoke, file):
    done = invoke(file, *QUICK)
    assert "CCB T^-1/2" in done.stdout
    assert "No environment was given" in done.stdout


def test_a_problem_as_it_writes_itself(invoke, tmp_path):
    text = PROBLEM.replace("[problem]\n", "")
    (tmp_path / "own.toml").write_text(text)
    assert "CCB T^-1/2" in invoke("own.toml", *QUICK, "--horizon", 300).stdout


def test_an_application_without_a_file(invoke):
    done = invoke("--application", "channel-selection", "--horizon", "1e3", *QUICK)
    assert "At trial 1,000\n" in done.stdout
    assert all(
        f"\n{name} " in done.stdout for name in ("DCB", "AdaptiveKL recommended", "PatientKL")
    )
    assert done.stdout.count("\nProposed: ") == 1


def test_no_horizon(invoke):
    done = invoke("--application", "channel-selection", "--horizon", "none", *QUICK)
    for trial in ("10,000", "100,000", "1,000,000"):
        assert f"At trial {trial}\n" in done.stdout


def test_budgets(invoke, file):
    assert "No option fits in 8 bytes" in invoke(file, *QUICK, "--storage", 8).stdout
    words = invoke(file, *QUICK, "--storage", "64kB").stdout.split()  # a line may end between them
    assert "within 64,000 bytes" in " ".join(words)
    assert "with 95 % confidence" in invoke(file, *QUICK, "--regret", 1e6).stdout


def test_the_exit_code_tells_whether_anything_fits(invoke, file):
    assert invoke(file, *QUICK, "--storage", "64kB").returncode == 0
    refused = invoke(file, *QUICK, "--storage", 8, "--picture", "out.svg")
    assert refused.returncode == 1
    assert refused.stdout.endswith("needs 32.\n")  # all of it is printed, and drawn
    assert Path("out.svg").exists()
    as_json = invoke(file, *QUICK, "--storage", 8, "--json")
    assert as_json.returncode == 1
    assert json.loads(as_json.stdout)["proposed"] is None
    assert "exit code is 1" in " ".join(invoke("--help").stdout.split())


def test_feedback_is_the_files_or_as_told(invoke, file):
    hidden = "which may hide the state"
    few = (*QUICK, "--horizon", 40)
    assert hidden not in invoke(file, *few).stdout
    done = invoke(file, *few, "--feedback", "reward")
    assert hidden in done.stdout
    assert "\nCCB " not in done.stdout
    assert "\nRegressionUCB " in done.stdout
    file.write_text(f'feedback = "reward"\nhorizon = 500\n{PROBLEM}')
    assert hidden not in invoke(file, *few, "--feedback", "state").stdout
    shown = invoke(file, *few, "--json").stdout
    assert json.loads(shown)["feedback"] == "reward"
    assert hidden in shown


def test_json_has_it_all(invoke, file):
    done = json.loads(invoke(file, *QUICK, "--json").stdout)
    assert done["horizon"] == done["judged"] == 500
    assert done["proposed"]["call"].startswith(done["proposed"]["policy"])
    names = [option["name"] for option in done["options"]]
    assert done["proposed"]["name"] in names
    row = done["options"][0]
    assert row["bytes"] == 8 * row["numbers"]
    assert row["regret_low"] <= row["regret"] <= row["regret_high"]
    assert row["microseconds"] is None
    nothing = json.loads(invoke(file, *QUICK, "--json", "--storage", 8).stdout)
    assert nothing["proposed"] is None
    assert "no option fits" in nothing["reason"]


def test_json_has_no_infinity(invoke, tmp_path):
    text = PROBLEM.replace("min(bits, capacity)", "capacity >= bits")
    (tmp_path / "steep.toml").write_text(f"horizon = 500\n{text}")
    shown = json.loads(invoke("steep.toml", *QUICK, "--json").stdout)
    assert shown["options"][0]["bound"] is None


def test_decisions_are_timed_unless_told_not_to(invoke, small):
    done = json.loads(invoke(small, "--replications", 2, "--json").stdout)
    assert all(option["microseconds"] > 0 for option in done["options"])


def test_a_picture(invoke, file):
    done = invoke(file, *QUICK, "--picture", "out.svg")
    assert done.returncode == 0
    drawn = Path("out.svg").read_text()
    assert all(f">{text}<" in drawn for text in ("bits", "T^-1/3", "bytes kept"))


def test_refusals(invoke, refuses, file, small):
    refuses(invoke(), "give either a FILE or --application")
    refuses(invoke(file, "--application", "offloading"), "give either a FILE or --application")
    refuses(invoke("none.toml"), "none.toml: No such file")
    refuses(invoke(file, "--picture", "out.gif"), ".svg, .png or .pdf, given 'out.gif'")
    refuses(invoke(file, "--regret", -1), "regret must be a number > 0, given -1.0")
    refuses(invoke(file, "--horizon", "1e9", "--regret", 5), "a horizon of at most 1,000,000")
    file.write_text(f"horizn = 500\n{PROBLEM}")
    refuses(invoke(file), "unknown field 'horizn'", "did you mean")
    file.write_text("horizon = 500\n")
    refuses(invoke(file), "needs [problem]")
    file.write_text(f'feedback = "none"\nhorizon = 500\n{PROBLEM}')
    refuses(invoke(file), "bits.toml: feedback must be state or reward, given 'none'")
    file.write_text("horizon = = 500\n")
    refuses(invoke(file), "not an experiment")
    file.write_text(PROBLEM.replace("high = 4}}\n", "high = inf}}\n"))
    refuses(invoke(file, "--horizon", 300), "inf")
    small.write_text(small.read_text().replace("horizon = 300", "horizon = 3"))
    refuses(invoke(small), "at least the number of arms")


@pytest.mark.parametrize(
    "arguments",
    [("--storage", "much"), ("--storage", "4 parsecs"), ("--horizon", "1.5"), ("--horizon", "nan"),
     ("--replications", 1), ("--seed", -1), ("--application", "none"), ("--feedback", "both")],
)  # fmt: skip
def test_wrong_usage(invoke, file, arguments):
    done = invoke(file, *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: ")
    assert str(arguments[1]) in done.stderr


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ("0", 0),
        ("4096", 4096),
        ("64kB", 64_000),
        ("64 KB", 64_000),
        ("2MiB", 2**21),
        ("1_000", 1000),
    ],
)
def test_sizes(text, bytes_):
    assert size(text) == bytes_


def test_trials():
    assert [trials(text) for text in ("100", "1e5", "100_000", "None")] == [100, 10**5, 10**5, 0]
