"""The best mixture of arms that a rate of spending allows: a fractional multiple-choice knapsack.

One linear programme is behind everything that has a budget: what a policy plans, what the
best that knows the arms would earn, and what the tests compare with.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onepull.arrays import Array
from onepull.errors import ParameterError

Arms: TypeAlias = NDArray[np.int64]  # positions in the problem's arms

SLACK = 1e-9  # of a budget: what rounding may take off it


class Mix(NamedTuple):
    """A mixture of arms in every context, what it earns a trial, and what spending is worth.

    The price is what one more unit of spending a trial would earn, nothing where there is
    enough: an arm with a share has the highest value less price times cost in its context.
    """

    shares: Array  # [context, arm], each row summing to one
    value: float
    price: float


def best_mix(values: ArrayLike, weights: ArrayLike, costs: ArrayLike, rate: float) -> Mix:
    """Return the mixture that earns most among those which spend no more than `rate` a trial.

    Maximises Σ_i p_i Σ_j x_ij v_ij subject to Σ_i p_i Σ_j x_ij c_j ≤ rate, with x_i· a
    distribution over the arms: exactly, since along each context's upper hull of (cost, value)
    every step is worth its slope, and the steepest steps of all are bought first.

    Parameters
    ----------
    values
        v, the reward of every arm in every context; -inf for an arm that cannot be had.
    weights
        p, how often each context comes.
    costs
        c, of every arm.

    Examples
    --------
    Half of the trials can pay for an arm that earns 1 in one context and 3 in the other:

    >>> mix = best_mix([[0, 1], [0, 3]], weights=[0.6, 0.4], costs=[0, 1], rate=0.5)
    >>> mix.shares.round(3).tolist(), round(mix.value, 3), mix.price
    ([[0.833, 0.167], [0.0, 1.0]], 1.3, 1.0)
    """
    worth, often = np.asarray(values, np.float64), np.asarray(weights, np.float64)
    each = np.asarray(costs, np.float64)
    rows = np.arange(len(worth))
    at = _cheapest(worth, each)
    left = rate - float(often @ each[at])
    if left < -SLACK * max(1.0, abs(rate)):
        raise ParameterError(f"a rate of {rate:g} does not pay for the cheapest arms")
    row, start, end, slope = _steps(worth, each, at)
    order = np.argsort(-slope, kind="stable")
    row, start, end, slope = row[order], start[order], end[order], slope[order]
    spent = np.cumsum(often[row] * (each[end] - each[start]))
    whole = int(np.searchsorted(spent, left, side="right"))
    at[row[:whole]] = end[:whole]  # a context's steps come in the order of its hull
    shares = np.zeros_like(worth)
    shares[rows, at] = 1.0
    price = 0.0
    if whole < len(row):
        price = float(slope[whole])
        before = float(spent[whole - 1]) if whole else 0.0
        part = max(left - before, 0.0) / (float(spent[whole]) - before)
        shares[row[whole], [start[whole], end[whole]]] = 1.0 - part, part
    earned = np.where(shares > 0, worth, 0.0) * shares
    return Mix(shares, float(often @ earned.sum(axis=1)), price)


def _cheapest(values: Array, costs: Array) -> Arms:
    """Return in every context the best of the cheapest arms that can be had."""
    had = np.where(np.isfinite(values), costs, np.inf)
    cheapest = had == had.min(axis=1, keepdims=True)
    best: Arms = np.where(cheapest, values, -np.inf).argmax(axis=1)
    return best


def _steps(values: Array, costs: Array, at: Arms) -> tuple[Arms, Arms, Arms, Array]:
    """Return all steps along the upper hulls: context, from arm, to arm, value per cost.

    The hulls are walked side by side, each step to the steepest arm and to the dearest of
    those, so that the slopes of a context fall.
    """
    found = []
    rows, arms = np.arange(len(values)), at
    before = np.full(len(values), np.inf)
    while len(rows):
        rise = values[rows] - values[rows, arms][:, None]
        run = costs - costs[arms][:, None]
        slopes = np.where(run > 0, rise / np.where(run > 0, run, 1.0), -np.inf)
        steepest = slopes.max(axis=1)
        to = np.where(slopes == steepest[:, None], costs, -np.inf).argmax(axis=1)
        up = steepest > 0
        # Rounding may make a slope rise, and a context's steps would change places.
        steepest = np.minimum(steepest, before)[up]
        rows, arms, to, before = rows[up], arms[up], to[up], steepest
        found.append((rows, arms, to, steepest))
        arms = to
    row, start, end, slope = (np.concatenate(part) for part in zip(*found, strict=True))
    return row, start, end, slope


def can_pay(left: float, cost: float, budget: float) -> bool:
    """Whether what is left of a budget pays for a pull, rounding aside.

    >>> can_pay(0.3 - 0.1 - 0.1, 0.1, budget=0.3), can_pay(0.05, 0.1, budget=0.3)
    (True, False)
    """
    return cost <= left + SLACK * budget
