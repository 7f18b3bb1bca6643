"""ILTCB: weights over policies, recomputed at the end of epochs of growing length."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from onepull.checks import Count, constant, restored, share
from onepull.errors import ParameterError, SaveFileError
from onepull.policies.policy_class.class_learner import ClassLearner
from onepull.policies.policy_class.low_variance import low_variance
from onepull.policies.policy_class.mixture import PolicyMixture
from onepull.policies.policy_class.policy_class import GivenPolicies
from onepull.policies.policy_class.weighed_history import WeighedHistory
from onepull.policies.request import Request
from onepull.problem import Problem


class ILTCB(ClassLearner):
    """ILOVETOCONBANDITS (Agarwal, Hsu, Kale, Langford, Li, Schapire 2014), "Taming the monster".

    Index: the arm's mean reward in the cell, weighted by inverse probability.  At the ends τ of
    epochs, after trials 1, 2, 4, 8, …, weights Q over the N policies are computed.  The variance
    of each policy's estimate is at most 2K + b under them, and Σ Qb <= 2K, where b = R̂(π)/(ψμ)
    and R̂ is the policy's estimated regret.  The best policy gets the remaining weight.  Each arm
    has a probability of at least μ = min(1/(2K), √(ln(16τ²N/δ)/(Kτ))).

    Use it to compete with a class of policies at the optimal rate.  With probability 1 - δ the
    regret against the best policy of the class is O(√(KT ln(TN/δ)) + K ln(TN/δ)).  It stores the
    context, arm, reward and probability of each pull, of order T numbers.

    With ψ = 100, as in the proof, b is small compared with 2K until μ is below a hundredth of the
    gaps.  Until then exploration hardly decreases.  A smaller ψ exploits sooner, without the
    guarantee.  The weights are computed with the published coordinate descent, started from zero,
    and an argmax over all policies.  After a merge they are computed at once.

    Parameters
    ----------
    policies
        The class: "maps", "thresholds" or a list of policies, see `PolicyClass`.
    delta
        Divide interval contexts into cells no wider than this.
    failure
        δ of the guarantee: the probability that it fails.
    psi
        ψ, above 0: the divisor of a policy's estimated regret.
    ratio
        Ratio of the trials at which successive epochs end, in (1, 2].
    seed
        Seed or generator of the random draws.

    Examples
    --------
    >>> from onepull import Finite, Interval, Problem
    >>> policy = ILTCB(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... ))
    >>> policy.observe("lte", bits=2, capacity=1.0)
    >>> print(policy.explain(bits=2))
    ILTCB at trial 2 with bits=2
      arm   pulls  estimate   bonus   index  chance
      wifi      0         –       –  0.0000  0.2500
      lte       1    4.0000  0.0000  4.0000  0.7500
    a draw: from 1 policy weighted after trial 1, every arm with probability 0.25 or more
    """

    guarantee = (
        "O(√(KT log(NT/δ))) against the best of the N policies of its class with probability 1-δ, "
        "for psi = 100 (Agarwal et al. 2014)"
    )

    _knowledge: _Epochs

    def __init__(  # noqa: PLR0913 - all are keyword-only
        self,
        problem: Problem,
        *,
        policies: GivenPolicies = None,
        delta: float | Mapping[str, float] | None = None,
        failure: float = 0.05,
        psi: float = 100.0,
        ratio: float = 2.0,
        seed: int | np.random.Generator = 0,
    ) -> None:
        self.failure = share("failure", failure)
        self.psi = constant("psi", psi, above=0.0)
        self.ratio = constant("ratio", ratio, above=1.0)
        if self.ratio > 2:
            raise ParameterError(f"ratio must be a number in (1, 2], given {ratio!r}")
        history = _Epochs(problem, policies, delta, self.failure)
        history.psi, history.ratio = self.psi, self.ratio
        super().__init__(history, seed=seed)

    def _reason(self, request: Request, indices: list[float]) -> str:
        del request, indices
        known = self._knowledge
        count = len(known.mixture.weights)
        return (
            f"from {count} polic{'y' if count == 1 else 'ies'} weighted after trial "
            f"{known.solved}, every arm with probability {known.floor:.2g} or more"
        )


class _Epochs(WeighedHistory):
    """Pulls, and the weights computed at the end of the last epoch."""

    solved = 0  # the number of trials that the weights were computed from
    psi = 100.0
    ratio = 2.0

    @property
    def floor(self) -> float:
        """μ, the smallest probability of an arm."""
        return self._floor(self.solved)

    def _floor(self, trials: int) -> float:
        arms = len(self.problem.arms)
        if trials == 0:
            return 0.5 / arms
        doubt = math.log(16.0 * trials**2 * len(self.policies) / self.failure)
        return min(0.5 / arms, math.sqrt(doubt / (arms * trials)))

    @property
    def _is_due(self) -> bool:
        return self.trials >= max(self.solved + 1, int(self.ratio * self.solved))

    def _solve(self) -> None:
        floor, gains = self._floor(self.trials), self.gains
        merits = gains / (self.psi * floor)
        weights = low_variance(self.policies, merits, self.frequencies, floor)
        leader, _ = self.policies.best(gains)
        rest = max(0.0, 1.0 - math.fsum(weights.values()))
        weights[leader] = weights.get(leader, 0.0) + rest
        self.solved = self.trials
        self._mix(PolicyMixture.of(self.policies, weights))

    def _solution(self) -> Any:
        return self.solved

    def _restore_solution(self, solution: Any) -> None:
        self.solved = restored(Count, solution, "weights")
        if self.solved > self.trials:
            raise SaveFileError(
                f"the saved weights are of trial {self.solved}, after the last one, {self.trials}"
            )
