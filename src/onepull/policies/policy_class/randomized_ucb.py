"""RandomizedUCB: at each trial the best mixture of policies with low variance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from onepull.checks import constant, restored, share
from onepull.policies.policy_class.cheapest_mixture import Program
from onepull.policies.policy_class.class_learner import ClassLearner
from onepull.policies.policy_class.mixture import MixtureState, PolicyMixture
from onepull.policies.policy_class.policy_class import GivenPolicies
from onepull.policies.policy_class.weighed_history import WeighedHistory
from onepull.policies.request import Request
from onepull.problem import Problem


class RandomizedUCB(ClassLearner):
    """RandomizedUCB (Dudík et al. 2011, "Efficient optimal learning for contextual bandits").

    Index: the arm's mean reward in the cell, weighted by inverse probability.  At trial t a
    distribution P over the N policies minimises the estimated regret Σ P(π) Δ(π).  The constraint
    holds for all distributions Q over the policies: the mean over the seen contexts of
    1/P^μ(π(x)|x), averaged over Q, is at most max(4K, (t-1) Δ(Q)² / (180 C)), with
    C = 2 ln(N(t-1)/δ).  Arms are drawn from P^μ = (1 - Kμ)P + μ, where
    μ = min(1/(2K), √(ln(Nt/δ) / (Kt))).

    Use it to compete with a class of policies at the optimal rate; `ILTCB` is cheaper per trial.
    With probability 1 - δ the regret against the best policy of the class is
    O(√(KT ln(NT/δ)) + K ln(NK/δ)).  It stores the context, arm, reward and probability of each
    pull, of order T numbers.

    The publication allows a slack of K in the constraints and of order √(KC/t) in the value.  We
    compute P with an interior-point method instead of the ellipsoid method, with a slack of K/2
    and a value within a tenth of √(KC/t).  P is checked after each pull.  It is kept while it is
    within the published slack and, by duality, close to the minimum.  After arms are added or
    removed, it is checked with the next pull.

    Parameters
    ----------
    policies, delta, failure, seed
        Those of `ILTCB`.
    caution
        The constant 180 of the constraint, above 0; smaller values exploit sooner, without the
        guarantee.

    Examples
    --------
    >>> from onepull import Finite, Interval, Problem
    >>> policy = RandomizedUCB(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... ))
    >>> policy.observe("lte", bits=2, capacity=1.0)
    >>> print(policy.explain(bits=2))
    RandomizedUCB at trial 2 with bits=2
      arm   pulls  estimate   bonus   index  chance
      wifi      0         –       –  0.0000  0.2500
      lte       1    4.0000  0.0000  4.0000  0.7500
    a draw: from a mixture of 1 policy, every arm with probability 0.25 or more
    """

    guarantee = (
        "O(√(KT log(NT/δ))) against the best of the N policies of its class with probability 1-δ, "
        "for the published constants (Dudík et al. 2011)"
    )

    _knowledge: _Trials

    def __init__(  # noqa: PLR0913 - all are keyword-only
        self,
        problem: Problem,
        *,
        policies: GivenPolicies = None,
        delta: float | Mapping[str, float] | None = None,
        failure: float = 0.05,
        caution: float = 180.0,
        seed: int | np.random.Generator = 0,
    ) -> None:
        self.failure = share("failure", failure)
        self.caution = constant("caution", caution, above=0.0)
        history = _Trials(problem, policies, delta, self.failure)
        history.caution = self.caution
        super().__init__(history, seed=seed)

    def _reason(self, request: Request, indices: list[float]) -> str:
        del request, indices
        known = self._knowledge
        count = len(known.mixture.weights)
        return (
            f"from a mixture of {count} polic{'y' if count == 1 else 'ies'}, "
            f"every arm with probability {known.floor:.2g} or more"
        )


class _Trials(WeighedHistory):
    """Pulls, the mixture for the next trial, and its dual prices."""

    caution = 180.0
    prices: PolicyMixture

    def _begin(self) -> None:
        super()._begin()
        self.prices = PolicyMixture.nothing(self.cells.features)

    def doubt(self, trial: int) -> float:
        """Return C at a trial."""
        return 2.0 * math.log(len(self.policies) * trial / self.failure)

    @property
    def floor(self) -> float:
        """μ, the smallest probability of an arm."""
        arms, trial = len(self.problem.arms), self.trials + 1
        return min(0.5 / arms, math.sqrt(self.doubt(trial) / (2.0 * arms * trial)))

    @property
    def _is_due(self) -> bool:
        return True

    def program(self) -> Program:
        """Return the optimisation problem of the next trial."""
        seen = self.trials
        return Program(
            self.policies,
            gains=self.gains,
            frequencies=self.frequencies,
            floor=self.floor,
            flat=4.0 * len(self.problem.arms),
            curve=seen / (self.caution * self.doubt(seen)),
        )

    def tolerance(self) -> float:
        """Return how far the value of a mixture may be above the minimum."""
        trial = self.trials + 1
        return 0.1 * math.sqrt(len(self.problem.arms) * self.doubt(trial) / trial)

    def _solve(self) -> None:
        program, arms = self.program(), len(self.problem.arms)
        slack, tolerance = 0.5 * arms, self.tolerance()
        alone = PolicyMixture.of(self.policies, {program.leader: 1.0})
        if program.excess(program.variances(alone.table(arms))) <= slack:
            self.prices = PolicyMixture.nothing(self.cells.features)
            self._mix(alone)  # its estimated regret is 0
            return
        prices = self.prices.table(arms)
        if (
            program.excess(program.variances(self.table)) <= arms
            and program.gap(self.table, prices, slack=slack) <= tolerance
        ):
            return
        weights, found = program.solve(slack=slack, tolerance=0.5 * tolerance)
        self.prices = PolicyMixture.of(self.policies, found)
        self._mix(PolicyMixture.of(self.policies, weights))

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Switch to a problem with one more arm at the end, or without arm `removed`."""
        super().change_arms(problem, removed)
        if removed is not None:
            self.prices = self.prices.without(removed)

    def _solution(self) -> Any:
        return self.prices.state()

    def _restore_solution(self, solution: Any) -> None:
        saved = restored(MixtureState, solution, "dual prices")
        self.prices = PolicyMixture.restored(saved, self.cells.features, len(self.problem.arms))
