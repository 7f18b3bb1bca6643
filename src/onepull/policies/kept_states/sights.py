"""Cached values of recent contexts, kept up to date state by state."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from onepull.arrays import Array
from onepull.index.highest_bound import KeptBounds
from onepull.payoff import State

if TYPE_CHECKING:
    from onepull.policies.kept_states.memory import KeptStates

MOST_SIGHTS = 64  # contexts that are remembered
MOST_ONCE = 64  # contexts that came once, of which only that is remembered
MOST_REMEMBERED = 1 << 17  # rewards in all contexts: two megabytes with what bounds need


class InTracked(NamedTuple):
    """What is known of the arms in the tracked contexts."""

    cheapest: list[float]  # what each arm costs where it costs least
    heads: list[float]  # the head start of each arm
    means: Array  # of the arms that may be chosen


class Sight:
    """What a request is decided from: what is known of each arm in one context.

    It holds no reference to its memory, which would keep both alive.

    Attributes
    ----------
    rewards
        The reward of each kept state, one row an arm.
    tops
        The highest possible reward, for all arms or for each.
    relative
        What a pull of each arm costs here, relative to where it costs least; None until somebody
        works it out.

    Examples
    --------
    >>> from onepull import AdaptiveKL, Finite, Interval, Problem
    >>> memory = AdaptiveKL(Problem(
    ...     arms=["a", "b"], context={"y": Finite([1, 2])}, state={"x": Interval(0, 4)},
    ...     reward="min(x, y)",
    ... )).memory
    >>> sight = Sight(memory, (2.0,), memory.rewards((2.0,)))
    >>> for x in (0.0, 1.5, 4.0):
    ...     memory.learn(0, {"x": x}, None)
    >>> sight.renew(memory, (2.0,))
    >>> sight.rewards[0, :3], sight.means(memory).round(2), sight.tops
    (array([0. , 1.5, 2. ]), array([1.17,  nan]), 2.0)
    """

    __slots__ = (
        "_bounds", "_clock", "_is_kept", "_kept", "_means", "_means_are_steady", "_moves",
        "relative", "rewards", "tops",
    )  # fmt: skip

    def __init__(
        self, memory: KeptStates, context: State, rewards: Array, *, is_kept: bool = False
    ) -> None:
        self.rewards, self.tops, self._is_kept = rewards, memory.tops.at(context), is_kept
        self._clock, self._kept, self._moves = memory.clock, list(memory.kept), list(memory.moves)
        self._means: Array | None = None
        self._means_are_steady = False  # whether they are of arms that do not change
        self._bounds: KeptBounds | None = None
        self.relative: list[float] | None = None

    def means(self, memory: KeptStates) -> Array:
        """Return the estimate of each arm; NaN if it was never observed."""
        if self._means is None:
            self._means_are_steady = memory.is_steady
            self._means = memory.estimates(self.rewards)
        return self._means

    def bounds(self, memory: KeptStates) -> KeptBounds:
        """Return the search for the highest bound."""
        if self._bounds is None:
            self._bounds = KeptBounds(
                self.rewards, memory.stands_for, memory.divisors, self.tops, is_kept=self._is_kept
            )
        return self._bounds

    def renew(self, memory: KeptStates, context: State) -> None:
        """Take over what was observed since; most often that is one state of one arm."""
        if memory.clock == self._clock:
            return
        self._clock, self.relative = memory.clock, None
        if not (self._means_are_steady and memory.is_steady):
            self._means = None  # as arms change, so do the estimates of those not observed
        kept, moves = self._kept, self._moves
        for arm, now in enumerate(memory.kept):
            if memory.moves[arm] != moves[arm]:
                first, moves[arm] = 0, memory.moves[arm]
            elif now != kept[arm]:
                first = kept[arm]
            else:
                continue
            kept[arm] = now
            rewards = memory.rewards_of(arm, first, context)
            self.rewards[arm, first:now] = rewards
            if self._means is not None:
                self._means[arm] = memory.estimate(arm, self.rewards)
            if self._bounds is not None and not self._bounds.update(
                arm, first, rewards, memory.pulls[arm]
            ):
                self._bounds = None


class LatestSights:
    """The sights of the latest contexts that came more than once.

    Copies and files do without them.

    >>> from onepull import AdaptiveKL, Finite, Interval, Problem
    >>> memory = AdaptiveKL(Problem(
    ...     arms=["a", "b"], context={"y": Finite([1, 2])}, state={"x": Interval(0, 4)},
    ...     reward="min(x, y)",
    ... )).memory
    >>> first, second, third = (memory.sights.at(memory, (1.0,)) for _ in range(3))
    >>> first is second, second is third, len(memory.sights)
    (False, True, 1)
    """

    __slots__ = ("_elsewhere", "_latest", "_once")

    def __init__(self) -> None:
        # Ordered, since a plain dict takes long to find its first key after many deletions.
        self._latest: OrderedDict[State, Sight] = OrderedDict()
        self._once: OrderedDict[State, None] = OrderedDict()
        self._elsewhere: tuple[int, InTracked] | None = None

    def __len__(self) -> int:
        """Return how many contexts are remembered."""
        return len(self._latest)

    def __reduce__(self) -> tuple[type[LatestSights], tuple[()]]:
        """Return what is copied and pickled: nothing."""
        return LatestSights, ()

    def elsewhere(self, clock: int) -> InTracked | None:
        """Return what was noted of the tracked contexts, if nothing was observed since."""
        noted = self._elsewhere
        return noted[1] if noted is not None and noted[0] == clock else None

    def note_elsewhere(self, clock: int, found: InTracked) -> None:
        """Note what is known in the tracked contexts."""
        self._elsewhere = clock, found

    def at(self, memory: KeptStates, context: State) -> Sight:
        """Return what is known in a context."""
        latest, once = self._latest, self._once
        sight = latest.pop(context, None)
        if sight is not None:
            sight.renew(memory, context)  # if a reward in Python raises, the sight is forgotten
            latest[context] = sight
            return sight
        rewards = memory.rewards(context)
        if context not in once:
            once[context] = None
            if len(once) > MOST_ONCE:
                once.popitem(last=False)
            return Sight(memory, context, rewards)
        del once[context]
        # Its own rewards, since a reward may return the states themselves or an array of its own.
        sight = latest[context] = Sight(memory, context, np.array(rewards), is_kept=True)
        while len(latest) > min(MOST_SIGHTS, MOST_REMEMBERED // rewards.size):
            latest.popitem(last=False)
        return sight
