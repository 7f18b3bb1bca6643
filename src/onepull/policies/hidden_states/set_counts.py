"""What is known of each arm's states where a pull tells only a set that the state was in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.errors import SaveFileError
from onepull.index.set_likelihood import spread
from onepull.policies.hidden_states.told_sets import LevelSet, Readings
from onepull.policies.sharing.observation import observed_state, rewarded_context
from onepull.policies.sharing.pull_counts import Counted
from onepull.problem import Problem


def told_apart(told: Any, group: Any) -> int:
    """Write for every level which group it is in, and return how many groups there are.

    Levels that are in the same of the sets in `told` are one group; -1 is in none.

    >>> group = np.zeros(4, np.int64)
    >>> told_apart(np.array([[1.0, 0, 1.0, 0], [1.0, 1.0, 1.0, 0]]), group), group.tolist()
    (2, [0, 1, 0, -1])
    """
    groups = 0
    sets, levels = told.shape
    for s in range(levels):
        group[s] = -1
        for r in range(s):
            if group[r] >= 0 and group[s] < 0:
                same = True
                for d in range(sets):
                    if told[d, s] != told[d, r]:
                        same = False
                        break
                if same:
                    group[s] = group[r]
        if group[s] < 0:
            for d in range(sets):
                if told[d, s] > 0.0:
                    group[s] = groups
                    groups += 1
                    break
    return groups


class Seen(NamedTuple):
    """What an arm showed, as the likelihood takes it: groups of levels instead of levels."""

    told: Array
    counts: Array
    group: Any  # of each level, -1 where nothing was seen of it
    law: Array  # the most likely share of each group


class Sightings(Counted):
    """Counts by arm and set of levels.

    They are sums, so they merge without loss and may come in any order, from states and from
    rewards.
    """

    def __init__(self, readings: Readings) -> None:
        super().__init__(readings.problem)
        self.readings = readings
        self.sets: list[dict[LevelSet, int]] = [{} for _ in self.problem.arms]
        self._seen: dict[int, Seen] = {}
        # By arm and context: a bound, how it rises with the risk, and the risk that it was for.
        self.bounds: list[dict[Any, tuple[float, float, float]]] = [{} for _ in self.problem.arms]

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Take in one state, or what a reward in its context tells of it."""
        if reward is None:
            found = self.readings.of_state(observed_state(self.problem, fields, None))
        else:
            found = self.readings.told(*rewarded_context(self.problem, fields, reward))
        self.sets[arm][found] = self.sets[arm].get(found, 0) + 1
        self._count(arm)
        self._forget_work(arm)

    def _forget_work(self, arm: int) -> None:
        self._seen.pop(arm, None)
        self.bounds[arm] = {}

    def of_arm(self, arm: int) -> Seen:
        """Return what an arm showed, and its most likely law; it was pulled."""
        if arm not in self._seen:
            # In one order, so that those who saw the same compute the same.
            sets = sorted(self.sets[arm].items())
            told = np.zeros((len(sets), self.readings.count))
            for row, (levels, _) in zip(told, sets, strict=True):
                row[list(levels)] = 1.0
            group = np.zeros(self.readings.count, np.int64)
            groups = told_apart(told, group)
            apart = told[:, [int(np.argmax(group == g)) for g in range(groups)]]
            counts = np.array([count for _, count in sets], dtype=float)
            self._seen[arm] = Seen(apart, counts, group, spread(apart, counts))
        return self._seen[arm]

    @property
    def storage(self) -> int:
        """The number of numbers kept: a count for every set that can be, and for every level."""
        return len(self.pulls) * (self.readings.count + self.readings.sets)

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Take on a problem with one arm more at the end, or one removed."""
        super().change_arms(problem, removed)
        self._seen = {}
        if removed is None:
            self.sets.append({})
            self.bounds.append({})
        else:
            del self.sets[removed], self.bounds[removed]

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add what `other` has learned; its arm `arms[j]` is arm j here."""
        super().merge(other, arms)
        for j, theirs in enumerate(arms):
            for found, count in other.sets[theirs].items():
                self.sets[j][found] = self.sets[j].get(found, 0) + count
            self._forget_work(j)

    def state(self) -> Any:
        """Return everything learned as plain values."""
        sets = [[(list(found), n) for found, n in sorted(own.items())] for own in self.sets]
        return _SightingsState(self._trials, sets)

    def restore(self, state: Any) -> None:
        """Take on a saved state; one that cannot be is refused."""
        try:
            saved = msgspec.convert(state, _SightingsState)
        except msgspec.ValidationError as error:
            raise SaveFileError(f"not learned counts of sets: {error}") from None
        if len(saved.sets) != len(self.pulls):
            raise SaveFileError(f"counts of {len(saved.sets)} arms do not fit {len(self.pulls)}")
        sets = [{tuple(found): count for found, count in own} for own in saved.sets]
        for found, count in ((f, n) for own in sets for f, n in own.items()):
            if (
                not found
                or count < 1
                or list(found) != sorted(set(found))
                or not 0 <= found[0] <= found[-1] < self.readings.count
            ):
                raise SaveFileError(f"{count} of {list(found)} is no count of a set of levels")
        pulls = [sum(own.values()) for own in sets]
        if saved.trials < sum(pulls):
            raise SaveFileError("counts exceed the number of trials")
        self.sets, self.pulls, self._trials = sets, pulls, saved.trials
        self._seen, self.bounds = {}, [{} for _ in sets]

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = super().copy()
        twin.sets = [dict(own) for own in self.sets]
        twin._seen = dict(self._seen)  # noqa: SLF001 - a twin's own
        twin.bounds = [dict(own) for own in self.bounds]
        return twin


class _SightingsState(msgspec.Struct, forbid_unknown_fields=True):
    trials: int
    sets: list[list[tuple[list[int], int]]]
