"""The command starts without what it does not need, and completes its own names."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

import onepull
from onepull.cli import COMMANDS, main

HEAVY = ["numpy", "numba", "rich", "matplotlib", "distributed"]


def loaded(arguments, env=None):
    """Return the output of a call in a process of its own, and what it imported of the heavy."""
    code = (
        "import sys, atexit\n"
        f"heavy = lambda: [m for m in {HEAVY} if m in sys.modules]\n"
        "atexit.register(lambda: print(heavy(), file=sys.stderr))\n"
        f"from onepull.cli import main; main({arguments!r}, prog_name='onepull')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env
    )
    return done.stdout, done.stderr.splitlines()[-1]


def test_help_lists_all_commands_and_loads_nothing_heavy():
    shown, heavy = loaded(["--help"])
    assert heavy == "[]"
    for name, told in COMMANDS.items():
        assert f"  {name} " in shown
        assert told in shown


def test_a_misspelt_command_is_told_the_nearest():
    done = CliRunner().invoke(main, ["rnu"])
    assert done.exit_code == 2
    assert "No such command 'rnu', did you mean 'run'?" in done.output
    assert "No such command 'xyz'" in CliRunner().invoke(main, ["xyz"]).output


def test_completing_a_name_loads_nothing_heavy():
    env = {"_ONEPULL_COMPLETE": "bash_complete", "COMP_WORDS": "onepull re", "COMP_CWORD": "1"}
    shown, heavy = loaded([], env)
    assert shown.split() == ["plain,reproduce", "plain,report"]
    assert heavy == "[]"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name):
    shown = CliRunner().invoke(main, [name, "--help"], prog_name="onepull")
    assert shown.exit_code == 0
    assert shown.output.startswith(f"Usage: onepull {name} ")


def test_version():
    shown = CliRunner().invoke(main, ["--version"])
    assert shown.output == f"onepull, version {onepull.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    shown = CliRunner().invoke(main, ["completion", shell])
    assert shown.exit_code == 0
    assert "_ONEPULL_COMPLETE" in shown.output
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=shown.output, text=True, check=True)  # noqa: S607


@pytest.mark.parametrize("arguments", [["completion", "tcsh"], ["rum"], ["run"], ["run", "--no"]])
def test_wrong_usage_is_exit_code_2(arguments):
    assert CliRunner().invoke(main, arguments).exit_code == 2
