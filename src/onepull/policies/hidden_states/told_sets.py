"""The set of states that are consistent with an observed reward."""

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
from onepull.payoff.box_points import all_combinations, is_finite, listed_values, points, size
from onepull.payoff.reward import slack
from onepull.policies.hidden_states.reward_breaks import breaks_of
from onepull.problem import Problem, given_problem
from onepull.spaces import Interval

READING_KNOTS = 17
MOST_STATE_LEVELS = 256
MOST_CONTEXTS = 1024  # listed, so that cells can be cut where a reward becomes flat
INSIDE = 1e-9  # of a cell: the reward is computed at this distance from its ends
NEAR_END = 1e-3  # of a cell: a reward that is the same there is flat at that end
REMEMBERED_CONTEXTS = 1024  # contexts
LISTED_REWARDS = 12  # possible rewards in an error message
BESIDE = 1e-6  # of the range of rewards: tolerance for a reward next to a possible one
STATE_HALVINGS = 100  # of an interval of states

LevelSet: TypeAlias = tuple[int, ...]  # in increasing order


class Outlook(NamedTuple):
    """The highest and the middle reward of every level in one context, and the highest of all."""

    highs: Array
    middles: Array
    top: float


class Blocks(NamedTuple):
    """Sets of levels that give the same reward in a context, in order of reward."""

    lows: list[float]
    highs: list[float]
    levels: list[LevelSet]


class Readings:
    """The levels of a state, their rewards, and the levels consistent with a reward.

    If states are listed, each is a level.  They may have any fields and any reward.  A single
    interval field is cut at equally spaced `knots`, and where the reward of a listed context
    jumps or becomes flat.  Each knot is a level, and so is each cell between two knots.  For an
    interval the reward must be monotone in the state.  In a given context different rewards
    belong to disjoint sets of levels.  If pulls can fail, a failed pull is one more level, the
    last.  If arms have attributes, a reward tells something else of each arm: `known` are the
    attributes of the arm, as numbers.

    With continuous contexts the reward may jump or bend within a cell.  A cell that is flat at
    one end counts as that end.  A cell that is flat at both ends counts as the nearer one.
    Estimates are then off by up to the probability of the states in such a cell.

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
        self.problem = given_problem(problem)
        self._first = len(problem.known[0])  # field of the state in an outcome
        self._fails = problem.failure is not None
        self.knots: int | None = None
        self.edges: list[float] = []
        if is_finite(problem.state):
            if knots is not None:
                raise ParameterError("knots are for an interval state; all states are listed here")
            self._rows = np.column_stack(
                list(all_combinations(listed_values(problem.state)).values())
            )
            self._place = {tuple(row): s for s, row in enumerate(self._rows.tolist())}
            self.count = len(self._rows)
        else:
            self.knots = whole_number(
                "knots", READING_KNOTS if knots is None else knots, least=2, most=MOST_STATE_LEVELS
            )
            self.edges = _edges(problem, self.knots)
            self.count = 2 * len(self.edges) - 1
        self._shown = self.count  # the levels of a pull that does not fail
        self.count += self._fails
        if self.count > MOST_STATE_LEVELS:
            raise ParameterError(
                f"the state has {self.count:,} levels; at most {MOST_STATE_LEVELS:,} are allowed: "
                "list fewer states or use fewer knots"
            )
        self.outlook = lru_cache(maxsize=REMEMBERED_CONTEXTS)(self._outlook)
        self._blocks = lru_cache(maxsize=REMEMBERED_CONTEXTS)(self._told_apart)

    def on(self, problem: Problem) -> Readings:
        """Return the same levels for a problem with other arms; raises if they would be others."""
        if problem.known == self.problem.known:
            return self
        found = Readings(problem, self.knots)
        if found.edges != self.edges:
            raise ParameterError(
                "the cells of an interval state are cut for the attributes of the arms; list the "
                "values of the state to change them: Finite([…])"
            )
        return found

    def _outlook(self, context: State, known: State = ()) -> Outlook:
        if self.edges:
            lows, highs = self._ends(context, known, INSIDE)
        else:
            lows = highs = self._at(context, known, *self._rows.T)
        middles = (lows + highs) / 2
        if self._fails:
            nothing = (0.0,) * len(self.problem.state)  # whatever it is
            failed = self.problem.payoff.scalar(*context, *known, *nothing, 1.0)
            highs, middles = np.append(highs, failed), np.append(middles, failed)
        return Outlook(highs, middles, float(highs.max()))

    def _at(self, context: State, known: State, *state: Array) -> Array:
        """Return the rewards of states that a pull showed."""
        ending = (0.0,) * self._fails
        rewards = self.problem.payoff.vector(*context, *known, *state, *ending)
        return np.array(np.broadcast_to(rewards, len(state[0])), dtype=float)

    def _ends(self, context: State, known: State, inside: float) -> tuple[Array, Array]:
        """Return the lower and the higher of the rewards next to the ends of every level."""
        edges = np.array(self.edges)
        into = inside * np.diff(edges)
        first, last = np.empty(self._shown), np.empty(self._shown)
        first[::2] = last[::2] = self._at(context, known, edges)
        first[1::2] = self._at(context, known, edges[:-1] + into)
        last[1::2] = self._at(context, known, edges[1:] - into)
        return np.minimum(first, last), np.maximum(first, last)

    def _told_apart(self, context: State, known: State = ()) -> Blocks:
        """Return the levels of a context by their reward; each level is in one block.

        A failed pull is reported as one, so it is in none of them.
        """
        if self.edges:
            lows, highs = self._settled(context, known, *self._ends(context, known, INSIDE))
        else:
            lows = highs = self._at(context, known, *self._rows.T)
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

    def _settled(
        self, context: State, known: State, lows: Array, highs: Array
    ) -> tuple[Array, Array]:
        """Return the lowest and highest reward of each level, with partly flat cells made flat.

        A cell that is flat at one end counts as that reward; at both ends, as the nearer one.
        """
        close = _slack(np.concatenate([lows, highs]))
        inner_lows, inner_highs = self._ends(context, known, NEAR_END)
        edges = np.array(self.edges)
        middles = np.zeros(self._shown)
        middles[1::2] = self._at(context, known, 0.5 * edges[:-1] + 0.5 * edges[1:])
        lows, highs = lows.copy(), highs.copy()
        for k in range(1, self._shown, 2):
            if highs[k] - lows[k] <= close:
                continue
            low_flat = inner_lows[k] - lows[k] <= close
            high_flat = highs[k] - inner_highs[k] <= close
            if low_flat and (not high_flat or middles[k] - lows[k] <= highs[k] - middles[k]):
                highs[k] = lows[k]
            elif high_flat:
                lows[k] = highs[k]
        return lows, highs

    def of_state(self, outcome: State) -> LevelSet:
        """Return the level of an outcome: attributes, state, and whether the pull failed."""
        if self._fails and outcome[-1] > 0.0:
            return (self.count - 1,)
        state = outcome[self._first : self._first + len(self.problem.state)]
        if not self.edges:
            return (self._place[state],)
        (value,) = state
        place = bisect_left(self.edges, value)
        return (2 * place,) if self.edges[place] == value else (2 * place - 1,)

    def told(self, context: State, reward: float, known: State = ()) -> LevelSet:
        """Return the levels that give a reward in a context."""
        blocks = self._blocks(context, known)
        close = _slack(np.array([blocks.lows[0], blocks.highs[-1]]))
        if not blocks.lows[0] - close <= reward <= blocks.highs[-1] + close:
            raise self._refusal(context, reward, blocks)

        def off(block: int) -> float:
            away = max(blocks.lows[block] - reward, reward - blocks.highs[block])
            return away if away > close else 0.0

        # The nearest block: next to a knot or in a cut cell, no block may contain the reward.
        next_to = bisect_left(blocks.highs, reward - close)
        near = range(max(next_to - 1, 0), min(next_to + 3, len(blocks.lows)))
        found = min(near, key=lambda block: (off(block), blocks.highs[block] - blocks.lows[block]))
        if off(found):
            self._refuse_leap(context, known, reward, blocks)
        return blocks.levels[found]

    def _refuse_leap(self, context: State, known: State, reward: float, blocks: Blocks) -> None:
        """Raise if the reward lies inside a jump: states give less and more, but none gives it."""
        if not self.edges:
            raise self._refusal(context, reward, blocks)
        # The reward is monotone, so bisection finds the states on both sides.
        below, above = self.edges[0], self.edges[-1]
        if self._reward(context, known, below) > self._reward(context, known, above):
            below, above = above, below
        for _ in range(STATE_HALVINGS):
            middle = 0.5 * (below + above)
            if self._reward(context, known, middle) < reward:
                below = middle
            else:
                above = middle
        ends = self._reward(context, known, below), self._reward(context, known, above)
        if min(abs(end - reward) for end in ends) > BESIDE * (blocks.highs[-1] - blocks.lows[0]):
            raise self._refusal(
                context, reward, blocks, f"the reward jumps from {ends[0]:.12g} to {ends[1]:.12g}"
            )

    def _reward(self, context: State, known: State, state: float) -> float:
        ending = (0.0,) * self._fails
        return float(self.problem.payoff.scalar(*context, *known, state, *ending))

    def _refusal(
        self, context: State, reward: float, blocks: Blocks, because: str = ""
    ) -> RewardError:
        where = self.problem.context.shown(context)
        if self.edges:
            because = because or f"expected {blocks.lows[0]:.12g} to {blocks.highs[-1]:.12g}"
        else:
            more = ", …" if len(blocks.lows) > LISTED_REWARDS else ""
            because = (
                f"expected {', '.join(f'{low:.12g}' for low in blocks.lows[:LISTED_REWARDS])}{more}"
            )
        return RewardError(f"reward {reward!r} is impossible for {where}; {because}")

    @cached_property
    def sets(self) -> int:
        """The number of sets with several levels, over all contexts or a sample of them."""
        sample = points(self.problem.context, MOST_CONTEXTS, np.random.default_rng(0))
        found: set[LevelSet] = set()
        for context in zip(*(column.tolist() for column in sample.values()), strict=True):
            for known in set(self.problem.known):
                found.update(self._blocks(context, known).levels)
        return sum(len(levels) > 1 for levels in found)


def _edges(problem: Problem, knots: int) -> list[float]:
    """Return where to cut an interval state: at knots, and where a reward jumps or becomes flat."""
    if len(problem.state) > 1:
        raise ParameterError(
            f"the state has the fields {', '.join(problem.state)}; a state with several fields "
            "must list the values of each: Finite([…])"
        )
    ((name, space),) = problem.state.items()
    assert isinstance(space, Interval)  # noqa: S101 - listed states are not cut
    if not math.isfinite(space.width):
        raise ParameterError(
            f"state field {name!r} is {space!r}; only a bounded interval can be cut into cells: "
            "declare the bounds within which states matter"
        )
    # One arm of each kind: those with the same attributes have the same reward.
    kinds = dict(zip(problem.known, problem.arms, strict=True)).values()
    payoffs = [problem.payoff_of(arm) for arm in kinds]
    if any(payoff.monotone[name].value is None for payoff in payoffs):
        raise ParameterError(
            f"the reward must be monotone in {name!r} in every context, so that the states with "
            "the same reward are neighbours; if it is, declare it: Reward(…, monotone=…)"
        )
    even: list[float] = np.linspace(space.low, space.high, knots).tolist()
    found: set[float] = set()
    if is_finite(problem.context) and size(problem.context) <= MOST_CONTEXTS:
        contexts = all_combinations(listed_values(problem.context))
        for context in zip(*(column.tolist() for column in contexts.values()), strict=True):
            for payoff in payoffs:
                found |= breaks_of(payoff, context, even)
    # Drop knots next to a break.
    least = 1e-6 * space.width
    found |= {edge for edge in even if all(abs(edge - point) > least for point in found)}
    inner = [edge for edge in sorted(found) if least < edge - space.low < space.width - least]
    kept = [space.low]
    for edge in inner:
        if edge - kept[-1] > least:
            kept.append(edge)
    return [*kept, space.high]


def _slack(rewards: Array) -> float:
    """Return the difference below which rewards count as equal."""
    return float(slack(float(rewards.min()), float(rewards.max())))
