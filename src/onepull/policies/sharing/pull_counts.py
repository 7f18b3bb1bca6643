"""Pulls counted arm by arm, those whose feedback is under way included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from onepull.index.empirical_likelihood import likely_mean
from onepull.policies.sharing.knowledge import Knowledge
from onepull.problem import Problem
from onepull.statistics import UNPULLED


class Counted(Knowledge):
    """What counts an arm's pulls, whatever else it keeps of them but means.

    Attributes
    ----------
    pulls
        The observations of each arm.
    in_flight
        The pulls of each arm whose feedback is under way; they are neither saved nor merged.
    """

    counts_in_flight = True

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.pulls = [0] * len(problem.arms)
        self.in_flight = [0] * len(problem.arms)
        self._trials = 0

    def _count(self, arm: int) -> None:
        """Count an observation; one of the arm's pulls in flight, if any, has landed."""
        self.pulls[arm] += 1
        self._trials += 1
        self.in_flight[arm] = max(self.in_flight[arm] - 1, 0)

    def expect(self, arm: int, fields: Mapping[str, Any], pulls: int) -> None:
        """Count pulls in flight, whatever their context."""
        super().expect(arm, fields, pulls)
        self.in_flight[arm] = max(self.in_flight[arm] + pulls, 0)

    @property
    def counts(self) -> list[int]:
        """The pulls of each arm, those in flight included."""
        return [m + more for m, more in zip(self.pulls, self.in_flight, strict=True)]

    @property
    def trial(self) -> int:
        """The number n of the trial at hand, after all observations and pulls in flight."""
        return self._trials + sum(self.in_flight) + 1

    def risk_of(self, arm: int, risk: float) -> float:
        """Return the risk f for an arm that has answered, f·m/(m+w) with w pulls in flight.

        What is within f of the most likely with m observations is within f/m for each, and
        with the pulls in flight it is to be within f/(m+w).
        """
        return risk * (self.pulls[arm] / (self.pulls[arm] + self.in_flight[arm]))

    def unanswered(self, arm: int, low: float, high: float, risk: float) -> float:
        """Return the index of an arm that has not answered: never pulled, or pulls in flight.

        Those count as if each had shown the worst there is, so that the arm no longer comes
        first, and one that never answers is explored as rarely as the worst of arms.
        """
        waiting = self.in_flight[arm]
        return likely_mean([low], [1.0], 1, high, risk / waiting) if waiting else UNPULLED

    def seen(self, context: Mapping[str, Any]) -> tuple[Sequence[int], int]:
        """Return the pulls of every arm, and the trials; they count in every context."""
        del context
        return self.counts, self.trial - 1

    @property
    def trials(self) -> int:
        """The number of observations behind the current estimates."""
        return self._trials

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Take on a problem with one arm more at the end, or one removed."""
        self.problem = problem
        for counts in (self.pulls, self.in_flight):
            if removed is None:
                counts.append(0)
            else:
                del counts[removed]

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add the pulls that `other` has observed; its arm `arms[j]` is arm j here."""
        for j, theirs in enumerate(arms):
            self.pulls[j] += other.pulls[theirs]
        self._trials += other.trials

    def copy(self) -> Self:
        """Return a copy whose counts are independent."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.pulls, twin.in_flight = list(self.pulls), list(self.in_flight)
        return twin
