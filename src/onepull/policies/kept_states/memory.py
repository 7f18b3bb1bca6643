"""The observed states of each arm, revalued by the reward for every request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import frexp
from typing import Any, NamedTuple, Self

import numpy as np

from onepull.arrays import Array
from onepull.checks import restored
from onepull.errors import ParameterError, SaveFileError
from onepull.payoff import State
from onepull.payoff.box_points import is_finite, listed, points, product, size
from onepull.payoff.formula_payoff import FormulaPayoff
from onepull.payoff.reward import NARROWEST
from onepull.policies.kept_states.counting import counts_under
from onepull.policies.kept_states.drift import DECAYS, STEADY, Drift
from onepull.policies.kept_states.merging import FARTHEST, RECENT, merged_pairs, merging_errors
from onepull.policies.kept_states.saved_states import (
    KeptState,
    check_arms,
    restored_counts,
    restored_means,
)
from onepull.policies.kept_states.tops import Tops
from onepull.policies.sharing.knowledge import Knowledge
from onepull.policies.sharing.observation import mean_state, observed_outcome
from onepull.problem import Problem, given_problem

MOST_STATES = 1 << 22  # of all arms
FIRST = 16  # states per arm that there is room for at first
TRACKED = 8  # contexts in which predictions are compared


class View(NamedTuple):
    """What is known of each arm in one context; arms never observed have empty rows."""

    rewards: Array  # the reward of each kept state, one row an arm
    stands_for: Array  # how many observations it stands for
    pulls: Array  # the observations of each arm, 1 if there is none
    tops: Any  # the highest possible reward, for all arms or for each
    weights: Array | None  # the share of each state in the estimate, if arms change
    errors: Any  # then also the variance of each estimate, in units of the noise


class KeptStates(Knowledge):
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
    >>> from onepull import Finite, Interval
    >>> memory = KeptStates(Problem(
    ...     arms=["a"], context={"y": Finite([1, 2])}, state={"x": Interval(0, 4)},
    ...     reward="min(x, y)",
    ... ), capacity=512, adapts=True)
    >>> for x in (0.0, 1.5, 4.0):
    ...     memory.learn(0, {"x": x}, None)
    >>> view = memory.view((2.0,))
    >>> view.rewards[0, :3], view.stands_for[0, :3], view.tops
    (array([0. , 1.5, 2. ]), array([1., 1., 1.]), 2.0)
    """

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
        self._nothing = np.array(self._some_state())
        self._make_room(arms, min(FIRST, capacity))
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
        self._divisors = np.maximum(np.array(self.pulls, np.float64), 1.0)

    def _bind(self) -> None:
        """Prepare what depends on the reward."""
        problem = self.problem
        self._attributes = [column[:, None] for column in np.array(problem.known).T]
        payoff = problem.payoff
        self._vector = payoff.formula.arrays if isinstance(payoff, FormulaPayoff) else payoff.vector
        self.tracked = _spread(problem)
        self._psi = payoff.across(self.tracked)
        low, high = payoff.whole_range
        before, self.unit = getattr(self, "unit", None), unit_of(high - low)
        self._may_be_far = not max(abs(low), abs(high)) * self.unit < FARTHEST
        if before is not None and before != self.unit:
            self.means = self._means_of_states()
            if self.drift is not None:
                self.drift.rescale(self.unit / before)
        self.tops = Tops(problem)

    # Learning

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Keep one state, or the one that a reward and its context determine."""
        outcome = observed_outcome(self.problem, arm, fields, reward)
        self._keep(arm, outcome[len(self._attributes) :], self.clock)
        self.in_flight[arm] = max(self.in_flight[arm] - 1, 0)

    def check(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Raise what `learn` would raise, and change nothing."""
        outcome = observed_outcome(self.problem, arm, fields, reward)
        self._psi((*self.problem.known[arm], *outcome[len(self._attributes) :]))

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
        self._divisors[arm] = self.pulls[arm]

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

    def _merge_old(self, arm: int) -> None:
        """Merge a quarter of the older states of an arm into others."""
        old = self.kept[arm] - min(RECENT, self.capacity // 2)
        states, weights = self.columns[:, arm, :old], self.stands_for[arm]
        rewards = self._compared(arm, states) * self.unit
        pairs = list(merged_pairs(states, rewards, weights[:old], self.merges))
        self.merges += 1
        left = np.ones(self.kept[arm], bool)
        for stays, goes in pairs:
            weights[stays] += weights[goes]
            left[goes] = False
            for counts in self._counts_for or ():
                counts[arm, stays] += counts[arm, goes]
        places = np.flatnonzero(left)
        self.kept[arm] = count = len(places)
        for array in (*self.columns, self.stands_for, self.seen_at, *(self._counts_for or ())):
            array[arm, :count] = array[arm, places]
        for array in (self.stands_for, *(self._counts_for or ())):
            array[arm, count:] = 0.0

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

    def expect(self, arm: int, fields: Mapping[str, Any], pulls: int) -> None:
        """Count pulls in flight, in any context."""
        super().expect(arm, fields, pulls)
        self.in_flight[arm] = max(self.in_flight[arm] + pulls, 0)

    # Looking

    def _rewards(self, context: State) -> Array:
        """Return the reward of every kept state in a context, one row an arm."""
        rewards = self._vector(*context, *self._attributes, *self.columns)
        if np.shape(rewards) != self.stands_for.shape:
            rewards = np.broadcast_to(rewards, self.stands_for.shape)
        return np.asarray(rewards, np.float64)

    def view(self, context: State) -> View:
        """Return the rewards of the kept states in a context, and how much each counts."""
        weights = errors = None
        if self.drift is not None and self.drift.chosen != STEADY:
            left, errors = self.drift.fading(self.clock)
            if self._counts_for is not None:
                weights = self._counts_for[0] + left[:, None] * self._counts_for[1]
        rewards, tops = self._rewards(context), self.tops.at(context)
        return View(rewards, self.stands_for, self._divisors, tops, weights, errors)

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

    # Arms, merging and files

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Switch to a problem with one more arm at the end, or without arm `removed`."""
        self.problem = problem
        self.capacity = capacity_of(self.asked, len(problem.arms))
        if removed is None:
            for numbers in (self.pulls, self.in_flight, self.kept):
                numbers.append(0)
            old = self.columns, self.stands_for, self.seen_at
            self._make_room(len(self.pulls), self.stands_for.shape[1])
            self.columns[:, :-1], self.stands_for[:-1], self.seen_at[:-1] = old
            self.means = np.vstack([self.means, np.zeros((1, len(self.tracked)))])
            if self._counts_for is not None:
                nothing = np.zeros((1, self.stands_for.shape[1]))
                mean, deviation = self._counts_for
                self._counts_for = np.vstack([mean, nothing]), np.vstack([deviation, nothing])
            if self.drift is not None:
                self.drift.add_arm()
        else:
            for numbers in (self.pulls, self.in_flight, self.kept):
                del numbers[removed]
            self.columns = np.delete(self.columns, removed, axis=1)
            self.stands_for = np.delete(self.stands_for, removed, axis=0)
            self.seen_at = np.delete(self.seen_at, removed, axis=0)
            self._divisors = np.delete(self._divisors, removed)
            self.means = np.delete(self.means, removed, axis=0)
            if self._counts_for is not None:
                mean, deviation = (np.delete(each, removed, axis=0) for each in self._counts_for)
                self._counts_for = mean, deviation
            if self.drift is not None:
                self.drift.remove_arm(removed)
        self._bind()

    def set_attributes(self, problem: Problem, accepted: float | None = None) -> None:
        """Switch to a problem with other attributes of its arms, and revalue what was seen."""
        fresh = self._relearned(self._everything(), problem)
        pairs = zip(self.problem.known, problem.known, strict=True)
        fresh.check_merging(accepted, [arm for arm, (old, new) in enumerate(pairs) if old != new])
        self.__dict__.update(fresh.__dict__)

    def _everything(self) -> list[_Seen]:
        """Return all kept states in the order of their trials."""
        return [
            _Seen(int(self.seen_at[j, i]), j, self.columns[:, j, i].tolist(), stands_for)
            for j, count in enumerate(self.kept)
            for i, stands_for in enumerate(self.stands_for[j, :count].tolist())
        ]

    def _relearn(self, seen: Sequence[_Seen]) -> None:
        """Forget everything but these states, and learn them again."""
        self.__dict__.update(self._relearned(seen, self.problem).__dict__)

    def _relearned(self, seen: Sequence[_Seen], problem: Problem) -> KeptStates:
        """Return a memory that has learned only these states, maybe for another problem."""
        fresh = KeptStates(problem, capacity=self.asked, adapts=self.adapts)
        fresh.merges = self.merges
        merged, whole = _parted(sorted(seen, key=lambda one: one.trial))
        for states, is_whole in ((merged, False), (whole, True)):
            for each in states:
                fresh._keep(
                    each.arm,
                    each.shown,
                    each.trial,
                    stands_for=each.stands_for,
                    is_whole=is_whole,
                )
        fresh.clock = max(fresh.clock, self.clock, sum(fresh.pulls))
        fresh.in_flight = self.in_flight
        return fresh

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add the states that `other` has seen; its arm `arms[j]` is arm j here."""
        place = {theirs: mine for mine, theirs in enumerate(arms)}
        theirs = [one._replace(arm=place[one.arm]) for one in other._everything()]
        self._relearn([*self._everything(), *theirs])

    def inherit(self, old: Self, accepted: float = 0.0) -> float:
        """Take over the states seen in a problem with narrower spaces, exactly."""
        del accepted
        before, now = old.problem.shown, self.problem.shown
        seen = [
            one._replace(shown=list(now.read(before.fields(one.shown))))
            for one in old._everything()
        ]
        self.merges, self.clock = old.merges, old.clock
        self._relearn(seen)
        return 0.0

    def check_merging(self, accepted: float | None, arms: Iterable[int]) -> None:
        """Raise ParameterError if merging puts estimates of some arms off by more than accepted.

        If nothing is said, what chance makes is accepted.
        """
        off, chance = self.merging_error(arms)
        if off > (chance if accepted is None else accepted):
            raise ParameterError(
                f"estimates may be off by {off:.6g}, where chance makes them off by "
                f"{chance:.6g}, since states that were alike for the present reward were merged.  "
                f"Pass error={off:.6g} to accept that, or keep more states "
                f"(kept={self.asked} now)"
            )

    def merging_error(self, arms: Iterable[int]) -> tuple[float, float]:
        """Return how far merging may put an estimate off in 95 % of cases, and how far chance does.

        They are those of the arm and the context where merging does most beside chance.
        """
        worst, errors = 0.0, (0.0, 0.0)
        for arm in arms:
            count = self.kept[arm]
            weights = self.stands_for[arm, :count]
            states = self.columns[:, arm, :count]
            # Equal states are merged first, so where few are left that differ, no others were.
            few = (self.capacity - min(RECENT, self.capacity // 2)) // 2
            if count == self.pulls[arm] or len(np.unique(states, axis=1).T) <= few:
                continue
            merging, chance = merging_errors(states, self._compared(arm, states), weights)
            shares = merging / np.maximum(chance, NARROWEST)
            place = int(np.argmax(shares))
            if shares[place] > worst:
                worst = float(shares[place])
                errors = 1.96 * float(merging[place]), 1.96 * float(chance[place])
        return errors

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
        self._counts_for = None
        if saved.counts_for is not None:
            room = self.stands_for.shape[1]
            self._counts_for = restored_counts(saved.counts_for, self.kept, room)

    def _saved_room(self, saved: int, most: int) -> int:
        """Return the room of a saved memory, on which the order of its sums depends."""
        if most <= saved <= max(self.capacity, 2 * most, FIRST):
            return saved
        room = min(FIRST, self.asked)  # a file that does not say it, or that asks for too much
        while room < most:
            room = min(2 * room, self.asked)
        return room

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        for name in ("pulls", "in_flight", "kept"):
            setattr(twin, name, list(getattr(self, name)))
        for name in ("columns", "stands_for", "seen_at", "means", "_divisors"):
            setattr(twin, name, getattr(self, name).copy())
        twin.drift = None if self.drift is None else self.drift.copy()
        if self._counts_for is not None:
            twin._counts_for = (self._counts_for[0].copy(), self._counts_for[1].copy())
        return twin


class _Seen(NamedTuple):
    trial: int
    arm: int
    shown: list[float]
    stands_for: float


def _parted(seen: Sequence[_Seen]) -> tuple[list[_Seen], list[_Seen]]:
    """Return the states of an arm up to the newest that others were merged into, and the rest.

    Merging leaves more of the rare states, so that what is left of the older ones looks like a
    change.
    """
    newest: dict[int, int] = {}
    for one in seen:
        if one.stands_for > 1.0:
            newest[one.arm] = one.trial
    merged: list[_Seen] = []
    whole: list[_Seen] = []
    for one in seen:
        (merged if one.trial <= newest.get(one.arm, -1) else whole).append(one)
    return merged, whole


def capacity_of(asked: int, arms: int) -> int:
    """Return how many states an arm may have, if all arms have as much room as one of them.

    >>> capacity_of(512, 4), capacity_of(512, 100_000)
    (512, 41)
    """
    return max(min(asked, MOST_STATES // arms), FIRST)


def unit_of(size: float) -> float:
    """Return a factor that takes numbers of a size to about 1; a power of two, which is exact.

    >>> unit_of(3.0), unit_of(1e300) * 1e300 < 2.0, unit_of(0.0), unit_of(np.inf)
    (0.25, True, 1.0, 1.0)
    """
    return 2.0 ** -min(max(frexp(size)[1], -1000), 1000) if 0.0 < size < np.inf else 1.0


def _spread(problem: Problem) -> list[State]:
    """Return the contexts in which predictions are compared: all if they are few."""
    box = problem.context
    if is_finite(box) and size(box) <= TRACKED:
        columns = product(listed(box))
    else:
        sample = points(box, TRACKED, np.random.default_rng(0))
        columns = {name: column[-TRACKED:] for name, column in sample.items()}
    return list(zip(*(column.tolist() for column in columns.values()), strict=True))


def _wider(array: Array, room: int) -> Array:
    wide = np.zeros((len(array), room))
    wide[:, : array.shape[1]] = array
    return wide
