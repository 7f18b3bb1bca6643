"""How far an observed law is from one with a higher mean, and how high its mean may be.

The law is given as `count` values with weights that sum to one; `top` is the highest value
there can be.  Plain functions of one arm: CPython calls them on lists or arrays, and a
compiler may take them as they are.
"""

from __future__ import annotations

from math import exp, inf, log, sqrt
from typing import Any

from onepull.index.rules import MeanRule, StateRule, leading_law

STEPS = 60  # enough for bisection alone; Newton's method takes about six
CLOSE = 1e-13
NEXT_TO_NOTHING = 1e-12


def rounding(low: float, high: float) -> float:
    """Return by how much two means of rewards in [low, high] may differ and be the same.

    >>> rounding(-2.0, 1.0)
    2e-12
    """
    return NEXT_TO_NOTHING * max(abs(low), abs(high))


def exploration(trial: float, c: float) -> float:
    """Return f(n) = ln n + c ln ln n, what an index may risk at trial n.

    >>> round(exploration(1000, 0.0), 6), round(exploration(1000, 3.0), 6)
    (6.907755, 12.705689)
    """
    if trial <= 1:
        return 0.0
    once = log(trial)
    return max(once + c * log(once), 0.0) if c != 0.0 and once > 1.0 else once


def divergence(  # noqa: C901, PLR0912 - plain loops, so that a compiler can take them
    values: Any, weights: Any, count: int, level: float, top: float
) -> float:
    """Return K(F, θ), the least KL(F, F') of a law F' up to the top with a mean above θ.

    The maximum over 0 ≤ λ ≤ 1 of E ln(1 - λ (X - θ)/(top - θ)) (Honda and Takemura 2010):
    nothing where the mean reaches the level, infinite where the top does not.

    >>> kl = 0.7 * log(0.7 / 0.4) + 0.3 * log(0.3 / 0.6)
    >>> abs(divergence([0.0, 1.0], [0.7, 0.3], 2, 0.6, 1.0) - kl) < 1e-12
    True
    """
    mean, reach = 0.0, 0.0
    for s in range(count):
        mean += weights[s] * values[s]
        if values[s] >= top:
            reach += weights[s]
    if mean >= level:
        return 0.0
    if level >= top:
        return inf
    scale = 1.0 / (top - level)
    # In terms of 1 - λ, since next to λ = 1 there is a pole if there is weight at the top.
    low, high = 0.0, 1.0
    free = 0.5 if reach > 0.0 else 0.0
    for _ in range(STEPS):
        slope, bend = 0.0, 0.0
        for s in range(count):
            if weights[s] > 0.0:
                short = (top - values[s]) * scale
                rest = free + (1.0 - free) * short
                slope += weights[s] * (1.0 - short) / rest
                bend -= weights[s] * (1.0 - short) * (1.0 - short) / (rest * rest)
        if slope > 0.0:
            low = free
        else:
            high = free
        if free == 0.0 and slope <= 0.0:
            break
        step = free - slope / bend
        if not low < step < high:
            step = 0.5 * (low + high)
        if abs(step - free) <= CLOSE * free:
            break
        free = step
    found = 0.0
    for s in range(count):
        if weights[s] > 0.0:
            found += weights[s] * log(free + (1.0 - free) * (top - values[s]) * scale)
    return max(found, 0.0)


def likely_mean(  # noqa: C901, PLR0912 - plain loops, so that a compiler can take them
    values: Any, weights: Any, count: int, top: float, budget: float
) -> float:
    """Return the highest mean θ with K(F, θ) ≤ budget: the empirical-likelihood bound.

    The minimum over λ ≥ top of λ - exp(E ln(λ - X) - budget), which is convex (Cappé et al.
    2013, in the form of its dual).

    >>> bound = likely_mean([0.0, 0.5, 1.0], [0.2, 0.5, 0.3], 3, 1.0, 0.05)
    >>> abs(divergence([0.0, 0.5, 1.0], [0.2, 0.5, 0.3], 3, bound, 1.0) - 0.05) < 1e-9
    True
    """
    mean, square, reach, lowest = 0.0, 0.0, 0.0, top
    for s in range(count):
        mean += weights[s] * values[s]
        lowest = min(lowest, values[s])
        if values[s] >= top:
            reach += weights[s]
    for s in range(count):
        if weights[s] > 0.0:  # what a window let go of may leave less than nothing behind
            square += weights[s] * (values[s] - mean) ** 2
    if budget <= 0.0:
        return mean
    if reach >= 1.0 - NEXT_TO_NOTHING or mean >= top:  # weights sum to one but for rounding
        return top
    if budget <= NEXT_TO_NOTHING:  # it would be lost in the rounding of logarithms
        return min(mean + sqrt(2.0 * square * budget), top)
    # The derivative has the sign of budget - excess(λ), and the excess falls with λ.
    if reach == 0.0 and _excess(values, weights, count, top) <= budget:
        return top - exp(_mean_log(values, weights, count, top, 0.0) - budget)
    low, high = 0.0, inf  # of λ - top
    least = 1e-100 * (top - mean)
    beyond = max(mean + sqrt(0.5 * square / budget) - top, 1e-9 * (top - mean))
    for _ in range(STEPS):
        one, two, logs = 0.0, 0.0, 0.0
        for s in range(count):
            if weights[s] > 0.0:
                part = 1.0 / (top - values[s] + beyond)
                one += weights[s] * part
                two += weights[s] * part * part
                logs -= weights[s] * log(part)
        wrong = logs + log(one) - budget
        if wrong > 0.0:
            low = beyond
        else:
            high = beyond
        # Newton's step in the logarithm of λ - top, within the bracket.
        slope = (one - two / one) * beyond
        step = beyond * exp(min(max(-wrong / slope, -20.0), 20.0)) if slope < 0.0 else low
        if not low < step < high:
            step = 0.5 * (low + high) if high < inf else 2.0 * beyond
        if abs(step - beyond) <= 1e-11 * beyond or step < least:
            break
        beyond = step
    found = top + beyond - exp(_mean_log(values, weights, count, top, beyond) - budget)
    return min(max(found, mean), top, mean + (top - lowest) * sqrt(0.5 * budget))


def _mean_log(values: Any, weights: Any, count: int, top: float, beyond: float) -> float:
    total = 0.0
    for s in range(count):
        if weights[s] > 0.0:
            total += weights[s] * log(top - values[s] + beyond)
    return total


def _excess(values: Any, weights: Any, count: int, top: float) -> float:
    inverse = 0.0
    for s in range(count):
        if weights[s] > 0.0:
            inverse += weights[s] / (top - values[s])
    return _mean_log(values, weights, count, top, 0.0) + log(inverse)


def likely_share(mean: float, budget: float) -> float:
    """Return the highest q with kl(mean, q) ≤ budget for coins: the Bernoulli kl-UCB bound.

    Where so little is known that it is one but for rounding, it is one.

    >>> round(likely_share(0.3, 0.7 * log(0.7 / 0.4) + 0.3 * log(0.3 / 0.6)), 9)
    0.6
    """
    mean = min(max(mean, 0.0), 1.0)
    if budget <= 0.0:
        return mean
    if mean == 0.0:
        return 1.0 - exp(-budget)
    if mean >= 1.0 - NEXT_TO_NOTHING:
        return 1.0
    low, high = mean, min(1.0, mean + sqrt(0.5 * budget))
    share = 0.5 * (low + high)
    for _ in range(STEPS):
        if share <= mean or share >= 1.0:  # so little, or so much, that rounding decides
            break
        wrong = mean * log(mean / share) + (1.0 - mean) * log((1.0 - mean) / (1.0 - share)) - budget
        if wrong > 0.0:
            high = share
        else:
            low = share
        step = share - wrong * share * (1.0 - share) / (share - mean)
        if not low < step < high:
            step = 0.5 * (low + high)
        if abs(step - share) < CLOSE:
            break
        share = step
    return share if share < 1.0 - NEXT_TO_NOTHING else 1.0


def bernstein_bound(
    mean: float, variance: float, width: float, pulls: float, budget: float
) -> float:
    """Return θ̂ + √(2V f/m) + 3G f/m, the bound of UCB-V (Audibert, Munos, Szepesvári 2009).

    >>> round(bernstein_bound(0.5, 0.01, 1.0, 100.0, 5.0), 6)
    0.681623
    """
    return mean + sqrt(2.0 * variance * budget / pulls) + 3.0 * width * budget / pulls


def law_variance(values: Any, weights: Any, count: int) -> float:
    """Return the variance of a law.

    >>> law_variance([0.0, 1.0], [0.5, 0.5], 2)
    0.25
    """
    mean, square = 0.0, 0.0
    for s in range(count):
        mean += weights[s] * values[s]
    for s in range(count):
        square += weights[s] * (values[s] - mean) ** 2
    return square


def remembered_risk(trial: float, c: float, head_start: float, memory: float) -> float:
    """Return f(N) with N = n + head_start, and at most the trials that are remembered.

    >>> remembered_risk(100, 0.0, 900.0, inf) == exploration(1000, 0.0)
    True
    """
    return exploration(min(trial + head_start, memory), c)


def likely_index(
    values: Any,
    weights: Any,
    pulls: float,
    mean: float,
    best: float,
    low: float,
    high: float,
    risk: float,
) -> float:
    """Return the empirical-likelihood bound of an arm, f(n) being the risk."""
    return likely_mean(values, weights, len(values), high, risk / pulls)


def likely_cap(
    pulls: float, mean: float, best: float, low: float, high: float, risk: float
) -> float:
    """Return θ̂ + G·√(f/2m), which that bound never exceeds but for rounding.

    >>> likely_cap(50, 0.5, 0.5, 0.0, 1.0, 4.0) > 0.7
    True
    """
    return mean + (high - low) * sqrt(0.5 * risk / pulls) + rounding(low, high)


def empirical_kl(c: float, head_start: float, memory: float = inf) -> StateRule:
    """Return the rule that plays the highest empirical-likelihood bound (Cappé et al. 2013).

    >>> rule = empirical_kl(0.0, 0.0)
    >>> rule.index([0.0, 1.0], [0.5, 0.5], 4, 0.5, 0.5, 0.0, 1.0, rule.exploration(100, 0.0, 0.0, inf))
    0.974341649025257
    """
    return StateRule(
        exploration=remembered_risk,
        index=likely_index,
        parameters=(c, head_start, memory),
        cap=likely_cap,
        breaks_ties_by_pulls=True,
    )


def nothing(trial: float) -> float:
    """Return 0: what a rule explores that has no need of the trial."""
    return 0.0


def divergence_index(
    values: Any,
    weights: Any,
    pulls: float,
    mean: float,
    best: float,
    low: float,
    high: float,
    exploration: float,
) -> float:
    """Return -(m·K(F̂, θ̂*) + ln m), the index of IMED."""
    return -(pulls * divergence(values, weights, len(values), best, high) + log(pulls))


def divergence_cap(
    pulls: float, mean: float, best: float, low: float, high: float, exploration: float
) -> float:
    """Return -(2m(Δ/G)² + ln m), which that index never exceeds but for rounding."""
    short = (best - mean) / (high - low) if high > low else 0.0
    return -(2.0 * pulls * short * short * (1.0 - NEXT_TO_NOTHING) + log(pulls))


def imed() -> StateRule:
    """Return the rule of IMED (Honda and Takemura 2015): the least m·K(F̂, θ̂*) + ln m.

    >>> imed().index([0.0, 1.0], [0.5, 0.5], 1, 0.5, 0.5, 0.0, 1.0, 0.0)
    -0.0
    """
    return StateRule(exploration=nothing, index=divergence_index, cap=divergence_cap)


def bernstein_exploration(trial: float, zeta: float) -> float:
    """Return ζ ln n."""
    return zeta * log(trial)


def bernstein_index(
    values: Any,
    weights: Any,
    pulls: float,
    mean: float,
    best: float,
    low: float,
    high: float,
    exploration: float,
) -> float:
    """Return the bound of UCB-V with the variance of the observed rewards."""
    variance = law_variance(values, weights, len(values))
    return bernstein_bound(mean, variance, high - low, pulls, exploration)


def empirical_bernstein(zeta: float) -> StateRule:
    """Return the rule of UCB-V (Audibert, Munos, Szepesvári 2009).

    >>> rule = empirical_bernstein(1.2)
    >>> round(rule.index([0.0, 1.0], [0.5, 0.5], 100, 0.5, 0.5, 0.0, 1.0, 5.0), 6)
    0.808114
    """
    return StateRule(exploration=bernstein_exploration, index=bernstein_index, parameters=(zeta,))


def share_aim(low: float, high: float, risk: float) -> tuple[float, float, float]:
    """Return all that the kl-UCB bounds of a context have in common."""
    return low, high, risk


def share_bound(mean: float, root: float, aim: tuple[float, float, float]) -> float:
    """Return the kl-UCB bound on a reward between low and high, with `root` = 1/√m.

    >>> round(share_bound(0.0, 0.1, (-1.0, 1.0, 5.0)), 6)   # the coin's bound, 0.5 to 0.654
    0.308484
    """
    low, high, risk = aim
    if mean == inf:
        return mean
    if high <= low:
        return high
    share = (mean - low) / (high - low)
    return low + (high - low) * likely_share(share, risk * root * root)


def share_cap(mean: float, root: float, aim: tuple[float, float, float]) -> float:
    """Return θ̂ + G·√(f/2m), which the kl-UCB bound never exceeds but for rounding."""
    low, high, risk = aim
    return mean + (high - low) * sqrt(0.5 * risk) * root + rounding(low, high)


def started_risk(trial: float, c: float, head_start: float) -> float:
    """Return f(N) with N = n + head_start."""
    return exploration(trial + head_start, c)


def kl_ucb(c: float, head_start: float) -> MeanRule:
    """Return the rule of kl-UCB (Garivier and Cappé 2011) on rewards of any range.

    >>> rule = kl_ucb(0.0, 0.0)
    >>> round(rule.index(0.5, 0.1, rule.aim_at(0.0, 1.0, 100)), 6)
    0.648315
    """
    return MeanRule(
        exploration=started_risk,
        aim=share_aim,
        index=share_bound,
        parameters=(c, head_start),
        cap=share_cap,
        breaks_ties_by_pulls=True,
    )


def patient_leader(  # noqa: C901, PLR0912 - plain loops, so that a compiler can take them
    values: Any,
    laws: Any,
    pulls: Any,
    means: Any,
    lows: Any,
    tops: Any,
    risk: float,
    here: int,
    absent: Any,
    patience: int,
) -> int:
    """Return the arm to pull if exploration waits for the context where it costs least.

    An arm is due where its bound leads in some context and its mean does not.  It is pulled
    in the context in which its mean falls short by least, of those that came within the last
    `patience` trials; elsewhere the best mean is played, and of several the least pulled.

    Parameters
    ----------
    values, means, lows, tops
        By context: the reward of every state, every arm's mean, and the reward's bounds.
    here
        The context that came now.
    absent
        The trials since each context last came.

    Examples
    --------
    The second arm is due in both contexts, and costs 0.3 in one and 0.09 in the other.

    >>> values, laws = [[0, 1], [0, 0.3]], [[0.2, 0.8], [0.5, 0.5]]
    >>> told = (values, laws, [90, 4], [[0.8, 0.5], [0.24, 0.15]], [0, 0], [1, 0.3], 4.6)
    >>> [patient_leader(*told, here, [1, 3], 10) for here in (0, 1)]
    [0, 1]
    >>> patient_leader(*told, 0, [1, 11], 10)   # the other one has not come for too long
    1
    """
    arms, contexts = len(pulls), len(absent)
    for j in range(arms):
        if pulls[j] == 0:
            return j
    best = 0
    for j in range(arms):
        if means[here][j] > means[here][best]:
            best = j
    enough = means[here][best] - rounding(lows[here], tops[here])
    for j in range(arms):
        if means[here][j] >= enough and (pulls[j], j) < (pulls[best], best):
            best = j
    for i in range(contexts):
        if absent[i] > patience and i != here:
            continue
        leader = 0
        for j in range(arms):
            if means[i][j] > means[i][leader]:
                leader = j
        due = leading_law(
            values[i], laws, pulls, means[i], lows[i], tops[i], risk, likely_index, likely_cap, True
        )
        if means[i][leader] - means[i][due] <= rounding(lows[i], tops[i]):
            continue
        cheapest, least = here, means[here][best] - means[here][due]
        for k in range(contexts):
            if absent[k] <= patience:
                top = means[k][0]
                for j in range(arms):
                    top = max(top, means[k][j])
                if top - means[k][due] < least - rounding(lows[k], tops[k]):
                    cheapest, least = k, top - means[k][due]
        if cheapest == here:
            return due
    return best
