"""The interface suits factorisations whose φ is dense: here, counts of finitely many states."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from problems import coded

from onepull import Finite, Interval, Problem
from onepull.factor import Dense
from onepull.index.hoeffding import hoeffding
from onepull.policies.rule_policy import MeanPolicy
from onepull.policies.sharing.joint import Joint
from onepull.testing import FACTORISATION_CHECKS, POLICY_CHECKS


class Counts(Dense):
    """φ lists the reward in every state, ψ says which state it was."""

    error = 0.0

    def __init__(self, problem):
        self.problem = problem
        self.states = list(itertools.product(*(space.values for space in problem.state.values())))
        self.features = len(self.states)
        self.columns = np.array(self.states).T

    def psi(self, state):
        return [float(state == other) for other in self.states]

    def phi(self, context):
        return self.problem.payoff.vector(*context, *self.columns)

    def bounds(self, context):
        rewards = self.phi(context)
        return float(rewards.min()), float(rewards.max())


class OnCounts(MeanPolicy):
    def __init__(self, problem):
        super().__init__(Joint(Counts(problem)), hoeffding(2.01))


def signed():
    return Problem(
        arms=["a", "b", "c"],
        context={"y": Interval(-1, 2)},
        state={"x": Finite([-3, 0, 1, 4])},
        reward="y * x - abs(x)",
    )


@pytest.mark.parametrize("check", FACTORISATION_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("problem", [coded, signed])
def test_factorisation(problem, check):
    check(Counts, problem())


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("problem", [coded, signed])
def test_policy(problem, check):
    check(OnCounts, problem())
