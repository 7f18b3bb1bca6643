"""What a policy has learned: pull counts and running means of features for each arm.

All policies on means use these classes.  An arm that was never pulled has an infinite mean, so
every rule that plays the highest index pulls it first without a special case.

The functions at the top are steps.  The library runs them in CPython, and the simulator compiles
them for its arrays (`onepull.simulation.kernels.memory`).  Three of them have a second body there:
`move_means`, `clear_means` and `update_root`.  A kernel moves means in a loop, where the library
moves a list or a numpy row, and no feedback is in flight in a kernel that uses them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from math import inf, log, sqrt
from typing import Any, ClassVar, Self

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.checks import Count, FiniteNumber
from onepull.errors import SaveFileError
from onepull.index.rules import MeanRule, leading_capped, leading_mean, no_mean_cap
from onepull.payoff import COMPACT, Features

UNPULLED = inf


def inverse_root(pulls: float) -> float:
    """Return 1/√m, the factor by which m pulls narrow a confidence interval."""
    return 1.0 / sqrt(pulls)


def moved(mean: Any, value: Any, weight: float) -> Any:
    """Return a mean moved towards a value; both are numbers or arrays.

    Weight 1/m adds the m-th observation, m₂/(m₁+m₂) adds another mean, and -1/(m-1) removes one
    of m observations.  Weight 1 replaces the mean, which is infinite before the first pull.

    >>> moved(3.0, 6.0, 1 / 3)
    4.0
    """
    return value if weight == 1.0 else mean + (value - mean) * weight


def move_means(kept: Any, arm: int, features: Any, weight: float) -> None:
    """Move all means of an arm towards an observation."""
    kept.move(arm, features, weight)


def clear_means(kept: Any, arm: int) -> None:
    """Make all means of an arm infinite, as before its first pull."""
    kept.move(arm, [UNPULLED] * kept.features, 1.0)


def unanswered(pulls: float, in_flight: float) -> bool:
    """Return whether an arm has pulls in flight and no observation yet.

    >>> unanswered(0, 2), unanswered(1, 2), unanswered(0, 0)
    (True, False, False)
    """
    return in_flight > 0 and pulls == 0


def is_tried(lost: int, trial: int) -> bool:
    """Return whether an arm is tried now whose pulls so far, `lost`, have shown nothing.

    It is tried about ln n times in n trials.

    >>> is_tried(0, 1), is_tried(3, 20), is_tried(3, 21)
    (True, False, True)
    """
    return lost == 0 or lost < log(max(trial, 1))


def update_root(kept: Any, arm: int, scale: float) -> None:
    """Recompute the root of an arm; a pull in flight has weight 1 / scale."""
    count = kept.pulls[arm] + kept.in_flight[arm] / scale
    kept.roots[arm] = inverse_root(count) if count > 0 else 0.0


def forget_arm(kept: Any, arm: int) -> None:
    """Treat an arm as if it had never been pulled.

    >>> statistics = ArmStatistics.empty(arms=1, features=1)
    >>> statistics.update(0, [3.0])
    >>> forget_arm(statistics, 0)
    >>> statistics.pulls, statistics.roots, statistics.means
    ([0], [0.0], [[inf]])
    """
    kept.pulls[arm] = 0
    update_root(kept, arm, 1.0)
    clear_means(kept, arm)


def remove_observation(kept: Any, arm: int, features: Any) -> None:
    """Remove one observation of an arm, which must have been added before.

    >>> statistics = ArmStatistics.empty(arms=1, features=1)
    >>> for value in (3.0, 4.0, 8.0):
    ...     statistics.update(0, [value])
    >>> remove_observation(statistics, 0, [3.0])
    >>> statistics.pulls, statistics.means
    ([2], [[6.0]])
    """
    pulls = kept.pulls[arm] - 1
    if pulls == 0:
        forget_arm(kept, arm)
        return
    kept.pulls[arm] = pulls
    update_root(kept, arm, 1.0)
    move_means(kept, arm, features, -1.0 / pulls)


def weighted(phi: Array, means: Any) -> Array:
    """Return φ·means for every arm, given `means[feature][arm]`; unpulled arms stay infinite."""
    table = np.asarray(means, dtype=np.float64)
    unpulled = np.isinf(table).any(axis=0)
    # The rounding of a matrix product, or of sums down columns, depends on the number of arms.
    # So every arm gets a row of its own, which is summed alone.
    products = np.multiply(np.where(unpulled, 0.0, table).T, phi, order="C")
    return np.where(unpulled, UNPULLED, products.sum(axis=1))


class StatisticsState(msgspec.Struct, forbid_unknown_fields=True):
    """The saved form: each arm's pulls and, if it was pulled, its means."""

    trials: Count
    pulls: list[Count]
    means: list[list[FiniteNumber]]


class ArmStatistics(ABC):
    """Pull counts and running means, one mean per feature of each arm.

    Attributes
    ----------
    pulls
        m, the number of observations of each arm.
    roots
        1/√m of each arm, including pulls in flight; 0 for an arm that was never pulled.
    means
        `means[feature][arm]`.
    trials
        The number of all observations so far, including those of removed arms.
    in_flight, waiting
        The pulls of each arm whose feedback has not arrived, and their total.  They count in
        the roots and not in the means.  They are neither saved nor merged.

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
    in_lists: ClassVar[bool] = False  # whether roots and means are plain lists

    @staticmethod
    def empty(*, arms: int, features: int) -> ArmStatistics:
        """Return statistics without observations: in lists if they are small, else in arrays."""
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
        """Return the largest number of numbers that may be kept after so many trials."""
        del trials
        return self.storage

    @property
    def counts(self) -> list[int]:
        """The pulls of each arm, including those in flight."""
        if not self.waiting:
            return self.pulls
        return [m + more for m, more in zip(self.pulls, self.in_flight, strict=True)]

    @property
    def trial(self) -> int:
        """The number n of the current trial, after all observations and pulls in flight."""
        return self.trials + self.waiting + 1

    def update(self, arm: int, features: Features) -> None:
        """Add one observation of an arm; it answers one of the arm's pulls in flight, if any."""
        pulls = self.pulls[arm] = self.pulls[arm] + 1
        self.trials += 1
        if self.waiting:
            self.expect(arm, -1)
        self.roots[arm] = inverse_root(pulls + self.in_flight[arm])
        self.move(arm, features, 1.0 / pulls)

    def expect(self, arm: int, pulls: int) -> None:
        """Add pulls in flight; a negative number removes them, down to none.

        >>> statistics = ArmStatistics.empty(arms=2, features=1)
        >>> statistics.expect(0, 4)
        >>> statistics.counts, statistics.roots[0], statistics.trial
        ([4, 0], 0.5, 5)
        """
        change = max(pulls, -self.in_flight[arm])
        self.in_flight[arm] += change
        self.waiting += change
        update_root(self, arm, 1.0)

    def unanswered(self, arm: int) -> bool:
        """Return whether an arm was pulled and no feedback has arrived yet."""
        return unanswered(self.pulls[arm], self.in_flight[arm])

    def merge(self, other: ArmStatistics, arms: Sequence[int]) -> None:
        """Add what `other` has observed; arm j here is its arm `arms[j]`."""
        for mine, theirs in enumerate(arms):
            pulls = self.pulls[mine] + other.pulls[theirs]
            if other.pulls[theirs]:
                self.move(mine, other.column(theirs).tolist(), other.pulls[theirs] / pulls)
                self.pulls[mine] = pulls
                update_root(self, mine, 1.0)
        self.trials += other.trials

    def copy(self) -> Self:
        """Return an independent copy."""
        return deepcopy(self)

    def state(self) -> StatisticsState:
        """Return everything learned as plain values."""
        means = [self.column(j).tolist() if m else [] for j, m in enumerate(self.pulls)]
        return StatisticsState(self.trials, list(self.pulls), means)

    def restore(self, state: StatisticsState) -> None:
        """Restore a saved state; raises SaveFileError if it is invalid."""
        if min(state.pulls, default=0) < 0 or state.trials < sum(state.pulls):
            raise SaveFileError(
                "saved pull counts are negative or exceed the number of trials: got "
                f"{state.pulls} with {state.trials} trials"
            )
        self.take_on(state.pulls, state.means)
        self.trials = state.trials

    def take_on(self, pulls: Sequence[Any], means: Sequence[Sequence[float]]) -> None:
        """Set every arm's pulls and, if it was pulled, its means."""
        if len(pulls) != len(self.pulls) or len(means) != len(self.pulls):
            raise SaveFileError(
                f"saved statistics of {len(pulls)} arms do not fit {len(self.pulls)} arms"
            )
        for count, row in zip(pulls, means, strict=True):
            expected = self.features if count else 0
            if len(row) != expected:
                raise SaveFileError(
                    f"an arm with {count} pulls has {len(row)} means, not {expected}"
                )
        for j, (count, row) in enumerate(zip(pulls, means, strict=True)):
            self.pulls[j] = count
            update_root(self, j, 1.0)
            self.move(j, np.array(row) if count else np.full(self.features, UNPULLED), 1.0)

    def misfit(self) -> float:
        """Return how far means are from those of the observations that are kept, if any are.

        It is a rounding error, unless they were not learned but read from a file.

        >>> ArmStatistics.empty(arms=1, features=1).misfit()
        0.0
        """
        return 0.0

    def rows(self) -> Array:
        """Return every mean and every observation that is kept, one row of features each."""
        columns = [self.column(j) for j, pulls in enumerate(self.pulls) if pulls]
        return np.array(columns, np.float64).reshape(len(columns), self.features)

    def score(self, rule: MeanRule, estimates: Any, aim: Any) -> Any:
        """Return the index of every arm, given the estimates."""
        index = rule.index
        return [index(mean, root, aim) for mean, root in zip(estimates, self.roots)]  # noqa: B905 - one each

    def leader(self, rule: MeanRule, estimates: Any, aim: Any) -> int:
        """Return the position of the arm that a rule plays, given the estimates."""
        if rule.cap is None and not rule.breaks_ties_by_pulls:
            return leading_mean(estimates, self.roots, rule.index, aim)
        cap, by_pulls = rule.cap or no_mean_cap, rule.breaks_ties_by_pulls
        return leading_capped(estimates, self.roots, rule.index, cap, aim, by_pulls)

    @abstractmethod
    def column(self, arm: int) -> Array:
        """Return the means of one arm."""

    @abstractmethod
    def move(self, arm: int, features: Any, weight: float) -> None:
        """Move all means of one arm towards an observation."""

    @abstractmethod
    def add_arm(self) -> None:
        """Add an arm without observations at the end."""

    @abstractmethod
    def remove_arm(self, arm: int) -> None:
        """Remove one arm; its observations stay in `trials`."""


class ListStatistics(ArmStatistics):
    """Statistics in plain lists, which are fastest for a few dozen arms and features."""

    __slots__ = ()
    in_lists = True

    def __init__(self, arms: int, features: int) -> None:
        super().__init__(arms, features)
        self.roots = [0.0] * arms
        self.means = [[UNPULLED] * arms for _ in range(features)]

    def column(self, arm: int) -> Array:
        """Return the means of one arm."""
        return np.array([row[arm] for row in self.means], dtype=np.float64)

    def move(self, arm: int, features: Any, weight: float) -> None:
        """Move all means of one arm towards an observation."""
        for row, value in zip(self.means, features):  # noqa: B905 - one each
            row[arm] = moved(row[arm], value, weight)

    def state(self) -> StatisticsState:
        """Return everything learned as plain values."""
        means = [[row[j] for row in self.means] if m else [] for j, m in enumerate(self.pulls)]
        return StatisticsState(self.trials, list(self.pulls), means)

    def take_on(self, pulls: Sequence[Any], means: Sequence[Sequence[float]]) -> None:
        """Set every arm's pulls and, if it was pulled, its means."""
        super().take_on(pulls, means)
        self.means = [[float(mean) for mean in row] for row in self.means]

    def add_arm(self) -> None:
        """Add an arm without observations at the end."""
        self.pulls.append(0)
        self.in_flight.append(0)
        self.roots.append(0.0)
        for row in self.means:
            row.append(UNPULLED)

    def remove_arm(self, arm: int) -> None:
        """Remove one arm; its observations stay in `trials`."""
        self.waiting -= self.in_flight[arm]
        for numbers in (self.pulls, self.in_flight, self.roots, *self.means):
            del numbers[arm]


class ArrayStatistics(ArmStatistics):
    """Statistics in arrays, for many arms or many features.

    The features of an arm are next to each other in memory: an observation writes all of them.
    """

    __slots__ = ()

    def __init__(self, arms: int, features: int) -> None:
        super().__init__(arms, features)
        self.roots = np.zeros(arms)
        self.means = np.full((features, arms), UNPULLED, order="F")

    def score(self, rule: MeanRule, estimates: Any, aim: Any) -> Any:
        """Return the index of every arm, given the estimates."""
        if rule.vectorised:
            return rule.index(estimates, self.roots, aim)
        return super().score(rule, estimates, aim)

    def leader(self, rule: MeanRule, estimates: Any, aim: Any) -> int:
        """Return the position of the arm that a rule plays, given the estimates."""
        if rule.vectorised and not rule.breaks_ties_by_pulls:
            return int(rule.index(estimates, self.roots, aim).argmax())
        return super().leader(rule, estimates, aim)

    def column(self, arm: int) -> Array:
        """Return the means of one arm."""
        column: Array = self.means[:, arm]
        return column

    def move(self, arm: int, features: Any, weight: float) -> None:
        """Move all means of one arm towards an observation."""
        column = self.means[:, arm]
        column[:] = moved(column, features, weight)

    def add_arm(self) -> None:
        """Add an arm without observations at the end."""
        self.pulls.append(0)
        self.in_flight.append(0)
        self.roots = np.append(self.roots, 0.0)
        column = np.full((self.features, 1), UNPULLED)
        self.means = np.asfortranarray(np.hstack([self.means, column]))

    def remove_arm(self, arm: int) -> None:
        """Remove one arm; its observations stay in `trials`."""
        self.waiting -= self.in_flight[arm]
        del self.pulls[arm], self.in_flight[arm]
        self.roots = np.delete(self.roots, arm)
        self.means = np.asfortranarray(np.delete(self.means, arm, axis=1))
