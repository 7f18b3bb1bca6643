"""The range of the reward of each arm, where arms have attributes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from onepull.arrays import Array
from onepull.formula import Bounds
from onepull.payoff import Payoff
from onepull.payoff.box_points import pieces
from onepull.problem import Problem
from onepull.spaces import Box

# Arms that differ in their attributes.  Analysing the reward of each by itself is sharpest and
# takes 20 ms or more.  If there are more, one analysis takes attributes as part of the context.
MOST_KINDS = 64
# Kinds times boxes of contexts; a formula takes about a microsecond for each.  If there are more,
# all arms get the range of all.
MOST_PAIRS = 2**22
MOST_PAIRS_OF_CALLABLE = 2**16


def ranges_by_arm(problem: Problem, contexts: Mapping[str, Bounds]) -> tuple[Array, Array]:
    """Return the lowest and the highest reward `[context box, arm]` over all outcomes.

    >>> from onepull import Finite, Interval
    >>> problem = Problem(
    ...     arms={"a": {"price": 1}, "b": {"price": 3}}, context={"y": Finite([1, 2])},
    ...     state={"x": Interval(0, 1)}, reward="x * y - price",
    ... )
    >>> column = np.array([1.0, 2.0])
    >>> [bound.tolist() for bound in ranges_by_arm(problem, {"y": (column, column)})]
    [[[-1.0, -3.0], [-1.0, -3.0]], [[0.0, -2.0], [1.0, -1.0]]]
    """
    boxes = {
        name: (np.atleast_1d(low), np.atleast_1d(high)) for name, (low, high) in contexts.items()
    }
    count = max(len(low) for low, _ in boxes.values())
    kinds = dict.fromkeys(problem.known)
    most = MOST_PAIRS if problem.reward.is_formula else MOST_PAIRS_OF_CALLABLE
    if not problem.attributes or (len(kinds) > MOST_KINDS and len(kinds) * count > most):
        low, high = (bound[:, None] for bound in problem.payoff.range(contexts))
        shape = (len(low), len(problem.arms))
        return np.broadcast_to(low, shape), np.broadcast_to(high, shape)
    if len(kinds) <= MOST_KINDS:
        each = [_payoffs(problem)[known].range(contexts) for known in kinds]
        lows, highs = (np.column_stack(bounds) for bounds in zip(*each, strict=True))
    else:
        lows, highs = _ranges_together(problem, list(kinds), boxes, count)
    columns = {known: column for column, known in enumerate(kinds)}
    places = [columns[known] for known in problem.known]
    return lows[:, places], highs[:, places]


def _ranges_together(
    problem: Problem, kinds: list[tuple[float, ...]], boxes: Mapping[str, Bounds], count: int
) -> tuple[Array, Array]:
    """Return the ranges `[context box, kind]` from one analysis of the reward."""
    payoff, names = _payoff_with_attributes(problem), problem.outcome.names[: len(kinds[0])]
    lows, highs = [], []
    # The fewer boxes at a time, the finer the states are cut.
    for some in np.array_split(np.array(kinds), MOST_KINDS):
        pairs = {
            name: (_tiled(low, count, len(some)), _tiled(high, count, len(some)))
            for name, (low, high) in boxes.items()
        }
        for name, column in zip(names, some.T, strict=True):
            pairs[name] = (np.repeat(column, count),) * 2
        low, high = payoff.range(pairs)
        lows.append(low.reshape(len(some), count).T)
        highs.append(high.reshape(len(some), count).T)
    return np.hstack(lows), np.hstack(highs)


def _tiled(ends: Array, count: int, times: int) -> Array:
    return np.tile(np.broadcast_to(ends, count), times)


def whole_ranges(problem: Problem) -> tuple[list[float], list[float]]:
    """Return the lowest and the highest reward of each arm over all contexts.

    >>> from onepull import Interval
    >>> whole_ranges(Problem(
    ...     arms={"a": {"price": 1}, "b": {"price": 3}}, state={"x": Interval(0, 1)},
    ...     reward="x - price", failure="-2 * price",
    ... ))
    ([-2.0, -6.0], [0.0, -2.0])
    """
    lows, highs = ranges_by_arm(problem, pieces(problem.context, 256))
    return lows.min(axis=0).tolist(), highs.max(axis=0).tolist()


@lru_cache(maxsize=16)  # several parts of a policy ask for the same
def _payoffs(problem: Problem) -> dict[tuple[float, ...], Payoff]:
    """Return the reward of the outcomes of one arm of each kind, by its attributes."""
    alike = dict(zip(problem.known, problem.arms, strict=True))
    return {
        known: problem.with_arms({arm: problem.attributes[arm]}).payoff
        for known, arm in alike.items()
    }


@lru_cache(maxsize=16)
def _payoff_with_attributes(problem: Problem) -> Payoff:
    """Return the reward as a function whose context includes the attributes."""
    known = problem.outcome.names[: len(problem.known[0])]
    context = Box({**problem.context, **{name: problem.outcome[name] for name in known}})
    return problem.payoff.parted(context, problem.shown)
