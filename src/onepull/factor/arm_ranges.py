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

# Arms that differ in their attributes.  Each has a reward of its own to analyse; if there are more,
# all arms get the range of all.
MOST_KINDS = 64


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
    payoffs = _payoffs(problem)
    if payoffs is None:
        low, high = (bound[:, None] for bound in problem.payoff.range(contexts))
        shape = (len(low), len(problem.arms))
        return np.broadcast_to(low, shape), np.broadcast_to(high, shape)
    found = {known: payoff.range(contexts) for known, payoff in payoffs.items()}
    lows, highs = zip(*(found[known] for known in problem.known), strict=True)
    return np.column_stack(lows), np.column_stack(highs)


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
def _payoffs(problem: Problem) -> dict[tuple[float, ...], Payoff] | None:
    """Return the reward of the outcomes of one arm of each kind, by its attributes."""
    alike = dict(zip(problem.known, problem.arms, strict=True))
    if not problem.attributes or len(alike) > MOST_KINDS:
        return None
    return {
        known: problem.with_arms({arm: problem.attributes[arm]}).payoff
        for known, arm in alike.items()
    }
