"""Results made by hand, so that nothing here depends on the simulator."""

from __future__ import annotations

import numpy as np
import pytest

from onepull.simulation import Result

HOSTILE = """<script>alert("x")</script> & $a_b$ | 'q' `c` [red]t[/red] id="x" url(#y), ]]>"""


def made(policies, arms, *, replications=25, seed=3):
    generator = np.random.default_rng(seed)
    checkpoints = np.array([1, 2, 5, 10, 50, 100, 500, 1000])
    shape = (len(policies), replications, len(checkpoints))
    pulls = np.cumsum(
        generator.uniform(0, 40, (len(policies), len(checkpoints), len(arms))), axis=1
    )
    return Result(
        policies=list(policies),
        parameters=[{"epsilon": 0.01}] + [{"delta": 0.5}] * (len(policies) - 1),
        arms=list(arms),
        checkpoints=checkpoints,
        regrets=np.cumsum(generator.exponential(3.0, shape), axis=2),
        pulls=pulls,
        best_pulls=pulls / 3,
        storage=[4] * len(policies),
        notes=["mean rewards are good to about 1e-08"],
    )


@pytest.fixture
def result():
    return made(["DCB", "Multi-UCB", "UCB1"], ["near", "far"])


@pytest.fixture
def hostile():
    return made([HOSTILE, "plain"], [HOSTILE, "日本"])


@pytest.fixture
def single():
    return made(["DCB", "UCB1"], ["near", "far"], replications=1)
