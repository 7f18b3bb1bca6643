"""Bounds and costs of arms from kept states.

Rewards need a top and no lower bound.  What is computed for each state is computed in numpy, since
a loop in Python over hundreds of kept states would take longer than the rest of a decision.  What
is computed for each arm are plain functions of numbers, which the simulator compiles.

In these functions, the unit is the mean distance of an arm's rewards X from the top, and β is how
far λ is above the top.  The bound is a distance below the top, the *fall*: the maximum over β of
exp(E ln(top - X + β) - budget) - β.
"""

from __future__ import annotations

from math import exp, inf, log, log1p, sqrt
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.payoff.reward import NARROWEST

HEAD_START = 3e4  # keeps bounds wide in the first pulls of an arm
STEPS = 60
AT_LEAST = 0.01  # first guess of β
CLOSE = 1e-8  # accuracy of a fall
NEAREST = 1e-12  # least β
SIZES = 1e-100, 1e100  # units that need no other unit
TIED = 1e-10  # bounds that differ by less are equal but for rounding, in the largest unit


def explored(trial: float, pulls: float) -> float:
    """Return how much an arm is explored: the logarithm of how unlikely a mean may be.

    >>> round(explored(1, 1), 2), round(explored(100_000, 500), 2)
    (10.31, 7.34)
    """
    return log(trial / pulls + HEAD_START / sqrt(pulls))


def first_beyond(spread: float, budget: float) -> float:
    """Return a first guess of the best β, from the variance of the rewards."""
    return max(sqrt(0.5 * spread / budget) - 1.0, AT_LEAST)


def first_fall(spread: float, budget: float, beyond: float) -> float:
    """Return a fall that is not above the true one, from the variance of the rewards.

    With u = top - X + β: for u ≥ β, ln u ≥ ln(1 + β) + (u - 1 - β)/(1 + β) - c (u - 1 - β)² with
    equality at u = β.

    >>> first_fall(0.0, 0.5, first_beyond(0.0, 0.5)) <= exp(-0.5)   # all rewards are equal
    True
    """
    bend = max(log1p(1.0 / beyond) - 1.0 / (1.0 + beyond), 0.0)
    fall = (1.0 + beyond) * exp(-bend * spread - budget) - beyond
    return min(max(fall, 0.0), 1.0)


def next_beyond(
    logs: float, one: float, two: float, budget: float, beyond: float, low: float, high: float
) -> tuple[float, float, float, float]:
    """Take a step of Newton's method in ln β to the best β, which is between `low` and `high`.

    Given are the means of ln u, 1/u and 1/u² for u = top - X + β.  Returned are the next β, its
    new interval, and a fall that is not below the true one.

    >>> next_beyond(0.0, 1.0, 1.0, 0.5, 1.0, 0.0, inf)   # λ is too far from the top
    (0.5, 0.0, 1.0, 0.0)
    """
    most = 1.0
    wrong = logs + log(one) - budget
    if wrong > 0.0:
        low = beyond
    else:
        high = beyond
        # With weights in proportion to 1/u, and the rest at the top, this mean is likely.
        most = exp(logs - budget) * (1.0 - beyond * one)
    slope = (one - two / one) * beyond
    step = beyond * exp(min(max(-wrong / slope, -20.0), 20.0)) if slope < 0.0 else low
    if not low < step < high:
        step = 0.5 * (low + high) if high < inf else 2.0 * beyond
    return max(step, NEAREST), low, high, most


def likely_means(
    rewards: Array,
    stands_for: Array,
    pulls: Array,
    budgets: Array,
    tops: Any,
    exact: bool,  # noqa: FBT001 - called once
) -> Array:
    """Return, for each row, the highest mean that is likely: the empirical-likelihood bound.

    It is the minimum over λ ≥ top of λ - exp(E ln(λ - X) - budget), as in `likely_mean`.  Mean and
    variance alone give a number that is at least the bound.  If not `exact`, only the highest of
    these are improved, until one is known to belong to the highest bound.

    >>> from onepull.index.empirical_likelihood import likely_mean
    >>> rewards, counts = np.array([[0.0, 0.5, 1.0]]), np.array([[2.0, 5.0, 3.0]])
    >>> bound = likely_means(rewards, counts, np.array([10.0]), np.array([0.05]), 1.0, True)[0]
    >>> bool(abs(bound - likely_mean(rewards[0], counts[0] / 10, 3, 1.0, 0.05)) < 1e-7)
    True
    """
    bounds = Bounds(rewards, stands_for, pulls, budgets, tops)
    if exact:
        for row in range(len(bounds.uppers)):
            while bounds.improve(row):
                pass
    else:
        bounds.find_highest()
    return bounds.levelled()


class Bounds:
    """Numbers between which the bound of each row lies, and the search for it."""

    def __init__(
        self, rewards: Array, stands_for: Array, pulls: Array, budgets: Array, tops: Any
    ) -> None:
        high = np.asarray(tops, np.float64)
        gaps = (high[:, None] if high.ndim else high) - rewards
        np.maximum(gaps, 0.0, out=gaps)
        weighted = stands_for * gaps
        means = np.add.reduce(weighted, axis=1)
        means /= pulls  # of the way to the top
        self._scale = 1.0
        scale = float(means.max())
        if not (scale <= 0.0 or SIZES[0] < scale < SIZES[1]):
            # Another unit, so that no square overflows or vanishes.
            self._scale = scale = max(scale, NARROWEST)
            gaps, means = np.where(stands_for > 0.0, gaps, 0.0) / scale, means / scale
            weighted = stands_for * gaps
        squares = np.einsum("js,js->j", weighted, gaps).tolist()
        self._gaps, self._stands_for = gaps, stands_for
        self._budgets: list[float] = budgets.tolist()
        self._pulls: list[float] = pulls.tolist()
        rows = range(len(squares))
        self._tops = high.tolist() if high.ndim else [float(high)] * len(squares)
        self._units = [max(mean, SIZES[0]) for mean in means.tolist()]
        self._intervals = [(0.0, inf)] * len(squares)
        self._falls = [inf] * len(squares)
        self._steps = [0] * len(squares)
        spreads = [
            max(squares[j] / (self._units[j] * self._units[j] * self._pulls[j]) - 1.0, 0.0)
            for j in rows
        ]
        beyond = [first_beyond(spreads[j], self._budgets[j]) for j in rows]
        falls = [first_fall(spreads[j], self._budgets[j], beyond[j]) for j in rows]
        self._beyond = beyond
        self._means = [mean * self._scale for mean in means.tolist()]
        self._slack = TIED * max(self._means)
        self.uppers = [self._tops[j] - falls[j] * self._means[j] for j in rows]
        self.lowers = [self._tops[j] - self._means[j] for j in rows]

    def improve(self, row: int) -> bool:
        """Take a step to the bound of a row; return whether there was one to take."""
        if self.uppers[row] <= self.lowers[row]:
            return False
        beyond, unit, pulls = self._beyond[row], self._units[row], self._pulls[row]
        stands_for, top, mean = self._stands_for[row], self._tops[row], self._means[row]
        away = self._gaps[row] + beyond * unit
        logs = float(stands_for.dot(np.log(away))) / pulls - log(unit)
        fall = exp(logs - self._budgets[row]) - beyond
        before, self._falls[row] = self._falls[row], fall
        self._steps[row] += 1
        self.uppers[row] = upper = top - min(max(fall, 0.0), 1.0) * mean
        if abs(before - fall) <= CLOSE or beyond <= NEAREST or self._steps[row] == STEPS:
            self.lowers[row] = upper
            return True
        np.divide(unit, away, out=away)
        one = float(stands_for.dot(away)) / pulls
        away *= away
        two = float(stands_for.dot(away)) / pulls
        self._beyond[row], *ends, most = next_beyond(
            logs, one, two, self._budgets[row], beyond, *self._intervals[row]
        )
        self._intervals[row] = (ends[0], ends[1])
        self.lowers[row] = max(self.lowers[row], min(top - most * mean, upper))
        return True

    def find_highest(self) -> None:
        """Improve the highest bounds until one is known to be the highest."""
        uppers, slack = self.uppers, self._slack
        while True:
            highest = max(uppers)
            leading = [row for row, upper in enumerate(uppers) if upper >= highest - slack]
            if len(leading) == 1:
                uppers[leading[0]] = -inf
                second = max(uppers)
                uppers[leading[0]] = highest
                if self.lowers[leading[0]] > second + slack:
                    return
            if not any([self.improve(row) for row in leading]):  # noqa: C419 - all take a step
                return

    def levelled(self) -> Array:
        """Return the bounds; those that are the highest but for rounding are equal."""
        highest = max(self.uppers)
        return np.array([highest if highest - u <= self._slack else u for u in self.uppers])


def drifting_costs(
    means: Array, errors: Array, waiting: Array, noise: Array, freedom: Array, leader: int
) -> Array:
    """Return the cost of each arm if arms change, by Student's t, in units of log-likelihood.

    The arm with the lowest cost is played, as in IMED (Honda and Takemura 2015).  `errors` are the
    variances of the means in units of the noise, which grow while an arm is not pulled.  `noise`
    is the variance of each arm's noise, known from `freedom` observations.

    >>> costs = drifting_costs(
    ...     np.array([1.0, 0.5]), np.array([0.1, 0.5]), np.zeros(2), np.array([1.0, 1.0]),
    ...     np.array([8.0, 4.0]), 0,
    ... )
    >>> bool(costs[1] < costs[0])
    True
    """
    precision = 1.0 / errors + waiting
    gaps = means[leader] - means
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        off = precision * gaps * gaps / (freedom * noise)
    off = np.where(gaps > 0.0, np.nan_to_num(off, nan=np.inf), 0.0)
    costs = 0.5 * (freedom + 1.0) * np.log1p(off) + np.log(precision) + np.log(len(means))
    # Arms with the same mean lead together, so that their order does not matter.
    return np.asarray(np.where(gaps <= 0.0, np.log(precision), costs))
