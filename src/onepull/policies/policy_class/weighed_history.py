"""A history and the weighted policies that were made of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.errors import SaveFileError
from onepull.policies.policy_class.history import History, Pull
from onepull.policies.policy_class.mixture import Mixture, MixtureState, chances
from onepull.policies.policy_class.policy_class import Kind
from onepull.problem import Problem


class _WeighedState(msgspec.Struct, forbid_unknown_fields=True):
    history: Any
    mixture: MixtureState
    solution: Any


class WeighedHistory(History):
    """Pulls, and a mixture of policies from which the next ones are drawn.

    Every arm has at least the probability `floor`.  When an arm is removed, the policies that
    play it lose their weight to the others, evenly to all arms if there are none; the
    weights are found anew when their time comes.
    """

    def __init__(
        self,
        problem: Problem,
        policies: Kind,
        delta: float | Mapping[str, float] | None,
        failure: float,
    ) -> None:
        self.failure = failure
        super().__init__(problem, policies, delta)
        # Before anything is known every policy is as good as the first.
        self._mix(Mixture.of(self.policies, np.ones(1), [0]))

    @property
    @abstractmethod
    def floor(self) -> float:
        """μ, the probability that every arm has at least."""

    @abstractmethod
    def _solve(self) -> None:
        """Find the weights anew."""

    @property
    @abstractmethod
    def _is_due(self) -> bool:
        """Whether the weights are to be found anew."""

    def _mix(self, mixture: Mixture) -> None:
        """Draw from a mixture from now on."""
        self.mixture = mixture
        arms, total = len(self.problem.arms), float(mixture.weights.sum())
        even = np.full((self.cells.features, arms), 1.0 / arms)
        self.table: Array = mixture.table(arms) / total if total > 0 else even

    def chances(self, cell: int) -> Sequence[float]:
        """Return the probability of each arm in a cell at the next trial."""
        smoothed: list[float] = chances(self.table[cell : cell + 1], self.floor)[0].tolist()
        return smoothed

    def _take_in(self, cell: int, pull: Pull) -> None:
        super()._take_in(cell, pull)
        if self._is_due:
            self._solve()

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Take on a problem with one arm more at the end, or one removed."""
        super().change_arms(problem, removed)
        self._mix(self.mixture if removed is None else self.mixture.without(removed))

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add the pulls of `other` after those here, and find the weights anew."""
        super().merge(other, arms)
        if self.pulls:
            self._solve()

    @abstractmethod
    def _solution(self) -> Any:
        """Return what there is beside the mixture, as plain values."""

    @abstractmethod
    def _take_on(self, solution: Any) -> None:
        """Take on what was saved beside the mixture, refusing what cannot be."""

    def state(self) -> Any:
        """Return the pulls and the weights."""
        return _WeighedState(super().state(), self.mixture.state(), self._solution())

    def restore(self, state: Any) -> None:
        """Take on a saved state; one that cannot be is refused."""
        try:
            saved = msgspec.convert(state, _WeighedState)
        except msgspec.ValidationError as error:
            raise SaveFileError(f"not a history with weights: {error}") from None
        arms = len(self.problem.arms)
        mixture = Mixture.restored(saved.mixture, self.cells.features, arms)
        self._take_on(saved.solution)
        super().restore(saved.history)
        self._mix(mixture)
