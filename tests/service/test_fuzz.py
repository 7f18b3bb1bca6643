"""Random requests from the OpenAPI document: no server error, no hang, answers as described."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest
from serving import Process, write_problem

CONFIGURATION = '[parameters]\nproblem = "llm"\narm = "beta"\n'
# What is valid depends on the problem, which a document for all problems cannot say.
ARGUMENTS = [
    *("--phases", "coverage,fuzzing", "--max-examples", "8", "--seed", "1"),
    *("--request-timeout", "20", "--exclude-checks", "positive_data_acceptance"),
    *("--exclude-path", "/events", "--continue-on-failure", "--no-color"),
]


@pytest.mark.skipif(not importlib.util.find_spec("schemathesis"), reason="needs schemathesis")
def test_random_requests(tmp_path):
    configuration = tmp_path / "schemathesis.toml"
    configuration.write_text(CONFIGURATION)
    with Process(write_problem(tmp_path)) as server:
        command = [sys.executable, "-c", "from schemathesis.cli import schemathesis as s; s()"]
        done = subprocess.run(
            [
                *command,
                "--config-file",
                configuration,
                "run",
                *ARGUMENTS,
                f"{server.url}/openapi.json",
            ],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout[-6000:]
        server.wait_until_ready()
        assert server.end() == 0
    assert [m for m in server.messages if m.get("level") == "error"] == []
