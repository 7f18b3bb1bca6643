"""What a policy has learned: pull counts and running means of features, arm by arm.

No policy keeps books of its own.  An arm that was never pulled has an infinite mean, so
every rule that looks for the highest index pulls it first without a special case.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import deepcopy
from math import inf, sqrt
from typing import Any, Self

import msgspec
import numpy as np

from onepull.errors import SaveFileError
from onepull.formula import Array
from onepull.payoff import COMPACT, Features

UNPULLED = inf


def inverse_root(pulls: int) -> float:
    """Return 1/√m, the factor by which m pulls narrow a confidence interval."""
    return 1.0 / sqrt(pulls)


def moved(mean: Any, value: Any, weight: float) -> Any:
    """Return a mean moved towards a value: numbers or arrays.

    With weight 1/m it takes in the m-th observation, with m₂/(m₁+m₂) another mean.  A
    weight of one replaces the mean, which is infinite before the first pull.
    """
    return value if weight == 1.0 else mean + (value - mean) * weight


def weighted(phi: Array, means: Any) -> Array:
    """Return φ·means for every arm, given `means[feature][arm]`; unpulled stays infinite."""
    table = np.asarray(means, dtype=np.float64)
    unpulled = np.isinf(table).any(axis=0)
    return np.where(unpulled, UNPULLED, phi @ np.where(unpulled, 0.0, table))


class StatisticsState(msgspec.Struct, forbid_unknown_fields=True):
    """The saved form: for every arm its pulls and, if there were any, its means."""

    trials: int
    pulls: list[int]
    means: list[list[float]]


class ArmStatistics(ABC):
    """Pull counts and running means, one mean for each feature of each arm.

    Attributes
    ----------
    pulls
        m, the number of observations of each arm.
    roots
        1/√m of each arm, and 0 for an arm that was never pulled.
    means
        `means[feature][arm]`.
    trials
        All observations ever taken in, those of removed arms included.

    Examples
    --------
    >>> statistics = ArmStatistics.empty(arms=2, features=1)
    >>> statistics.update(0, [3.0])
    >>> statistics.update(0, [4.0])
    >>> statistics.pulls, statistics.means[0]
    ([2, 0], [3.5, inf])
    """

    __slots__ = ("means", "pulls", "roots", "trials")

    means: Any
    roots: Any
    pulls: list[int]
    trials: int

    @staticmethod
    def empty(*, arms: int, features: int) -> ArmStatistics:
        """Return statistics without an observation; lists while small, arrays beyond."""
        kind = ListStatistics if arms + features < COMPACT else ArrayStatistics
        return kind(arms, features)

    @abstractmethod
    def __init__(self, arms: int, features: int) -> None:
        self.pulls = [0] * arms
        self.trials = 0

    @property
    def features(self) -> int:
        """The number of means kept for each arm."""
        return len(self.means)

    @property
    def storage(self) -> int:
        """The number of numbers kept."""
        return len(self.pulls) * (self.features + 1)

    def update(self, arm: int, features: Features) -> None:
        """Take in one observation of an arm."""
        pulls = self.pulls[arm] = self.pulls[arm] + 1
        self.trials += 1
        self.roots[arm] = inverse_root(pulls)
        self._move(arm, features, 1.0 / pulls)

    def merge(self, other: ArmStatistics, arms: Sequence[int]) -> None:
        """Add what `other` has observed; its arm `arms[j]` is arm j here."""
        for mine, theirs in enumerate(arms):
            pulls = self.pulls[mine] + other.pulls[theirs]
            if other.pulls[theirs]:
                self._move(mine, other.column(theirs), other.pulls[theirs] / pulls)
                self.pulls[mine] = pulls
                self.roots[mine] = inverse_root(pulls)
        self.trials += other.trials

    def copy(self) -> Self:
        """Return an independent copy."""
        return deepcopy(self)

    def state(self) -> StatisticsState:
        """Return everything learned as plain values."""
        means = [self.column(j).tolist() if m else [] for j, m in enumerate(self.pulls)]
        return StatisticsState(self.trials, list(self.pulls), means)

    def restore(self, state: StatisticsState) -> None:
        """Take on a saved state; one that cannot be is refused."""
        if len(state.pulls) != len(self.pulls) or len(state.means) != len(self.pulls):
            raise SaveFileError(
                f"statistics of {len(state.pulls)} arms do not fit {len(self.pulls)} arms"
            )
        if min(state.pulls, default=0) < 0 or state.trials < sum(state.pulls):
            raise SaveFileError("pull counts are negative or exceed the number of trials")
        for pulls, means in zip(state.pulls, state.means, strict=True):
            if len(means) != (self.features if pulls else 0):
                raise SaveFileError(
                    f"an arm with {pulls} pulls has {len(means)} means, not {self.features}"
                )
        self.trials = state.trials
        for j, (pulls, means) in enumerate(zip(state.pulls, state.means, strict=True)):
            self.pulls[j] = pulls
            self.roots[j] = inverse_root(pulls) if pulls else 0.0
            self._move(j, np.array(means) if pulls else np.full(self.features, UNPULLED), 1.0)

    @abstractmethod
    def score(self, index: Callable[..., Any], estimates: Any, aim: Any) -> Any:
        """Return index(estimate, root, aim) of every arm."""

    @abstractmethod
    def leader(self, index: Callable[..., Any], estimates: Any, aim: Any) -> int:
        """Return the first arm with the highest index(estimate, root, aim)."""

    @abstractmethod
    def column(self, arm: int) -> Array:
        """Return the means of one arm."""

    @abstractmethod
    def _move(self, arm: int, features: Any, weight: float) -> None:
        """Move the means of one arm."""

    @abstractmethod
    def add_arm(self) -> None:
        """Append an arm that was never pulled."""

    @abstractmethod
    def remove_arm(self, arm: int) -> None:
        """Forget one arm; the trials it took stay counted."""


class ListStatistics(ArmStatistics):
    """Statistics in plain lists, quickest for a few dozen arms and features."""

    __slots__ = ()

    def __init__(self, arms: int, features: int) -> None:
        super().__init__(arms, features)
        self.roots = [0.0] * arms
        self.means = [[UNPULLED] * arms for _ in range(features)]

    def score(self, index: Callable[..., Any], estimates: Any, aim: Any) -> list[float]:
        """Return index(estimate, root, aim) of every arm."""
        return [index(mean, root, aim) for mean, root in zip(estimates, self.roots)]  # noqa: B905 - one each

    def leader(self, index: Callable[..., Any], estimates: Any, aim: Any) -> int:
        """Return the first arm with the highest index(estimate, root, aim)."""
        best, highest = 0, -inf
        for arm, (mean, root) in enumerate(zip(estimates, self.roots)):  # noqa: B905 - one each
            value = index(mean, root, aim)
            if value > highest:
                best, highest = arm, value
        return best

    def column(self, arm: int) -> Array:
        """Return the means of one arm."""
        return np.array([row[arm] for row in self.means], dtype=np.float64)

    def _move(self, arm: int, features: Any, weight: float) -> None:
        for row, value in zip(self.means, features):  # noqa: B905 - one each
            row[arm] = moved(row[arm], value, weight)

    def state(self) -> StatisticsState:
        """Return everything learned as plain values."""
        means = [[row[j] for row in self.means] if m else [] for j, m in enumerate(self.pulls)]
        return StatisticsState(self.trials, list(self.pulls), means)

    def restore(self, state: StatisticsState) -> None:
        """Take on a saved state; one that cannot be is refused."""
        super().restore(state)
        self.means = [[float(mean) for mean in row] for row in self.means]

    def add_arm(self) -> None:
        """Append an arm that was never pulled."""
        self.pulls.append(0)
        self.roots.append(0.0)
        for row in self.means:
            row.append(UNPULLED)

    def remove_arm(self, arm: int) -> None:
        """Forget one arm; the trials it took stay counted."""
        for numbers in (self.pulls, self.roots, *self.means):
            del numbers[arm]


class ArrayStatistics(ArmStatistics):
    """Statistics in arrays, for many arms or many features.

    Memory runs along an arm's features, since every observation writes all of them.
    """

    __slots__ = ()

    def __init__(self, arms: int, features: int) -> None:
        super().__init__(arms, features)
        self.roots = np.zeros(arms)
        self.means = np.full((features, arms), UNPULLED, order="F")

    def score(self, index: Callable[..., Any], estimates: Any, aim: Any) -> Array:
        """Return index(estimate, root, aim) of every arm."""
        scores: Array = index(estimates, self.roots, aim)
        return scores

    def leader(self, index: Callable[..., Any], estimates: Any, aim: Any) -> int:
        """Return the first arm with the highest index(estimate, root, aim)."""
        return int(self.score(index, estimates, aim).argmax())

    def column(self, arm: int) -> Array:
        """Return the means of one arm."""
        column: Array = self.means[:, arm]
        return column

    def _move(self, arm: int, features: Any, weight: float) -> None:
        column = self.means[:, arm]
        column[:] = moved(column, features, weight)

    def add_arm(self) -> None:
        """Append an arm that was never pulled."""
        self.pulls.append(0)
        self.roots = np.append(self.roots, 0.0)
        column = np.full((self.features, 1), UNPULLED)
        self.means = np.asfortranarray(np.hstack([self.means, column]))

    def remove_arm(self, arm: int) -> None:
        """Forget one arm; the trials it took stay counted."""
        del self.pulls[arm]
        self.roots = np.delete(self.roots, arm)
        self.means = np.asfortranarray(np.delete(self.means, arm, axis=1))
