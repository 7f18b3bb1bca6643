"""What a policy has learned, whatever form that takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

from onepull.problem import Problem


class Knowledge(ABC):
    """Everything a policy has learned: it grows by observations, merges, and is saved."""

    problem: Problem
    counts_in_flight = False  # whether pulls count before they are observed
    learns = True  # whether more is kept than the number of pulls

    @abstractmethod
    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Take in one observation; if it is refused, nothing has changed."""

    def expect(self, arm: int, fields: Mapping[str, Any], pulls: int) -> None:
        """Count pulls whose feedback is under way, or fewer; this takes no notice of them."""
        del arm, pulls
        if fields:
            self.problem.context.exactly(fields)

    @abstractmethod
    def seen(self, context: Mapping[str, Any]) -> tuple[Sequence[int], int]:
        """Return the pulls of every arm that count in a context, and the trials they are of."""

    @property
    @abstractmethod
    def trials(self) -> int:
        """The number of observations behind the current estimates."""

    @property
    @abstractmethod
    def storage(self) -> int:
        """The number of numbers kept."""

    def storage_after(self, trials: int) -> int:
        """Return the number of numbers kept after so many trials."""
        del trials
        return self.storage

    @property
    def is_fresh(self) -> bool:
        """Whether nothing has been observed yet."""
        return self.trials == 0

    @abstractmethod
    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Take on a problem with one arm more at the end, or one removed."""

    @abstractmethod
    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add what `other` has learned; its arm `arms[j]` is arm j here."""

    @abstractmethod
    def state(self) -> Any:
        """Return everything learned as plain values."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Take on a saved state; one that cannot be is refused."""

    @abstractmethod
    def copy(self) -> Self:
        """Return an independent copy."""
