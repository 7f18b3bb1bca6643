"""The interface of a sharing: what a pull teaches, and in which contexts.

The sharing and the rule that chooses an arm are independent: any sharing works with any rule.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Self

import numpy as np

from onepull.arrays import Array
from onepull.checks import restored
from onepull.errors import ParameterError, SaveFileError
from onepull.payoff.reward import NARROWEST
from onepull.policies.sharing.in_flight import Counted, View, counted
from onepull.policies.sharing.inherited import (
    Inheritance,
    check_scale,
    same_features,
    with_features,
)
from onepull.policies.sharing.knowledge import Knowledge
from onepull.problem import Problem
from onepull.statistics import ArmStatistics

STATE_SHARE_ROUNDING = 1e-12  # of a share of states above 1


class Sharing(Knowledge):
    """Statistics of the arms, for all contexts together or for each cell of contexts."""

    name = ""  # by which `shared` makes it
    delta: float | dict[str, float] | None = None  # largest width of a cell of contexts
    error = 0.0  # bound on the error of an estimate that is caused by the factorisation
    keeps_states = False  # whether states are stored, so that the reward can be changed
    counts_in_flight = True
    forgets = False  # whether its statistics forget old observations
    extrapolates = False  # whether means may leave the bounds of their features

    def measured_error(self, looks: int) -> float:
        """Return a bound on the error of estimates, measured at so many points if that can be."""
        del looks
        return self.error

    @abstractmethod
    def view(self, context: Mapping[str, Any]) -> View:
        """Return statistics, estimates and reward bounds for a context."""

    @property
    @abstractmethod
    def all_statistics(self) -> Mapping[str, ArmStatistics]:
        """All statistics, by the key used in save files."""

    @abstractmethod
    def statistics_for(self, key: str) -> ArmStatistics:
        """Return the statistics with a key, created if needed."""

    def kinds_of_statistics(self) -> set[type[ArmStatistics]]:
        """Return the classes of the statistics that are stored, or will be."""
        return {type(statistics) for statistics in self.all_statistics.values()}

    def keep(self, empty: Callable[..., ArmStatistics]) -> Self:
        """Use the forgetting statistics `empty(arms=…, features=…)` from now on; return itself."""
        raise NotImplementedError(f"{type(self).__name__} cannot forget, given {empty}")

    def feature_bounds(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return the lower and the upper bounds of the features whose means are stored.

        >>> from onepull import Finite, Interval
        >>> from onepull.policies import shared
        >>> problem = Problem(
        ...     arms=["a"], context={"y": Finite([1, 2])}, state={"x": Interval(0, 3)}, reward="x*y"
        ... )
        >>> shared(problem, "joint", None).feature_bounds()
        ([0.0, 0.0], [3.0, 6.0])
        """
        low, high = self.problem.payoff.whole_range
        return [low], [high]

    def seen(self, context: Mapping[str, Any]) -> tuple[Sequence[int], int]:
        """Return each arm's number of pulls that count in a context, and their number of trials."""
        found = self.counted(context)
        return found.pulls, found.trials

    def counted(self, context: Mapping[str, Any]) -> Counted:
        """Return the pulls that count in a context."""
        return counted(self.view(context)[0])

    @property
    def adds_up(self) -> bool:  # type: ignore[override]  # read-only here
        """Whether what two have learned can be added: what is forgotten depends on the order."""
        return not self.forgets

    def take_local(self, old: Self) -> None:
        """Take over the pulls in flight."""
        for key, statistics in old.all_statistics.items():
            for arm, pulls in enumerate(statistics.in_flight):
                if pulls:
                    self.statistics_for(key).expect(arm, pulls)

    def in_flight_in(self, context: Mapping[str, Any]) -> Sequence[int]:
        """Return how many of the pulls that `seen` counts are in flight, for each arm."""
        return self.view(context)[0].in_flight

    def unanswered(self, context: Mapping[str, Any]) -> Collection[int]:
        """Return the arms with pulls in flight in a context and no observation there."""
        return self.counted(context).unanswered

    @property
    def trials(self) -> int:
        """The number of observations behind the current estimates."""
        return sum(statistics.trials for statistics in self.all_statistics.values())

    @property
    def storage(self) -> int:
        """How many numbers are stored."""
        return sum(statistics.storage for statistics in self.all_statistics.values())

    def storage_after(self, trials: int) -> int:
        """Return the largest possible number of stored numbers after a number of trials."""
        return sum(statistics.storage_after(trials) for statistics in self.all_statistics.values())

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Switch to a problem with more arms at the end, or without arm `removed`."""
        added = len(problem.arms) - len(self.problem.arms)
        self.problem = problem
        for statistics in self.all_statistics.values():
            if removed is not None:
                statistics.remove_arm(removed)
            for _ in range(added):
                statistics.add_arm()

    def add_arms(self, problem: Problem) -> None:
        """Switch to a problem with more arms at the end."""
        self.change_arms(problem)

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add what `other` has learned; its arm `arms[j]` is arm j here."""
        for key, statistics in other.all_statistics.items():
            self.statistics_for(key).merge(statistics, arms)

    def state(self) -> Any:
        """Return everything learned as plain values."""
        # Sorted, since pulls in flight may have made some of them earlier.
        return {
            key: statistics.state()
            for key, statistics in sorted(self.all_statistics.items())
            if statistics.trials
        }

    def restore(self, state: Any) -> None:
        """Restore a saved state; raises SaveFileError if it is invalid."""
        for key, learned in restored(dict[str, Any], state, "statistics").items():
            statistics = self.statistics_for(key)
            statistics.restore(restored(statistics.State, learned, "statistics"))
            rows = statistics.rows()
            if not rows.size:
                continue
            try:
                bounds = self.bounds_for(key)
            except ParameterError:  # of a factorisation that does not know them
                continue
            self._check_rows(rows, *bounds)
            if statistics.misfit() > self._slack + NARROWEST:
                raise SaveFileError("the saved means are not those of the saved observations")

    def bounds_for(self, key: str) -> tuple[Sequence[float], Sequence[float]]:
        """Return the bounds of the features of the statistics with a key."""
        del key
        return self.feature_bounds()

    @property
    def _slack(self) -> float:
        """How far rounding may take means and observations out of their bounds."""
        if self.keeps_states:
            return 1e-6 if self.forgets else 0.0
        low, high = self.problem.payoff.whole_range
        return (1e-6 + self.extrapolates) * (high - low) + 1e-9 * max(abs(low), abs(high))

    def _check_rows(self, rows: Array, lows: Sequence[float], highs: Sequence[float]) -> None:
        """Raise SaveFileError if means or observations are outside the bounds of the features.

        A share of states is never below 0, except for rounding when old ones are subtracted.
        Rewards may be outside their range by the tolerance with which they are accepted.
        """
        slack = self._slack
        if self.keeps_states and np.any(np.abs(rows.sum(axis=1) - 1.0) > 1e-6):
            raise SaveFileError("the saved shares of states do not sum to 1")
        outside = (rows < np.subtract(lows, slack)) | (
            rows > np.add(highs, slack + STATE_SHARE_ROUNDING)
        )
        if outside.any():
            row, feature = np.argwhere(outside)[0]
            raise SaveFileError(
                f"a saved mean or observation is {rows[row, feature]:g}; expected "
                f"{lows[feature]:g} to {highs[feature]:g}"
            )


class SingleStatistics(Sharing):
    """One set of statistics for all contexts."""

    statistics: ArmStatistics

    def inherit(self, old: Self, accepted: float = 0.0) -> float:
        """Take over what was learned for a problem with narrower spaces."""
        inheritance = self._features_from(old, accepted)
        check_scale(
            old.statistics,
            inheritance.is_identity and self.feature_bounds() == old.feature_bounds(),
        )
        self.restore({"all": with_features(old.statistics.state(), inheritance)})
        return inheritance.error

    def _features_from(self, old: Self, accepted: float) -> Inheritance:
        """Return how the features follow from the old ones; they are the same by default."""
        del accepted
        return same_features(old.statistics.features)

    @property
    def all_statistics(self) -> dict[str, ArmStatistics]:
        """The statistics, with the key "all"."""
        return {"all": self.statistics}

    def statistics_for(self, key: str) -> ArmStatistics:
        """Return the statistics."""
        if key != "all":
            raise SaveFileError(f"statistics {key!r} are unknown; expected 'all'")
        return self.statistics

    def keep(self, empty: Callable[..., ArmStatistics]) -> Self:
        """Use statistics that forget from now on; return itself."""
        features = self.statistics.features
        self.statistics = empty(arms=len(self.problem.arms), features=features)
        self.forgets = True
        return self

    def expect(self, arm: int, fields: Mapping[str, Any], pulls: int) -> None:
        """Count pulls in flight, in any context."""
        super().expect(arm, fields, pulls)
        self.statistics.expect(arm, pulls)

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.statistics = self.statistics.copy()
        return twin
