"""What cannot be done is one clear line on standard error and exit code 2."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from onepull.cli import main


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        done = CliRunner().invoke(main, list(map(str, arguments)))
        return subprocess.CompletedProcess([], done.exit_code, done.stdout, done.stderr)

    return call


@pytest.fixture
def ready(invoke, small):
    assert invoke("run", small, "--out", "ready").returncode == 0
    return Path("ready")


@pytest.mark.parametrize(
    "changes",
    [
        ("horizon = 300", "horizon = = 300", "not an experiment"),
        ("horizon = 300", "horizn = 300", "horizn"),
        ('policy = "DCB"', 'policy = "DBC"', "unknown policy 'DBC'"),
        ('policy = "DCB"', 'policy = "DCB"\nepsilom = 1', "epsilom"),
        ("horizon = 300", "horizon = 3", "number of arms, 4, given 3"),
        ("replications = 8", "replications = 0", "given 0"),
        ("horizon = 300", 'horizon = 300\nbaseline = "CCB"', "baseline 'CCB'"),
    ],
)
def test_a_bad_file_is_named_and_nothing_is_run(invoke, refuses, small, changes):
    old, new, words = changes
    small.write_text(small.read_text().replace(old, new))
    refuses(invoke("run", small), str(small), words)
    assert list(small.parent.iterdir()) == [small]


def test_in_a_process_too(onepull, refuses, small):
    small.write_text("horizon")
    refuses(onepull("run", small.name), "small.toml: not an experiment")
    refuses(onepull("run", "none.toml"), "none.toml: No such file or directory")
    refuses(onepull("compare", "none"), "none: is not a result folder")


@pytest.mark.parametrize("where", ["gpu", "threads:0", "threads:x", "serial:2", "dask", "dask:"])
def test_a_place_that_is_not(invoke, refuses, small, where, tmp_path):
    refuses(invoke("run", small, "--on", where))
    assert list(tmp_path.iterdir()) == [small]


def test_a_cluster_that_does_not_answer(invoke, refuses, small, tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.setattr("onepull.simulation.executors.SECONDS_TO_CONNECT", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    refuses(invoke("run", small, "--on", f"dask:{address}"), f"no Dask scheduler at '{address}'")
    assert list(tmp_path.iterdir()) == [small]


def test_a_folder_that_is_not_ours(invoke, refuses, small, tmp_path):
    foreign = tmp_path / "thesis"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("years of work")
    refuses(invoke("run", small, "--out", foreign), "thesis: is not empty and not a result folder")
    for command in (["compare"], ["plot", "--out", "a.svg"], ["report"]):
        refuses(invoke(*command, foreign), "thesis: is not a result folder")
    assert [file.name for file in foreign.iterdir()] == ["thesis.tex"]


def test_the_folder_of_another_experiment(invoke, refuses, small, ready):
    small.write_text(small.read_text().replace("horizon = 300", "horizon = 301"))
    refuses(invoke("run", small, "--out", ready), "results of another experiment")


def test_an_output_that_cannot_be_written(invoke, refuses, small, ready):
    Path("file").write_text("")
    refuses(invoke("run", small, "--out", "file/results"), "file/results: Not a directory")
    refuses(invoke("reproduce", "--out", "file/results"), "file/results: Not a directory")
    refuses(invoke("plot", ready, "--out", "none/a.svg"), "none/a.svg: No such file or directory")
    refuses(invoke("report", ready, "--out", "none/a.html"), "No such file or directory")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_an_output_that_may_not_be_written(invoke, refuses, small, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    refuses(invoke("run", small, "--out", "locked/results"), "Permission denied")


def test_a_read_only_disk(invoke, refuses, small, small_disk):
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)  # noqa: S607
    refuses(invoke("run", small, "--out", small_disk / "results"), "Read-only file system")


def test_names_that_are_not_there(invoke, refuses, ready):
    refuses(invoke("compare", ready, "--baseline", "CCB"), "unknown baseline 'CCB'", "DCB, UCB1")
    refuses(invoke("plot", ready, "--out", "a.gif"), ".svg, .png or .pdf, given 'a.gif'")
    for kind in ("regret", "pulls"):
        done = invoke("plot", ready, "--kind", kind, "--policy", "CCB", "--out", "a.svg")
        refuses(done, "unknown policy 'CCB'", "DCB, UCB1")
    assert not list(Path().glob("a.*"))


def test_a_result_folder_before_its_first_result(invoke, refuses, ready):
    shutil.rmtree(ready / "blocks")
    refuses(invoke("compare", ready), "no replication is done yet")
