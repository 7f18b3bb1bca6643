"""Every factorisation passes the shipped battery."""

from __future__ import annotations

from functools import cache

import pytest
from problems import CONTINUOUS, FINITE

from onepull import ContextTable, Finite, Grid, Interval, Problem
from onepull.factor import Histogram, LowRank, Sketch
from onepull.testing import FACTORISATION_CHECKS


@cache
def listed():
    """Return vector contexts and states of which the states are finitely many."""
    return Problem(
        arms=["a", "b"],
        context={"size": Interval(0, 3), "weight": Finite([-1, 2])},
        state={"speed": Finite([4, 1, 2]), "up": Finite([0, 1])},
        reward="weight * min(size, speed) * up - (speed >= size)",
    )


@cache
def smooth():
    """Return vector contexts and states, finite and continuous fields in each."""
    return Problem(
        arms=["a", "b"],
        context={"weight": Finite([-1, 2]), "size": Interval(0, 3)},
        state={"speed": Finite([1, 2, 4]), "load": Interval(0, 1)},
        reward="weight * exp(-size * load) - sqrt(speed * size)",
    )


HISTOGRAMS = {"coded": FINITE["coded"], "listed": listed}
SKETCHES = {n: p for n, p in (FINITE | CONTINUOUS).items() if n != "mixed"} | {"smooth": smooth}
SMOOTH = {n: p for n, p in SKETCHES.items() if n != "channels"} | {"listed": listed}

CASES = [
    *(pytest.param(ContextTable, p, id=f"ContextTable-{name}") for name, p in FINITE.items()),
    *(
        pytest.param(lambda problem, d=d: Grid(problem, delta=d), p, id=f"Grid-{d}-{name}")
        for name, p in CONTINUOUS.items()
        for d in (0.03, 0.4, 10.0)
    ),
    *(pytest.param(Histogram, p, id=f"Histogram-{name}") for name, p in HISTOGRAMS.items()),
    *(
        pytest.param(lambda problem, n=n: Sketch(problem, knots=n), p, id=f"Sketch-{n}-{name}")
        for name, p in SKETCHES.items()
        for n in (2, 9, 70)
    ),
    *(
        pytest.param(
            lambda problem, t=t: LowRank(problem, tolerance=t), p, id=f"LowRank-{t}-{name}"
        )
        for name, p in SMOOTH.items()
        for t in (1e-2, 1e-7)
    ),
]


@cache
def made(build, problem):
    """Return a factorisation, made once for all checks: it never changes."""
    return build(problem())


@pytest.mark.parametrize("check", FACTORISATION_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(("build", "problem"), CASES)
def test_factorisation(build, problem, check):
    check(lambda _: made(build, problem), problem())
