"""Weights of policies under which each policy's estimate has a low variance."""

from __future__ import annotations

import numpy as np

from onepull.arrays import Array
from onepull.policies.policy_class.mixture import chances
from onepull.policies.policy_class.policy_class import PolicyClass

BOUND_ROUNDING = 1e-9


def low_variance(
    policies: PolicyClass, merits: Array, frequencies: Array, floor: float
) -> dict[int, float]:
    """Return weights with a sum of at most one that solve (OP) of Agarwal et al. (2014).

    Let v(π) be the sum over cells of `merits[cell, arm]` and b(π) = max v - v(π).  The weights Q
    satisfy Σ Q(π) b(π) <= 2K and V(π) <= 2K + b(π) for each policy.  V(π) is the mean over the
    seen contexts of 1/Q^μ(π(x)|x), with Q^μ = (1 - Kμ)Q + μ.  The method is their coordinate
    descent (algorithm 2), started from zero.  Each step changes the weight of the policy that the
    argmax oracle finds worst; there are at most 4 ln(1/(Kμ))/μ steps.

    >>> from onepull import Finite, Interval, Problem, ContextTable
    >>> problem = Problem(
    ...     arms=["a", "b"], context={"y": Finite([1])}, state={"x": Interval(0, 1)}, reward="x*y"
    ... )
    >>> policies = PolicyClass(ContextTable(problem), problem.arms)
    >>> low_variance(policies, np.zeros((1, 2)), np.ones(1), floor=0.25)
    {}
    >>> weights = low_variance(policies, np.zeros((1, 2)), np.ones(1), floor=0.1)
    >>> sorted(weights), sum(weights.values()) <= 1
    ([0, 1], True)
    """
    arms, cells = len(policies.arms), np.arange(len(frequencies))
    bound, (_, top) = 2.0 * arms, policies.best(merits)
    weights: dict[int, float] = {}
    costs: dict[int, float] = {}
    table = np.zeros((len(cells), arms))
    while True:
        spent = sum(weight * (bound + costs[policy]) for policy, weight in weights.items())
        if spent > bound:
            weights = {policy: weight * bound / spent for policy, weight in weights.items()}
            table *= bound / spent
        smoothed = chances(table, floor)
        inverse = frequencies[:, None] / smoothed
        worst, value = policies.best(inverse + merits)
        excess = value - top - bound
        if excess <= BOUND_ROUNDING * bound:
            return weights
        played = policies.assignments[worst]
        costs[worst] = top - float(merits[cells, played].sum())
        variance = float(inverse[cells, played].sum())
        squares = float((inverse / smoothed)[cells, played].sum())
        step = (variance + excess) / (2.0 * (1.0 - arms * floor) * squares)
        weights[worst] = weights.get(worst, 0.0) + step
        table[cells, played] += step
