"""The observed states of each arm, valued by the reward in the context of a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from onepull.arrays import Array
from onepull.checks import restored
from onepull.errors import SaveFileError
from onepull.payoff import State
from onepull.policies.kept_states.drift import DECAYS, STEADY
from onepull.policies.kept_states.revaluing import Revaluing
from onepull.policies.kept_states.room import FIRST_ROOM
from onepull.policies.kept_states.saved_states import (
    KeptState,
    check_arms,
    restored_blurs,
    restored_counts,
    restored_means,
    restored_merges,
)
from onepull.policies.sharing.observation import mean_state

ONE_BY_ONE = 8  # states that are valued one by one, which is quicker than to make arrays of them


class KeptStates(Revaluing):
    """The observed states of each arm, with how many observations each stands for.

    While an arm has at most `capacity` observations, every state is kept.  Then the older ones are
    merged in pairs of nearly the same reward: one of the two stays, drawn in proportion to how
    many observations each stands for, and stands for both.  So the mean of any reward stays
    unbiased, and what merging adds to its variance is small.

    Parameters
    ----------
    problem
        The problem.
    capacity
        How many states are kept per arm.
    adapts
        Whether the memory finds out by itself how fast the arms change.

    Examples
    --------
    >>> from onepull import Finite, Interval, Problem
    >>> memory = KeptStates(Problem(
    ...     arms=["a"], context={"y": Finite([1, 2])}, state={"x": Interval(0, 4)},
    ...     reward="min(x, y)",
    ... ), capacity=512, adapts=True)
    >>> for x in (0.0, 1.5, 4.0):
    ...     memory.learn(0, {"x": x}, None)
    >>> memory.rewards((2.0,))[0, :3], memory.stands_for[0, :3]
    (array([0. , 1.5, 2. ]), array([1., 1., 1.]))
    """

    # Looking

    def rewards(self, context: State) -> Array:
        """Return the reward of every kept state in a context, one row an arm."""
        return self._full(
            self._vector(*context, *self._attributes, *self.columns), self.stands_for.shape
        )

    def rewards_of(self, arm: int, first: int, context: State) -> Sequence[float] | Array:
        """Return the rewards of the states of one arm from a place on, the same as all at once."""
        count, known = self.kept[arm], self.problem.known[arm]
        states = self.columns[:, arm, first:count]
        if self._scalar is not None and count - first <= ONE_BY_ONE:
            return [self._scalar(*context, *known, *state) for state in states.T.tolist()]
        return self._full(self._vector(*context, *known, *states), (count - first,))

    def _full(self, rewards: Any, shape: tuple[int, ...]) -> Array:
        """Return rewards in an array; a reward that is the same for all states is repeated."""
        if np.shape(rewards) != shape:
            return np.array(np.broadcast_to(rewards, shape), np.float64)
        return np.asarray(rewards, np.float64)

    @property
    def is_steady(self) -> bool:
        """Whether the arms are believed not to change."""
        return self.drift is None or self.drift.chosen == STEADY

    def estimates(self, rewards: Array) -> Array:
        """Return the estimate of each arm from the rewards of its states; NaN without any."""
        means: Array
        if self._counts_for is None or self.is_steady:
            means = np.vecdot(rewards, self.stands_for) / self.divisors
        else:
            left = self.faded()[0]
            weights = self._counts_for[0] + left[:, None] * self._counts_for[1]
            means = np.vecdot(rewards, weights)
            if np.minimum.reduce(weights, None) < 0.0:
                means = self._within(rewards, means)
        if 0 in self.pulls:
            means[np.array(self.pulls) == 0] = np.nan
        return means

    def estimate(self, arm: int, rewards: Array) -> float:
        """Return what `estimates` does for one arm that was observed, if arms do not change."""
        mine = slice(arm, arm + 1)  # its product must be computed like those of all arms
        return float(np.vecdot(rewards[mine], self.stands_for[mine])[0]) / self.pulls[arm]

    def faded(self) -> tuple[Array, Array]:
        """Return what is left of each arm's deviation, and the variance of its mean."""
        assert self.drift is not None  # noqa: S101 - arms are believed to change
        if self._faded is None or self._faded[0] != self.clock:
            self._faded = self.clock, self.drift.fading(self.clock)
        return self._faded[1]

    def _within(self, rewards: Array, means: Array) -> Array:
        """Return means within the rewards seen, which some left because weights are below 0."""
        seen = self.stands_for > 0.0
        low = rewards.min(axis=1, where=seen, initial=np.inf)
        high = rewards.max(axis=1, where=seen, initial=-np.inf)
        return np.asarray(np.minimum(np.maximum(means, low), high))

    @property
    def counts(self) -> list[int]:
        """The pulls of each arm, including those in flight."""
        return [m + more for m, more in zip(self.pulls, self.in_flight, strict=True)]

    @property
    def trials(self) -> int:
        """The number of observations behind the current estimates."""
        return sum(self.pulls)

    def mean_state(self, arm: int) -> dict[str, float] | None:
        """Return the mean of each number of an arm's state, None if there is none."""
        count = self.kept[arm]
        points = self.columns[:, arm, :count].T
        return mean_state(self.problem, points, self.stands_for[arm, :count]) if count else None

    def seen(self, context: Mapping[str, Any]) -> tuple[Sequence[int], int]:
        """Return the pulls of every arm, and the trials; they count in every context."""
        del context
        return self.counts, self.trials + sum(self.in_flight)

    @property
    def storage(self) -> int:
        """How many numbers are stored."""
        return sum(self.kept) * (len(self._nothing) + 2) + self._fixed_storage

    @property
    def _fixed_storage(self) -> int:
        """How many numbers do not depend on the states: counts, means, and those of the filters."""
        contexts = len(self.tracked)
        # A filter has copies for each context, which do not count.
        filters = 0 if self.drift is None else len(DECAYS) * (4 + 3 * contexts)
        return len(self.pulls) * (2 + contexts + filters)

    def storage_after(self, trials: int) -> int:
        """Return the largest possible number of stored numbers after a number of trials."""
        most = min(trials, self.capacity * len(self.pulls))
        return most * (len(self._nothing) + 2) + self._fixed_storage

    # Files

    def state(self) -> Any:
        """Return everything learned as plain values."""
        counts = range(len(self.pulls))
        return KeptState(
            clock=self.clock,
            merges=self.merges,
            pulls=self.pulls,
            states=[self.columns[:, j, : self.kept[j]].T.tolist() for j in counts],
            stands_for=[self.stands_for[j, : self.kept[j]].tolist() for j in counts],
            seen_at=[self.seen_at[j, : self.kept[j]].tolist() for j in counts],
            means=self.means.tolist(),
            drift=None if self.drift is None else self.drift.state(),
            counts_for=None
            if self._counts_for is None
            else [[each[j, : self.kept[j]].tolist() for j in counts] for each in self._counts_for],
            room=self.stands_for.shape[1],
            blurred=self.blurred.tolist(),
            merged_otherwise=self.merged_otherwise.tolist(),
        )

    def restore(self, state: Any) -> None:
        """Restore a saved state; raises SaveFileError if it is invalid."""
        saved = restored(KeptState, state, "states")
        arms = len(self.pulls)
        check_arms(saved, self.problem.shown, arms, self.asked)
        if (saved.drift is None) != (self.drift is None):
            raise SaveFileError("the saved states and the policy differ in whether memory adapts")
        if self.drift is not None:
            self.drift.restore(saved.drift)
        self.pulls, self.clock, self.merges = saved.pulls, saved.clock, saved.merges
        self.kept = [len(rows) for rows in saved.states]
        self._make_room(arms, self._saved_room(saved.room, max(self.kept)))
        for j, count in enumerate(self.kept):
            if count:
                self.columns[:, j, :count] = np.array(saved.states[j]).T
                self.stands_for[j, :count] = saved.stands_for[j]
                self.seen_at[j, :count] = saved.seen_at[j]
        self.means = (
            self._means_of_states()
            if saved.means is None
            else restored_means(saved.means, self.means.shape)
        )
        self.blurred = restored_blurs(saved.blurred, self.kept, self.pulls, self.blurred.shape)
        self.merged_otherwise = restored_merges(saved.merged_otherwise, self.blurred)
        self._counts_for = None
        if saved.counts_for is not None:
            room = self.stands_for.shape[1]
            self._counts_for = restored_counts(saved.counts_for, self.kept, room)

    def _saved_room(self, saved: int, most: int) -> int:
        """Return the room of a saved memory, on which the order of its sums depends."""
        if most <= saved <= max(self.capacity, 2 * most, FIRST_ROOM):
            return saved
        room = min(FIRST_ROOM, self.asked)  # a file that does not say it, or that asks for too much
        while room < most:
            room = min(2 * room, self.asked)
        return room

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        for name in ("pulls", "in_flight", "kept"):
            setattr(twin, name, list(getattr(self, name)))
        for name in ("columns", "stands_for", "seen_at", "means", "divisors", "blurred"):
            setattr(twin, name, getattr(self, name).copy())
        twin._forget_sights()
        twin.drift = None if self.drift is None else self.drift.copy()
        if self._counts_for is not None:
            twin._counts_for = (self._counts_for[0].copy(), self._counts_for[1].copy())
        return twin
