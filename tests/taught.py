"""Policies that have learned."""

from __future__ import annotations

import numpy as np

from onepull.testing.random_data import observations


def taught(policy, count, problem=None, seed=1):
    """Return a policy after random observations of its problem, or of a given one."""
    for pull in observations(problem or policy.problem, count, np.random.default_rng(seed)):
        policy.observe(**pull)
    return policy
