"""The commands in the documentation print what it says, and its experiments can be read."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from onepull.cli import COMMANDS, main
from onepull.experiments import Experiment
from onepull.experiments.buffer_experiment import (
    BUFFERED,
    BUFFERS,
    CONTROLLERS,
    BufferExperiment,
    _WrittenBuffer,
    has_buffer,
)
from onepull.experiments.experiment import APPLICATIONS, _Written
from onepull.experiments.toml_laws import LAWS
from onepull.policies.registry import registered
from onepull.problem import toml_values

ROOT = Path(__file__).parent.parent
COMMANDS_PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
EXPERIMENTS_PAGE = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOML = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def chains():
    """Return the commands of the page with what they print, in chains.

    Chains share nothing, so tests can run them in any order and in any process.
    """
    found: dict[str, list[tuple[list[str], str]]] = {}
    for block in CONSOLE.findall(COMMANDS_PAGE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            program, *arguments = shlex.split(line)
            assert program == "onepull"
            reads = next((name for name in arguments[1:] if f"run {name}" in found), None)
            writes = arguments[-1] if "run" in arguments and "--out" in arguments else None
            name = f"run {reads or writes}" if reads or writes else line.removeprefix("onepull ")
            found.setdefault(name, []).append((arguments, output))
    return found


@pytest.mark.parametrize("commands", chains().values(), ids=chains())
def test_the_commands_print_what_the_page_says(commands, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    env = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    for arguments, output in commands:
        done = CliRunner().invoke(main, arguments, prog_name="onepull", env=env)
        assert done.exit_code == 0, f"{arguments}\n{done.stderr}"
        assert done.stdout == output, arguments


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_section(name):
    assert f"## onepull {name}\n" in COMMANDS_PAGE


@pytest.mark.parametrize("number", range(len(TOML.findall(EXPERIMENTS_PAGE))))
def test_the_experiments_of_the_page_can_be_read(number, tmp_path):
    (tmp_path / "endpoints.csv").write_text("near_s,far_s\n0.2,0.6\n0.9,0.5\n")
    text = TOML.findall(EXPERIMENTS_PAGE)[number]
    if has_buffer(toml_values(text, "an experiment")):
        assert BufferExperiment.from_toml(text, folder=tmp_path).simulation.controllers
        return
    experiment = Experiment.from_toml(text, folder=tmp_path)
    experiment.simulation.prepare()


KEYS = {
    **dict.fromkeys(_Written.__struct_fields__),
    **dict.fromkeys(_WrittenBuffer.__struct_fields__),
}


@pytest.mark.parametrize(
    "name",
    [*KEYS, *LAWS, *registered(), *APPLICATIONS, *CONTROLLERS, *BUFFERS, *BUFFERED],
)
def test_every_key_law_policy_and_application_is_on_the_page(name):
    assert f"`{name}`" in EXPERIMENTS_PAGE
