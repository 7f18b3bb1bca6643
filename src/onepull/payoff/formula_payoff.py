"""A reward given as a formula: its properties are derived from it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache

import numpy as np

from onepull.arrays import Array
from onepull.errors import FormulaError
from onepull.formula import Bounds, Formula
from onepull.payoff import box_points
from onepull.payoff.facts import Fact
from onepull.payoff.payoff import Payoff, State
from onepull.payoff.reward import LARGEST_REWARD, slack
from onepull.spaces import FAILED, Box, Finite, Interval, Space

SPACE_PIECES = 4096  # pieces that the spaces are cut into, fewer for a large formula
STATE_PIECES = (1, 64, 1024)  # the states are cut finer until the bounds are tight
ENCLOSING_WORK = 2**20  # the cost of a formula times boxes to enclose at a time, roughly
FEWEST_BOXES = 64  # boxes to enclose at a time, at least
CORNERS = 64
MOST_WRITTEN_PARTS = 4096  # parts of a formula times contexts to write out as code
REMEMBERED_FUNCTIONS = 16  # functions that were written out, of one reward
SLOPE = 1e-9  # least slope that counts as strictly monotone, relative to the whole range
STRICT = ("increasing", "decreasing")


class FormulaPayoff(Payoff):
    """A formula over the context and state fields.

    >>> from onepull.payoff import Reward
    >>> from onepull.spaces import Finite, Interval
    >>> bits, capacity = Box(bits=Finite([1, 2])), Box(capacity=Interval(0, 7))
    >>> payoff = FormulaPayoff(Reward("min(bits, capacity)"), bits, capacity)
    >>> payoff.monotone["capacity"]
    Fact(value='nondecreasing', how='derived')
    """

    def _work_out(self) -> None:
        known = self.fixed.values
        names = (*self.names, *known)
        formula = Formula(str(self.reward.source), names, self._words, hidden=self._hidden)
        formula = formula.fixed(known)
        self.formula = formula if self.failure is None else formula.unless(FAILED, self.failure)
        self.scalar = self.formula.scalar
        self.vector = self.formula.vector
        self._boxes = max(FEWEST_BOXES, ENCLOSING_WORK // self.formula.cost)
        self._written: dict[bytes, Callable[[State], list[float]]] = {}
        self._strict_at = lru_cache(maxsize=4096)(self._strictly_monotone)
        # Raises FormulaError if the formula is undefined anywhere on the declared spaces.
        budget = min(SPACE_PIECES, self._boxes)
        everywhere = box_points.pieces(Box({**self.context, **self.state}), budget, 2 * budget)
        found = self.formula.enclose(everywhere)
        self._outer = float(np.min(found.low)), float(np.max(found.high))

    def computes_as(self, other: Payoff) -> bool:
        """Whether another reward is the same function, as far as that can be told."""
        return super().computes_as(other) or (
            isinstance(other, FormulaPayoff) and self.formula.computes_as(other.formula)
        )

    @cached_property
    def reach(self) -> float:
        """The largest size of a context and a state at which no reward overflows.

        It concerns the fields that have no bounds.  It is infinite if no reward can overflow, and
        0 if all do.
        """
        if math.isfinite(self.whole_range[0]):
            return math.inf
        least, most = -1000, 1000
        if not self._fits(2.0**least):
            return 0.0
        while most - least > 1:
            middle = (least + most) // 2
            least, most = (middle, most) if self._fits(2.0**middle) else (least, middle)
        return 2.0**least

    def _fits(self, size: float) -> bool:
        """Whether no reward is too large to compute with, if fields without bounds have a size."""
        known = {n: s for n, s in self.context.items() if math.isfinite(s.high - s.low)}
        others = {n: s for n, s in (*self.context.items(), *self.state.items()) if n not in known}
        pieces = box_points.pieces(Box(known), 256) if known else {}
        ends = {name: _ends(space, size) for name, space in others.items()}
        try:
            found = self.formula.enclose({**pieces, **ends})
        except FormulaError:
            return False
        return bool(np.min(found.low) >= -LARGEST_REWARD)

    def listing(self, contexts: Sequence[State]) -> Callable[[State], list[float]]:
        """Return a function that computes the rewards in all contexts; generated code if short.

        Policies on one problem ask for the same contexts, so the last functions are remembered.
        """
        if self.formula.cost * len(contexts) <= MOST_WRITTEN_PARTS:
            key = np.array(contexts).tobytes()  # unlike numbers, bytes distinguish 0.0 and -0.0
            if (found := self._written.get(key)) is None:
                if len(self._written) >= REMEMBERED_FUNCTIONS:
                    self._written.clear()
                found = self._written[key] = self.formula.rows(contexts)
            return found
        column = self.column(contexts)
        return lambda state: np.broadcast_to(column(state), len(contexts)).tolist()

    def column(self, contexts: Sequence[State]) -> Callable[[State], Array]:
        """Return a function that computes the rewards in all contexts on arrays."""
        columns, arrays = list(np.array(contexts).T.copy()), self.formula.arrays
        return lambda state: arrays(*columns, *state)

    def _range(self, contexts: Mapping[str, Bounds]) -> Bounds:
        given = [np.atleast_1d(end) for bounds in contexts.values() for end in bounds]
        ends = np.array(np.broadcast_arrays(*given))
        parts = [
            self._range_of_some(
                dict(zip(contexts, some.reshape(-1, 2, some.shape[-1]), strict=True))
            )
            for some in np.split(ends, range(SPACE_PIECES, ends.shape[-1], SPACE_PIECES), axis=-1)
        ]
        lows, highs = zip(*parts, strict=True)
        return np.concatenate(lows), np.concatenate(highs)

    def _range_of_some(self, contexts: Mapping[str, Bounds]) -> Bounds:
        columns = {
            name: (low[..., None], high[..., None]) for name, (low, high) in contexts.items()
        }
        count = np.size(next(iter(contexts.values()))[0])
        lows, highs = (np.full(count, end) for end in self._outer)
        finest = max(1, min(STATE_PIECES[-1], self._boxes // count))
        for budget in [*(some for some in STATE_PIECES if 16 * some <= finest), finest]:
            states = box_points.pieces(self.state, budget, min(4096, 4 * self._boxes // count))
            try:
                values = self.formula.enclose({**columns, **states})
            except FormulaError:
                continue  # these pieces are too coarse to tell that the formula is defined
            shape = np.broadcast_shapes(np.shape(values.low), (count, 1))
            lows = np.maximum(np.min(np.broadcast_to(values.low, shape), axis=-1), self._outer[0])
            highs = np.minimum(np.max(np.broadcast_to(values.high, shape), axis=-1), self._outer[1])
            if budget < finest and self._is_tight(columns, states, lows, highs):
                break
        return lows, highs

    def _is_tight(
        self, columns: Mapping[str, Bounds], states: Mapping[str, Bounds], lows: Array, highs: Array
    ) -> bool:
        """Whether the bounds are attained at corners of the pieces."""
        reached_low, reached_high = np.full(lows.shape, np.inf), np.full(lows.shape, -np.inf)
        for side in (0, 1):
            context = [bounds[side] for bounds in columns.values()]
            for corner in _corners(len(states)):
                state = [b[s] for b, s in zip(states.values(), corner, strict=True)]
                values = self.vector(*context, *(np.clip(s, -1e300, 1e300) for s in state))
                reached_low = np.fmin(reached_low, np.min(values, axis=-1))
                reached_high = np.fmax(reached_high, np.max(values, axis=-1))
        if not (np.isfinite(lows).all() and np.isfinite(highs).all()):
            return False  # no state attains an infinite bound
        close = slack(lows, highs)
        return bool(np.all((reached_low - lows <= close) & (highs - reached_high <= close)))

    def _slopes(self, box: Box, *names: str) -> dict[str, Bounds]:
        """Bound the slopes along fields; infinite if the formula is undefined between values."""
        budget = min(SPACE_PIECES, self._boxes)
        boxes = box_points.pieces(box, budget, listing=budget)
        try:
            slopes = self.formula.enclose(boxes, along=names).slopes
        except FormulaError:
            return dict.fromkeys(names, (np.full((), -np.inf), np.full((), np.inf)))
        flat = np.zeros(()), np.zeros(())
        return {name: slopes.get(name, flat) for name in names}

    @cached_property
    def _interval_slopes(self) -> dict[str, Bounds]:
        """The slopes along the continuous fields, all found at once."""
        box = Box({**self.context, **self.state})
        return self._slopes(box, *(name for name in box if isinstance(box[name], Interval)))

    def _slopes_along(self, name: str) -> Bounds:
        if name in self._interval_slopes:
            return self._interval_slopes[name]
        box = box_points.stretched(Box({**self.context, **self.state}), name)
        return self._slopes(box, name)[name]

    def _monotone(self, name: str) -> Fact[str | None]:
        direction = _direction(*self._slopes_along(name))
        return Fact(direction, "derived" if direction else "unknown")

    def _lipschitz(self, name: str) -> Fact[float]:
        low, high = self._slopes_along(name)
        return Fact(float(np.max(np.maximum(-low, high))), "derived")

    def _strict(self, context: State) -> bool:
        return self._strict_at(context)

    def _strictly_monotone(self, context: State) -> bool:
        (name,) = self.state
        if self.reward.monotone.get(name) in STRICT:
            return True
        space = self.state[name]
        assert isinstance(space, Interval)  # noqa: S101 - listed states are looked up
        here = {n: Finite([v]) for n, v in zip(self.context, context, strict=True)}
        low, high = self._slopes(Box({**here, **self.state}), name)[name]
        # If the reward is too flat, different states give the same reward after rounding.
        # Rounding inside the formula can do that too, so check values on a grid as well.
        line = box_points.cuts(space, 256)
        line = line[np.isfinite(line)]
        values = self.vector(*context, line)
        if math.isfinite(space.width):
            least = SLOPE * 2 * float(np.max(np.abs(values))) / space.width
        else:  # nowhere less than half as steep as its slopes say
            least = max(float(np.min(low)), float(np.min(-high))) / 2
        rises, steps = np.diff(values), least * np.diff(line)
        rising = np.all(low >= least) and np.all(rises >= steps)
        falling = np.all(-high >= least) and np.all(-rises >= steps)
        return bool(least > 0 and (rising or falling))


def _corners(fields: int) -> Iterable[Sequence[int]]:
    """Return the corners of a box, or a sample if there are too many."""
    if 2**fields <= CORNERS:
        return itertools.product((0, 1), repeat=fields)
    some = np.random.default_rng(0).integers(0, 2, (CORNERS - 2, fields)).tolist()
    return [(0,) * fields, (1,) * fields, *some]


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


def _ends(space: Space, size: float) -> tuple[float, float]:
    """Return the ends of a space; an end that is infinite is replaced by one of this size."""
    low = min(-size, space.high) if math.isinf(space.low) else space.low
    high = max(size, space.low) if math.isinf(space.high) else space.high
    return low, high
