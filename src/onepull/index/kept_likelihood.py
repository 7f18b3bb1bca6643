"""Bounds and costs of arms from kept states: plain functions of numbers, which are compiled, too.

Rewards need a top and no lower bound.  The unit is the mean distance of an arm's rewards X from the
top, and β is how far λ is above the top.  The bound is a distance below the top, the *fall*: the
maximum over β of exp(E ln(top - X + β) - budget) - β.
"""

from __future__ import annotations

from math import exp, inf, log, log1p, sqrt

HEAD_STARTS = 1e3, 3e4  # least and most: how wide bounds are in the first pulls of an arm
MOST_RATIO = 10.0  # of what a pull costs in two contexts, for exploration
SAME_COST = 1e-9  # costs that differ by less are equal but for rounding, as a share of rewards
AT_FIRST = 32  # trials that may all explore
FEW_ARMS = 10  # with more, not all of the later trials explore
OF_A_ROUND = 3  # how many do then, of as many trials as there are arms
AT_LEAST = 0.01  # first guess of β
NEAREST = 1e-12  # least β
MOST_IMPROVEMENTS = 60  # of the bound of a row
FALL_ACCURACY = 1e-8  # accuracy of a fall
SIZES = 1e-100, 1e100  # units that need no other unit
TIED = 1e-10  # bounds that differ by less are equal but for rounding, in the largest unit
FARTHEST_OFF = 1.7e308  # how far off a mean may be, squared, in units of its variance


def share_exploring(trial: float, arms: float) -> float:
    """Return which share of the requests explores; the others use the best estimate.

    With many arms and few requests, trying all arms would cost more than it brings.

    >>> share_exploring(500, 10), share_exploring(10, 50), share_exploring(500, 50)
    (1.0, 1.0, 0.06)
    """
    return 1.0 if arms <= FEW_ARMS or trial < AT_FIRST else OF_A_ROUND / arms


def relative_cost(cost: float, least: float, size: float) -> float:
    """Return how costly a pull is here, relative to the context where it costs least.

    What it costs is how far the mean of its arm is below the best.  `size` is that of the largest
    mean, and sets what is rounding.

    >>> round(relative_cost(0.4, 0.2, 1.0), 6), relative_cost(0.2, 0.0, 1.0)
    (2.0, 10.0)
    >>> relative_cost(0.0, 0.0, 1.0)
    1.0
    """
    rounding = SAME_COST * size
    if not cost > rounding:  # also if there is no mean
        return 1.0
    return min((cost + rounding) / (max(least, 0.0) + rounding), MOST_RATIO)


def head_start(leading: int, able: int) -> float:
    """Return how wide the bounds of an arm are in its first pulls, by what other arms show.

    `leading` of the other arms have the best mean in some context, and `able` of them can have it.
    One arm always has.  If nearly all others have, so will this one, and if it looks bad, that is
    chance: it must not be left alone.  If one arm is best everywhere, little is lost by that.

    >>> head_start(1, 5), round(head_start(3, 5)), head_start(5, 5), head_start(1, 1)
    (1000.0, 5477, 30000.0, 30000.0)
    """
    least, most = HEAD_STARTS
    if able <= 1:  # others say nothing about this one
        return most
    share = min(max((leading - 1.0) / (able - 1.0), 0.0), 1.0)
    return float(least * (most / least) ** share)


def explored(trial: float, pulls: float, relative: float, head: float) -> float:
    """Return how much an arm is explored: the logarithm of how unlikely a mean may be.

    A pull shows the same state in every context.  So an arm is explored less where its `relative`
    cost is high.  `head` is its head start.

    >>> round(explored(1, 1, 1.0, 3e4), 2), round(explored(100_000, 500, 1.0, 3e4), 2)
    (10.31, 7.34)
    >>> round(explored(100_000, 500, MOST_RATIO, 3e4), 2), round(explored(1, 1, 1.0, 1e3), 2)
    (5.04, 6.91)
    """
    return log1p((trial / pulls + head / sqrt(pulls)) / relative)


def shrunk(mean: float, pulls: float, middle: float) -> float:
    """Return an estimate shrunk towards the mean of all pulls, which counts as one more pull.

    The best of many arms that were pulled once or twice is mostly the luckiest one.  `middle` is
    the mean of all pulls here, of all arms.

    >>> shrunk(1.0, 1, 0.5), shrunk(0.9, 9, 0.5), shrunk(0.5, 3, 0.5)
    (0.75, 0.86, 0.5)
    """
    parts = pulls + 1.0
    return mean - (mean / parts - middle / parts)


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

    >>> next_beyond(0.0, 1.0, 1.0, 0.5, 1.0, 0.0, inf)   # all rewards are equal
    (1e-12, 0.0, 1.0, 0.0)
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
    # Where all rewards are equal, λ is best at the top.
    step = beyond * exp(min(max(-wrong / slope, -20.0), 20.0)) if slope < 0.0 else NEAREST
    if not low < step < high:
        step = 0.5 * (low + high) if high < inf else 2.0 * beyond
    return max(step, NEAREST), low, high, most


def drifting_cost(
    gap: float, error: float, waiting: float, noise: float, freedom: float, arms: float
) -> float:
    """Return the cost of an arm if arms change, by Student's t, in units of log-likelihood.

    The arm with the lowest cost is played, as in IMED (Honda and Takemura 2015).  `gap` is how far
    its mean is below the best.  `error` is the variance of the mean in units of the noise, which
    grows while an arm is not pulled; `waiting` pulls have not answered yet.  `noise` is the
    variance of the arm's noise, known from `freedom` observations.

    >>> drifting_cost(0.5, 0.5, 0, 1.0, 4.0, 2) < drifting_cost(0.0, 0.1, 0, 1.0, 8.0, 2)
    True
    """
    precision = 1.0 / error + waiting
    if gap <= 0.0:  # arms with the same mean lead together, so that their order does not matter
        return log(precision)
    scale = freedom * noise
    off = min(precision * gap * gap / scale, FARTHEST_OFF) if scale > 0.0 else FARTHEST_OFF
    return 0.5 * (freedom + 1.0) * log1p(off) + log(precision) + log(arms)
