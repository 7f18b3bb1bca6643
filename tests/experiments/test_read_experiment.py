"""A file of any kind is decoded once, and the caller gets what the file describes."""

from __future__ import annotations

import msgspec
import pytest
from click.testing import CliRunner

from onepull.cli import main
from onepull.errors import ProblemError
from onepull.experiments import (
    BufferExperiment,
    BufferFolder,
    Experiment,
    ResultFolder,
    open_result_folder,
    read_experiment,
    read_problem_file,
)
from onepull.experiments.buffer_experiment import BufferProblemFile
from onepull.experiments.problem_file import ProblemFile

POLICIES = """
application = {name = "channel-selection", channels = 4}
horizon = 50
replications = 2
policies = [{policy = "UCB1"}]
"""
CONTROLLERS = """
application = "metered-backlog"
horizon = 20
replications = 2
controllers = [{controller = "Myopic", policy = "DCB"}]
"""


@pytest.fixture
def decodings(monkeypatch):
    """Return a list that gets an entry whenever TOML is decoded."""
    seen = []
    decode = msgspec.toml.decode

    def counted(text, **kwargs):
        seen.append(text)
        return decode(text, **kwargs)

    monkeypatch.setattr("msgspec.toml.decode", counted)
    return seen


@pytest.fixture(params=[POLICIES, CONTROLLERS], ids=["policies", "controllers"])
def file(request, tmp_path):
    path = tmp_path / "file.toml"
    path.write_text(request.param)
    return path


def test_each_kind_is_recognised(tmp_path):
    path = tmp_path / "mine.toml"
    for text, kind, part in [
        (POLICIES, Experiment, ProblemFile),
        (CONTROLLERS, BufferExperiment, BufferProblemFile),
    ]:
        path.write_text(text)
        assert type(read_experiment(path)) is kind
        assert type(read_problem_file(path)) is part
        assert read_experiment(path).name == read_problem_file(path).name == "mine"


def test_a_run_decodes_its_file_once(file, decodings):
    done = CliRunner().invoke(main, ["run", str(file), "--on", "serial"])
    assert done.exit_code == 0, done.output
    assert decodings == [file.read_text()]


def test_a_comparison_decodes_each_folder_once(file, decodings):
    assert CliRunner().invoke(main, ["run", str(file), "--on", "serial"]).exit_code == 0
    decodings.clear()
    done = CliRunner().invoke(main, ["compare", str(file.with_suffix(""))])
    assert done.exit_code == 0, done.output
    assert decodings == [file.read_text()]
    kind = BufferFolder if "controllers" in file.read_text() else ResultFolder
    assert type(open_result_folder(file.with_suffix(""))) is kind


def test_reading_again_decodes_once(file, decodings):
    for read in (read_experiment, read_problem_file):
        decodings.clear()
        read(file)
        assert len(decodings) == 1


@pytest.mark.parametrize("read", [read_experiment, read_problem_file])
@pytest.mark.parametrize(
    ("text", "words"),
    [("horizon = ", "not an experiment: "), ("horizn = 1", "unknown field 'horizn'")],
)
def test_errors_begin_with_the_file(tmp_path, read, text, words):
    path = tmp_path / "file.toml"
    path.write_text(text)
    with pytest.raises(ProblemError, match=words) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("text", [POLICIES, CONTROLLERS])
def test_a_byte_order_mark_is_allowed(tmp_path, text):
    path = tmp_path / "file.toml"
    path.write_text(text, encoding="utf-8")
    plain = read_experiment(path)
    path.write_text(text, encoding="utf-8-sig")
    assert read_experiment(path).fingerprint == plain.fingerprint
    assert read_experiment(path).text == plain.text
    assert type(plain).from_toml(f"\ufeff{text}").fingerprint == plain.fingerprint


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_other_encodings_are_refused(tmp_path, encoding):
    path = tmp_path / "file.toml"
    path.write_text(POLICIES, encoding=encoding)
    with pytest.raises(ProblemError, match="save it as UTF-8"):
        read_experiment(path)


@pytest.mark.parametrize(
    "text", ["x = " + "[" * 5000, "x = " + "{a = " * 5000, "x = " + "9" * 5000]
)
def test_what_no_reader_can_take_is_refused(tmp_path, text):
    path = tmp_path / "file.toml"
    path.write_text(text)
    with pytest.raises(ProblemError, match="not an experiment"):
        read_experiment(path)
