"""What a reward tells about a state: a set of states, one of which it was."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from onepull.errors import ParameterError, RewardError
from onepull.formula import Array
from onepull.payoff import State
from onepull.payoff.partition import is_finite, listed, points, product, size
from onepull.problem import Problem
from onepull.spaces import Interval

KNOTS = 17
MOST_LEVELS = 1024
MOST_CONTEXTS = 4096  # listed, so that cells can be cut where rewards begin to hide states
PROBES = 9  # in a cell, to see whether the reward is flat in a part of it
INSIDE = 1e-4  # of a cell: so far from its ends the reward is looked at
HALVINGS = 60

LevelSet: TypeAlias = tuple[int, ...]  # in order


class Block(NamedTuple):
    """Neighbouring cells that a context does not tell apart, and the rewards they give."""

    low: float
    high: float
    first: int
    last: int


class Outlook(NamedTuple):
    """What the levels are worth in one context: the least and the most, cell by cell."""

    lows: Array
    highs: Array
    middles: Array
    top: float


class Readings:
    """The levels of a state, what they are worth, and what rewards tell about them.

    Finitely many states are a level each, whatever fields they have and however the reward goes
    with them.  One interval field is cut into cells: at `knots` at equal distances, and where
    the reward of a listed context begins or ends to be flat, or jumps, so that no cell is told
    in part.  There the reward must go one way with the state.

    >>> from onepull import Finite, Problem
    >>> readings = Readings(Problem(
    ...     arms=["a"],
    ...     context={"deadline": Finite([1, 3])},
    ...     state={"delay": Finite([0, 1, 2, 3, 4])},
    ...     reward="delay <= deadline",
    ... ))
    >>> readings.told((1.0,), 1.0), readings.told((3.0,), 0.0)
    ((0, 1), (4,))
    """

    def __init__(self, problem: Problem, knots: int | None = None) -> None:
        self.problem = problem
        self.knots: int | None = None
        self.edges: list[float] = []
        if is_finite(problem.state):
            if knots is not None:
                raise ParameterError("all states are listed: they take no knots")
            if size(problem.state) > MOST_LEVELS:
                raise ParameterError(
                    f"the state has {size(problem.state):,} values; at most {MOST_LEVELS:,} can "
                    "be told apart"
                )
            self._rows = np.column_stack(list(product(listed(problem.state)).values()))
            self._place = {tuple(row): s for s, row in enumerate(self._rows.tolist())}
            self.count = len(self._rows)
        else:
            self.knots = _whole(KNOTS if knots is None else knots)
            self.edges = _edges(problem, self.knots)
            self.count = len(self.edges) - 1
        self.outlook = lru_cache(maxsize=4096)(self._outlook)
        self._blocks = lru_cache(maxsize=4096)(self._cut)

    def _outlook(self, context: State) -> Outlook:
        reward = self.problem.payoff.vector
        if not self.edges:
            values = np.array(
                np.broadcast_to(reward(*context, *self._rows.T), self.count), dtype=float
            )
            return Outlook(values, values, values, float(values.max()))
        near, far = self._ends(context)
        lows, highs = np.minimum(near, far), np.maximum(near, far)
        return Outlook(lows, highs, (lows + highs) / 2, float(highs.max()))

    def _ends(self, context: State) -> tuple[Array, Array]:
        """Return the rewards just within the lower and the upper end of every cell."""
        edges = np.array(self.edges)
        inside = INSIDE * np.diff(edges)
        reward = self.problem.payoff.vector
        near, far = (
            np.array(np.broadcast_to(reward(*context, at), self.count), dtype=float)
            for at in (edges[:-1] + inside, edges[1:] - inside)
        )
        return near, far

    def _cut(self, context: State) -> list[Block]:
        """Return the cells that a context tells apart, as blocks in the order of rewards."""
        near, far = self._ends(context)
        close = _slack(near[[0]], far[[-1]])
        # Neighbours are one block where the reward is flat across the knot between them, or
        # where the one's rewards begin before the other's end.
        rises = far[-1] >= near[0]
        ahead = near[1:] - far[:-1] if rises else far[:-1] - near[1:]
        starts = [0, *(np.flatnonzero(ahead > close) + 1).tolist()]
        lasts = [*(s - 1 for s in starts[1:]), self.count - 1]
        blocks = [
            Block(*_sorted(float(near[first]), float(far[last])), first, last)
            for first, last in zip(starts, lasts, strict=True)
        ]
        return blocks if rises else blocks[::-1]

    def of_state(self, state: State) -> LevelSet:
        """Return the level of a state; on a knot between two cells it may be either."""
        if not self.edges:
            return (self._place[state],)
        (value,) = state
        first = max(bisect_left(self.edges, value) - 1, 0)
        last = min(bisect_right(self.edges, value) - 1, self.count - 1)
        return tuple(range(min(first, last), max(first, last) + 1))

    def told(self, context: State, reward: float) -> LevelSet:
        """Return the levels that give a reward in a context."""
        return self._matching(context, reward) if self.edges else self._equal(context, reward)

    def _equal(self, context: State, reward: float) -> LevelSet:
        values = self.outlook(context).middles
        found = np.flatnonzero(np.abs(values - reward) <= _slack(values))
        if not len(found):
            shown = ", ".join(f"{v:.6g}" for v in sorted(set(values.tolist()))[:12])
            raise RewardError(f"reward {reward!r} cannot be {self._where(context)}: it is {shown}")
        return tuple(found.tolist())

    def _matching(self, context: State, reward: float) -> LevelSet:
        blocks = self._blocks(context)
        ends = blocks[0].low, blocks[-1].high
        close = _slack(np.array(ends))
        found = [b for b in blocks if b.low - close <= reward <= b.high + close]
        if not found:
            # Rewards were looked at just within the cells, which leaves slits between the blocks:
            # what is in one is next to a knot, in the cell before it or after it.
            slit = close + INSIDE * (ends[1] - ends[0])
            found = [b for b in blocks if b.low - slit <= reward <= b.high + slit]
        if not found:
            raise RewardError(
                f"reward {reward!r} cannot be {self._where(context)}: "
                f"it is in [{ends[0]:.6g}, {ends[1]:.6g}]"
            )
        cells = range(min(b.first for b in found), max(b.last for b in found) + 1)
        return tuple(cells)

    @cached_property
    def sets(self) -> int:
        """How many sets of several levels there are that contexts tell; of many, a sample."""
        sample = points(self.problem.context, MOST_CONTEXTS, np.random.default_rng(0))
        found: set[LevelSet] = set()
        for context in zip(*(column.tolist() for column in sample.values()), strict=True):
            if self.edges:
                found |= {tuple(range(b.first, b.last + 1)) for b in self._blocks(context)}
            else:
                values = self.outlook(context).middles
                found |= {self._equal(context, value) for value in set(values.tolist())}
        return sum(len(levels) > 1 for levels in found)

    def _where(self, context: State) -> str:
        pairs = zip(self.problem.context, context, strict=True)
        return "with " + ", ".join(f"{name}={value:.12g}" for name, value in pairs)


def _edges(problem: Problem, knots: int) -> list[float]:
    """Return where to cut an interval state: at knots, and where rewards start to hide it."""
    if len(problem.state) > 1:
        raise ParameterError(
            f"the state has the fields {', '.join(problem.state)}: what a reward tells of several "
            "is kept only where all of their values are listed"
        )
    ((name, space),) = problem.state.items()
    assert isinstance(space, Interval)  # noqa: S101 - the listed ones are no business of this
    if not math.isfinite(space.width):
        raise ParameterError(
            f"state field {name!r} is {space!r}: only a bounded one can be cut into cells; "
            "declare the bounds within which states matter"
        )
    if problem.payoff.monotone[name].value is None:
        raise ParameterError(
            f"the reward must go one way with {name!r} in all contexts, so that the states that "
            "give the same reward are neighbours; declare it if it does: Reward(…, monotone=…)"
        )
    edges: list[float] = np.linspace(space.low, space.high, knots).tolist()
    if is_finite(problem.context) and size(problem.context) <= MOST_CONTEXTS:
        even, least = list(edges), 1e-6 * space.width
        contexts = product(listed(problem.context))
        for context in zip(*(column.tolist() for column in contexts.values()), strict=True):
            for point in _breaks(problem, context, even):
                place = bisect_left(edges, point)
                if point - edges[max(place - 1, 0)] > least and edges[place] - point > least:
                    edges.insert(place, point)
    return edges


def _breaks(problem: Problem, context: State, ends: list[float]) -> set[float]:
    """Return the points at which a context's reward, flat on one side, is no longer so."""
    probes = np.unique(np.concatenate([np.linspace(a, b, PROBES) for a, b in pairwise(ends)]))
    reward = problem.payoff.vector
    rewards = np.broadcast_to(reward(*context, probes), len(probes))
    close = _slack(rewards)
    flat = np.abs(np.diff(rewards)) <= close
    found = set()
    for i in np.flatnonzero(flat[:-1] != flat[1:]).tolist():
        # Between probes i and i+1 it is flat and from there on not, or the other way round.
        level = float(rewards[i + 1])
        inner, outer = (i + 1, i + 2) if flat[i] else (i + 1, i)
        ends_at = float(probes[inner]), float(probes[outer])
        found.add(_end_of(problem, context, level, ends_at, close))
    return found


def _end_of(
    problem: Problem, context: State, level: float, between: tuple[float, float], close: float
) -> float:
    """Return how far the reward stays at the level that it has at the first of two points."""
    inner, outer = between
    for _ in range(HALVINGS):
        middle = (inner + outer) / 2
        if abs(problem.payoff.scalar(*context, middle) - level) <= close:
            inner = middle
        else:
            outer = middle
    return (inner + outer) / 2


def _sorted(one: float, two: float) -> tuple[float, float]:
    return (one, two) if one <= two else (two, one)


def _slack(*rewards: Array) -> float:
    """Return by how much rewards may differ and count as the same."""
    return 1e-9 * max(float(np.abs(some).max()) for some in rewards)


def _whole(knots: Any) -> int:
    if isinstance(knots, bool) or not isinstance(knots, int) or knots < 2:
        raise ParameterError(f"knots must be a whole number from 2, given {knots!r}")
    return knots
