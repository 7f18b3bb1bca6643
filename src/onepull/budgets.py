"""Costs of pulls, and the best mixture of arms that a budget pays for.

`best_mix` solves a fractional multiple-choice knapsack.  Policies with a budget plan with it,
and the environment computes with it what the best policy that knows the arms would earn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from onepull.arrays import ArmNumbers, Array
from onepull.checks import number, shown, some
from onepull.errors import ParameterError, UnknownArm

MOST_COST = 1e100  # so that sums of costs stay finite
SLACK = 1e-9  # rounding error allowed, as a fraction of the budget


def costs_by_arm(arms: Iterable[str], costs: Mapping[str, float]) -> dict[str, float]:
    """Return the cost of every arm; arms without a given cost are free.

    >>> costs_by_arm(["wifi", "lte"], {"lte": 2})
    {'wifi': 0.0, 'lte': 2.0}
    """
    all_arms = list(arms)
    if not isinstance(costs, Mapping):
        raise ParameterError(
            f"costs are given by arm, such as {{{all_arms[-1]!r}: 1.0}}, given {shown(costs)}"
        )
    known = set(all_arms)
    if unknown := [arm for arm in costs if arm not in known]:
        raise UnknownArm(
            f"unknown arm {unknown[0]!r} among the costs; the arms are {some(all_arms)}"
        )
    return {arm: cost_of(arm, costs.get(arm, 0.0)) for arm in all_arms}


def cost_of(arm: str, cost: Any) -> float:
    """Return a cost as a float; raises `ParameterError` unless it is a number from 0 to 1e100."""
    return number(f"the cost of {arm!r}", cost, above=0.0, at_least=True, most=MOST_COST)


def can_pay(left: float, cost: float, budget: float) -> bool:
    """Whether the rest of a budget pays for a pull, up to rounding.

    >>> can_pay(0.3 - 0.1 - 0.1, 0.1, budget=0.3), can_pay(0.05, 0.1, budget=0.3)
    (True, False)
    """
    return cost <= left + SLACK * budget


class Mix(NamedTuple):
    """A mixture of arms for every context, its value per trial, and the price of the budget.

    The price is the extra value per trial of one more unit of spending per trial (the dual
    variable); it is 0 if the budget does not bind.  Every arm with a positive share maximises
    value - price * cost in its context.
    """

    shares: Array  # [context, arm], each row summing to one
    value: float
    price: float


def best_mix(values: ArrayLike, weights: ArrayLike, costs: ArrayLike, rate: float) -> Mix:
    """Return the mixture with the highest value that spends at most `rate` per trial.

    Maximises Σ_i p_i Σ_j x_ij v_ij subject to Σ_i p_i Σ_j x_ij c_j ≤ rate, where each x_i· is
    a distribution over the arms.  The solution is exact: each context's upper hull of
    (cost, value) is a chain of steps with falling slopes, and the steepest steps are bought
    first.

    Parameters
    ----------
    values
        v, the reward of every arm in every context; -inf for an arm that is not available.
    weights
        p, the probability of each context.
    costs
        c, the cost of every arm.
    rate
        The most that may be spent per trial, on average.

    Examples
    --------
    The budget pays for the second arm in half of the trials; it is worth more in the second
    context:

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
        raise ParameterError(f"a rate of {rate:g} per trial does not pay for the cheapest arms")
    row, start, end, slope = _steps(worth, each, at)
    order = np.argsort(-slope, kind="stable")
    row, start, end, slope = row[order], start[order], end[order], slope[order]
    spent = np.cumsum(often[row] * (each[end] - each[start]))
    whole = int(np.searchsorted(spent, left, side="right"))
    at[row[:whole]] = end[:whole]  # the steps of a context keep the order of its hull
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


def _cheapest(values: Array, costs: Array) -> ArmNumbers:
    """Return, for every context, the best of the cheapest available arms."""
    had = np.where(np.isfinite(values), costs, np.inf)
    cheapest = had == had.min(axis=1, keepdims=True)
    best: ArmNumbers = np.where(cheapest, values, -np.inf).argmax(axis=1)
    return best


def _steps(
    values: Array, costs: Array, at: ArmNumbers
) -> tuple[ArmNumbers, ArmNumbers, ArmNumbers, Array]:
    """Return all steps along the upper hulls: context, from arm, to arm, value per cost.

    All contexts are walked in parallel.  Each step goes to the arm with the steepest slope,
    and among equal slopes to the most expensive one, so slopes never rise along a context.
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
        # Rounding could make a slope rise, which would reorder the steps of a context.
        steepest = np.minimum(steepest, before)[up]
        rows, arms, to, before = rows[up], arms[up], to[up], steepest
        found.append((rows, arms, to, steepest))
        arms = to
    row, start, end, slope = (np.concatenate(part) for part in zip(*found, strict=True))
    return row, start, end, slope
