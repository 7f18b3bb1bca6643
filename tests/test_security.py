"""One test for each row of the table in SECURITY.md, named after its first cell.

The limits of time and memory are left to `make torture`: a busy machine would spoil them here.
"""

from __future__ import annotations

import csv
import io
import os
import pickle
import random
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli.test_names import NASTY, Tags, described, is_clean, is_number
from click.testing import CliRunner
from formula.random_formulas import random_formula, random_text
from policies.misuse import CONSTRUCTORS, calls, refusals
from policies.mutations import loads_or_refuses, mutated
from problems import channels
from torture import arms, results

from onepull import (
    DCB,
    Finite,
    FormulaError,
    Interval,
    MergeError,
    OnepullError,
    ParameterError,
    Policy,
    Problem,
    Reward,
    SaveFileError,
)
from onepull.cli import main, run
from onepull.experiments import read_experiment
from onepull.simulation.executors import open_executor

PAGE = Path(__file__).parent.parent / "SECURITY.md"
EXPERIMENT = """
application = "channel-selection"
horizon = 200
replications = 8
policies = [{policy = "Random"}]
"""
HOSTILE = [
    "__import__('os').system('touch ran')",
    "exec(open('ran', 'w'))",
    "x.__class__.__mro__",
    "(lambda: x)()",
    "[x for x in y]",
    "os:system",
    "mine:reward",
    "x if (y := 1) else 2",
    f"f'{{open({'ran'!r}, {'w'!r})}}'",
]


def rows():
    """Return the first cell of each row, as the name of its test."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    cells = [line.split("|")[1].partition("(")[0].strip() for line in lines[2:]]
    return ["test_" + re.sub(r"\W+", "_", cell.lower()) for cell in cells]


def test_each_row_has_a_test():
    assert rows() == [name for name in globals() if name.startswith("test_") and name not in OTHER]


OTHER = ("test_each_row_has_a_test",)


def what_happens(tmp_path, code, *arguments):
    """Run code in a process and return the names of the audit events that it causes."""
    watched = f"""
import sys
from onepull import Formula, OnepullError, Problem
def tried(call, text):
    try:
        call(text)
    except OnepullError:
        pass
Problem.from_toml({problem_text("x * y")!r})
tried(Problem.from_toml, "")
tried(Problem.from_json, "")
told = set()
sys.addaudithook(lambda event, arguments: told.add(event))
{code}
print(*told)
"""
    done = subprocess.run(
        [sys.executable, "-c", watched, *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []
    return set(done.stdout.split())


def problem_text(reward):
    return f"""
arms = ["a", "b"]
reward = {reward!r}
context = {{x = [1, 2]}}
state = {{y = {{low = 0, high = 1}}}}
"""


def test_formulas(tmp_path):
    for text in HOSTILE:
        with pytest.raises(FormulaError):
            plain_problem(text)
    code = "for text in sys.argv[1:]: tried(lambda text: Formula(text, ['x', 'y']).scalar, text)"
    rng = random.Random(11)  # noqa: S311 - cases, not secrets
    texts = [*HOSTILE, *(random_text(rng) for _ in range(100))]
    given = [text for text in texts if is_argument(text)]
    # The code that is compiled and executed is our own.
    assert what_happens(tmp_path, code, *given) <= {"compile", "exec"}
    accepted = 0
    for _ in range(100):
        try:
            problem = plain_problem(random_formula(rng, ["x", "y"]))
        except FormulaError:
            continue
        accepted += 1
        values = [problem.payoff.scalar(x, y) for x in (1.0, 2.0) for y in (0.0, 0.3, 1.0)]
        assert np.isfinite(values).all()
    assert accepted > 20


def is_argument(text):
    """Whether a text can be passed to a process."""
    return len(text) < 10_000 and "\0" not in text and text.isascii()


def plain_problem(reward):
    return Problem(
        arms=["a", "b"], context={"x": Finite([1, 2])}, state={"y": Interval(0, 1)}, reward=reward
    )


def test_problems_as_toml_or_json_text(tmp_path):
    texts = [
        *map(problem_text, ["x * y", *HOSTILE]),
        *("SECURITY.md", "/etc/hostname", "file:///etc/hostname", "[[[", "{" * 5000, "!!python/x"),
        '{"arms": ["a"], "context": "x.csv", "state": "/etc/hostname", "reward": "mine:reward"}',
    ]
    code = """
for text in sys.argv[1:]:
    tried(Problem.from_toml, text)
    tried(Problem.from_json, text)
"""
    assert what_happens(tmp_path, code, *texts) <= {"compile", "exec"}


def test_contexts_states_rewards_and_arm_names():
    policy = DCB(channels(3), seed=1)
    pull = {"bits": 2, "capacity": 1.5}
    policy.observe("channel-1", **pull)
    tried = list(calls(policy, "channel-1", pull))
    before, refused = policy.to_bytes(), 0
    for what, call in tried:
        if not what.startswith(("choose", "explain", "observe", "pulled")):
            continue
        try:
            call()
        except OnepullError:
            refused += 1
            assert policy.to_bytes() == before, what
        before = policy.to_bytes()
    assert refused > 300


def test_names_in_what_is_printed_drawn_or_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate([" ".join(NASTY.values()), NASTY["a formula"]]):
        Path(f"{number}.toml").write_text(described(name), encoding="utf-8")
        for command in (
            ["run", f"{number}.toml", "--on", "serial"],
            ["report", str(number)],
            ["plot", str(number), "--out", f"{number}.svg"],
        ):
            done = CliRunner().invoke(main, command)
            assert done.exit_code == 0, done.output
            assert is_clean(done.output)
        page = Path(f"{number}/report.html").read_text(encoding="utf-8")
        assert not Tags(page).tags & {"script", "b", "link"}
        drawing = Path(f"{number}.svg").read_text(encoding="utf-8")
        assert is_clean(page)
        assert is_clean(drawing)
        assert "<script" not in drawing
        table = Path(f"{number}/result.csv").read_text(encoding="utf-8")
        cells = [cell for row in csv.reader(io.StringIO(table)) for cell in row]
        assert not [
            cell for cell in cells if cell.startswith(tuple("=+-@\t\r")) and not is_number(cell)
        ]


class Touches:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_save_files(tmp_path):
    ran, generator = tmp_path / "ran", np.random.default_rng(3)
    policy = DCB(channels(3), seed=1)
    policy.observe("channel-1", bits=2, capacity=1.5)
    for _ in range(60):
        loads_or_refuses(mutated(policy.to_bytes(), generator), generator)
    for made_up in (pickle.dumps(Touches(ran)), b"", b"{}", b"[" * 10**5, generator.bytes(100)):
        with pytest.raises(SaveFileError):
            Policy.from_bytes(made_up)
    assert not ran.exists()


def test_updates_of_a_fleet(tmp_path):
    ran = tmp_path / "ran"
    assert sum(arms.fleet_case(seed) for seed in range(60)) > 0
    policy = DCB(channels(3))
    policy.join("here")
    for made_up in (pickle.dumps(Touches(ran)), b"", b"{}", b"[" * 10**5, policy.to_bytes()):
        with pytest.raises((MergeError, SaveFileError)):
            policy.absorb(made_up)
    assert policy.is_fresh
    assert not ran.exists()


def test_result_folders(tmp_path):
    ran, (source, expected) = tmp_path / "ran", results.whole()
    shutil.copytree(source, tmp_path / "run")
    (block,) = (tmp_path / "run" / "blocks").iterdir()
    np.savez(block, start=0, stop=8, regrets=np.array([Touches(ran)], dtype=object))
    done = CliRunner().invoke(main, ["report", str(tmp_path / "run")])
    assert isinstance(done.exception, SystemExit)
    assert "all blocks are damaged" in done.output
    assert not ran.exists()
    assert results.numbers(source) == expected


def test_experiment_files(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    ran, file = tmp_path / "ran", tmp_path / "run.toml"
    code = (
        f"from pathlib import Path\nfrom onepull import Random as Mine\nPath({str(ran)!r}).touch()"
    )
    (tmp_path / "named_in_a_file.py").write_text(code, encoding="utf-8")
    text = EXPERIMENT.replace("Random", "named_in_a_file:Mine")
    file.write_text(text, encoding="utf-8")
    with pytest.raises(OnepullError):  # code runs nowhere else
        Problem.from_toml(text)
    assert not ran.exists()
    read_experiment(file)
    assert ran.exists()


def test_parameters_of_policies_and_experiments(tmp_path):
    tried = 0
    for name in CONSTRUCTORS:
        for parameter, value, call in refusals(name):
            huge = isinstance(value, int) and value >= 10**30
            if huge and parameter in {"horizon", "knots", "window", "most"}:
                tried += 1
                with pytest.raises(ParameterError):
                    call()
    assert tried > 20
    for key, value in (("horizon", "200"), ("replications", "8")):
        file = tmp_path / f"{key}.toml"
        text = EXPERIMENT.replace(f"{key} = {value}", f"{key} = 1{'0' * 17}")
        file.write_text(text, encoding="utf-8")
        with pytest.raises(OnepullError, match=f"{key} must be a whole number from 1 to "):
            read_experiment(file)


def test_python_functions():
    called = []

    def reward(x, y):
        called.append((x, y))
        return x * y

    problem = plain_problem(Reward(reward, low=0, high=2))
    policy = DCB(problem)
    policy.observe("a", y=0.5)
    assert called
    for name in ("builtins:print", "math:sin", "test_security:HOSTILE"):
        with pytest.raises(FormulaError):
            Problem.from_toml(problem_text(name))


@pytest.mark.skipif(os.name != "posix", reason="owners and modes of POSIX")
def test_the_cache_of_compiled_kernels(tmp_path):
    code = "from onepull.simulation.compiled import cache_folder; print(cache_folder())"

    def folder():
        done = subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)},
        )
        return Path(done.stdout.strip()), done.stderr

    first, told = folder()
    assert told == ""
    assert first.parent == tmp_path / "onepull"
    assert stat.S_IMODE(first.stat().st_mode) == 0o700
    assert first.stat().st_uid == os.geteuid()
    (first / "planted.nbi").write_bytes(b"code of another user")
    first.chmod(0o777)
    again, told = folder()
    assert (again, told) == (first, "")
    assert stat.S_IMODE(again.stat().st_mode) == 0o700
    assert not (again / "planted.nbi").exists()  # all of it is compiled again
    tmp_path.chmod(0o777)  # a folder above
    other, told = folder()
    assert other != first
    assert f"chmod go-w {tmp_path}" in told


def test_dask_clusters():
    for where in ("tcp://127.0.0.1:8786", "127.0.0.1:8786", "dask", "dask:"):
        with pytest.raises(ParameterError):
            open_executor(where)
    (option,) = [option for option in run.command.params if option.name == "where"]
    assert option.default == "threads"
