"""A problem with two context fields for linear policies, and features of both kinds."""

from __future__ import annotations

import numpy as np

from onepull import Finite, Interval, LinearThompson, LinRel, LinUCB, Problem

ARMS = ["a", "b", "c"]
OWN = {arm: ["0.5", f"y * {j} / 8", f"z * {2 - j} / 10"] for j, arm in enumerate(ARMS)}
KINDS = [LinUCB, LinRel, LinearThompson]


def two_fields(arms=ARMS):
    return Problem(
        arms=arms,
        context={"y": Interval(0, 2), "z": Finite([1, 3, 4])},
        state={"x": Interval(0, 1)},
        reward="5 * x * y - z",  # from -4 to 9
    )


def own(context, arm):
    """The features of OWN in code."""
    j = ARMS.index(arm)
    return [0.5, context["y"] * j / 8, context["z"] * (2 - j) / 10]


def taught(kind, features=None, pulls=40, **parameters):
    policy = kind(two_fields(), features=features, **parameters)
    generator = np.random.default_rng(3)
    for i in range(pulls):
        y, z = float(generator.uniform(0, 2)), float(generator.choice([1, 3, 4]))
        policy.observe(ARMS[i % 3], y=y, z=z, x=float(generator.random()))
    return policy
