"""Every factorisation passes the shipped battery."""

from __future__ import annotations

import pytest
from problems import CONTINUOUS, FINITE

from onepull import Grid, Table
from onepull.testing import FACTORISATION_CHECKS

CASES = [
    *(pytest.param(Table, p, id=f"Table-{name}") for name, p in FINITE.items()),
    *(
        pytest.param(lambda problem, d=d: Grid(problem, delta=d), p, id=f"Grid-{d}-{name}")
        for name, p in CONTINUOUS.items()
        for d in (0.03, 0.4, 10.0)
    ),
]


@pytest.mark.parametrize("check", FACTORISATION_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(("build", "problem"), CASES)
def test_factorisation(build, problem, check):
    check(build, problem())
