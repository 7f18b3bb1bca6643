"""On a base install, without the extras, everything can be imported and says what to install."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from onepull.cli import COMMANDS

EXTRAS = [
    *("numba", "llvmlite", "matplotlib", "dask", "distributed", "pandas", "pyarrow"),
    *("uvicorn", "httptools", "uvloop", "httpx", "psycopg"),
]
BLOCKED = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS}))\n"
CHECKOUT = "in a checkout of onepull\n"
NEED = "simulations and their results need the 'simulate' extra"
SIMULATE = f"onepull: {NEED}: pip install '.[simulate]' {CHECKOUT}"


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


def test_what_needs_the_simulator_says_what_to_install(tmp_path):
    calls = [
        "simulate(channels, [DCB(channels.problem)], horizon=100, replications=2)",
        (
            "simulate_buffer(battery, {'all': Myopic(DCB(battery.problem), battery.buffer)},"
            " horizon=10, replications=1)"
        ),
        "Simulation(channels, {'DCB': DCB(channels.problem)}, horizon=100)",
        "plan(channels.problem, environment=channels, horizon=100)",
        "compile_decisions()",
    ]
    code = (
        "from onepull import *\n"
        "from onepull.cli.plan import BUFFERED\n"
        "from onepull.environment import channel_selection\n"
        "from onepull.planning import plan\n"
        "from onepull.simulation import Simulation\n"
        "channels, battery = channel_selection(4), BUFFERED['harvesting-battery']()\n"
    )
    for call in calls:
        code += f"try: {call}\nexcept MissingExtra as error: print('onepull:', error)\n"
    done = python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == SIMULATE * len(calls)


# Runs several commands and prints how each ended; starting an interpreter takes longer than any.
COMMANDS_IN_TURN = """
import json
from click.testing import CliRunner
from onepull.cli import main
ended = []
for arguments in {calls!r}:
    done = CliRunner().invoke(main, arguments, prog_name="onepull")
    ended.append((done.exit_code, done.stdout, done.stderr))
print(json.dumps(ended))
"""


def commands(cwd, calls):
    """Run commands one after another where the extras cannot be imported."""
    done = python(COMMANDS_IN_TURN.format(calls=calls), cwd)
    assert done.returncode == 0, done.stderr
    return [tuple(ended) for ended in json.loads(done.stdout)]


def test_every_command_explains_itself(tmp_path):
    ended = commands(tmp_path, [[name, "--help"] for name in COMMANDS])
    for name, (code, shown, told) in zip(COMMANDS, ended, strict=True):
        assert code == 0, told
        assert shown.startswith(f"Usage: onepull {name} ")


def test_a_command_without_its_extra_says_what_to_install(small, tmp_path):
    calls = [
        ["run", "small.toml"],
        ["plan", "small.toml"],
        ["theory", "small.toml"],
        ["compare", "small"],
        ["plot", "small", "--out", "figure.svg"],
        ["report", "small"],
        ["reproduce", "--quick"],
    ]
    for arguments, ended in zip(calls, commands(tmp_path, calls), strict=True):
        assert ended == (1, "", SIMULATE), arguments
    assert list(tmp_path.iterdir()) == [small]


def test_the_service_and_its_client_say_what_to_install(tmp_path):
    serve = f"onepull: the service needs the 'serve' extra: pip install '.[serve]' {CHECKOUT}"
    done = command(tmp_path, "serve")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", serve)
    code = "from onepull import *\ntry: Client()\nexcept MissingExtra as error: print(error)"
    done = python(code, tmp_path)
    assert "pip install '.[client]'" in done.stdout, done.stderr


def test_theory_of_an_application_needs_no_extra(tmp_path):
    done = command(tmp_path, "theory", "--application", "channel-selection")
    assert done.returncode == 0, done.stderr
    assert "Bounds on regret" in done.stdout


def test_keys_and_logs_need_no_extra(tmp_path):
    calls = [["key", "add", "gateway"], ["key", "list"], ["log", "check"]]
    added, listed, checked = commands(tmp_path, calls)
    assert (added[0], listed[0]) == (0, 0), (added, listed)
    assert "gateway" in listed[1]
    assert checked[2] == "onepull: there is no log at router.db; --store says where it is\n"
