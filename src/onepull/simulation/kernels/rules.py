"""Rules of exploration for compiled loops, each a type of its own.

A kernel is compiled for the type of its rule, so that none pays for another.  The formulas
are the library's own plain functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba.core import types
from numba.extending import overload
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.index.empirical_likelihood import exploration, likely_share, rounding
from onepull.index.hoeffding import hoeffding_width, optimistic, remembered_width
from onepull.index.schedules import batch_start, drawn_evenly, exploration_rate, turn
from onepull.policies import DSEE, KLUCB, EpsilonGreedy, Policy, RestartingUCB
from onepull.policies.ucb.kl_ucb import share_bound
from onepull.policies.ucb.upper_confidence import Optimist
from onepull.simulation.compiled import compiled, inlined, reachable
from onepull.simulation.draws import uniform

index = inlined(optimistic)
width_at = inlined(hoeffding_width)
reachable(hoeffding_width)
remembered_at = inlined(remembered_width)
rate_at = inlined(exploration_rate)
evenly = inlined(drawn_evenly)
turn_at = inlined(turn)
risk_at = inlined(exploration)
reachable(likely_share, rounding)
rounding_of = inlined(rounding)
share_bound_of = inlined(share_bound)

WIDTHS = 1 << 20  # widths kept in a table; further ones are computed


class Bounds(NamedTuple):
    """The highest upper confidence bound: α, and the widths of a unit range by trial."""

    alpha: float
    widths: Array


class Remembered(NamedTuple):
    """The highest upper confidence bound where so many trials are remembered."""

    alpha: float
    memory: float


class Watching(NamedTuple):
    """The same as `Bounds`, but an arm that was not seen for long comes first."""

    alpha: float
    widths: Array
    patience: int
    seen: NDArray[np.int64]  # the trial at which each arm last was, written by the memory


class Coin(NamedTuple):
    """The best estimate, or an arm drawn evenly: ε-greedy."""

    key: Any
    c: float
    gap: float


class Calendar(NamedTuple):
    """The best estimate, or the arm whose turn it is: DSEE, given the starts of its batches."""

    starts: NDArray[np.int64]


class Shares(NamedTuple):
    """The highest kl-UCB bound of a coin stretched to the reward's range."""

    c: float
    head_start: float


Rule: TypeAlias = Any  # one of the named tuples, here or in `dense`


@compiled
def unit_widths(count: int, alpha: float) -> Any:
    """Return the width of a unit range at trials 0 to count-1."""
    table = np.zeros(count)
    for trial in range(1, count):
        table[trial] = width_at(0.0, 1.0, trial, alpha)
    return table


@inlined
def width(low: Any, high: Any, trial: Any, alpha: Any, table: Any) -> Any:
    """Return the width at a trial, from the table where it reaches."""
    if trial < table.size:
        return (high - low) * table[trial]
    return width_at(low, high, trial, alpha)


@inlined
def leading(means: Any, cell: Any, roots: Any, row: Any, w: Any) -> Any:
    """Return the first arm with the highest index in a cell, given the row of its roots."""
    best = 0
    highest = -np.inf
    for j in range(means.shape[1]):
        bound = index(means[cell, j], roots[row, j], w)
        if bound > highest:
            highest = bound
            best = j
    return best


def decide(
    rule: Any, means: Any, cell: Any, roots: Any, row: Any, low: Any, high: Any, n: Any, trial: Any
) -> Any:
    """Return the arm that a rule chooses in a cell: at its n-th trial, the world's `trial`."""
    raise NotImplementedError  # the compiled forms are below


def _bounds(
    rule: Any, means: Any, cell: Any, roots: Any, row: Any, low: Any, high: Any, n: Any, trial: Any
) -> Any:
    return leading(means, cell, roots, row, width(low, high, n, rule.alpha, rule.widths))


def _remembered(
    rule: Any, means: Any, cell: Any, roots: Any, row: Any, low: Any, high: Any, n: Any, trial: Any
) -> Any:
    w = remembered_at(low, high, n, rule.alpha, rule.memory)
    return leading(means, cell, roots, row, w)


def _watching(
    rule: Any, means: Any, cell: Any, roots: Any, row: Any, low: Any, high: Any, n: Any, trial: Any
) -> Any:
    best = leading(means, cell, roots, row, width(low, high, n, rule.alpha, rule.widths))
    if means[cell, best] == np.inf:
        return best
    for j in range(means.shape[1]):
        if rule.seen[j] <= n - 1 - rule.patience:
            return j
    return best


def _coin(
    rule: Any, means: Any, cell: Any, roots: Any, row: Any, low: Any, high: Any, n: Any, trial: Any
) -> Any:
    best = leading(means, cell, roots, row, 0.0)
    if means[cell, best] == np.inf:
        return best
    arms = means.shape[1]
    arm = evenly(uniform(rule.key, trial), rate_at(n, arms, rule.c, rule.gap), arms)
    return arm if arm >= 0 else best


def _calendar(
    rule: Any, means: Any, cell: Any, roots: Any, row: Any, low: Any, high: Any, n: Any, trial: Any
) -> Any:
    best = leading(means, cell, roots, row, 0.0)
    if means[cell, best] == np.inf:
        return best
    arm = turn_at(rule.starts, n, means.shape[1])
    return arm if arm >= 0 else best


def _shares(
    rule: Any, means: Any, cell: Any, roots: Any, row: Any, low: Any, high: Any, n: Any, trial: Any
) -> Any:
    risk = risk_at(n + rule.head_start, rule.c)
    reach = (high - low) * np.sqrt(0.5 * risk)
    off = rounding_of(low, high)
    best = 0
    highest = -np.inf
    for j in range(means.shape[1]):
        if means[cell, j] + reach * roots[row, j] + off < highest:
            continue  # the bound is never above this
        bound = share_bound_of(means[cell, j], roots[row, j], low, high, risk)
        # It stops at the highest reward, so ties are many; the least pulled is taken.
        if bound > highest or (bound == highest and roots[row, j] > roots[row, best]):
            highest = bound
            best = j
    return best


_DECISIONS = {
    Bounds: _bounds,
    Remembered: _remembered,
    Watching: _watching,
    Coin: _coin,
    Calendar: _calendar,
    Shares: _shares,
}


@overload(decide)
def _decision(
    rule: Any, means: Any, cell: Any, roots: Any, row: Any, low: Any, high: Any, n: Any, trial: Any
) -> Any:
    """Return the decision for the type of a rule."""
    return (
        _DECISIONS[rule.instance_class]
        if isinstance(rule, (types.NamedTuple, types.NamedUniTuple))
        else None
    )


Ruling: TypeAlias = Callable[[int], Rule]  # a rule, given the key of a policy's own luck


@singledispatch
def ruling(policy: Policy, horizon: int) -> Ruling | None:
    """Return the rule of a policy for compiled loops, or nothing where there is none."""
    del policy, horizon
    return None


@ruling.register
def _(policy: Optimist, horizon: int) -> Ruling | None:
    rule = policy.rule
    if rule.index is optimistic and rule.aim is remembered_width:
        remembered = Remembered(*map(float, rule.parameters))
        return lambda _: remembered
    if rule.index is not optimistic or rule.aim is not hoeffding_width:
        return None
    (alpha,) = rule.parameters
    bounds = Bounds(alpha, unit_widths(min(horizon + 2, WIDTHS), alpha))
    return lambda _: bounds


@ruling.register
def _(policy: RestartingUCB, horizon: int) -> Ruling:
    widths = unit_widths(min(horizon + 2, WIDTHS), policy.alpha)
    arms = len(policy.problem.arms)
    return lambda _: Watching(policy.alpha, widths, policy.patience, np.zeros(arms, np.int64))


@ruling.register
def _(policy: EpsilonGreedy, horizon: int) -> Ruling:
    del horizon
    return lambda own_key: Coin(np.uint64(own_key), policy.c, policy.gap)


@ruling.register
def _(policy: DSEE, horizon: int) -> Ruling:
    arms = len(policy.problem.arms)
    starts = [1]
    while starts[-1] <= horizon:
        starts.append(batch_start(len(starts) + 1, starts[-1], arms, policy.weight))
    calendar = Calendar(np.array(starts, np.int64))
    return lambda _: calendar


@ruling.register
def _(policy: KLUCB, horizon: int) -> Ruling:
    del horizon
    return lambda _: Shares(policy.c, policy.head_start)
