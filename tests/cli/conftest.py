"""The command in a process of its own, and a small experiment to give it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SMALL = """
application = {name = "channel-selection", channels = 4}
horizon = 300
replications = 8
[[policies]]
policy = "DCB"
[[policies]]
policy = "UCB1"
"""


@pytest.fixture
def onepull(tmp_path):
    """Return a function that runs the command in a temporary folder."""

    def call(*arguments, cwd=tmp_path, env=None, **kwargs):
        plain = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "PYTHONWARNINGS": "error"}
        return subprocess.run(
            [sys.executable, "-m", "onepull", *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, **plain, **(env or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            **kwargs,
        )

    return call


@pytest.fixture
def small(tmp_path):
    """Return the file of a small experiment."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


@pytest.fixture
def refuses():
    """Return a check that a command failed in one line that says the words, with exit code 2."""

    def check(done, *words):
        assert done.returncode == 2, done.stderr
        assert done.stdout == ""
        assert "Traceback" not in done.stderr
        (line,) = done.stderr.splitlines()
        assert line.startswith("onepull: ")
        for word in words:
            assert word in line

    return check
