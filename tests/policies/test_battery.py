"""Every built-in policy passes the shipped battery on every problem it is made for."""

from __future__ import annotations

import pytest
from problems import CONTINUOUS, FINITE

from onepull import (
    CCB,
    DCB,
    DSEE,
    UCB1,
    Discrete,
    DoublingCCB,
    EpsilonGreedy,
    FixedArm,
    Genie,
    Greedy,
    MultiUCB,
    Random,
    UCB1Epsilon,
    UpperConfidence,
)
from onepull.spaces import Interval
from onepull.testing import POLICY_CHECKS


def genie(problem):
    ends = {}
    for name, space in problem.state.items():
        high = space.high if space.high < 1e9 else space.low + 5
        ends[name] = (space.low, high)
    rows = [[low for low, _ in ends.values()], [high for _, high in ends.values()]]
    return Genie(
        problem,
        states={
            arm: Discrete(rows, [(j + 1) / 9, 1 - (j + 1) / 9])
            for j, arm in enumerate([*sorted(problem.arms), "added-arm"])
        },
    )


def delta(problem):
    return {n: s.width / 3.5 for n, s in problem.context.items() if isinstance(s, Interval)}


EVERYWHERE = {
    "UCB1": UCB1,
    "UCB1-seeded": lambda problem: UCB1(problem, seed=7),
    "UCB1Epsilon": lambda problem: UCB1Epsilon(problem, epsilon=0.5),
    "EpsilonGreedy-blind": lambda problem: EpsilonGreedy(problem, sharing="blind", c=0.2),
    "DSEE-blind": lambda problem: DSEE(problem, sharing="blind", weight=2),
    "UpperConfidence-blind": lambda problem: UpperConfidence(problem, sharing="blind"),
    "Random": lambda problem: Random(problem, seed=3),
    "FixedArm": lambda problem: FixedArm(problem, arm=sorted(problem.arms)[1]),
    "Genie": genie,
}
ON_FINITE = {
    "DCB": DCB,
    "DCB-seeded": lambda problem: DCB(problem, epsilon=0.2, seed=1),
    "DCB-beyond": lambda problem: DCB(problem, epsilon=-1, beyond_theory=True),
    "MultiUCB": MultiUCB,
    "Greedy": Greedy,
    "EpsilonGreedy": lambda problem: EpsilonGreedy(problem, c=0.2),
    "DSEE": DSEE,
    "DSEE-seeded": lambda problem: DSEE(problem, sharing="per-context", weight=0.5, seed=2),
    "UpperConfidence": lambda problem: UpperConfidence(problem, alpha=0.5),
}
ON_CONTINUOUS = {
    "CCB": lambda problem: CCB(problem, delta=delta(problem)),
    "DoublingCCB": DoublingCCB,
    "MultiUCB": lambda problem: MultiUCB(problem, delta=delta(problem)),
    "Greedy": lambda problem: Greedy(problem, delta=delta(problem)),
    "EpsilonGreedy": lambda problem: EpsilonGreedy(
        problem, sharing="per-context", delta=delta(problem), c=1
    ),
    "DSEE": lambda problem: DSEE(problem, delta=delta(problem), weight=3),
    "UpperConfidence": lambda problem: UpperConfidence(
        problem, sharing="per-context", delta=delta(problem)
    ),
}

CASES = [
    pytest.param(build, problem, id=f"{policy}-{name}")
    for problems, policies in (
        (FINITE, EVERYWHERE | ON_FINITE),
        (CONTINUOUS, EVERYWHERE | ON_CONTINUOUS),
    )
    for name, problem in problems.items()
    for policy, build in policies.items()
]


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(("build", "problem"), CASES)
def test_policy(build, problem, check):
    check(build, problem())
