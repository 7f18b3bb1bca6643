"""What a policy has learned: pull counts and running means of features, arm by arm.

No policy keeps books of its own.  An arm that was never pulled has an infinite mean, so
every rule that looks for the highest index pulls it first without a special case.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from math import inf, sqrt
from typing import Any, ClassVar, Self

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.errors import SaveFileError
from onepull.index.rules import MeanRule, leading_capped, leading_mean, no_mean_cap
from onepull.payoff import COMPACT, Features

UNPULLED = inf


def inverse_root(pulls: float) -> float:
    """Return 1/√m, the factor by which m pulls narrow a confidence interval."""
    return 1.0 / sqrt(pulls)


def moved(mean: Any, value: Any, weight: float) -> Any:
    """Return a mean moved towards a value: numbers or arrays.

    With weight 1/m it takes in the m-th observation, with m₂/(m₁+m₂) another mean; with
    -1/(m-1) it lets go of one of m.  A weight of one replaces the mean, which is infinite
    before the first pull.
    """
    return value if weight == 1.0 else mean + (value - mean) * weight


def weighted(phi: Array, means: Any) -> Array:
    """Return φ·means for every arm, given `means[feature][arm]`; unpulled stays infinite."""
    table = np.asarray(means, dtype=np.float64)
    unpulled = np.isinf(table).any(axis=0)
    # Not a matrix product: its rounding would depend on how many other arms there are.
    # So would that of sums down columns, so every arm gets a row.
    products = np.multiply(np.where(unpulled, 0.0, table).T, phi, order="C")
    return np.where(unpulled, UNPULLED, products.sum(axis=1))


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
        1/√m of each arm, pulls in flight included, and 0 for an arm that was never pulled.
    means
        `means[feature][arm]`.
    trials
        All observations ever taken in, those of removed arms included.
    in_flight, waiting
        The pulls of each arm whose feedback is under way, and of all.  They narrow the roots
        and move no mean; they are neither saved nor merged.

    Examples
    --------
    >>> statistics = ArmStatistics.empty(arms=2, features=1)
    >>> statistics.update(0, [3.0])
    >>> statistics.update(0, [4.0])
    >>> statistics.pulls, statistics.means[0]
    ([2, 0], [3.5, inf])
    """

    __slots__ = ("in_flight", "means", "pulls", "roots", "trials", "waiting")

    means: Any
    roots: Any
    pulls: list[int]
    trials: int
    in_flight: list[int]
    waiting: int
    State: ClassVar[type[Any]] = StatisticsState  # what `state` returns

    @staticmethod
    def empty(*, arms: int, features: int) -> ArmStatistics:
        """Return statistics without an observation; lists while small, arrays beyond."""
        kind = ListStatistics if arms + features < COMPACT else ArrayStatistics
        return kind(arms, features)

    @abstractmethod
    def __init__(self, arms: int, features: int) -> None:
        self.pulls = [0] * arms
        self.trials = 0
        self.in_flight = [0] * arms
        self.waiting = 0

    @property
    def features(self) -> int:
        """The number of means kept for each arm."""
        return len(self.means)

    @property
    def storage(self) -> int:
        """The number of numbers kept."""
        return len(self.pulls) * (self.features + 1)

    def storage_after(self, trials: int) -> int:
        """Return the most numbers that may be kept after so many trials."""
        del trials
        return self.storage

    @property
    def counts(self) -> list[int]:
        """The pulls of each arm, those in flight included."""
        if not self.waiting:
            return self.pulls
        return [m + more for m, more in zip(self.pulls, self.in_flight, strict=True)]

    @property
    def trial(self) -> int:
        """The number n of the trial at hand, after all observations and pulls in flight."""
        return self.trials + self.waiting + 1

    def update(self, arm: int, features: Features) -> None:
        """Take in one observation of an arm; one of its pulls in flight, if any, has landed."""
        pulls = self.pulls[arm] = self.pulls[arm] + 1
        self.trials += 1
        if self.waiting:
            self.expect(arm, -1)
        self.roots[arm] = inverse_root(pulls + self.in_flight[arm])
        self._move(arm, features, 1.0 / pulls)

    def expect(self, arm: int, pulls: int) -> None:
        """Count pulls whose feedback is under way, or fewer of them, down to none.

        >>> statistics = ArmStatistics.empty(arms=2, features=1)
        >>> statistics.expect(0, 4)
        >>> statistics.counts, statistics.roots[0], statistics.trial
        ([4, 0], 0.5, 5)
        """
        change = max(pulls, -self.in_flight[arm])
        self.in_flight[arm] += change
        self.waiting += change
        self._narrow(arm)

    def _narrow(self, arm: int) -> None:
        count = self.pulls[arm] + self.in_flight[arm]
        self.roots[arm] = inverse_root(count) if count else 0.0

    def unanswered(self, arm: int) -> bool:
        """Whether an arm was pulled and has not answered yet."""
        return self.in_flight[arm] > 0 and not self.pulls[arm]

    def merge(self, other: ArmStatistics, arms: Sequence[int]) -> None:
        """Add what `other` has observed; its arm `arms[j]` is arm j here."""
        for mine, theirs in enumerate(arms):
            pulls = self.pulls[mine] + other.pulls[theirs]
            if other.pulls[theirs]:
                self._move(mine, other.column(theirs).tolist(), other.pulls[theirs] / pulls)
                self.pulls[mine] = pulls
                self._narrow(mine)
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
        if min(state.pulls, default=0) < 0 or state.trials < sum(state.pulls):
            raise SaveFileError("pull counts are negative or exceed the number of trials")
        self.take_on(state.pulls, state.means)
        self.trials = state.trials

    def take_on(self, pulls: Sequence[Any], means: Sequence[Sequence[float]]) -> None:
        """Take on every arm's pulls and, if there were any, its means."""
        if len(pulls) != len(self.pulls) or len(means) != len(self.pulls):
            raise SaveFileError(
                f"statistics of {len(pulls)} arms do not fit {len(self.pulls)} arms"
            )
        for count, row in zip(pulls, means, strict=True):
            if len(row) != (self.features if count else 0):
                raise SaveFileError(
                    f"an arm with {count} pulls has {len(row)} means, not {self.features}"
                )
        for j, (count, row) in enumerate(zip(pulls, means, strict=True)):
            self.pulls[j] = count
            self._narrow(j)
            self._move(j, np.array(row) if count else np.full(self.features, UNPULLED), 1.0)

    def score(self, rule: MeanRule, estimates: Any, aim: Any) -> Any:
        """Return the index of every arm, given its estimate."""
        index = rule.index
        return [index(mean, root, aim) for mean, root in zip(estimates, self.roots)]  # noqa: B905 - one each

    def leader(self, rule: MeanRule, estimates: Any, aim: Any) -> int:
        """Return the position of the arm that a rule plays, given every arm's estimate."""
        if rule.cap is None and not rule.breaks_ties_by_pulls:
            return leading_mean(estimates, self.roots, rule.index, aim)
        cap, by_pulls = rule.cap or no_mean_cap, rule.breaks_ties_by_pulls
        return leading_capped(estimates, self.roots, rule.index, cap, aim, by_pulls)

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

    def take_on(self, pulls: Sequence[Any], means: Sequence[Sequence[float]]) -> None:
        """Take on every arm's pulls and, if there were any, its means."""
        super().take_on(pulls, means)
        self.means = [[float(mean) for mean in row] for row in self.means]

    def add_arm(self) -> None:
        """Append an arm that was never pulled."""
        self.pulls.append(0)
        self.in_flight.append(0)
        self.roots.append(0.0)
        for row in self.means:
            row.append(UNPULLED)

    def remove_arm(self, arm: int) -> None:
        """Forget one arm; the trials it took stay counted."""
        self.waiting -= self.in_flight[arm]
        for numbers in (self.pulls, self.in_flight, self.roots, *self.means):
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

    def score(self, rule: MeanRule, estimates: Any, aim: Any) -> Any:
        """Return the index of every arm, given its estimate."""
        if rule.vectorised:
            return rule.index(estimates, self.roots, aim)
        return super().score(rule, estimates, aim)

    def leader(self, rule: MeanRule, estimates: Any, aim: Any) -> int:
        """Return the position of the arm that a rule plays, given every arm's estimate."""
        if rule.vectorised and not rule.breaks_ties_by_pulls:
            return int(rule.index(estimates, self.roots, aim).argmax())
        return super().leader(rule, estimates, aim)

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
        self.in_flight.append(0)
        self.roots = np.append(self.roots, 0.0)
        column = np.full((self.features, 1), UNPULLED)
        self.means = np.asfortranarray(np.hstack([self.means, column]))

    def remove_arm(self, arm: int) -> None:
        """Forget one arm; the trials it took stay counted."""
        self.waiting -= self.in_flight[arm]
        del self.pulls[arm], self.in_flight[arm]
        self.roots = np.delete(self.roots, arm)
        self.means = np.asfortranarray(np.delete(self.means, arm, axis=1))
