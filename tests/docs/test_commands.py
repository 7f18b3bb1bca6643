"""The commands in the guides are ones that onepull understands, and their files exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from onepull.cli import main

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *DOCS.glob("tutorial/*.md"), *DOCS.glob("how-to/*.md")]
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = [
    line
    for page in sorted(PAGES)
    for block in CONSOLE.findall(page.read_text(encoding="utf-8"))
    for line in block.splitlines()
    if line.startswith("onepull ")
]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_is_understood(line):
    _, name, *arguments = shlex.split(line, comments=True)
    with click.Context(main, info_name="onepull") as top:
        command = main.get_command(top, name)
        assert command is not None
        command.make_context(name, arguments, parent=top)


@pytest.mark.parametrize("line", [line for line in COMMANDS if ".toml" in line])
def test_its_files_exist(line):
    files = [word for word in shlex.split(line, comments=True) if word.endswith(".toml")]
    assert all((ROOT / file).exists() for file in files)
