"""The commands in the documentation print what it says, and its experiments can be read."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from onepull.cli import COMMANDS
from onepull.experiments import Experiment
from onepull.experiments.buffer_experiment import (
    BUFFERED,
    BUFFERS,
    CONTROLLERS,
    BufferExperiment,
    _WrittenStored,
    has_buffer,
)
from onepull.experiments.experiment import APPLICATIONS, _Written
from onepull.experiments.toml_laws import LAWS
from onepull.experiments.toml_reading import decoded
from onepull.policies.registry import registered

ROOT = Path(__file__).parent.parent
COMMANDS_PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
EXPERIMENTS_PAGE = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOML = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown():
    """Yield every command of the page with what it prints."""
    for block in CONSOLE.findall(COMMANDS_PAGE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            yield line, output


def test_the_commands_print_what_the_page_says(tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    env = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "PYTHONUTF8": "1"}
    for line, output in shown():
        program, *arguments = shlex.split(line)
        assert program == "onepull"
        done = subprocess.run(
            [sys.executable, "-m", "onepull", *arguments],
            cwd=tmp_path, env=env, capture_output=True, encoding="utf-8", check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        assert done.stdout == output, line


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_section(name):
    assert f"## onepull {name}\n" in COMMANDS_PAGE


@pytest.mark.parametrize("number", range(len(TOML.findall(EXPERIMENTS_PAGE))))
def test_the_experiments_of_the_page_can_be_read(number, tmp_path):
    (tmp_path / "endpoints.csv").write_text("near_s,far_s\n0.2,0.6\n0.9,0.5\n")
    text = TOML.findall(EXPERIMENTS_PAGE)[number]
    if has_buffer(decoded(text)):
        assert BufferExperiment.from_toml(text, folder=tmp_path).simulation.controllers
        return
    experiment = Experiment.from_toml(text, folder=tmp_path)
    experiment.simulation.prepare()


KEYS = {
    **dict.fromkeys(_Written.__struct_fields__),
    **dict.fromkeys(_WrittenStored.__struct_fields__),
}


@pytest.mark.parametrize(
    "name",
    [*KEYS, *LAWS, *registered(), *APPLICATIONS, *CONTROLLERS, *BUFFERS, *BUFFERED],
)
def test_every_key_law_policy_and_application_is_on_the_page(name):
    assert f"`{name}`" in EXPERIMENTS_PAGE
