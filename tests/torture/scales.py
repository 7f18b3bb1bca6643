"""Rewards and states of every size, from 1e-300 to 1e300, for every policy."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np
from policy_cases import CASES, Maker

from onepull import Finite, Interval, Problem
from onepull.errors import MergeError, OnepullError
from onepull.payoff.box_points import is_finite
from onepull.testing.random_data import observations, random_points
from torture.area import Area

# With a factor and an offset for the reward, and a factor for the state.
REWARDS = (
    "{offset} + {factor} * min(bits, capacity / {size})",
    "{offset} - {factor} * capacity / {size} / bits",
    "{factor} * (capacity >= bits * {size}) + {offset}",
    "{factor} if capacity > {size} else {offset}",
    "({factor} * bits) * (capacity / {size}) ** 2",
)


def case(seed: int) -> bool:
    """Play a policy on a problem of some size, in every way."""
    generator = np.random.default_rng(seed)
    try:
        problem = random_problem(generator)
        policy = random_maker(problem, generator)(problem)
    except OnepullError:
        return False
    for pull in observations(problem, 24, generator):
        context = problem.context.among(pull)
        arm = policy.choose(**context)
        assert arm in problem.arms, arm
        policy.observe(**{**pull, "arm": arm})
    for context in random_points(problem.context, 3, generator):
        for row in policy.explain(**context).arms:
            assert not math.isnan(row.index), row
            assert row.estimate is None or math.isfinite(row.estimate), row
    copy = type(policy).from_bytes(policy.to_bytes())
    assert copy.to_bytes() == policy.to_bytes()
    with suppress(MergeError):  # policies that forget
        policy.merge(copy)
    policy.choose(**context)
    return True


def random_maker(problem: Problem, generator: np.random.Generator) -> Maker:
    """Return what makes a policy for listed contexts, or one for other contexts."""
    listed = is_finite(problem.context)
    makers = [make for make, made_for in CASES.values() if is_finite(made_for().context) == listed]
    return makers[int(generator.integers(len(makers)))]


def random_problem(generator: np.random.Generator) -> Problem:
    """Return a problem whose numbers are far from 1."""
    factor, size = 10.0 ** generator.integers(-305, 305, 2)
    offset = 0.0 if generator.random() < 0.5 else 10.0 ** generator.integers(-305, 305)
    text = REWARDS[int(generator.integers(len(REWARDS)))]
    continuous = generator.random() < 0.5
    listed = generator.random() < 0.4
    return Problem(
        arms=["near", "far", "third"],
        context={"bits": Interval(1, 4) if continuous else Finite([1, 2, 3])},
        state={"capacity": Finite([0, size, 3 * size]) if listed else Interval(0, 5 * size)},
        reward=text.format(factor=factor, offset=offset, size=size),
    )


AREA = Area(
    name="scales",
    tries="a policy learns, explains, saves and merges with numbers from 1e-305 to 1e305",
    case=case,
    in_tests=150,
    fixed=(
        "`choose` raised `OverflowError` from 1e154 in six policies",
        "`choose` raised `ZeroDivisionError` at 1e-300 in six policies",
        "`CoarseKL.choose` took 1.7 s at 1e200",
        "a reward 1.6 too high was accepted where rewards are near 1.7e9",
    ),
)
