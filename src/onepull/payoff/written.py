"""A reward given as a formula: everything about it is derived."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from onepull.errors import FormulaError
from onepull.formula import Array, Bounds, Formula
from onepull.payoff import partition
from onepull.payoff.base import Payoff, State
from onepull.payoff.facts import Fact
from onepull.payoff.reward import Reward
from onepull.spaces import Box, Finite

PIECES = (1, 64, 1024)  # cut the states finer while the bounds are not tight
SLOPE_PIECES = 4096
STRICT = ("increasing", "decreasing")


class WrittenPayoff(Payoff):
    """A formula over the context and state fields.

    >>> from onepull.spaces import Finite, Interval
    >>> bits, capacity = Box(bits=Finite([1, 2])), Box(capacity=Interval(0, 7))
    >>> payoff = WrittenPayoff(Reward("min(bits, capacity)"), bits, capacity)
    >>> payoff.monotone["capacity"]
    Fact(value='nondecreasing', how='derived')
    """

    def __init__(self, reward: Reward, context: Box, state: Box) -> None:
        super().__init__(reward, context, state)
        self.formula = Formula(str(reward.source), self.names)
        self.scalar = self.formula.scalar
        self.vector = self.formula.vector
        self._strict_at = lru_cache(maxsize=4096)(self._strictly_monotone)
        # Refuses a formula that is undefined anywhere on the declared spaces.
        self.formula.enclose(partition.pieces(Box({**context, **state}), 4096))

    def listing(self, contexts: Sequence[State]) -> Callable[[State], list[float]]:
        """Return the rewards in all contexts as one generated function."""
        return self.formula.rows(contexts)

    def column(self, contexts: Sequence[State]) -> Callable[[State], Array]:
        """Return the rewards in all contexts as one pass over arrays."""
        columns, arrays = list(np.array(contexts).T.copy()), self.formula.arrays
        return lambda state: arrays(*columns, *state)

    def _range(self, contexts: Mapping[str, Bounds]) -> Bounds:
        columns = {
            name: (low[..., None], high[..., None]) for name, (low, high) in contexts.items()
        }
        count = np.size(next(iter(contexts.values()))[0])
        lows = highs = np.zeros(())
        for budget in PIECES:
            states = partition.pieces(self.state, budget)
            values = self.formula.enclose({**columns, **states})
            shape = np.broadcast_shapes(np.shape(values.low), (count, 1))
            lows = np.min(np.broadcast_to(values.low, shape), axis=-1)
            highs = np.max(np.broadcast_to(values.high, shape), axis=-1)
            finer = len(next(iter(states.values()))[0]) * 64 * count
            if self._is_tight(columns, states, lows, highs) or finer > 2**22:
                break
        return lows, highs

    def _is_tight(
        self, columns: Mapping[str, Bounds], states: Mapping[str, Bounds], lows: Array, highs: Array
    ) -> bool:
        """Whether values at the corners of the pieces reach the bounds."""
        reached_low, reached_high = np.full(lows.shape, np.inf), np.full(lows.shape, -np.inf)
        for side in (0, 1):
            context = [bounds[side] for bounds in columns.values()]
            for corner in np.ndindex(*(2,) * len(states)):
                state = [b[s] for b, s in zip(states.values(), corner, strict=True)]
                values = self.vector(*context, *(np.clip(s, -1e300, 1e300) for s in state))
                reached_low = np.fmin(reached_low, np.min(values, axis=-1))
                reached_high = np.fmax(reached_high, np.max(values, axis=-1))
        slack = 1e-9 * np.maximum(1.0, np.maximum(np.abs(lows), np.abs(highs)))
        return bool(np.all((reached_low - lows <= slack) & (highs - reached_high <= slack)))

    def _slopes(self, name: str, box: Box) -> Bounds:
        """Bound the slopes along one field; nothing is known where the formula has a gap."""
        boxes = partition.pieces(partition.stretched(box, name), SLOPE_PIECES)
        try:
            slopes = self.formula.enclose(boxes, along=[name]).slopes
        except FormulaError:
            return np.full((), -np.inf), np.full((), np.inf)
        return slopes.get(name, (np.zeros(()), np.zeros(())))

    def _monotone(self, name: str) -> Fact[str | None]:
        direction = _direction(*self._slopes(name, Box({**self.context, **self.state})))
        return Fact(direction, "derived" if direction else "unknown")

    def _lipschitz(self, name: str) -> Fact[float]:
        low, high = self._slopes(name, Box({**self.context, **self.state}))
        return Fact(float(np.max(np.maximum(-low, high))), "derived")

    def _strict(self, context: State) -> bool:
        return self._strict_at(context)

    def _strictly_monotone(self, context: State) -> bool:
        (name,) = self.state
        if self.reward.monotone.get(name) in STRICT:
            return True
        here = {n: Finite([v]) for n, v in zip(self.context, context, strict=True)}
        return _direction(*self._slopes(name, Box({**here, **self.state}))) in STRICT


def _direction(low: Array, high: Array) -> str | None:
    if np.all(low > 0):
        return "increasing"
    if np.all(high < 0):
        return "decreasing"
    if np.all(low >= 0):
        return "nondecreasing"
    if np.all(high <= 0):
        return "nonincreasing"
    return None
