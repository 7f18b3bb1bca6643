"""What a reward tells about a state: which it was, or that it lay beyond some point."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from onepull.arrays import Array
from onepull.checks import whole_number
from onepull.errors import ParameterError, RewardError
from onepull.payoff import State
from onepull.payoff.box_points import points
from onepull.problem import Problem
from onepull.spaces import Finite

KNOTS = 17  # the more levels there are, the looser the product of their bounds
TRIED = 256  # contexts in which it is tried at which end of the states rewards are flat
INSIDE = 1e-6  # of a cell: so far from its end the reward must still differ from the end's


class Arrangement(NamedTuple):
    """States in levels, from the end that rewards tell to the end that they may not.

    Level k holds the states from `near[k]`, which belongs to it, towards `inner[k]`; it counts
    as `centres[k]`.  The last one goes on to `end`.
    """

    near: Array
    inner: Array
    centres: Array
    end: float
    rises: bool  # whether rewards rise along the levels; otherwise they fall


class Reading(NamedTuple):
    """How rewards read in one context; `near` and `end` are negated where rewards fall."""

    values: list[float]  # the reward of each level
    reach: int  # from here on all levels have the same reward
    near: list[float]
    end: float
    last: int  # the first level that cannot be told from those after it
    is_clear: bool  # whether the levels before that can be told apart


class Levels:
    """The levels of a one-field state, and what rewards tell about them.

    Finitely many states are a level each.  An interval is cut at `knots` at equal distances h,
    and a state counts as the centre of its cell, which puts a reward of slope at most L off by
    no more than `error` = L·h/2.  The reward must go one way with the state, so that those
    which give the same reward are neighbours: the states at one end, if rewards are flat there.

    >>> from onepull import Problem
    >>> levels = Levels(Problem(
    ...     arms=["a"],
    ...     context={"bits": Finite([1, 2])},
    ...     state={"capacity": Finite([0, 1, 2, 3])},
    ...     reward="min(bits, capacity)",
    ... ))
    >>> levels.told((2.0,), 1.0), levels.told((2.0,), 2.0)
    ((1, False), (2, True))
    """

    def __init__(self, problem: Problem, knots: int | None = None) -> None:
        if len(problem.state) > 1:
            raise ParameterError(
                f"the state has the fields {', '.join(problem.state)}: what a reward tells is "
                "kept for one field only"
            )
        ((self.name, space),) = problem.state.items()
        self.problem = problem
        rises = _rises(problem, self.name)
        self.knots: int | None = None
        self.error = 0.0
        if isinstance(space, Finite):
            if knots is not None:
                raise ParameterError(
                    f"state field {self.name!r} has finitely many values: it takes no knots"
                )
            listed = np.sort(space.values)
            self._edges: list[float] = listed.tolist()
            both = [_arranged(listed, listed, listed, rises, back=back) for back in (False, True)]
        else:
            if not math.isfinite(space.width):
                raise ParameterError(
                    f"state field {self.name!r} is {space!r}: only a bounded one can be cut into "
                    "cells; declare the bounds within which states matter"
                )
            self.knots = whole_number("knots", KNOTS if knots is None else knots, least=2)
            edges = np.linspace(space.low, space.high, self.knots)
            self._edges = edges.tolist()
            cell = space.width / (self.knots - 1)
            low, high = problem.payoff.whole_range
            slope = problem.payoff.steepness[self.name].value
            self.error = min(slope * cell / 2, high - low)
            both = [_cells(edges, cell, rises, back=back) for back in (False, True)]
        self.count = len(both[0].centres)
        self._arrange(both, rises=rises)

    def _arrange(self, both: list[Arrangement], *, rises: bool) -> None:
        """Begin at the end at which rewards tell states in more of the contexts."""
        sample = points(self.problem.context, TRIED, np.random.default_rng(0))
        contexts = list(zip(*(column.tolist() for column in sample.values()), strict=True))[:TRIED]
        clear = [sum(self._read(c, order).is_clear for c in contexts) for order in both]
        # Else from the lowest reward on, as with full states it makes no difference.
        self.is_backward = clear[1] > clear[0] or (clear[1] == clear[0] and not rises)
        self.arrangement = both[self.is_backward]
        self.read = lru_cache(maxsize=4096)(lambda context: self._read(context, self.arrangement))

    def _read(self, context: State, order: Arrangement) -> Reading:
        reward = self.problem.payoff.vector
        sign = 1.0 if order.rises else -1.0
        near, inner, values = (
            np.broadcast_to(reward(*context, at), len(at))
            for at in (order.near, order.inner, order.centres)
        )
        end = float(self.problem.payoff.scalar(*context, order.end))
        close = _slack(end, float(near[0]))
        is_flat = np.abs(inner - end) <= close
        last = int(np.argmax(is_flat)) if np.any(is_flat) else self.count - 1
        apart = np.abs(np.diff(near[: last + 1])) > close
        changes = np.flatnonzero(np.diff(values))
        return Reading(
            values.tolist(),
            int(changes[-1]) + 2 if len(changes) else 1,
            (sign * near).tolist(),
            sign * end,
            last,
            bool(np.all(apart)),
        )

    def level(self, state: float) -> int:
        """Return the level of a state."""
        if isinstance(self.problem.state[self.name], Finite):
            place = self._edges.index(state)
        elif self.is_backward:  # a knot belongs to the cell below it
            place = max(bisect_left(self._edges, state), 1) - 1
        else:
            place = min(bisect_right(self._edges, state), self.count) - 1
        return self.count - 1 - place if self.is_backward else place

    def told(self, context: State, reward: float) -> tuple[int, bool]:
        """Return the level that a reward tells, and whether the state may lie beyond it.

        Refuses contexts in which states at both ends, or between them, give the same reward,
        however it turned out: learning only from the unambiguous ones would be biased.
        """
        here = self.read(context)
        if not here.is_clear:
            raise RewardError(
                f"the state cannot be told from the reward {self._where(context)}: several give "
                f"the same reward, and not at one end only; observe the state ({self.name}=…), or "
                "let CoarseKL learn from it"
            )
        signed = reward if self.arrangement.rises else -reward
        close = _slack(here.end, here.near[0])
        if not here.near[0] - close <= signed <= here.end + close:
            low, high = sorted((self._unsigned(here.near[0]), self._unsigned(here.end)))
            raise RewardError(
                f"reward {reward!r} cannot be {self._where(context)}: "
                f"it is in [{low:.6g}, {high:.6g}]"
            )
        level = min(bisect_right(here.near, signed + close) - 1, here.last)
        if self.knots is None and abs(signed - here.near[level]) > close:
            shown = ", ".join(f"{self._unsigned(v):.6g}" for v in here.near[: here.last + 1][:12])
            raise RewardError(f"reward {reward!r} cannot be {self._where(context)}: it is {shown}")
        return level, level == here.last and level < self.count - 1

    def _unsigned(self, value: float) -> float:
        return value if self.arrangement.rises else -value

    def _where(self, context: State) -> str:
        pairs = zip(self.problem.context, context, strict=True)
        return "with " + ", ".join(f"{name}={value:.12g}" for name, value in pairs)


def _rises(problem: Problem, name: str) -> bool:
    direction = problem.payoff.monotone[name].value
    if direction is None:
        raise ParameterError(
            f"the reward must go one way with {name!r} in all contexts, so that what gives the "
            "same reward are neighbours; declare it if it does: Reward(…, monotone=…)"
        )
    return direction in ("increasing", "nondecreasing")


def _cells(edges: Array, cell: float, rises: bool, *, back: bool) -> Arrangement:  # noqa: FBT001 - as below
    """Return the cells between the edges as levels, from the first on or back from the last."""
    centres = (edges[:-1] + edges[1:]) / 2
    if back:
        order = _arranged(edges[1:], edges[:-1] + INSIDE * cell, centres, rises, back=True)
        return order._replace(end=float(edges[0]))
    order = _arranged(edges[:-1], edges[1:] - INSIDE * cell, centres, rises, back=False)
    return order._replace(end=float(edges[-1]))


def _arranged(near: Array, inner: Array, centres: Array, rises: bool, *, back: bool) -> Arrangement:  # noqa: FBT001 - what is known of the reward, no switch
    step = -1 if back else 1
    return Arrangement(
        near[::step], inner[::step], centres[::step], float(inner[::step][-1]), rises != back
    )


def _slack(one: float, two: float) -> float:
    return 1e-9 * max(1.0, abs(one), abs(two))
