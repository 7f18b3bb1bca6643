"""On a base install, without the extras, everything can be imported and says what to install."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from onepull.cli import COMMANDS

EXTRAS = [
    *("numba", "llvmlite", "matplotlib", "dask", "distributed", "pandas", "pyarrow"),
    *("uvicorn", "httptools", "uvloop", "httpx", "psycopg"),
]
BLOCKED = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS}))\n"
SIMULATE = "onepull: the simulator needs the 'simulate' extra: pip install 'onepull[simulate]'\n"


def python(code, cwd):
    """Run code in a process of its own, in which the extras cannot be imported."""
    return subprocess.run(
        [sys.executable, "-c", BLOCKED + code],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )


def command(cwd, *arguments):
    code = f"from onepull.cli import main; main({[*map(str, arguments)]!r}, prog_name='onepull')"
    return python(code, cwd)


def test_every_name_can_be_imported_and_is_documented(tmp_path):
    code = (
        "from onepull import *\n"
        "import onepull, pydoc\n"
        "assert set(onepull.__all__) <= set(globals())\n"
        "assert 'class Problem' in pydoc.render_doc('onepull', renderer=pydoc.plaintext)"
    )
    done = python(code, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "call",
    [
        "simulate(channels, [DCB(channels.problem)], horizon=100, replications=2)",
        (
            "simulate_buffer(battery, {'all': Myopic(DCB(battery.problem), battery.buffer)},"
            " horizon=10, replications=1)"
        ),
        "Simulation(channels, {'DCB': DCB(channels.problem)}, horizon=100)",
        "plan(channels.problem, environment=channels, horizon=100)",
    ],
)
def test_what_needs_the_simulator_says_what_to_install(tmp_path, call):
    code = (
        "from onepull import *\n"
        "from onepull.cli.plan import BUFFERED\n"
        "from onepull.environment import channel_selection\n"
        "from onepull.planning import plan\n"
        "from onepull.simulation import Simulation\n"
        "channels, battery = channel_selection(4), BUFFERED['harvesting-battery']()\n"
        f"try: {call}\nexcept MissingExtra as error: print('onepull:', error)"
    )
    done = python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == SIMULATE


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(tmp_path, name):
    done = command(tmp_path, name, "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Usage: onepull {name} ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "small.toml"],
        ["plan", "small.toml"],
        ["theory", "small.toml"],
        ["compare", "small"],
        ["plot", "small", "--out", "figure.svg"],
        ["report", "small"],
        ["reproduce", "--quick"],
    ],
)
def test_a_command_without_its_extra_says_what_to_install(small, tmp_path, arguments):
    done = command(tmp_path, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", SIMULATE)
    assert list(tmp_path.iterdir()) == [small]


def test_the_service_and_its_client_say_what_to_install(tmp_path):
    serve = "onepull: the service needs the 'serve' extra: pip install 'onepull[serve]'\n"
    done = command(tmp_path, "serve")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", serve)
    code = "from onepull import *\ntry: Client()\nexcept MissingExtra as error: print(error)"
    done = python(code, tmp_path)
    assert "pip install 'onepull[client]'" in done.stdout, done.stderr


def test_theory_of_an_application_needs_no_extra(tmp_path):
    done = command(tmp_path, "theory", "--application", "channel-selection")
    assert done.returncode == 0, done.stderr
    assert "Bounds on regret" in done.stdout
