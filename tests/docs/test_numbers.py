"""Numbers that pages state are those that are measured now, and the same on all pages."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from delay import CHANNELS, HORIZON, RUNS

from onepull import EmpiricalKL, simulate
from onepull.experiments import Experiment
from onepull.report import summary

ROOT = Path(__file__).parent.parent.parent
TIME = re.compile(r"(\d+ to \d+)\sµs\swith\s`recommended`")


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["docs/how-to/route-requests.md"])
def test_the_time_of_the_recommended_policy_is_that_of_the_readme(page):
    (stated,) = TIME.findall(text_of("README.md"))
    assert TIME.findall(text_of(page)) == [stated]


def test_the_drift_page_states_what_empirical_kl_loses_without_a_change():
    experiment = Experiment.read(ROOT / "examples" / "steady-four.toml")
    told, name = experiment.simulation, "empirical KL"
    result = simulate(
        told.environment,
        {name: told.policies[name]},
        horizon=told.horizon,
        replications=experiment.replications,
        seed=told.seed,
        checkpoints=[told.horizon],
    )
    row = re.search(rf"^\| {name} \|.*\| (.*) \|$", text_of("docs/drift.md"), re.MULTILINE)
    assert row is not None
    assert row[1] == summary(result).texts()[0][1]


def test_the_delay_page_states_what_empirical_kl_loses_without_a_delay():
    given: dict[str, Any] = {"horizon": HORIZON, "replications": RUNS, "seed": 1}
    policy = EmpiricalKL(CHANNELS.problem)
    result = simulate(CHANNELS, {"EmpiricalKL": policy}, **given, checkpoints=[HORIZON])
    runs = result.regret("EmpiricalKL")
    told = f"{runs.mean():,.0f} ± {1.96 * runs.std(ddof=1) / math.sqrt(RUNS):,.0f}"
    for counted in ("received", "in flight too"):
        row = re.search(
            rf"^\| at once \| {counted} \| (.*) \|$", text_of("docs/delay.md"), re.MULTILINE
        )
        assert row is not None
        assert row[1].split(" | ")[1] == told
