"""Numbers that cannot be: one clear line, no traceback and no warning of numpy."""

from __future__ import annotations

import re
import warnings

import pytest
from click.testing import CliRunner

from onepull.cli import main
from onepull.simulation.limits import MOST_REPLICATIONS, MOST_SLOTS, MOST_TRIALS

HUGE = [2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**30, 10**400]
NOT_WHOLE = ["1.5", "1e30", "inf", "-inf", "nan", "true", "false", '"5"', "[5]", "{}", "1979-05-27"]
NEGATIVE = ["-1", f"{-(2**63)}", f"{-(10**30)}"]

POLICIES = """
horizon = 60
replications = 2
seed = 1
checkpoints = [60]
application = {name = "channel-selection", channels = 3}
[[policies]]
policy = "DCB"
"""
CONTROLLERS = """
horizon = 60
replications = 2
seed = 1
application = {name = "metered-backlog", capacity = 20}
[[controllers]]
controller = "DriftPlusPenalty"
weight = 1
policy = "DCB"
"""
KINDS = {"policies": POLICIES, "controllers": CONTROLLERS}


@pytest.fixture
def refuse(tmp_path, monkeypatch):
    """Return a function that runs a file with another value of a key, and returns the refusal."""
    monkeypatch.chdir(tmp_path)

    def call(text, key, value):
        changed, count = re.subn(rf"\b{key} = (\[60\]|\d+)", f"{key} = {value}", text)
        assert count == 1
        (tmp_path / "e.toml").write_text(changed)
        for command in (["run"], ["plan", "--no-timing"]):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                done = CliRunner().invoke(main, [*command, "e.toml"])
            assert done.exit_code == 2, (command, done.output, done.exception)
            assert done.stdout == ""
            (line,) = done.stderr.splitlines()
            assert line.startswith("onepull: e.toml: ")
            assert len(line) < 1000
            if key not in ("horizon", "seed"):  # a plan needs no others
                break
        return line

    return call


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("value", HUGE)
def test_too_long_a_horizon(refuse, text, value):
    most = MOST_SLOTS if text is CONTROLLERS else MOST_TRIALS
    assert f"horizon must be a whole number from 1 to {most:,}, given" in refuse(
        text, "horizon", value
    )


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("value", [MOST_REPLICATIONS + 1, *HUGE])
def test_too_many_replications(refuse, text, value):
    said = refuse(text, "replications", value)
    limit = f"from 1 to {MOST_REPLICATIONS:,}"
    assert f"replications must be a whole number {limit}, given" in said


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("value", [*NOT_WHOLE, *NEGATIVE, "0"])
@pytest.mark.parametrize("key", ["horizon", "replications"])
def test_what_is_no_count(refuse, text, key, value):
    assert key in refuse(text, key, value)


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("value", [*NOT_WHOLE, *NEGATIVE])
def test_what_is_no_seed(refuse, text, value):
    assert "seed" in refuse(text, "seed", value)


@pytest.mark.parametrize("value", [f"[{v}]" for v in (*HUGE, *NOT_WHOLE, *NEGATIVE, 0)])
def test_what_is_no_checkpoint(refuse, value):
    assert "checkpoint" in refuse(POLICIES, "checkpoints", value)


@pytest.mark.parametrize("value", [*HUGE, *NOT_WHOLE, *NEGATIVE, 0])
def test_what_is_no_number_of_channels(refuse, value):
    assert "channels must be a whole number from 1 to 7" in refuse(POLICIES, "channels", value)


@pytest.mark.parametrize("key", ["horizon", "replications", "seed"])
def test_a_number_of_thousands_of_digits(refuse, key):
    for text in KINDS.values():
        assert "thousands of digits" in refuse(text, key, "9" * 5000)


@pytest.mark.parametrize("seed", [0, 2**31, 2**63, 2**64, 10**30])
def test_any_seed_from_0_can_be(tmp_path, monkeypatch, seed):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.toml").write_text(POLICIES.replace("seed = 1", f"seed = {seed}"))
    for command in (["run", "e.toml", "--on", "serial"], ["compare", "e"]):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output


OPTIONS = {
    "theory --horizon": [*NOT_WHOLE, *NEGATIVE, "0", "1", *map(str, HUGE), "9" * 5000, ""],
    "theory --epsilon": ["0", "-1", "nan", "inf", "1e-300", "1e30", "1000", "x", ""],
    "theory --delta": ["0", "-1", "nan", "inf", "x"],
    "plan --horizon": [
        "1.5",
        "inf",
        "nan",
        "true",
        "-1",
        "0",
        "1e30",
        *map(str, HUGE[1:]),
        "9" * 5000,
    ],
    "plan --storage": ["-1", "nan", "inf", "x", "1e3", "9" * 400, "1 parsec", "0"],
    "plan --regret": ["-1", "nan", "x"],
    "plan --replications": ["0", "1", "-1", "1.5", *map(str, HUGE)],
    "plan --seed": ["-1", "1.5", "x", "nan"],
}


@pytest.mark.parametrize(
    ("option", "value"), [(o, v) for o, values in OPTIONS.items() for v in values]
)
def test_what_is_no_value_of_an_option(option, value):
    command, name = option.split()
    application = "energy-harvesting" if name == "--delta" else "channel-selection"
    arguments = [command, "--application", application, f"{name}={value}"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2, (done.output, done.exception)
    assert isinstance(done.exception, SystemExit)
    assert done.stdout == ""


def test_a_bound_beyond_all_floats_is_left_out_of_a_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.toml").write_text(f"{POLICIES}epsilon = [0.01, 1e30]\n")
    assert CliRunner().invoke(main, ["run", "e.toml", "--on", "serial"]).exit_code == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = CliRunner().invoke(main, ["report", "e"])
    assert done.exit_code == 0, (done.output, done.exception)
