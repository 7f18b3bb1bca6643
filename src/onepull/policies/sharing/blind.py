"""Learning that ignores the context: one mean per arm, or only the number of pulls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onepull.factor.arm_ranges import whole_ranges
from onepull.policies.sharing.in_flight import View, answered_view
from onepull.policies.sharing.knowledge import Knowledge
from onepull.policies.sharing.observation import (
    observed_outcome,
    observed_reward,
)
from onepull.policies.sharing.sharing import SingleStatistics
from onepull.problem import Problem, given_problem
from onepull.statistics import ArmStatistics


class Blind(SingleStatistics):
    """Learns the mean reward of each arm and ignores the context.

    `ranges` holds the lowest and the highest reward, of each arm if arms have attributes.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = given_problem(problem)
        self.statistics = ArmStatistics.empty(arms=len(problem.arms), features=1)
        self._set_ranges()

    def _set_ranges(self) -> None:
        problem = self.problem
        self.ranges: tuple[Any, Any] = problem.payoff.whole_range
        if problem.attributes:
            self.ranges = whole_ranges(problem)

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Switch to a problem with one more arm at the end, or without arm `removed`."""
        super().change_arms(problem, removed)
        self._set_ranges()

    def view(self, context: Mapping[str, Any]) -> View:
        """Return statistics, estimates and reward bounds, the same for every context."""
        self.problem.context.exactly(context)
        statistics = self.statistics
        view = statistics, statistics.means[0], *self.ranges
        return answered_view(*view) if statistics.waiting else view

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Learn from one reward, or from the context and state that give it."""
        _, value = observed_reward(self.problem, arm, fields, reward)
        self.statistics.update(arm, (value,))

    def check(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Raise what `learn` would raise, and change nothing."""
        observed_reward(self.problem, arm, fields, reward)


class PullsOnly(SingleStatistics):
    """Counts pulls and learns nothing else."""

    counts_in_flight = False
    learns = False

    def __init__(self, problem: Problem) -> None:
        self.problem = given_problem(problem)
        self.statistics = ArmStatistics.empty(arms=len(problem.arms), features=0)

    def expect(self, arm: int, fields: Mapping[str, Any], pulls: int) -> None:
        """Check the context and ignore the pulls, since no choice depends on counts."""
        Knowledge.expect(self, arm, fields, pulls)

    def view(self, context: Mapping[str, Any]) -> View:
        """Return the counts; there are no estimates."""
        self.problem.context.exactly(context)
        return self.statistics, [], *self.problem.payoff.whole_range

    def set_attributes(self, problem: Problem, accepted: float | None = None) -> None:
        """Switch to a problem with other attributes of its arms; nothing depends on them."""
        del accepted
        self.problem = problem

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Count a pull, after the checks that learning policies make."""
        if reward is None:
            observed_outcome(self.problem, arm, fields, reward)
        else:
            observed_reward(self.problem, arm, fields, reward)
        self.statistics.update(arm, ())
