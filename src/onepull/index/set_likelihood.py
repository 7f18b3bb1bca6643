"""Likelihood of a law from observed sets of states, and the highest likely mean.

Observations are sets: a row of `told` is 1 at the states of a set and 0 elsewhere, and `counts`
says how often the set was observed.  A set of one state is an observed state.  CPython runs
these functions, and the simulator compiles them.  Only the linear algebra (`mixtures`, `tangent`,
`solved`, `weighted_sum`) has a second, compiled form: numpy's is fastest in CPython, and
compiling it would need scipy.
"""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import Any

import numpy as np

from onepull.index.rules import comes_before
from onepull.payoff.reward import NARROWEST

FOGS = (1.0, 1e-2, 1e-4, 1e-6)  # barrier weights: pseudo-observations of every state
FAINTEST = FOGS[-1]
NEWTON_STEPS = 50  # of Newton's method; it takes two to five
STEP_HALVINGS = 30  # of a step; mostly none
TURNS = 40  # of the search for the multiplier; it takes four to ten
MULTIPLIER_TOLERANCE = (
    1e-3  # tolerance of the multiplier and of the slope in it; the bound errs upwards
)
UNKNOWN_BOUND = (inf, 0.0, 0.0)  # a bound, its rise and its risk before one is computed
WHOLE = 0.9  # of the way to where a share would be zero


def mixtures(rates: Any, shares: Any) -> Any:
    """Return the probability of every observation: rates u.

    >>> mixtures(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([0.25, 0.75])).tolist()
    [0.25, 1.0]
    """
    return rates @ shares


def tangent(rates: Any, counts: Any, likely: Any) -> tuple[Any, Any]:
    """Return the gradient of Σ count ln(rates u) in u, and its negative Hessian.

    >>> slope, bend = tangent(np.array([[1.0, 2.0]]), np.array([3.0]), np.array([0.5]))
    >>> slope.tolist(), bend.tolist()
    ([6.0, 12.0], [[12.0, 24.0], [24.0, 48.0]])
    """
    rows = rates / likely[:, None]
    return counts @ rows, (rows.T * counts) @ rows


def solved(matrix: Any, vector: Any) -> Any:
    """Return x with matrix x = vector; the matrix is symmetric and positive definite.

    >>> solved(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0])).tolist()
    [1.0, 0.5]
    """
    return np.linalg.solve(matrix, vector)


def weighted_sum(weights: Any, values: Any) -> float:
    """Return Σ weight · value.

    >>> float(weighted_sum(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    11.0
    """
    return weights @ values  # type: ignore[no-any-return]  # a number


def penalised_likelihood(counts: Any, likely: Any, shares: Any, fog: float, weight: float) -> float:
    """Return what `settled_shares` maximises; `weight` is the price of a share."""
    clear = weighted_sum(counts, np.log(likely)) - weight * shares.sum()
    return clear + fog * np.log(shares).sum()  # type: ignore[no-any-return]  # a number


def settled_shares(rates: Any, counts: Any, shares: Any, fog: float) -> Any:
    """Return the shares u that maximise Σ count ln(rates u) + fog Σ ln u and sum to one.

    Newton's method, started from positive shares.  The barrier `fog` keeps shares positive, and
    the log-likelihood within fog times their number of the maximum.
    """
    weight = counts.sum() + fog * shares.size
    likely = mixtures(rates, shares)
    height = penalised_likelihood(counts, likely, shares, fog, weight)
    for _ in range(NEWTON_STEPS):
        # Steps are relative to the shares, some of which are close to zero.
        slope, bend = tangent(rates * shares, counts, likely)
        slope += fog - weight * shares
        for s in range(shares.size):
            bend[s, s] += fog
        step = solved(bend, slope)
        gain = weighted_sum(slope, step)
        away = step.min()
        size = 1.0 if away > -WHOLE else -WHOLE / away
        before = height
        for _ in range(STEP_HALVINGS):
            tried = shares * (1.0 + size * step)
            likely = mixtures(rates, tried)
            height = penalised_likelihood(counts, likely, tried, fog, weight)
            # A gain this small is lost in rounding.
            if height >= before + 0.1 * size * gain or gain <= 1e-9:
                break
            size *= 0.5
        shares = tried
        if gain < 0.01 * fog:
            break
    return shares / shares.sum()


def likely_shares(rates: Any, counts: Any) -> Any:
    """Return the most likely shares, starting from equal ones.

    With sets in place of rates this is the self-consistent law of Turnbull (1976): every
    observation is divided over its set in proportion to the law.  States that no observation
    distinguishes get equal shares.

    >>> told = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 0.0]])
    >>> likely_shares(told, np.array([1.0, 2.0, 1.0])).round(4).tolist()
    [0.25, 0.75, 0.0]
    """
    shares = np.full(rates.shape[1], 1.0 / rates.shape[1])
    for fog in FOGS:
        shares = settled_shares(rates, counts, shares, fog)
    return shares


def log_likelihood(rates: Any, counts: Any, shares: Any) -> float:
    """Return Σ count ln(rates u).

    >>> told, law = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([0.5, 0.5])
    >>> round(float(log_likelihood(told, np.array([3.0, 1.0]), law)), 6)   # 3 ln 0.5
    -2.079442
    """
    return weighted_sum(counts, np.log(mixtures(rates, shares)))


def coarse_bound(
    told: Any, counts: Any, values: Any, top: float, law: Any, risk: float
) -> tuple[float, float]:
    """Return the highest mean value of a law whose log-likelihood is within `risk` of the maximum.

    The second number is the slope of the bound in the risk.  The states are those that occur in
    some set; other states may have the value `top`, the highest of all.

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
    unit = max((top - values).max(), NARROWEST)
    gaps = (top - values) / unit  # from here on in units of the range
    reach = gaps.max()
    short = weighted_sum(law, gaps)
    mean = top - unit * short
    if risk <= 0.0:
        return mean, inf
    if short <= MULTIPLIER_TOLERANCE * MULTIPLIER_TOLERANCE * reach:  # up to the barrier
        return top, 0.0
    best = log_likelihood(told, counts, law)
    square = weighted_sum(law, (gaps - short) ** 2)
    beyond = max(sqrt(0.5 * square * pulls / risk) - short, 1e-6 * reach)
    low, high = 0.0, inf  # multipliers that are too small and too large
    wrong_low, wrong_high = 0.0, 0.0
    least_wrong = MULTIPLIER_TOLERANCE * risk / pulls
    most, rise = 0.0, 0.0  # how far the bound is below the top
    shares = law
    for turn in range(TURNS):
        costs = gaps + beyond  # not top + beyond - values, which may round to zero
        rates = told / costs
        # After the first turn the shares move little, so start from them.
        shares = (
            settled_shares(rates, counts, shares, FAINTEST)
            if turn
            else likely_shares(rates, counts)
        )
        likely = log_likelihood(rates, counts, shares) + FAINTEST * shares.size
        short = exp((best - risk - likely) / pulls)
        if short - beyond > most:
            most, rise = short - beyond, short / pulls
        # The bound falls with λ as long as this is positive.
        wrong = log(weighted_sum(shares, 1.0 / costs) * short)
        if wrong > 0.0:
            low, wrong_low = beyond, wrong
        else:
            high, wrong_high = beyond, wrong
        if high == inf:
            step = 4.0 * beyond
        elif low == 0.0:
            step = 0.25 * beyond
        else:
            # The secant in logarithms, kept away from the ends so that both move.
            part = min(max(wrong_low / (wrong_low - wrong_high), 0.1), 0.9)
            step = low * (high / low) ** part
        if (
            abs(step - beyond) <= MULTIPLIER_TOLERANCE * beyond
            or step < 1e-9 * reach
            or abs(wrong) <= least_wrong
        ):
            break
        beyond = step
    return max(top - unit * most, mean), unit * rise


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
