"""Epoch-Greedy: epochs of one explored pull followed by exploitation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import msgspec
import numpy as np

from onepull.checks import Count, constant, restored
from onepull.policies.policy_class.class_learner import ClassLearner
from onepull.policies.policy_class.history import History, WeighedPull
from onepull.policies.policy_class.policy_class import GivenPolicies
from onepull.policies.request import Request
from onepull.policies.traits import Traits
from onepull.problem import Problem

MOST_C = 1e9  # an epoch would last for ever


class EpochGreedy(ClassLearner):
    """Epoch-Greedy (Langford, Zhang 2007) for a finite class of N policies.

    Index: the arm's mean reward in the cell, weighted by inverse probability.  Epoch n begins
    with an arm drawn uniformly at random.  Then the policy with the highest estimate over all
    explored pulls is played for s = ⌊c·√(n / (K ln N))⌋ trials.

    Use it to compete with a class of policies if it is enough to store the explored pulls.  Its
    regret against the best policy of the class is O(T^(2/3) (K ln N)^(1/3)); s depends on the
    number of explored pulls only.  It stores the context, arm, reward and probability of each
    explored pull, which is of order T^(2/3) (K ln N)^(1/3) pulls.

    Whether a pull counts as explored depends on the trial at which it is observed, so feedback
    should come in order.  A class with one policy uses the schedule of a class with two.

    Parameters
    ----------
    policies, delta, seed
        Those of `ILTCB`.
    c
        The constant of the schedule, above 0; larger values explore less.

    Examples
    --------
    >>> from onepull import Finite, Interval, Problem
    >>> policy = EpochGreedy(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... ), c=4)
    >>> policy.explain(bits=2).reason
    'exploration, drawn evenly'
    >>> policy.observe("lte", bits=2, capacity=2.0)
    >>> print(policy.explain(bits=2))
    EpochGreedy at trial 2 with bits=2
      arm   pulls  estimate   bonus   index
      wifi      0         –       –  0.0000
    → lte       1    4.0000  0.0000  4.0000
    lte: played by the best of 4 policies after 1 explored pull, 2 trials left
    """

    guarantee = (
        "O(T^2/3 (K log N)^1/3) against the best of the N policies of its class (Langford and "
        "Zhang 2007)"
    )

    # It learns from uniform pulls only, so the order of tied policies does not affect it.
    traits = Traits(randomised=True, order_matters=True, extrapolates=True)
    _knowledge: _Epochs

    def __init__(
        self,
        problem: Problem,
        *,
        policies: GivenPolicies = None,
        delta: float | Mapping[str, float] | None = None,
        c: float = 1.0,
        seed: int | np.random.Generator = 0,
    ) -> None:
        self.c = constant("c", c, above=0.0, most=MOST_C)
        super().__init__(_Epochs(problem, policies, delta, self.c), seed=seed)

    def _reason(self, request: Request, indices: list[float]) -> str:
        del indices
        known = self._knowledge
        if not known.left:
            return "exploration, drawn evenly"
        arm = known.leader[request.view]
        told = (
            "played" if arm in request.allowed else f"drawn evenly, {self._arms[arm]} being played"
        )
        explored, left = len(known.pulls), known.left
        return (
            f"{told} by the best of {len(known.policies)} policies after {explored} explored "
            f"pull{'s' * (explored != 1)}, {left} trial{'s' * (left > 1)} left"
        )


class _EpochsState(msgspec.Struct, forbid_unknown_fields=True):
    history: Any
    exploited: Count
    left: Count


class _Epochs(History):
    """The explored pulls, and the number of trials left in the epoch."""

    def __init__(
        self,
        problem: Problem,
        policies: GivenPolicies,
        delta: float | Mapping[str, float] | None,
        c: float,
    ) -> None:
        self.c = c
        self.exploited, self.left = 0, 0
        super().__init__(problem, policies, delta)

    def _begin(self) -> None:
        super()._begin()
        self._follow()

    def _follow(self) -> None:
        """Find the policy with the highest estimate, which is played when exploiting."""
        first, _ = self.policies.best(self.sums)
        self.leader = self.policies.assignments[first]

    def chances(self, cell: int) -> Sequence[float]:
        """Return the probability of each arm in a cell at the next trial."""
        arms = len(self.problem.arms)
        if not self.left:
            return [1.0 / arms] * arms
        return [float(j == self.leader[cell]) for j in range(arms)]

    def length(self, epoch: int) -> int:
        """Return the number of exploiting trials of an epoch."""
        return int(self.c * math.sqrt(epoch / self._complexity))

    @property
    def _complexity(self) -> float:
        return len(self.problem.arms) * math.log(max(2, len(self.policies)))

    def learn_for(self, own: Self, arm: int, *told: Any) -> None:
        """Learn one reward here and in `own`, which counts it as exploring or exploiting too."""
        before = self.exploited
        super().learn_for(own, arm, *told)
        own.exploited += self.exploited - before

    def take_local(self, old: Self) -> None:
        """Go on in the current epoch."""
        self.left = old.left

    def _take_in(self, cell: int, pull: WeighedPull) -> None:
        if self.left:
            self.left -= 1
            self.exploited += 1
            return
        super()._take_in(cell, pull)
        self._follow()
        self.left = self.length(len(self.pulls))

    @property
    def trials(self) -> int:
        """The number of observations, exploring or exploiting."""
        return len(self.pulls) + self.exploited

    def storage_after(self, trials: int) -> int:
        """Return how many numbers are stored after a number of trials: the explored pulls."""
        explored = 0
        while trials > 0:
            # All epochs of the same length at once.
            length = self.length(explored + 1)
            last = int(self._complexity * ((length + 1) / self.c) ** 2)
            while self.length(last) > length:
                last -= 1
            epochs = min(max(last - explored, 1), -(-trials // (1 + length)))
            explored += epochs
            trials -= epochs * (1 + length)
        return explored * self._each

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Switch to a problem with one more arm at the end, or without arm `removed`."""
        super().change_arms(problem, removed)
        self._follow()

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add the explored pulls of `other`; the current epoch continues."""
        super().merge(other, arms)
        self.exploited += other.exploited
        self._follow()

    def state(self) -> Any:
        """Return the explored pulls and the position in the epoch."""
        return _EpochsState(super().state(), self.exploited, self.left)

    def restore(self, state: Any) -> None:
        """Restore a saved state; raises SaveFileError if it is invalid."""
        saved = restored(_EpochsState, state, "epochs")
        super().restore(saved.history)
        self.exploited, self.left = saved.exploited, saved.left
        self._follow()
