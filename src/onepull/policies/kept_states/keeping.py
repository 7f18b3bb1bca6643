"""How a state is kept: in a free place, after older ones were merged if there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.policies.kept_states.counting import counts_under
from onepull.policies.kept_states.drift import STEADY
from onepull.policies.kept_states.merging import FARTHEST, NEVER_MERGED, merged_pairs
from onepull.policies.kept_states.room import Room
from onepull.policies.sharing.observation import observed_outcome


class Keeping(Room):
    """The part of the memory that learns from one pull."""

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Keep one state, or the one that a reward and its context determine."""
        outcome = observed_outcome(self.problem, arm, fields, reward)
        self._keep(arm, outcome[len(self._attributes) :], self.clock)
        self.in_flight[arm] = max(self.in_flight[arm] - 1, 0)

    def check(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Raise what `learn` would raise, and change nothing."""
        outcome = observed_outcome(self.problem, arm, fields, reward)
        self._psi((*self.problem.known[arm], *outcome[len(self._attributes) :]))

    def expect(self, arm: int, fields: Mapping[str, Any], pulls: int) -> None:
        """Count pulls in flight, in any context."""
        super().expect(arm, fields, pulls)
        self.in_flight[arm] = max(self.in_flight[arm] + pulls, 0)

    def _keep(
        self,
        arm: int,
        shown: Sequence[float],
        trial: int,
        *,
        stands_for: float = 1.0,
        is_whole: bool = True,
    ) -> None:
        """Keep a state; one that is not whole, as others were merged into it, tells no change."""
        # Before anything changes, since a reward in Python may raise.
        rewards = np.array(self._psi((*self.problem.known[arm], *shown)))
        if self.unit != 1.0:
            rewards *= self.unit
        if self._may_be_far:
            np.minimum(rewards, FARTHEST, out=rewards)
            np.maximum(rewards, -FARTHEST, out=rewards)
        slot = self._free_slot(arm)
        columns = self.columns
        for field, value in enumerate(shown):  # for a few fields quicker than all at once
            columns[field, arm, slot] = value
        self.stands_for[arm, slot] = stands_for
        self.seen_at[arm, slot] = trial
        self.kept[arm] = slot + 1
        self._count(arm, round(stands_for))
        self.clock = trial + 1
        means = self.means[arm]
        means += (rewards - means) * (stands_for / self.pulls[arm])
        if self.drift is not None and is_whole:
            self._predict(arm, slot, trial, rewards)

    def _count(self, arm: int, more: int) -> None:
        """Count observations of an arm."""
        self.pulls[arm] += more
        self.divisors[arm] = self.pulls[arm]

    def _predict(self, arm: int, slot: int, trial: int, rewards: Array) -> None:
        """Let the filters learn, and keep up how much each state counts."""
        assert self.drift is not None  # noqa: S101 - checked by the caller
        before = self.drift.chosen
        self.drift.learn(arm, trial, rewards)
        q = self.drift.chosen
        if q == STEADY:
            self._counts_for = None
            return
        if q != before or self._counts_for is None:
            self._counts_for = self._recount()
            return
        gain, more, left = self.drift.gains(q)
        for_mean, for_deviation = (each[arm, : slot + 1] for each in self._counts_for)
        predicted = for_mean + left * for_deviation
        for_mean -= gain * predicted
        for_deviation *= left
        for_deviation -= more * predicted
        for_mean[slot], for_deviation[slot] = gain, more

    def _recount(self) -> tuple[Array, Array]:
        """Return how much each state counts for the mean and the deviation of its arm."""
        assert self.drift is not None  # noqa: S101 - checked by the caller
        return counts_under(self.drift.chosen, self.kept, self.stands_for, self.seen_at)

    def _failed(self, states: Array) -> Array | None:
        """Return which states are failures, which is their last number; None if none may fail."""
        return None if self.problem.failure is None else states[-1]

    def _free_slot(self, arm: int) -> int:
        """Return where the next state of an arm goes, after making room for it."""
        slot, room = self.kept[arm], self.stands_for.shape[1]
        if slot < room:
            return slot
        if room < self.capacity:
            self._widen(min(2 * room, self.capacity))
            return slot
        self._merge_old(arm)
        return self.kept[arm]

    def _merge_old(self, arm: int) -> None:
        """Merge a quarter of the older states of an arm into others."""
        old = self.kept[arm] - min(NEVER_MERGED, self.capacity // 2)
        states, weights = self.columns[:, arm, :old], self.stands_for[arm]
        rewards = self._compared(arm, states) * self.unit
        failed = self._failed(states)
        pairs = list(merged_pairs(states, rewards, weights[:old], self.merges, failed))
        self.merges += 1
        self.moves[arm] += 1
        left = np.ones(self.kept[arm], bool)
        for stays, goes in pairs:
            weights[stays] += weights[goes]
            left[goes] = False
            self.blurred[arm] |= states[:, stays] != states[:, goes]
            for counts in self._counts_for or ():
                counts[arm, stays] += counts[arm, goes]
        places = np.flatnonzero(left)
        self.kept[arm] = count = len(places)
        for array in (*self.columns, self.stands_for, self.seen_at, *(self._counts_for or ())):
            array[arm, :count] = array[arm, places]
        for array in (self.stands_for, *(self._counts_for or ())):
            array[arm, count:] = 0.0
