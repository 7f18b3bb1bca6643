"""What holds where indices tie but for rounding: states of 0.1, 0.2, 0.3, …, alike for all arms.

The sum of such numbers depends on the order in which they are added.  A kernel that adds as the
library does chooses the library's arms.  Another one chooses an arm whose index in the library is
the highest but for rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from beside import SameLuck, assert_identical, blocks
from kept_worlds import played

from onepull import (
    CCB,
    DCB,
    DSEE,
    KLUCB,
    UCB1,
    CoarseKL,
    ContextualZooming,
    DiscountedUCB,
    Discrete,
    DoublingCCB,
    EpsilonGreedy,
    Finite,
    Interval,
    LinUCB,
    MultiUCB,
    PatientKL,
    Problem,
    SlidingWindowUCB,
    UpperConfidence,
)
from onepull.distributions import Uniform
from onepull.environment import Environment
from onepull.simulation import Simulation
from onepull.simulation.prepare import Interpreted
from onepull.simulation.prepare_sharing import PreparedJoint

ARMS = list("abcdefghij")  # many, so that two often tie


def tied(*, states=3, contexts=0, priced=False):
    """Return arms with the same tenths as states, and that many listed contexts, if any."""
    tenths = [j / 10 for j in range(1, states + 1)]
    listed = [j / contexts for j in range(1, contexts + 1)]
    problem = Problem(
        arms={arm: {"price": (j % 3) / 10} for j, arm in enumerate(ARMS)} if priced else ARMS,
        context={"y": Finite(listed) if contexts else Interval(0, 1)},
        state={"x": Finite(tenths)},
        reward="y * x - price" if priced else "y * x",
    )
    law = Discrete(tenths, [1 / states] * states)
    arrivals = Discrete(listed, [1 / contexts] * contexts) if contexts else Uniform(0, 1)
    return Environment(problem, states=dict.fromkeys(ARMS, law), contexts=arrivals)


# Up to 64 cells, and up to seven features of a dense φ.
ALIKE: dict[str, tuple[Environment, Any]] = {
    "UCB1": (tied(), UCB1),
    "MultiUCB": (tied(contexts=9), MultiUCB),
    "DCB": (tied(contexts=64), DCB),
    "DCB, prices": (tied(contexts=9, priced=True), DCB),
    "CCB": (tied(), lambda p: CCB(p, delta=1 / 64)),
    "DoublingCCB": (tied(), lambda p: DoublingCCB(p, growth=0.7)),
    "DSEE": (tied(contexts=9), lambda p: DSEE(p, weight=5)),
    "KLUCB": (tied(contexts=9), KLUCB),
    "DiscountedUCB": (tied(contexts=9), lambda p: DiscountedUCB(p, discount=0.99)),
    "SlidingWindowUCB": (tied(contexts=100), lambda p: SlidingWindowUCB(p, window=90)),
    "ContextualZooming": (tied(), lambda p: ContextualZooming(p, width=0.1)),
    "histogram": (
        tied(states=7, contexts=9), lambda p: UpperConfidence(p, sharing="histogram", alpha=0.5)
    ),
    "histogram, prices": (
        tied(states=2, contexts=9, priced=True),
        lambda p: UpperConfidence(p, sharing="histogram", alpha=0.5),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
def test_the_same_arithmetic_chooses_the_same_arms(name):
    environment, make = ALIKE[name]
    assert_identical(*blocks(environment, make(environment.problem), horizon=600))


def test_drawn_turns_too():
    environment = tied(contexts=9)
    policy = EpsilonGreedy(environment.problem, c=0.5, gap=0.2)
    assert_identical(*blocks(environment, policy, SameLuck, horizon=600))


# More cells, counted by state; more features; sums of `einsum`; LAPACK.
OTHERWISE: dict[str, tuple[Environment, Any]] = {
    "DCB": (tied(contexts=100), DCB),
    "CCB": (tied(), lambda p: CCB(p, delta=0.005)),
    "histogram": (
        tied(states=12, contexts=9), lambda p: UpperConfidence(p, sharing="histogram", alpha=0.5)
    ),
    "histogram, prices": (
        tied(states=5, contexts=9, priced=True),
        lambda p: UpperConfidence(p, sharing="histogram", alpha=0.5),
    ),
    "LinUCB": (tied(contexts=9), LinUCB),
    "CoarseKL": (tied(contexts=3), CoarseKL),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_rounds_otherwise_chooses_the_highest_index_but_for_rounding(name):
    environment, make = OTHERWISE[name]
    horizon = 60 if name == "CoarseKL" else 600
    trials = played(environment, make(environment.problem), horizon)[1]
    policy, apart = make(environment.problem), 0
    for values, arm, shown in trials:
        context = policy.problem.context.fields(values)
        indices = np.array(policy.indices(**context))
        finite = indices[np.isfinite(indices)]
        if finite.size == indices.size:
            assert indices[arm] >= indices.max() - 1e-9
        else:
            assert arm == int(np.argmax(indices))
        apart += policy.choose(**context) != policy.problem.arms[arm]
        policy.observe(policy.problem.arms[arm], **context, **policy.problem.told(shown))
    assert apart > 5 or name not in {"DCB", "CCB"}  # or the exception is none any more


def test_only_more_than_64_cells_with_listed_states_are_counted():
    problem = Problem(
        arms=ARMS, context={"y": Interval(0, 1)}, state={"x": Interval(0, 1)}, reward="y * x"
    )
    drawn = Environment(problem, states=dict.fromkeys(ARMS, Uniform(0, 1)), contexts=Uniform(0, 1))
    for environment, cells, counts in ((tied(), 64, False), (tied(), 65, True), (drawn, 65, False)):
        policy = CCB(environment.problem, delta=1 / cells)
        prepared = Simulation(environment, {"CCB": policy}, horizon=10)._prepared[0]
        assert isinstance(prepared, PreparedJoint)
        assert prepared.counts_atoms == counts


def test_patient_exploration_is_alike_but_for_rounding():
    environment = tied(states=7, contexts=9)
    chosen = []
    for interpreted in (False, True):
        policy = PatientKL(environment.problem)
        simulation = Simulation(environment, {"own": policy}, horizon=600)
        if interpreted:
            simulation.__dict__["_prepared"] = [Interpreted(policy)]
        chosen.append(simulation.trace(0).arms[0])
    assert np.mean(chosen[0] == chosen[1]) > 0.99
