"""Every built-in policy, in usual and in unusual settings, on every problem it is made for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from problems import CONTINUOUS, FINITE, UNUSUAL, failing, served, served_in_any_size

from onepull import (
    CCB,
    DCB,
    DSEE,
    ILTCB,
    IMED,
    KLUCB,
    UCB1,
    UCBALP,
    CoarseKL,
    ContextualZooming,
    DirichletThompson,
    DiscountedKL,
    DiscountedUCB,
    Discrete,
    DoublingCCB,
    EmpiricalBernstein,
    EmpiricalKL,
    EpochGreedy,
    EpsilonGreedy,
    FixedArm,
    Genie,
    Greedy,
    LinearThompson,
    LinRel,
    LinUCB,
    MixtureElimination,
    MultiUCB,
    PatientKL,
    Policy,
    Problem,
    Random,
    RandomizedUCB,
    RegressionUCB,
    RestartingUCB,
    SlidingWindowKL,
    SlidingWindowUCB,
    UCB1Epsilon,
    UpperConfidence,
    recommended,
)
from onepull.errors import ParameterError
from onepull.policies.registry import registered
from onepull.spaces import Interval

Maker: TypeAlias = Callable[[Any], Policy]


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


def listed(problem):
    """Three policies: one arm always, another, and the two in turn."""
    cells = math.prod(len(space.values) for space in problem.context.values())
    one, two = sorted(problem.arms)[:2]
    return [[one] * cells, [two] * cells, [(one, two)[i % 2] for i in range(cells)]]


def own_features(problem):
    """A few features that differ from arm to arm, for one shared parameter vector."""
    name, space = list(problem.context.items())[-1]
    scaled = (
        f"({name} - ({space.low})) / {space.high - space.low}" if space.high > space.low else "0"
    )
    arms = [*sorted(problem.arms), "added-arm"]
    return {
        arm: ["0.5", f"{scaled} * {j / 20}", f"{j / 20} * ({scaled})**2"]
        for j, arm in enumerate(arms)
    }


def root(problem):
    """A feature of the last field of the context, if there is one."""
    return f"abs({problem.context.names[-1]})**0.5" if problem.context.has_fields else "0.5"


def paid(problem):
    """All arms but one cost something, and the budget lasts for what the battery pulls."""
    costs = {arm: 0.25 * j for j, arm in enumerate(sorted(problem.arms)) if j}
    return {"costs": costs, "budget": 100.0, "horizon": 300}


EVERYWHERE: dict[str, Maker] = {
    "UCB1": UCB1,
    "UCB1-seeded": lambda problem: UCB1(problem, seed=7),
    "UCB1Epsilon": lambda problem: UCB1Epsilon(problem, epsilon=0.5),
    "EpsilonGreedy-blind": lambda problem: EpsilonGreedy(problem, sharing="blind", c=0.2),
    "DSEE-blind": lambda problem: DSEE(problem, sharing="blind", weight=2),
    "KLUCB-blind": lambda problem: KLUCB(problem, sharing="blind", c=3),
    "AdaptiveKL": recommended,
    "UpperConfidence-blind": lambda problem: UpperConfidence(problem, sharing="blind"),
    "DiscountedUCB-blind": lambda problem: DiscountedUCB(problem, sharing="blind", discount=0.8),
    "SlidingWindowUCB-blind": lambda problem: SlidingWindowUCB(problem, sharing="blind", window=7),
    "RestartingUCB-blind": lambda problem: RestartingUCB(problem, sharing="blind", patience=9),
    "LinUCB": LinUCB,
    "LinUCB-seeded": lambda problem: LinUCB(problem, alpha=0.5, regulariser=0.1, seed=4),
    "LinUCB-shared": lambda problem: LinUCB(problem, features=own_features(problem)),
    "LinRel": LinRel,
    "LinRel-shared": lambda problem: LinRel(problem, features=own_features(problem), failure=0.5),
    "LinearThompson": LinearThompson,
    "LinearThompson-written": lambda problem: LinearThompson(
        problem, features=["1", root(problem)], spread=1, seed=5
    ),
    "LinearThompson-shared": lambda problem: LinearThompson(
        problem, features=own_features(problem)
    ),
    "RegressionUCB": RegressionUCB,
    "RegressionUCB-seeded": lambda problem: RegressionUCB(problem, c=1, seed=14),
    "ContextualZooming": ContextualZooming,
    "ContextualZooming-quick": lambda problem: ContextualZooming(
        problem, horizon=100, width=0.3, seed=6
    ),
    "Random": lambda problem: Random(problem, seed=3),
    "FixedArm": lambda problem: FixedArm(problem, arm=sorted(problem.arms)[1]),
    "Genie": genie,
}
ON_FINITE: dict[str, Maker] = {
    "DCB": DCB,
    "DCB-seeded": lambda problem: DCB(problem, epsilon=0.2, seed=1),
    "DCB-beyond": lambda problem: DCB(problem, epsilon=-1, beyond_theory=True),
    "MultiUCB": MultiUCB,
    "Greedy": Greedy,
    "EpsilonGreedy": lambda problem: EpsilonGreedy(problem, c=0.2),
    "DSEE": DSEE,
    "DSEE-seeded": lambda problem: DSEE(problem, sharing="per-context", weight=0.5, seed=2),
    "UpperConfidence": lambda problem: UpperConfidence(problem, alpha=0.5),
    "DiscountedUCB": DiscountedUCB,
    "DiscountedUCB-forgetful": lambda problem: DiscountedUCB(problem, discount=0.01, seed=3),
    "SlidingWindowUCB": SlidingWindowUCB,
    "SlidingWindowUCB-short": lambda problem: SlidingWindowUCB(problem, window=25, alpha=2),
    "RestartingUCB": RestartingUCB,
    "RestartingUCB-impatient": lambda problem: RestartingUCB(
        problem, sharing="per-context", failure=0.9, patience=5, seed=4
    ),
    "KLUCB": lambda problem: KLUCB(problem, head_start=10),
    "EpochGreedy": EpochGreedy,
    "EpochGreedy-listed": lambda problem: EpochGreedy(problem, policies=listed(problem), c=9),
    "RandomizedUCB": RandomizedUCB,
    "RandomizedUCB-listed": lambda problem: RandomizedUCB(
        problem, policies=listed(problem), failure=0.9, caution=0.01, seed=8
    ),
    "ILTCB": ILTCB,
    "ILTCB-thresholds": lambda problem: ILTCB(
        problem, policies="thresholds", failure=0.9, psi=0.1, ratio=1.1, seed=9
    ),
    "UCBALP": lambda problem: UCBALP(problem, **paid(problem)),
    "UCBALP-joint": lambda problem: UCBALP(problem, **paid(problem), sharing="joint", seed=10),
    "MixtureElimination": lambda problem: MixtureElimination(
        problem, **paid(problem), policies="thresholds", width=0.2
    ),
    "MixtureElimination-listed": lambda problem: MixtureElimination(
        problem, **paid(problem), policies=listed(problem), sharing="joint", seed=11
    ),
}
ON_CONTINUOUS: dict[str, Maker] = {
    "CCB": lambda problem: CCB(problem, delta=delta(problem)),
    "DoublingCCB": DoublingCCB,
    "DoublingCCB-carried": lambda problem: DoublingCCB(problem, carry_over=True),
    "MultiUCB": lambda problem: MultiUCB(problem, delta=delta(problem)),
    "Greedy": lambda problem: Greedy(problem, delta=delta(problem)),
    "EpsilonGreedy": lambda problem: EpsilonGreedy(
        problem, sharing="per-context", delta=delta(problem), c=1
    ),
    "DSEE": lambda problem: DSEE(problem, delta=delta(problem), weight=3),
    "UpperConfidence": lambda problem: UpperConfidence(
        problem, sharing="per-context", delta=delta(problem)
    ),
    "DiscountedUCB": lambda problem: DiscountedUCB(problem, delta=delta(problem), discount=0.9),
    "SlidingWindowUCB": lambda problem: SlidingWindowUCB(
        problem, sharing="per-context", delta=delta(problem), window=3
    ),
    "RestartingUCB": lambda problem: RestartingUCB(problem, delta=delta(problem), patience=5),
    "KLUCB": lambda problem: KLUCB(problem, sharing="per-context", delta=delta(problem)),
    "EpochGreedy": lambda problem: EpochGreedy(problem, delta=delta(problem), c=3),
    "RandomizedUCB": lambda problem: RandomizedUCB(
        problem, delta=delta(problem), policies="thresholds", caution=0.01
    ),
    "ILTCB": lambda problem: ILTCB(problem, delta=delta(problem), psi=1),
    "UCBALP": lambda problem: UCBALP(problem, **paid(problem), delta=delta(problem)),
    "UCBALP-joint": lambda problem: UCBALP(
        problem, **paid(problem), sharing="joint", delta=delta(problem)
    ),
    "MixtureElimination": lambda problem: MixtureElimination(
        problem, **paid(problem), delta=delta(problem), width=0.2
    ),
}
# Those that keep the states: where these are listed or bounded.
ON_STATES: dict[str, Maker] = {
    "EmpiricalKL": lambda problem: EmpiricalKL(problem, knots=knots(problem)),
    "EmpiricalKL-seeded": lambda problem: EmpiricalKL(
        problem, c=3, head_start=50, knots=knots(problem), seed=12
    ),
    "DiscountedKL": lambda problem: DiscountedKL(problem, knots=knots(problem)),
    "DiscountedKL-forgetful": lambda problem: DiscountedKL(
        problem, discount=0.3, c=3, knots=knots(problem), seed=13
    ),
    "SlidingWindowKL": lambda problem: SlidingWindowKL(problem, knots=knots(problem)),
    "SlidingWindowKL-short": lambda problem: SlidingWindowKL(
        problem, window=7, knots=knots(problem)
    ),
    "IMED": lambda problem: IMED(problem, knots=knots(problem)),
    "EmpiricalBernstein": lambda problem: EmpiricalBernstein(
        problem, zeta=0.5, knots=knots(problem)
    ),
    "DirichletThompson": lambda problem: DirichletThompson(
        problem, prior=0.5, knots=knots(problem)
    ),
    "PatientKL": lambda problem: PatientKL(
        problem, delta=delta(problem) or None, patience=5, knots=knots(problem)
    ),
    "UpperConfidence-sketch": lambda problem: UpperConfidence(problem, sharing="sketch(9)"),
    "UpperConfidence-low-rank": lambda problem: UpperConfidence(
        problem, sharing="low-rank(1e-6)", alpha=0.5
    ),
    "DSEE-sketch": lambda problem: DSEE(problem, sharing="sketch(70)", weight=2),
}


def knots(problem):
    """Few, so that it does not take long; none where states are listed."""
    return 9 if any(isinstance(s, Interval) for s in problem.state.values()) else None


def keeps_states(problem):
    return all(space.high < math.inf for space in problem.state.values())


# For a state of one field, with which the reward goes one way.
ON_ONE_WAY: dict[str, Maker] = {
    "CoarseKL": lambda problem: CoarseKL(problem, knots=knots(problem)),
    "CoarseKL-seeded": lambda problem: CoarseKL(
        problem, c=1, head_start=20, knots=knots(problem), seed=13
    ),
}

GROUPS = (EVERYWHERE, ON_FINITE, ON_CONTINUOUS, ON_STATES, ON_ONE_WAY)
TRIED = {name.split("-")[0] for group in GROUPS for name in group}
# A policy that is in no list above is tried as it comes, wherever it can be built.
UNLISTED: dict[str, Maker] = {
    name: kind for name, kind in registered().items() if name not in TRIED
}


def builds(kind, problem):
    try:
        kind(problem)
    except (ParameterError, TypeError):
        return False
    return True


def usual(settings):
    """Return those that are not a variant of another one."""
    first: dict[str, Maker] = {}
    for name, build in settings.items():
        if name.split("-")[0] not in {known.split("-")[0] for known in first}:
            first[name] = build
    return first


ALL = FINITE | CONTINUOUS | UNUSUAL

CASES: Mapping[str, tuple[Maker, Callable[[], Problem]]] = {
    f"{policy}-{name}": (build, problem)
    for problems, policies in (
        (FINITE | UNUSUAL, EVERYWHERE | ON_FINITE),
        (CONTINUOUS, EVERYWHERE | ON_CONTINUOUS),
        ({n: p for n, p in ALL.items() if keeps_states(p())}, ON_STATES),
        ({"channels": FINITE["channels"], "harvesting": CONTINUOUS["harvesting"]}, ON_ONE_WAY),
        ({"coded": FINITE["coded"], "failing": failing}, {"CoarseKL": CoarseKL}),
        # Attributes, failures and states without bounds, all at once.
        ({"served": served}, usual(EVERYWHERE | ON_FINITE)),
        ({"served_in_any_size": served_in_any_size}, usual(ON_CONTINUOUS)),
    )
    for name, problem in problems.items()
    for policy, build in policies.items()
    if name not in UNUSUAL or builds(build, problem())
} | {
    f"{policy}-{name}": (kind, problem)
    for policy, kind in UNLISTED.items()
    for name, problem in ALL.items()
    if builds(kind, problem())
}


def by_setting() -> dict[str, list[str]]:
    """Return the names of the cases of each setting."""
    settings: dict[str, list[str]] = {}
    for name in CASES:
        settings.setdefault(name.rpartition("-")[0], []).append(name)
    return settings


def one_each() -> dict[str, tuple[Maker, Callable[[], Problem]]]:
    """Return one case of each setting, on one problem after the other."""
    names = (alike[i % len(alike)] for i, alike in enumerate(by_setting().values()))
    return {name: CASES[name] for name in names}


def enough() -> dict[str, tuple[Maker, Callable[[], Problem]]]:
    """Return all cases, but a variant of another setting on every second problem only."""
    found: dict[str, tuple[Maker, Callable[[], Problem]]] = {}
    for i, (setting, alike) in enumerate(by_setting().items()):
        kept = alike[i % 2 :: 2] if "-" in setting and len(alike) > 1 else alike
        found |= {name: CASES[name] for name in kept}
    return found
