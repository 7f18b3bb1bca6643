"""Bounds and costs of arms from kept states, in numpy.

Rewards need a top and no lower bound.  These functions work on all arms at once: a loop in Python
over hundreds of kept states would take longer than the rest of a decision.
"""

from __future__ import annotations

from math import exp, inf, log
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.payoff.reward import NARROWEST

STEPS = 60
AT_LEAST = 0.01  # first guess of how far λ is from the top
CLOSE = 1e-8  # accuracy of a bound, as a share of the way from the mean to the top
NEAREST = 1e-12  # to the top, in the same unit
SIZES = 1e-100, 1e100  # of the way to the top that need no other unit


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
    return np.array(bounds.uppers)


class Bounds:
    """Numbers between which the bound of each row lies, and the search for it."""

    def __init__(
        self, rewards: Array, stands_for: Array, pulls: Array, budgets: Array, tops: Any
    ) -> None:
        self._stands_for, self._pulls, self._budgets = stands_for, pulls, budgets
        self._tops = high = np.asarray(tops, np.float64)
        gaps = (high[:, None] if high.ndim else high) - rewards
        np.maximum(gaps, 0.0, out=gaps)
        weighted = stands_for * gaps
        means = np.add.reduce(weighted, axis=1)
        means /= pulls  # of the way to the top
        scale = float(means.max())
        if scale <= 0.0 or SIZES[0] < scale < SIZES[1]:
            scale = 1.0
        else:  # another unit, so that no square overflows or vanishes
            scale = max(scale, NARROWEST)
            gaps, means = np.where(stands_for > 0.0, gaps, 0.0) / scale, means / scale
            weighted = stands_for * gaps
        units = np.maximum(means, SIZES[0])
        squares = np.einsum("js,js->j", weighted, gaps)
        falls = self._first_falls(squares / (units * units * pulls))
        self._gaps, self._units = gaps, units
        self._means = means = means * scale
        self.uppers: list[float] = (high - falls * means).tolist()
        self.lowers: list[float] = (high - means).tolist()
        self._searches: dict[int, Search] = {}

    def _first_falls(self, squares: Array) -> Array:
        """Return how far the bounds are below the top, at least, in units of the mean.

        With u = λ - X and β = λ - top, in units in which the mean of top - X is 1: for u ≥ β,
        ln u ≥ ln(1 + β) + (u - 1 - β)/(1 + β) - c (u - 1 - β)² with equality at u = β.
        """
        spread = np.maximum(squares - 1.0, 0.0)
        beyond = np.maximum(np.sqrt(0.5 * spread / self._budgets) - 1.0, AT_LEAST)
        more = beyond + 1.0
        bend = np.maximum(np.log1p(1.0 / beyond) - 1.0 / more, 0.0)
        self._beyond = beyond
        falls = more * np.exp(-bend * spread - self._budgets) - beyond
        return np.minimum(np.maximum(falls, 0.0), 1.0)

    def improve(self, row: int) -> bool:
        """Take a step to the bound of a row; return whether there was one to take."""
        if self.uppers[row] <= self.lowers[row]:
            return False
        search = self._searches.get(row)
        if search is None:
            search = self._searches[row] = Search(
                self._gaps[row] / self._units[row],
                self._stands_for[row] / self._pulls[row],
                self._budgets[row],
                self._beyond[row],
            )
        search.improve()
        top = float(self._tops[row] if self._tops.ndim else self._tops)
        mean = float(self._means[row])
        upper = top - search.fall * mean
        most = search.fall if search.is_settled else search.most
        self.uppers[row] = upper
        self.lowers[row] = max(self.lowers[row], min(top - most * mean, upper))
        return True

    def find_highest(self) -> None:
        """Improve the highest bounds until one is known to be the highest."""
        uppers = self.uppers
        while True:
            highest = max(uppers)
            leading = [row for row, upper in enumerate(uppers) if upper == highest]
            if len(leading) == 1:
                uppers[leading[0]] = -inf
                second = max(uppers)
                uppers[leading[0]] = highest
                if self.lowers[leading[0]] > second:
                    return
            if not any([self.improve(row) for row in leading]):  # noqa: C419 - all take a step
                return


class Search:
    """The search for one bound, by Newton's method in ln(λ - top).

    Parameters
    ----------
    gaps
        How far each reward is below the top, in units of their mean.
    shares
        Its share of the observations.
    budget
        How much less likely than the observations a law may be.
    beyond
        How far λ is above the top at first.
    """

    def __init__(self, gaps: Array, shares: Array, budget: float, beyond: float) -> None:
        self._gaps, self._shares = gaps, shares
        self._budget, self._beyond = float(budget), float(beyond)
        self._low, self._high, self._value = 0.0, inf, inf
        self._steps = 0
        self.fall = 0.0  # how far the bound is below the top, at least
        self.most = 1.0  # and at most
        self.is_settled = False

    def improve(self) -> None:
        """Take one step."""
        beyond, shares = self._beyond, self._shares
        away = self._gaps + beyond
        logs = float(shares.dot(np.log(away)))
        near = exp(logs - self._budget)
        before, self._value = self._value, near - beyond
        self.fall = min(max(self._value, 0.0), 1.0)
        self._steps += 1
        if abs(before - self._value) <= CLOSE or beyond <= NEAREST or self._steps == STEPS:
            self.is_settled = True
            return
        np.reciprocal(away, out=away)
        one = float(shares.dot(away))
        away *= away
        wrong = logs + log(one) - self._budget
        if wrong > 0.0:
            self._low = beyond
        else:
            self._high = beyond
            # With weights in proportion to 1/(λ - X), and the rest at the top, this mean is likely.
            self.most = min(self.most, near * (1.0 - beyond * one))
        slope = (one - float(shares.dot(away)) / one) * beyond
        low, high = self._low, self._high
        step = beyond * exp(min(max(-wrong / slope, -20.0), 20.0)) if slope < 0.0 else low
        if not low < step < high:
            step = 0.5 * (low + high) if high < inf else 2.0 * beyond
        self._beyond = max(step, NEAREST)


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
