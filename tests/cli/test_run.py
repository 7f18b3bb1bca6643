"""`onepull run` and what reads its results, as a user meets them."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner

from onepull.cli import main
from onepull.cli.output import progress, show, show_proposal
from onepull.experiments import ResultFolder
from onepull.report import Span, Table


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """Return the result folder of a small experiment."""
    folder = tmp_path_factory.mktemp("ready")
    (folder / "small.toml").write_text(
        'application = {name = "channel-selection", channels = 4}\n'
        'horizon = 300\nreplications = 8\nbaseline = "UCB1"\n'
        '[[policies]]\npolicy = "DCB"\nepsilon = [0.01, 0.5]\n[[policies]]\npolicy = "UCB1"\n'
    )
    done = CliRunner().invoke(main, ["run", str(folder / "small.toml")])
    assert done.exit_code == 0, done.output
    return folder / "small"


def invoke(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_run_prints_a_table_and_says_where_the_rest_is(onepull, small, tmp_path):
    done = onepull("run", small.name)
    assert done.returncode == 0
    assert done.stdout.startswith("Regret at trial 300, 8 replications\n")
    assert done.stderr.splitlines()[-1] == "results in small"
    rows = list(csv.DictReader((tmp_path / "small" / "result.csv").read_text().splitlines()))
    assert {row["policy"] for row in rows} == {"DCB", "UCB1"}
    assert {row["replications"] for row in rows} == {"8"}
    assert (tmp_path / "small" / "experiment.toml").read_text() == small.read_text()


def test_json_is_all_there_is_on_standard_output(onepull, small):
    done = onepull("run", small.name, "--json", env={"FORCE_COLOR": "1"})
    ((title, rows),) = json.loads(done.stdout).items()
    assert title == "Regret at trial 300, 8 replications"
    assert [row["policy"] for row in rows] == ["DCB", "UCB1"]
    assert rows[0]["regret"] < rows[1]["regret"]


@pytest.mark.parametrize("on", ["serial", "threads:2", "processes:2"])
def test_where_it_runs_makes_no_difference(onepull, small, ready, on, tmp_path):
    small.write_text((ready / "experiment.toml").read_text())
    done = onepull("run", small.name, "--on", on, "--out", "elsewhere")
    assert done.returncode == 0, done.stderr
    found = (tmp_path / "elsewhere" / "result.csv").read_bytes()
    assert found == (ready / "result.csv").read_bytes()


def test_running_again_does_nothing_and_says_the_same(ready, tmp_path):
    copy = shutil.copytree(ready, tmp_path / "copy")
    before = {file: file.stat().st_mtime_ns for file in (copy / "blocks").iterdir()}
    again = invoke("run", ready.parent / "small.toml", "--out", copy)
    assert again.exit_code == 0
    assert {file: file.stat().st_mtime_ns for file in (copy / "blocks").iterdir()} == before


def test_compare(ready):
    shown = invoke("compare", ready)
    assert shown.exit_code == 0
    assert "vs UCB1" in shown.stdout
    assert (
        "vs DCB(epsilon=0.5)" in invoke("compare", ready, "--baseline", "DCB(epsilon=0.5)").stdout
    )
    assert "Mean pulls by trial 300" in invoke("compare", ready, "--pulls").stdout


def test_compare_of_folders_with_the_same_name_keeps_both(ready, tmp_path):
    copy = shutil.copytree(ready, tmp_path / ready.name)
    found = json.loads(invoke("compare", ready, copy, "--json").stdout)
    assert [title.split(": ")[0] for title in found] == [str(ready), str(copy)]


@pytest.mark.parametrize("kind", ["regret", "regret/log", "regret/root", "pulls"])
@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_plot(ready, tmp_path, kind, suffix):
    out = tmp_path / f"figure.{suffix}"
    done = invoke("plot", ready, "--kind", kind, "--out", out)
    assert done.exit_code == 0, done.output
    assert out.read_bytes()[:5] in {b"<?xml", b"\x89PNG\r", b"%PDF-"}


def test_plot_of_one_policy(ready, tmp_path):
    out = tmp_path / "figure.svg"
    for kind in ("regret", "pulls"):
        assert (
            invoke("plot", ready, "--kind", kind, "--policy", "UCB1", "--out", out).exit_code == 0
        )
        assert "epsilon" not in out.read_text()


def test_plot_of_some_policies(ready, tmp_path):
    out = tmp_path / "figure.svg"
    some = ["--policy", "UCB1", "--policy", "DCB(epsilon=0.5)"]
    assert invoke("plot", ready, *some, "--out", out).exit_code == 0
    drawn = out.read_text()
    assert "epsilon=0.5" in drawn
    assert "epsilon=0.01" not in drawn
    done = invoke("plot", ready, "--kind", "pulls", *some, "--out", out)
    assert done.exit_code == 2
    assert "--kind pulls draws one policy, given UCB1, DCB(epsilon=0.5)" in done.output


def test_report(ready, tmp_path):
    out = tmp_path / "page.html"
    assert invoke("report", ready, "--out", out).exit_code == 0
    page = out.read_text()
    assert page.count("<svg") == 2
    assert page.count("<table>") == 3
    assert "Theory beside measurement" in page
    assert "\nhorizon = 300\n" in page[page.index("<pre") :]
    copy = shutil.copytree(ready, tmp_path / "copy")
    assert invoke("report", copy).exit_code == 0
    assert (copy / "report.html").exists()
    ResultFolder.open(copy)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end differently")
def test_a_reader_that_stops_reading_is_no_error(ready):
    done = subprocess.run(  # noqa: S602 - a pipe of our own
        f"'{sys.executable}' -m onepull compare --json --pulls '{ready}' | true",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""


# Tables on a terminal


def shown(tables, capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    show(tables, as_json=False)
    return capsys.readouterr().out


def test_a_wide_table_is_shown_in_parts_that_fit(capsys, monkeypatch):
    columns = ["policy", *(f"column number {i}" for i in range(9))]
    rows = [["DCB", *(1000 + i for i in range(9))], ["UCB1", *(2000 + i for i in range(9))]]
    text = shown([Table("Wide", columns, rows)], capsys, monkeypatch, 80)
    assert max(map(len, text.splitlines())) <= 80
    assert all(text.count(column) == 1 for column in columns[1:])
    assert text.count("DCB") == text.count("policy") == 3
    assert "…" not in text


def test_a_difference_stays_beside_its_interval(capsys, monkeypatch):
    columns = ["policy", "regret", "± 95 %", "worst", "vs the first of them", "95 % interval"]
    rows = [["DCB with a long name", 1234, 12, 2000, 17, Span(-1000.5, 1000.5)]]
    for width in range(70, 110):
        for part in shown([Table("T", columns, rows)], capsys, monkeypatch, width).split("\n\n"):
            assert ("vs the first of them" in part) == ("95 % interval" in part)
            assert ("regret" in part) == ("± 95 %" in part)


def test_a_pipe_gets_no_progress_bar(capfd):
    with progress("work") as update:
        update("work", 100, 1, 2)
        update("work", 100, 2, 2)
    out, err = capfd.readouterr()
    assert out == ""
    assert "work" not in err
    assert "\r" not in err
    assert "\x1b" not in err


def test_a_proposal_is_wrapped_and_its_call_is_not(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    call = f"Proposed: DCB(problem, epsilon={'0' * 100}1)"
    show_proposal(f"{call}\n{'It is the best. ' * 20}")
    _, first, *rest = capsys.readouterr().out.splitlines()
    assert first == call
    assert max(map(len, rest)) <= 80
    assert len(rest) > 3


def test_brackets_and_trailing_blanks(capsys, monkeypatch):
    made = Table("T [bold]x[/bold]", ["arm"], [["[red]"]], ["note [blue] :smile:"])
    text = shown([made], capsys, monkeypatch, 80)
    assert text.splitlines() == [
        "T [bold]x[/bold]",
        "",
        "arm",
        "─────",
        "[red]",
        "",
        "note [blue] :smile:",
    ]


def test_damaged_results_are_told_of_and_the_exit_code_is_1(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert invoke("run", small).exit_code == 0
    whole = invoke("compare", "small").stdout
    blocks = sorted((tmp_path / "small" / "blocks").iterdir())
    blocks[-1].write_bytes(blocks[-1].read_bytes()[:-9])
    lost = 8 if len(blocks) == 1 else int(blocks[-1].stem[8:]) - int(blocks[-1].stem[:7])
    if len(blocks) == 1:  # nothing is left to show
        done = invoke("compare", "small")
        assert (done.exit_code, done.stdout) == (2, "")
        assert "all blocks are damaged" in done.stderr
    else:
        for command in (["compare"], ["report"], ["plot", "--out", "a.svg"]):
            done = invoke(*command, "small")
            assert done.exit_code == 1
            last = done.stderr.splitlines()[-1]
            said = f"small: {lost} replications are missing, damaged: blocks/{blocks[-1].name}"
            assert last == f"onepull: {said}; run it again"
        assert "replications are missing" in (tmp_path / "small" / "report.html").read_text()
        assert "replications are missing" in invoke("compare", "small").stdout
    again = invoke("run", small)
    assert again.exit_code == 0
    assert f"were run again: blocks/{blocks[-1].name}" in again.stderr
    assert invoke("compare", "small").stdout == whole
