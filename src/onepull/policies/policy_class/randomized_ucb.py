"""RandomizedUCB: at each trial the least costly mixture of policies that varies little."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from onepull.checks import number
from onepull.errors import SaveFileError
from onepull.policies.decision import Decision
from onepull.policies.policy_class.cheapest_mixture import Program
from onepull.policies.policy_class.class_learner import ClassLearner, failure_probability
from onepull.policies.policy_class.mixture import Mixture, MixtureState
from onepull.policies.policy_class.policy_class import Kind
from onepull.policies.policy_class.weighed_history import WeighedHistory
from onepull.problem import Problem


class RandomizedUCB(ClassLearner):
    """RandomizedUCB (Dudík et al. 2011, "Efficient optimal learning for contextual bandits").

    At trial t a distribution P over the N policies has the least estimated regret Σ P(π) Δ(π)
    such that for all distributions Q over them the mean over the seen contexts of
    1/P^μ(π(x)|x), averaged over Q, is at most max(4K, (t-1) Δ(Q)² / (180 C)), where
    C = 2 ln(N(t-1)/δ).  Arms are drawn from P^μ = (1 - Kμ)P + μ, where
    μ = min(1/(2K), √(ln(Nt/δ) / (Kt))).  With probability 1 - δ the regret to the best policy
    of the class is O(√(KT ln(NT/δ)) + K ln(NK/δ)).  Keeps every pull with its context,
    arm, reward and probability: of order T.

    The paper allows the constraints a slack of K and the value one of order √(KC/t).  Here
    P is found by an interior-point method instead of the ellipsoid, with slack K/2 and a
    value within a tenth of √(KC/t).  It is looked at anew after every pull, and kept while
    it is within the paper's slack and, by the prices of its constraints, near the least
    value.  When arms come or go, that is with the next pull.

    Parameters
    ----------
    policies
        The class: "maps", "thresholds" or a list of policies, see `PolicyClass`.
    delta
        Cuts interval contexts into cells no wider than this.
    failure
        The paper's δ: the probability with which the guarantee may fail.
    caution
        The paper's 180, above 0; less exploits sooner, without the guarantee.
    seed
        Where the draws come from.

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
        "O(√(KT log(NT/δ))) to the best of the N policies of its class with probability 1-δ, "
        "with the published constants (Dudík et al. 2011)"
    )

    _knowledge: _Trials

    def __init__(  # noqa: PLR0913 - a full statement
        self,
        problem: Problem,
        *,
        policies: Kind = None,
        delta: float | Mapping[str, float] | None = None,
        failure: float = 0.05,
        caution: float = 180.0,
        seed: int | np.random.Generator = 0,
    ) -> None:
        self.failure = failure_probability(failure)
        self.caution = number("caution", caution, above=0.0)
        history = _Trials(problem, policies, delta, self.failure)
        history.caution = self.caution
        super().__init__(history, seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """The class and δ where they were given, and the constants."""
        return {**self._class, "failure": self.failure, "caution": self.caution}

    def _reason(self, decision: Decision, indices: list[float]) -> str:
        del decision, indices
        known = self._knowledge
        count = len(known.mixture.weights)
        return (
            f"from a mixture of {count} polic{'y' if count == 1 else 'ies'}, "
            f"every arm with probability {known.floor:.2g} or more"
        )


class _Trials(WeighedHistory):
    """Pulls, the mixture for the next trial, and the prices that prove it good."""

    caution = 180.0
    prices: Mixture

    def __init__(
        self,
        problem: Problem,
        policies: Kind,
        delta: float | Mapping[str, float] | None,
        failure: float,
    ) -> None:
        super().__init__(problem, policies, delta, failure)
        self.prices = Mixture.nothing(self.cells.features)

    def doubt(self, trial: int) -> float:
        """Return C at a trial."""
        return 2.0 * math.log(len(self.policies) * trial / self.failure)

    @property
    def floor(self) -> float:
        """μ, the probability that every arm has at least."""
        arms, trial = len(self.problem.arms), self.trials + 1
        return min(0.5 / arms, math.sqrt(self.doubt(trial) / (2.0 * arms * trial)))

    @property
    def _is_due(self) -> bool:
        return True

    def program(self) -> Program:
        """Return what the mixture for the next trial minimises."""
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
        """Return how far from the least value a mixture may be."""
        trial = self.trials + 1
        return 0.1 * math.sqrt(len(self.problem.arms) * self.doubt(trial) / trial)

    def _solve(self) -> None:
        program, arms = self.program(), len(self.problem.arms)
        slack, tolerance = 0.5 * arms, self.tolerance()
        alone = Mixture.of(self.policies, np.ones(1), [program.leader])
        if program.excess(program.variances(alone.table(arms))) <= slack:
            self.prices = Mixture.nothing(self.cells.features)
            self._mix(alone)  # which costs nothing
            return
        prices = self.prices.table(arms)
        if (
            program.excess(program.variances(self.table)) <= arms
            and program.gap(self.table, prices, slack=slack) <= tolerance
        ):
            return
        weights, found = program.solve(slack=slack, tolerance=0.5 * tolerance)
        self.prices = Mixture.of(self.policies, np.array(list(found.values())), list(found))
        self._mix(Mixture.of(self.policies, np.array(list(weights.values())), list(weights)))

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Take on a problem with one arm more at the end, or one removed."""
        super().change_arms(problem, removed)
        if removed is not None:
            self.prices = self.prices.without(removed)

    def _solution(self) -> Any:
        return self.prices.state()

    def _take_on(self, solution: Any) -> None:
        try:
            saved = msgspec.convert(solution, MixtureState)
        except msgspec.ValidationError as error:
            raise SaveFileError(f"not prices of constraints: {error}") from None
        self.prices = Mixture.restored(saved, self.cells.features, len(self.problem.arms))
