"""A history of pulls together with a mixture of policies computed from it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.checks import restored
from onepull.policies.policy_class.history import History, WeighedPull
from onepull.policies.policy_class.mixture import MixtureState, PolicyMixture, chances
from onepull.policies.policy_class.policy_class import GivenPolicies
from onepull.problem import Problem


class _WeighedState(msgspec.Struct, forbid_unknown_fields=True):
    history: Any
    mixture: MixtureState
    solution: Any


class WeighedHistory(History):
    """Pulls, and the mixture of policies from which the next arm is drawn.

    Each arm has a probability of at least `floor`.  When an arm is removed, the policies that
    play it are dropped and the weights of the others are scaled up.  If no policy is left, arms
    are drawn uniformly.  The weights are recomputed when they are next due.
    """

    def __init__(
        self,
        problem: Problem,
        policies: GivenPolicies,
        delta: float | Mapping[str, float] | None,
        failure: float,
    ) -> None:
        self.failure = failure
        super().__init__(problem, policies, delta)
        # Nothing is known yet, so any policy will do.
        self._mix(PolicyMixture.of(self.policies, {0: 1.0}))

    @property
    @abstractmethod
    def floor(self) -> float:
        """μ, the smallest probability of an arm."""

    @abstractmethod
    def _solve(self) -> None:
        """Recompute the weights."""

    @property
    @abstractmethod
    def _is_due(self) -> bool:
        """Whether the weights must be recomputed."""

    def _mix(self, mixture: PolicyMixture) -> None:
        """Draw arms from a mixture from now on."""
        self.mixture = mixture
        arms, total = len(self.problem.arms), float(mixture.weights.sum())
        even = np.full((self.cells.features, arms), 1.0 / arms)
        self.table: Array = mixture.table(arms) / total if total > 0 else even

    def chances(self, cell: int) -> Sequence[float]:
        """Return the probability of each arm in a cell at the next trial."""
        smoothed: list[float] = chances(self.table[cell : cell + 1], self.floor)[0].tolist()
        return smoothed

    def _take_in(self, cell: int, pull: WeighedPull) -> None:
        super()._take_in(cell, pull)
        if self._is_due:
            self._solve()

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Switch to a problem with one more arm at the end, or without arm `removed`."""
        super().change_arms(problem, removed)
        self._mix(self.mixture if removed is None else self.mixture.without(removed))

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add the pulls of `other` after those here, and recompute the weights."""
        super().merge(other, arms)
        if self.pulls:
            self._solve()

    @abstractmethod
    def _solution(self) -> Any:
        """Return what is saved besides the mixture, as plain values."""

    @abstractmethod
    def _restore_solution(self, solution: Any) -> None:
        """Restore what was saved besides the mixture; raises SaveFileError if it is invalid."""

    def state(self) -> Any:
        """Return the pulls and the weights."""
        return _WeighedState(super().state(), self.mixture.state(), self._solution())

    def restore(self, state: Any) -> None:
        """Restore a saved state; raises SaveFileError if it is invalid."""
        saved = restored(_WeighedState, state, "pulls and weights")
        arms = len(self.problem.arms)
        mixture = PolicyMixture.restored(saved.mixture, self.cells.features, arms)
        super().restore(saved.history)
        self._restore_solution(saved.solution)
        self._mix(mixture)
