"""Joint learning: all contexts learn from each pull."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self

from onepull.factor import Factorisation
from onepull.policies.sharing.exact_changes import check_sketched
from onepull.policies.sharing.in_flight import View, answered_view
from onepull.policies.sharing.inherited import Inheritance, features_inherited
from onepull.policies.sharing.observation import mean_state, observed_outcome
from onepull.policies.sharing.sharing import SingleStatistics
from onepull.problem import Problem
from onepull.statistics import ArmStatistics


class Joint(SingleStatistics):
    """All contexts learn from each pull, through the known reward."""

    def __init__(self, factor: Factorisation) -> None:
        self.problem = factor.problem
        self.factor = factor
        self.delta, self.keeps_states = factor.delta, factor.keeps_states
        self.error = factor.error if factor.widens else 0.0
        self.statistics = ArmStatistics.empty(arms=len(self.problem.arms), features=factor.features)

    @property
    def kind(self) -> str:
        """What is learned, and how the reward is factorised."""
        return f"{type(self).__name__}({type(self.factor).__name__})"

    def feature_bounds(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return the lower and the upper bounds of the features."""
        return self.factor.feature_bounds()

    def view(self, context: Mapping[str, Any]) -> View:
        """Return statistics, estimates and reward bounds for a context."""
        statistics = self.statistics
        view = statistics, *self.factor.look(statistics.means, context)
        return answered_view(*view) if statistics.waiting else view

    def _features_from(self, old: Self, accepted: float) -> Inheritance:
        return features_inherited(self.factor, old.factor, accepted)

    def measured_error(self, looks: int) -> float:
        """Return a bound on the error of the factorisation, measured at so many points."""
        measure = getattr(self.factor, "looked_at", None)
        return self.error if measure is None else measure(looks)

    def mean_state(self, arm: int) -> dict[str, float] | None:
        """Return the mean of each number of an arm's state, None if states are not learned."""
        points = getattr(self.factor, "points", None)  # the listed states, one per row
        if points is None or not self.statistics.pulls[arm]:
            return None
        return mean_state(self.problem, points, self.statistics.column(arm))

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Learn from one state, or from a reward and context that determine it."""
        outcome = observed_outcome(self.problem, arm, fields, reward)
        self.statistics.update(arm, self.factor.psi(outcome))

    def check(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Raise what `learn` would raise, and change nothing."""
        self.factor.psi(observed_outcome(self.problem, arm, fields, reward))

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Switch to a problem with one more arm at the end, or without arm `removed`."""
        factor = self.factor.on(problem)
        super().change_arms(problem, removed)
        self.factor = factor

    def set_attributes(self, problem: Problem, accepted: float | None = None) -> None:
        """Switch to a problem with other attributes of its arms; needs stored states."""
        if not self.keeps_states:
            super().set_attributes(problem, accepted)
        other = copy(self)
        other.factor, other.problem = self.factor.on(problem), problem
        other.error = other.factor.error if other.factor.widens else 0.0
        check_sketched(self, other, accepted)
        self.__dict__.update(other.__dict__)
