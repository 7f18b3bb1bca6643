"""Where kept states are stored: as many places for each arm, and more when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from onepull.arrays import Array
from onepull.payoff.box_points import points
from onepull.payoff.formula_payoff import FormulaPayoff
from onepull.policies.kept_states.compared_rewards import tracked_contexts, unit_of
from onepull.policies.kept_states.drift import Drift
from onepull.policies.kept_states.merging import FARTHEST
from onepull.policies.kept_states.sights import LatestSights
from onepull.policies.kept_states.tops import Tops
from onepull.policies.sharing.knowledge import Knowledge
from onepull.problem import Problem, given_problem

MOST_STATES = 1 << 22  # of all arms
FIRST_ROOM = 16  # states per arm that there is room for at first


class Room(Knowledge):
    """The places of the states of each arm, and what they are compared with."""

    counts_in_flight = True
    keeps_states = True
    adds_up = False  # what is believed about change depends on the order

    def __init__(self, problem: Problem, *, capacity: int, adapts: bool) -> None:
        self.problem = given_problem(problem)
        arms = len(problem.arms)
        # Every arm has room for as many states as the one with the most.
        self.capacity = capacity_of(capacity, arms)
        self.asked, self.adapts = capacity, adapts
        self.pulls = [0] * arms  # observations
        self.in_flight = [0] * arms
        self.kept = [0] * arms  # states kept
        self.clock = 0  # observations of all arms, also of those that were removed
        self.merges = 0
        # The fields in which states of an arm differed that were merged.
        self.blurred = np.zeros((arms, len(problem.shown)), bool)
        # Whether states of an arm were merged that were alike for an earlier reward.
        self.merged_otherwise = np.zeros(arms, bool)
        self._nothing = np.array(self._some_state())
        self._make_room(arms, min(FIRST_ROOM, capacity))
        self._bind()
        self.means = np.zeros((arms, len(self.tracked)))  # of each arm in the tracked contexts
        self.drift = Drift(arms=arms, contexts=len(self.tracked)) if adapts else None
        # How much each state counts for the mean and for the deviation of its arm.
        self._counts_for: tuple[Array, Array] | None = None

    def _some_state(self) -> tuple[float, ...]:
        """Return values for places that hold no state yet, where the reward is defined."""
        spaces = self.problem.shown.values()
        found = points(self.problem.shown, 1, np.random.default_rng(0))
        return tuple(
            float(column[0]) if space.low <= column[0] <= space.high else space.low
            for space, column in zip(spaces, found.values(), strict=True)
        )

    def _make_room(self, arms: int, room: int) -> None:
        shape = (len(self._nothing), arms, room)
        self.columns = np.empty(shape)
        self.columns[:] = self._nothing[:, None, None]
        self.stands_for = np.zeros((arms, room))
        self.seen_at = np.zeros((arms, room), np.int64)
        self.divisors = np.maximum(np.array(self.pulls, np.float64), 1.0)
        self._forget_sights()

    def _forget_sights(self) -> None:
        """Forget what was worked out for contexts, after more changed than a few states."""
        self.moves = [0] * len(self.pulls)  # how often states of each arm have moved since then
        self.sights = LatestSights()
        # What is left of deviations, with the clock at which it was.
        self._faded: tuple[int, tuple[Array, Array]] | None = None

    def _bind(self) -> None:
        """Prepare what depends on the reward."""
        problem = self.problem
        self._attributes = [column[:, None] for column in np.array(problem.known).T]
        payoff = problem.payoff
        self._vector = payoff.formula.arrays if isinstance(payoff, FormulaPayoff) else payoff.vector
        # Quicker for a few states; only where it gives the same as an array of them.
        self._scalar: Callable[..., float] | None = None
        if isinstance(payoff, FormulaPayoff) and payoff.formula.is_alike_on_arrays:
            self._scalar = payoff.scalar
        self.tracked = tracked_contexts(problem)
        self._psi = payoff.across(self.tracked)
        low, high = payoff.whole_range
        before, self.unit = getattr(self, "unit", None), unit_of(high - low)
        self._may_be_far = not max(abs(low), abs(high)) * self.unit < FARTHEST
        if before is not None and before != self.unit:
            self.means = self._means_of_states()
            if self.drift is not None:
                self.drift.rescale(self.unit / before)
        self.tops = Tops(problem)
        self._forget_sights()

    def _widen(self, room: int) -> None:
        old = self.columns, self.stands_for, self.seen_at
        arms, width = self.stands_for.shape
        self._make_room(arms, room)
        new = self.columns, self.stands_for, self.seen_at
        for wide, narrow in zip(new, old, strict=True):
            wide[..., :width] = narrow
        if self._counts_for is not None:
            self._counts_for = (
                _wider(self._counts_for[0], room),
                _wider(self._counts_for[1], room),
            )

    def _compared(self, arm: int, states: Array) -> Array:
        """Return the rewards of some states of an arm where predictions are compared."""
        contexts = np.array(self.tracked).T[:, :, None]
        found = self._vector(*contexts, *self.problem.known[arm], *states[:, None, :])
        return np.array(np.broadcast_to(found, (len(self.tracked), states.shape[1])), np.float64)

    def _means_of_states(self) -> Array:
        """Return the means of each arm in the tracked contexts, from the states that are kept."""
        means = np.zeros((len(self.pulls), len(self.tracked)))
        for arm, count in enumerate(self.kept):
            if count:
                rewards = self._compared(arm, self.columns[:, arm, :count]) * self.unit
                shares = self.stands_for[arm, :count] / self.pulls[arm]
                means[arm] = np.clip(rewards, -FARTHEST, FARTHEST) @ shares
        return means

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Switch to a problem with more arms at the end, or without arm `removed`."""
        if removed is None:
            self.add_arms(problem)
        else:
            self.remove_arms(problem, [removed])

    def add_arms(self, problem: Problem) -> None:
        """Switch to a problem with more arms at the end."""
        before, arms = len(self.pulls), len(problem.arms)
        added = arms - before
        for numbers in (self.pulls, self.in_flight, self.kept):
            numbers.extend([0] * added)
        old = self.columns, self.stands_for, self.seen_at
        self._make_room(arms, self.stands_for.shape[1])
        self.columns[:, :before], self.stands_for[:before], self.seen_at[:before] = old
        self.means = np.vstack([self.means, np.zeros((added, len(self.tracked)))])
        self.blurred = np.vstack([self.blurred, np.zeros((added, len(self._nothing)), bool)])
        self.merged_otherwise = np.append(self.merged_otherwise, np.zeros(added, bool))
        if self._counts_for is not None:
            nothing = np.zeros((added, self.stands_for.shape[1]))
            mean, deviation = self._counts_for
            self._counts_for = np.vstack([mean, nothing]), np.vstack([deviation, nothing])
        if self.drift is not None:
            self.drift.add_arms(added)
        self._switch(problem)

    def remove_arms(self, problem: Problem, removed: Sequence[int]) -> None:
        """Switch to a problem without some arms."""
        gone = set(removed)
        for numbers in (self.pulls, self.in_flight, self.kept):
            numbers[:] = [number for arm, number in enumerate(numbers) if arm not in gone]
        self.columns = np.delete(self.columns, removed, axis=1)
        self.stands_for = np.delete(self.stands_for, removed, axis=0)
        self.seen_at = np.delete(self.seen_at, removed, axis=0)
        self.divisors = np.delete(self.divisors, removed)
        self.means = np.delete(self.means, removed, axis=0)
        self.blurred = np.delete(self.blurred, removed, axis=0)
        self.merged_otherwise = np.delete(self.merged_otherwise, removed)
        if self._counts_for is not None:
            mean, deviation = (np.delete(each, removed, axis=0) for each in self._counts_for)
            self._counts_for = mean, deviation
        if self.drift is not None:
            self.drift.remove_arms(removed)
        self._switch(problem)

    def _switch(self, problem: Problem) -> None:
        """Value the states of other arms."""
        self.problem = problem
        self.capacity = capacity_of(self.asked, len(problem.arms))
        self._bind()


def capacity_of(asked: int, arms: int) -> int:
    """Return how many states an arm may have, if all arms have as much room as one of them.

    >>> capacity_of(512, 4), capacity_of(512, 100_000)
    (512, 41)
    """
    return max(min(asked, MOST_STATES // arms), FIRST_ROOM)


def _wider(array: Array, room: int) -> Array:
    wide = np.zeros((len(array), room))
    wide[:, : array.shape[1]] = array
    return wide
