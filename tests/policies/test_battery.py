"""Every built-in policy passes the shipped battery on every problem it is made for."""

from __future__ import annotations

import pytest
from problems import CONTINUOUS, FINITE

from onepull import CCB, DCB, UCB1, Discrete, DoublingCCB, FixedArm, Genie, Greedy, MultiUCB, Random
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
    "UCB1-seeded": lambda problem: UCB1(problem, epsilon=0.5, seed=7),
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
}
ON_CONTINUOUS = {
    "CCB": lambda problem: CCB(problem, delta=delta(problem)),
    "DoublingCCB": DoublingCCB,
    "MultiUCB": lambda problem: MultiUCB(problem, delta=delta(problem)),
    "Greedy": lambda problem: Greedy(problem, delta=delta(problem)),
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
