"""What a reward tells about a state: a set of states, one of which it was."""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from onepull.arrays import Array
from onepull.checks import whole_number
from onepull.errors import ParameterError, RewardError
from onepull.payoff import State
from onepull.payoff.box_points import is_finite, listed, points, product, size
from onepull.policies.hidden_states.reward_breaks import breaks_of
from onepull.problem import Problem
from onepull.spaces import Interval

KNOTS = 17
MOST_LEVELS = 256
MOST_CONTEXTS = 1024  # listed, so that cells can be cut where rewards begin to hide states
INSIDE = 1e-9  # of a cell: so far from its ends the reward is looked at
NEAR_END = 1e-3  # of a cell: if the reward is the same there, it is flat at that end
REMEMBERED = 1024  # contexts
BESIDE = 1e-6  # of the range of rewards: so little beside what can be, a reward is taken for it
HALVINGS = 100  # of the states, to find one

LevelSet: TypeAlias = tuple[int, ...]  # in order


class Outlook(NamedTuple):
    """What the levels are worth in one context: the most, and the middle."""

    highs: Array
    middles: Array
    top: float


class Blocks(NamedTuple):
    """Levels that a context does not tell apart, in the order of their rewards."""

    lows: list[float]
    highs: list[float]
    levels: list[LevelSet]


class Readings:
    """The levels of a state, what they are worth, and what rewards tell about them.

    Finitely many states are a level each, whatever fields they have and however the reward goes
    with them.  One interval field is cut at `knots` at equal distances, and where the reward of
    a listed context jumps or begins to be flat; every knot is a level, and every cell between
    two.  There the reward must go one way with the state.  In one context the sets that
    rewards tell have no level in common, so that nothing is told of a state by what it was not.
    With continuous contexts the reward may jump or bend within a cell.  Where it is flat from
    there on the cell counts with what is flat, and where it is flat on both sides it counts as
    its middle: estimates are then off by up to the chance of states in such a cell.

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
            self._rows = np.column_stack(list(product(listed(problem.state)).values()))
            self._place = {tuple(row): s for s, row in enumerate(self._rows.tolist())}
            self.count = len(self._rows)
        else:
            self.knots = whole_number("knots", KNOTS if knots is None else knots, least=2)
            self.edges = _edges(problem, self.knots)
            self.count = 2 * len(self.edges) - 1
        if self.count > MOST_LEVELS:
            raise ParameterError(
                f"the state has {self.count:,} levels to be told apart, at most {MOST_LEVELS:,} "
                "can be kept; list fewer states, or take fewer knots"
            )
        self.outlook = lru_cache(maxsize=REMEMBERED)(self._outlook)
        self._blocks = lru_cache(maxsize=REMEMBERED)(self._told_apart)

    def _outlook(self, context: State) -> Outlook:
        if not self.edges:
            values = self._at(context, *self._rows.T)
            return Outlook(values, values, float(values.max()))
        lows, highs = self._ends(context, INSIDE)
        return Outlook(highs, (lows + highs) / 2, float(highs.max()))

    def _at(self, context: State, *state: Array) -> Array:
        rewards = self.problem.payoff.vector(*context, *state)
        return np.array(np.broadcast_to(rewards, len(state[0])), dtype=float)

    def _ends(self, context: State, inside: float) -> tuple[Array, Array]:
        """Return the lower and the higher of the rewards next to the ends of every level."""
        edges = np.array(self.edges)
        into = inside * np.diff(edges)
        first, last = np.empty(self.count), np.empty(self.count)
        first[::2] = last[::2] = self._at(context, edges)
        first[1::2] = self._at(context, edges[:-1] + into)
        last[1::2] = self._at(context, edges[1:] - into)
        return np.minimum(first, last), np.maximum(first, last)

    def _told_apart(self, context: State) -> Blocks:
        """Return what a context tells apart: no level is in two blocks."""
        if self.edges:
            lows, highs = self._settled(context, *self._ends(context, INSIDE))
        else:
            lows = highs = self._at(context, *self._rows.T)
        order = np.argsort(lows + highs, kind="stable").tolist()
        close = _slack(np.concatenate([lows, highs]))
        found = Blocks([], [], [])
        for level in order:
            low, high = float(lows[level]), float(highs[level])
            # A flat level joins a block that is flat at the same reward.
            if found.levels and max(high, found.highs[-1]) - min(low, found.lows[-1]) <= close:
                found.levels[-1] = tuple(sorted((*found.levels[-1], level)))
                continue
            found.lows.append(low)
            found.highs.append(high)
            found.levels.append((level,))
        return found

    def _settled(self, context: State, lows: Array, highs: Array) -> tuple[Array, Array]:
        """Return the ends of levels, those of cells that are partly flat made what they count as.

        A cell that is flat at one end counts as that reward; at both ends, as the nearer one.
        """
        close = _slack(np.concatenate([lows, highs]))
        inner_lows, inner_highs = self._ends(context, NEAR_END)
        edges = np.array(self.edges)
        middles = np.zeros(self.count)
        middles[1::2] = self._at(context, (edges[:-1] + edges[1:]) / 2)
        lows, highs = lows.copy(), highs.copy()
        for k in range(1, self.count, 2):
            if highs[k] - lows[k] <= close:
                continue
            low_flat = inner_lows[k] - lows[k] <= close
            high_flat = highs[k] - inner_highs[k] <= close
            if low_flat and (not high_flat or middles[k] - lows[k] <= highs[k] - middles[k]):
                highs[k] = lows[k]
            elif high_flat:
                lows[k] = highs[k]
        return lows, highs

    def of_state(self, state: State) -> LevelSet:
        """Return the level of a state."""
        if not self.edges:
            return (self._place[state],)
        (value,) = state
        place = bisect_left(self.edges, value)
        return (2 * place,) if self.edges[place] == value else (2 * place - 1,)

    def told(self, context: State, reward: float) -> LevelSet:
        """Return the levels that give a reward in a context."""
        blocks = self._blocks(context)
        close = _slack(np.array([blocks.lows[0], blocks.highs[-1]]))
        if not blocks.lows[0] - close <= reward <= blocks.highs[-1] + close:
            raise self._refusal(context, reward, blocks)

        def off(block: int) -> float:
            away = max(blocks.lows[block] - reward, reward - blocks.highs[block])
            return away if away > close else 0.0

        # The nearest one: next to a knot, or in a cell that a context cuts, none may be around it.
        next_to = bisect_left(blocks.highs, reward - close)
        near = range(max(next_to - 1, 0), min(next_to + 3, len(blocks.lows)))
        found = min(near, key=lambda block: (off(block), blocks.highs[block] - blocks.lows[block]))
        if off(found):
            self._refuse_leap(context, reward, blocks)
        return blocks.levels[found]

    def _refuse_leap(self, context: State, reward: float, blocks: Blocks) -> None:
        """Refuse a reward that no state gives, though some give less and some give more."""
        if not self.edges:
            raise self._refusal(context, reward, blocks)
        # It goes one way with the state, so the states on either side of it can be found.
        below, above = self.edges[0], self.edges[-1]
        if self._reward(context, below) > self._reward(context, above):
            below, above = above, below
        for _ in range(HALVINGS):
            middle = 0.5 * (below + above)
            if self._reward(context, middle) < reward:
                below = middle
            else:
                above = middle
        ends = self._reward(context, below), self._reward(context, above)
        if min(abs(end - reward) for end in ends) > BESIDE * (blocks.highs[-1] - blocks.lows[0]):
            raise self._refusal(
                context, reward, blocks, f"it leaps from {ends[0]:.6g} to {ends[1]:.6g}"
            )

    def _reward(self, context: State, state: float) -> float:
        return float(self.problem.payoff.scalar(*context, state))

    def _refusal(
        self, context: State, reward: float, blocks: Blocks, because: str = ""
    ) -> RewardError:
        pairs = zip(self.problem.context, context, strict=True)
        where = ", ".join(f"{name}={value:.12g}" for name, value in pairs)
        if self.edges:
            because = because or f"it is in [{blocks.lows[0]:.6g}, {blocks.highs[-1]:.6g}]"
        else:
            because = f"it is {', '.join(f'{low:.6g}' for low in blocks.lows[:12])}"
        return RewardError(f"reward {reward!r} cannot be with {where}: {because}")

    @cached_property
    def sets(self) -> int:
        """How many sets of several levels there are that contexts tell; of many, a sample."""
        sample = points(self.problem.context, MOST_CONTEXTS, np.random.default_rng(0))
        found: set[LevelSet] = set()
        for context in zip(*(column.tolist() for column in sample.values()), strict=True):
            found.update(self._blocks(context).levels)
        return sum(len(levels) > 1 for levels in found)


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
    even: list[float] = np.linspace(space.low, space.high, knots).tolist()
    found: set[float] = set()
    if is_finite(problem.context) and size(problem.context) <= MOST_CONTEXTS:
        contexts = product(listed(problem.context))
        for context in zip(*(column.tolist() for column in contexts.values()), strict=True):
            found |= breaks_of(problem, context, even)
    # A knot next to a break is of no use.
    least = 1e-6 * space.width
    found |= {edge for edge in even if all(abs(edge - point) > least for point in found)}
    inner = [edge for edge in sorted(found) if least < edge - space.low < space.width - least]
    kept = [space.low]
    for edge in inner:
        if edge - kept[-1] > least:
            kept.append(edge)
    return [*kept, space.high]


def _slack(rewards: Array) -> float:
    """Return by how much rewards may differ and count as the same."""
    return 1e-9 * float(np.abs(rewards).max())
