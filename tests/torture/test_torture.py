"""The first cases of every area of torture."""

from __future__ import annotations

import pytest

from torture.area import run_case
from torture.areas import AREAS


@pytest.mark.parametrize("area", AREAS.values(), ids=AREAS)
def test_the_first_cases_pass(area):
    failed = [
        f"python tests/torture '{area.name}' --case {outcome.seed}: {outcome.failure}"
        for seed in range(area.in_tests)
        # Time is left to `make torture`: other processes and the compiler would spoil it here.
        if (outcome := run_case(area, seed)).failure and "CPU time" not in outcome.failure
    ]
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize(
    ("area", "seed"),
    [
        ("save-values", 17182),  # the middle of edges whose sum overflows
        ("fleet-updates", 3451),  # more observations together than can be counted
    ],
)
def test_cases_that_failed_once(area, seed):
    assert run_case(AREAS[area], seed).failure is None
