"""Counts of observations that give a set of states instead of a state."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Self, TypeAlias

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.checks import LARGEST_COUNT, Count, restored
from onepull.errors import ParameterError, SaveFileError
from onepull.index.empirical_likelihood import likely_mean
from onepull.index.set_likelihood import likely_shares
from onepull.policies.hidden_states.level_groups import group_levels, sets_of_groups
from onepull.policies.hidden_states.told_sets import LevelSet, Readings
from onepull.policies.sharing.inherited import changed_fields, names_in_sentence
from onepull.policies.sharing.knowledge import Knowledge
from onepull.policies.sharing.observation import observed_outcome, rewarded_context
from onepull.problem import Problem
from onepull.statistics import UNPULLED, unanswered


class GroupedCounts(NamedTuple):
    """An arm's observations by group of levels, as the likelihood takes them."""

    told: Array
    counts: Array
    group: Any  # of each level, -1 if it is in no observed set
    law: Array  # the most likely share of each group


class Sightings(Knowledge):
    """Counts by arm and set of levels.

    They are sums, so they merge without loss.  Observations may be states or rewards, in any
    order.

    Attributes
    ----------
    readings
        The levels of the state, and the levels consistent with a reward.
    sets
        How often each arm showed each set of levels.
    pulls
        The observations of each arm.
    in_flight
        The pulls of each arm that are not observed yet; they are neither saved nor merged.
    bounds
        For each arm and context: a bound, its slope in the risk, and the risk it was computed for.
    """

    counts_in_flight = True

    def __init__(self, readings: Readings) -> None:
        self.problem = readings.problem
        self.readings = readings
        self.pulls = [0] * len(self.problem.arms)
        self.in_flight = [0] * len(self.problem.arms)
        self._trials = 0
        self.sets: list[dict[LevelSet, int]] = [{} for _ in self.problem.arms]
        self._seen: dict[int, GroupedCounts] = {}
        self.bounds: list[dict[Any, tuple[float, float, float]]] = [{} for _ in self.problem.arms]

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Add one observation: a state, or a reward and its context."""
        if reward is None:
            found = self.readings.of_state(observed_outcome(self.problem, arm, fields, None))
        else:
            context, value = rewarded_context(self.problem, arm, fields, reward)
            found = self.readings.told(context, value, self.problem.known[arm])
        self.sets[arm][found] = self.sets[arm].get(found, 0) + 1
        self.pulls[arm] += 1
        self._trials += 1
        self.in_flight[arm] = max(self.in_flight[arm] - 1, 0)
        self._forget_work(arm)

    def expect(self, arm: int, fields: Mapping[str, Any], pulls: int) -> None:
        """Count pulls in flight, whatever their context."""
        super().expect(arm, fields, pulls)
        self.in_flight[arm] = max(self.in_flight[arm] + pulls, 0)

    def take_local(self, old: Self) -> None:
        """Take over the pulls in flight."""
        self.in_flight = list(old.in_flight)

    @property
    def counts(self) -> list[int]:
        """The pulls of each arm, including those in flight."""
        return [m + more for m, more in zip(self.pulls, self.in_flight, strict=True)]

    @property
    def trials(self) -> int:
        """The number of observations behind the current estimates."""
        return self._trials

    @property
    def trial(self) -> int:
        """The number n of the current trial, after all observations and pulls in flight."""
        return self._trials + sum(self.in_flight) + 1

    def seen(self, context: Mapping[str, Any]) -> tuple[Sequence[int], int]:
        """Return the pulls of every arm, and the trials; they count in every context."""
        del context
        return self.counts, self.trial - 1

    def unanswered(self, context: Mapping[str, Any]) -> Collection[int]:
        """Return the arms with pulls in flight and no observation."""
        del context
        return {j for j, m in enumerate(self.pulls) if unanswered(m, self.in_flight[j])}

    def risk_of(self, arm: int, risk: float) -> float:
        """Return the risk f for an arm that has answered, f·m/(m+w) with w pulls in flight.

        The index allows a loss of f/m in log-likelihood per observation.  With w pulls in flight
        it allows f/(m+w).
        """
        waiting = self.in_flight[arm]
        return risk * (self.pulls[arm] / (self.pulls[arm] + waiting)) if waiting else risk

    def index_before_answer(self, arm: int, low: float, high: float, risk: float) -> float:
        """Return the index of an arm without observations.

        Each pull in flight counts as if it had shown the worst reward.
        """
        if not unanswered(self.pulls[arm], self.in_flight[arm]):
            return UNPULLED
        return likely_mean([low], [1.0], 1, high, risk / self.in_flight[arm])

    def _forget_work(self, arm: int) -> None:
        self._seen.pop(arm, None)
        self.bounds[arm] = {}

    def of_arm(self, arm: int) -> GroupedCounts:
        """Return the observations of an arm that has any, and its most likely law."""
        if arm not in self._seen:
            # Sorted, so that equal counts give equal results.
            sets = sorted(self.sets[arm].items())
            told = np.zeros((len(sets), self.readings.count))
            for row, (levels, _) in zip(told, sets, strict=True):
                row[list(levels)] = 1.0
            group = np.zeros(self.readings.count, np.int64)
            apart = sets_of_groups(told, group, group_levels(told, group))
            counts = np.array([count for _, count in sets], dtype=float)
            self._seen[arm] = GroupedCounts(apart, counts, group, likely_shares(apart, counts))
        return self._seen[arm]

    @property
    def storage(self) -> int:
        """The number of numbers kept: a count for every possible set and for every level."""
        return len(self.pulls) * (self.readings.count + self.readings.sets)

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Change to a problem with one more arm at the end, or with one arm removed."""
        self.readings = self.readings.on(problem)
        self.problem = problem
        self._seen = {}
        if removed is None:
            self.pulls.append(0)
            self.in_flight.append(0)
            self.sets.append({})
            self.bounds.append({})
        else:
            for kept in (self.pulls, self.in_flight, self.sets, self.bounds):
                del kept[removed]

    def set_attributes(self, problem: Problem, accepted: float | None = None) -> None:
        """Switch to other attributes of the arms; the sets of states that were seen stay."""
        del accepted
        self.readings = self.readings.on(problem)
        self.problem = problem
        self.bounds = [{} for _ in self.bounds]

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add what `other` has learned; its arm `arms[j]` is arm j here."""
        self._trials += other.trials
        for j, theirs in enumerate(arms):
            self.pulls[j] += other.pulls[theirs]
            for found, count in other.sets[theirs].items():
                self.sets[j][found] = self.sets[j].get(found, 0) + count
            self._forget_work(j)

    def state(self) -> Any:
        """Return everything learned as plain values."""
        sets = [[(list(found), n) for found, n in sorted(own.items())] for own in self.sets]
        return _SightingsState(self._trials, sets)

    def restore(self, state: Any) -> None:
        """Restore a saved state; raises SaveFileError if it is invalid."""
        saved = restored(_SightingsState, state, "counts of sets")
        if len(saved.sets) != len(self.pulls):
            raise SaveFileError(
                f"the saved counts are for {len(saved.sets)} arms; expected {len(self.pulls)}"
            )
        sets = [{tuple(found): count for found, count in own} for own in saved.sets]
        for found, count in ((f, n) for own in sets for f, n in own.items()):
            if (
                list(found) != sorted(set(found))
                or not 0 <= found[0] <= found[-1] < self.readings.count
            ):
                raise SaveFileError(
                    f"the saved count {count} of the set {list(found)} is invalid; expected a "
                    f"count of at least 1 and increasing levels below {self.readings.count}"
                )
        pulls = [sum(own.values()) for own in sets]
        if saved.trials < sum(pulls):
            raise SaveFileError(
                f"the saved counts sum to {sum(pulls)}, more than the {saved.trials} saved trials"
            )
        self.sets, self.pulls, self._trials = sets, pulls, saved.trials
        self._seen, self.bounds = {}, [{} for _ in sets]

    def inherit(self, old: Self, accepted: float = 0.0) -> float:
        """Take over what was learned for a problem with narrower spaces, if that is exact."""
        del accepted
        if old.readings.knots is not None:
            raise ParameterError("the cells of an interval state are cut for the old contexts")
        if grown := changed_fields(self.problem.state, old.problem.state):
            raise ParameterError(
                f"a reward told which of the old values {names_in_sentence(grown)} may have"
            )
        self.restore(msgspec.to_builtins(old.state()))
        return 0.0

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.pulls, twin.in_flight = list(self.pulls), list(self.in_flight)
        twin.sets = [dict(own) for own in self.sets]
        twin._seen = dict(self._seen)
        twin.bounds = [dict(own) for own in self.bounds]
        return twin


_Levels: TypeAlias = Annotated[list[Count], msgspec.Meta(min_length=1)]
_Times: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_COUNT)]


class _SightingsState(msgspec.Struct, forbid_unknown_fields=True):
    trials: Count
    sets: list[list[tuple[_Levels, _Times]]]
