"""Joint learning: all contexts learn from each pull."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onepull.factor import Factorisation
from onepull.policies.sharing.in_flight import View, answered
from onepull.policies.sharing.observation import observed_outcome
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

    def feature_bounds(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return the lower and the upper bounds of the features."""
        return self.factor.feature_bounds()

    def view(self, context: Mapping[str, Any]) -> View:
        """Return statistics, estimates and reward bounds for a context."""
        statistics = self.statistics
        view = statistics, *self.factor.look(statistics.means, context)
        return answered(*view) if statistics.waiting else view

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Learn from one state, or from a reward and context that determine it."""
        outcome = observed_outcome(self.problem, arm, fields, reward)
        self.statistics.update(arm, self.factor.psi(outcome))

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Switch to a problem with one more arm at the end, or without arm `removed`."""
        factor = self.factor.on(problem)
        super().change_arms(problem, removed)
        self.factor = factor

    def set_attributes(self, problem: Problem) -> None:
        """Switch to a problem with other attributes of its arms; needs stored states."""
        if not self.keeps_states:
            super().set_attributes(problem)
        self.factor = self.factor.on(problem)
        self.problem = problem
