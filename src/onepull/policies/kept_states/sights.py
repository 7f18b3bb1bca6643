"""What was worked out for the latest contexts, kept up to date state by state."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from onepull.arrays import Array
from onepull.index.highest_bound import KeptBounds
from onepull.payoff import State

if TYPE_CHECKING:
    from onepull.policies.kept_states.memory import KeptStates

MOST_SIGHTS = 64  # contexts that are remembered, and of those that came once
MOST_REMEMBERED = 1 << 17  # rewards of all of them


class Sight:
    """What a request is decided from: what is known of each arm in one context.

    Attributes
    ----------
    rewards
        The reward of each kept state, one row an arm.
    tops
        The highest possible reward, for all arms or for each.
    dear
        How many times as much a pull of each arm costs here as where it costs least; None until
        somebody works it out.

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
    >>> sight.renew()
    >>> sight.rewards[0, :3], sight.means.round(2), sight.tops
    (array([0. , 1.5, 2. ]), array([1.17,  nan]), 2.0)
    """

    __slots__ = (
        "_bounds", "_clock", "_context", "_is_kept", "_kept", "_means", "_memory", "_moves",
        "_was_steady", "dear", "rewards", "tops",
    )  # fmt: skip

    def __init__(
        self, memory: KeptStates, context: State, rewards: Array, *, is_kept: bool = False
    ) -> None:
        self._memory, self._context, self._is_kept = memory, context, is_kept
        self.rewards, self.tops = rewards, memory.tops.at(context)
        self._clock, self._kept, self._moves = memory.clock, list(memory.kept), list(memory.moves)
        self._means: Array | None = None
        self._was_steady = False  # whether the means are of arms that do not change
        self._bounds: KeptBounds | None = None
        self.dear: list[float] | None = None

    @property
    def means(self) -> Array:
        """The estimate of each arm; NaN if it was never observed."""
        if self._means is None:
            self._was_steady = self._memory.is_steady
            self._means = self._memory.estimates(self.rewards)
        return self._means

    @property
    def bounds(self) -> KeptBounds:
        """The search for the highest bound."""
        if self._bounds is None:
            memory = self._memory
            self._bounds = KeptBounds(
                self.rewards, memory.stands_for, memory.divisors, self.tops, is_kept=self._is_kept
            )
        return self._bounds

    def renew(self) -> None:
        """Take over what was observed since; most often that is one state of one arm."""
        memory, kept, moves = self._memory, self._kept, self._moves
        if memory.clock == self._clock:
            return
        self._clock, self.dear = memory.clock, None
        if not (self._was_steady and memory.is_steady):
            self._means = None  # as arms change, so do the estimates of those not observed
        for arm, now in enumerate(memory.kept):
            if memory.moves[arm] != moves[arm]:
                self._replace(arm)
                moves[arm] = memory.moves[arm]
            elif now != kept[arm]:
                self._add(arm, range(kept[arm], now))
            else:
                continue
            kept[arm] = now
            if self._means is not None:
                self._means[arm] = memory.estimate(arm, self.rewards)
            if self._bounds is not None and not self._bounds.settle(arm, memory.pulls[arm]):
                self._bounds = None

    def _add(self, arm: int, places: range) -> None:
        """Take over states of an arm that were kept in free places."""
        memory, rewards, bounds = self._memory, self.rewards, self._bounds
        for place in places:
            rewards[arm, place] = reward = memory.reward_of(arm, place, self._context)
            if bounds is not None:
                bounds.add(arm, place, reward, float(memory.stands_for[arm, place]))

    def _replace(self, arm: int) -> None:
        """Take over all states of an arm, after some were merged."""
        self.rewards[arm] = self._memory.rewards_of(arm, self._context)
        if self._bounds is not None:
            self._bounds.replace(arm, self.rewards[arm])


class Sights:
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

    __slots__ = ("_latest", "_once")

    def __init__(self) -> None:
        # Ordered, since a plain dict takes long to find its first key after many deletions.
        self._latest: OrderedDict[State, Sight] = OrderedDict()
        self._once: OrderedDict[State, None] = OrderedDict()

    def __reduce__(self) -> tuple[type[Sights], tuple[()]]:
        """Return what is copied and pickled: nothing."""
        return Sights, ()

    def __len__(self) -> int:
        """Return how many contexts are remembered."""
        return len(self._latest)

    def at(self, memory: KeptStates, context: State) -> Sight:
        """Return what is known in a context."""
        latest, once = self._latest, self._once
        sight = latest.get(context)
        if sight is not None:
            sight.renew()
            return sight
        rewards = memory.rewards(context)
        if context not in once:
            once[context] = None
            if len(once) > MOST_SIGHTS:
                once.popitem(last=False)
            return Sight(memory, context, rewards)
        del once[context]
        # Its own rewards, since a formula may return the states themselves.
        sight = latest[context] = Sight(memory, context, np.array(rewards), is_kept=True)
        if len(latest) > min(MOST_SIGHTS, MOST_REMEMBERED // rewards.size):
            latest.popitem(last=False)
        return sight
