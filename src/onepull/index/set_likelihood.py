"""The likelihood of laws of which only sets of states were seen, and how high a mean may be.

Observations are sets: a row of `told` is 1 at the states of a set and 0 elsewhere, and `counts`
says how often it was seen.  A set of one state is a state that was seen.  CPython runs these
functions as they are; a compiler takes them too, with linear algebra of its own.
"""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import Any

import numpy as np

from onepull.index.rules import comes_before

FOGS = (1.0, 1e-2, 1e-4, 1e-6)  # observations of every state that are made up, fewer and fewer
FAINTEST = FOGS[-1]
STEPS = 50  # of Newton's method; it takes two to five
HALVINGS = 30  # of a step; mostly none
TURNS = 40  # of the search for the multiplier; it takes four to ten
CLOSE = 1e-3  # of the multiplier, and of the slope in it: the bound is off by less, upwards
UNKNOWN_BOUND = (inf, 0.0, 0.0)  # a bound, its rise and its risk before one is computed
WHOLE = 0.9  # of the way to where a share would be nothing


def mixtures(rates: Any, shares: Any) -> Any:
    """Return how likely every observation is: rates u.

    >>> mixtures(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([0.25, 0.75])).tolist()
    [0.25, 1.0]
    """
    return rates @ shares


def tangent(rates: Any, counts: Any, likely: Any) -> tuple[Any, Any]:
    """Return the slope of Σ count ln(rates u) in u, and how it bends: Σ count · row rowᵀ.

    >>> slope, bend = tangent(np.array([[1.0, 2.0]]), np.array([3.0]), np.array([0.5]))
    >>> slope.tolist(), bend.tolist()
    ([6.0, 12.0], [[12.0, 24.0], [24.0, 48.0]])
    """
    rows = rates / likely[:, None]
    return counts @ rows, (rows.T * counts) @ rows


def solved(matrix: Any, vector: Any) -> Any:
    """Return x with matrix x = vector; the matrix is symmetric and positive.

    >>> solved(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0])).tolist()
    [1.0, 0.5]
    """
    return np.linalg.solve(matrix, vector)


def total(weights: Any, values: Any) -> float:
    """Return Σ weight · value.

    >>> float(total(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    11.0
    """
    return weights @ values  # type: ignore[no-any-return]  # a number


def _height(counts: Any, likely: Any, shares: Any, fog: float, weight: float) -> float:
    """Return what `settled` makes highest; the weight is what a share costs."""
    clear = total(counts, np.log(likely)) - weight * shares.sum()
    return clear + fog * np.log(shares).sum()  # type: ignore[no-any-return]  # a number


def settled(rates: Any, counts: Any, shares: Any, fog: float) -> Any:
    """Return the shares u with the highest Σ count ln(rates u) + fog Σ ln u, summing to one.

    Newton's method from some positive shares.  The fog keeps shares from being nothing, and
    the likelihood within fog times their number of the highest there is.
    """
    weight = counts.sum() + fog * shares.size
    likely = mixtures(rates, shares)
    height = _height(counts, likely, shares, fog, weight)
    for _ in range(STEPS):
        # Steps are taken in proportion to the shares, some of which are next to nothing.
        slope, bend = tangent(rates * shares, counts, likely)
        slope += fog - weight * shares
        for s in range(shares.size):
            bend[s, s] += fog
        step = solved(bend, slope)
        gain = total(slope, step)
        away = step.min()
        size = 1.0 if away > -WHOLE else -WHOLE / away
        before = height
        for _ in range(HALVINGS):
            tried = shares * (1.0 + size * step)
            likely = mixtures(rates, tried)
            height = _height(counts, likely, tried, fog, weight)
            # Below so little, rounding decides.
            if height >= before + 0.1 * size * gain or gain <= 1e-9:
                break
            size *= 0.5
        shares = tried
        if gain < 0.01 * fog:
            break
    return shares / shares.sum()


def spread(rates: Any, counts: Any) -> Any:
    """Return the most likely shares, from even ones on.

    With sets in place of rates that is the self-consistent law of Turnbull (1976): every
    observation is shared out over its set as the law itself does.  What no observation tells
    apart is shared evenly.

    >>> told = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 0.0]])
    >>> spread(told, np.array([1.0, 2.0, 1.0])).round(4).tolist()
    [0.25, 0.75, 0.0]
    """
    shares = np.full(rates.shape[1], 1.0 / rates.shape[1])
    for fog in FOGS:
        shares = settled(rates, counts, shares, fog)
    return shares


def log_likelihood(rates: Any, counts: Any, shares: Any) -> float:
    """Return Σ count ln(rates u).

    >>> told, law = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([0.5, 0.5])
    >>> round(float(log_likelihood(told, np.array([3.0, 1.0]), law)), 6)   # 3 ln 0.5
    -2.079442
    """
    return total(counts, np.log(mixtures(rates, shares)))


def coarse_bound(  # noqa: PLR0913, PLR0917 - one arm's counts one by one, for a compiler
    told: Any, counts: Any, values: Any, top: float, law: Any, risk: float
) -> tuple[float, float]:
    """Return the highest mean value of a law whose log-likelihood falls short by risk at most.

    The states are those that occur in some set; others may have the value `top`, the highest
    of all.  With it comes by how much the bound rises for more risk, at most.

    For every λ > top, the laws of which Σ p (λ - value) = 1 have some highest likelihood
    Φ(λ), and a law with mean θ is λ - θ times one of them: so θ ≤ λ - exp((ℓ - risk - Φ)/m),
    with ℓ the highest likelihood there is.  The least of these is the bound, and any of them
    is one.  Where every set is a state this is the empirical-likelihood bound (Cappé et al.
    2013).

    >>> from onepull.index.empirical_likelihood import likely_mean
    >>> values, law = np.array([0.0, 0.5, 1.0]), np.array([0.2, 0.5, 0.3])
    >>> bound, _ = coarse_bound(np.eye(3), 100 * law, values, 1.0, law, 5.0)
    >>> bool(abs(bound - likely_mean(values, law, 3, 1.0, 0.05)) < 1e-6)
    True
    """
    pulls = counts.sum()
    gaps = top - values
    short = total(law, gaps)
    mean = top - short
    reach = gaps.max()
    if risk <= 0.0:
        return mean, inf
    if short <= CLOSE * CLOSE * reach:  # but for fog
        return top, 0.0
    best = log_likelihood(told, counts, law)
    square = total(law, (values - mean) ** 2)
    beyond = max(mean + sqrt(0.5 * square * pulls / risk) - top, 1e-6 * reach)
    low, high = 0.0, inf  # where the multiplier is too small, and where too large
    wrong_low, wrong_high = 0.0, 0.0
    least_wrong = CLOSE * risk / pulls
    least, rise = top, 0.0
    shares = law
    for turn in range(TURNS):
        costs = gaps + beyond  # not top + beyond - values, where rounding may leave nothing
        rates = told / costs
        # Before the first turn nothing is near, afterwards the shares move but little.
        shares = settled(rates, counts, shares, FAINTEST) if turn else spread(rates, counts)
        likely = log_likelihood(rates, counts, shares) + FAINTEST * shares.size
        short = exp((best - risk - likely) / pulls)
        if top + beyond - short < least:
            least, rise = top + beyond - short, short / pulls
        # The bound falls with λ as long as this is above nothing.
        wrong = log(total(shares, 1.0 / costs) * short)
        if wrong > 0.0:
            low, wrong_low = beyond, wrong
        else:
            high, wrong_high = beyond, wrong
        if high == inf:
            step = 4.0 * beyond
        elif low == 0.0:
            step = 0.25 * beyond
        else:
            # The chord in logarithms, kept off the ends so that both of them move.
            part = min(max(wrong_low / (wrong_low - wrong_high), 0.1), 0.9)
            step = low * (high / low) ** part
        if abs(step - beyond) <= CLOSE * beyond or step < 1e-9 * reach or abs(wrong) <= least_wrong:
            break
        beyond = step
    return max(least, mean), rise


def bound_cap(bound: float, rise: float, risk: float, now: float) -> float:
    """Return the most that a bound can be now, given the bound and its rise at an earlier risk.

    The bound is concave in the risk, so it lies below its tangent.

    >>> bound_cap(1.0, 0.5, 3.0, 3.2), bound_cap(*UNKNOWN_BOUND, 3.2)
    (1.1, inf)
    """
    return bound + rise * (now - risk)


def leading_bound(caps: Any, pulls: Any, bound: Any, *told: Any) -> int:
    """Return the arm with the highest bound, the least pulled of several.

    An arm that was never pulled comes first.  Bounds are slow to compute, so arms are tried in
    order of decreasing cap until no cap reaches the highest bound found.

    Parameters
    ----------
    caps
        An array with a number for each arm that its bound does not exceed.  It is overwritten.
    pulls
        The pulls of each arm.
    bound, told
        `bound(arm, *told)` is the bound of an arm.

    Examples
    --------
    >>> bounds = [0.6, 0.9, 0.9, 0.1]
    >>> leading_bound(np.array([1.0, 0.9, 1.0, 0.8]), [9, 5, 7, 1], lambda arm: bounds[arm])
    1
    """
    for arm in range(len(pulls)):
        if pulls[arm] == 0:
            return arm
    best, highest = 0, -inf
    for _ in range(len(pulls)):
        arm = int(np.argmax(caps))
        if caps[arm] < highest:
            break
        caps[arm] = -inf
        found = bound(arm, *told)
        if found > highest or (
            found == highest and comes_before(arm, pulls[arm], best, pulls[best], True)
        ):
            best, highest = arm, found
    return best
