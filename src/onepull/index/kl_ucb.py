"""The rule of kl-UCB, with the Bernoulli bound scaled to the range of the reward."""

from __future__ import annotations

from math import inf, sqrt

from onepull.index.empirical_likelihood import exploration, likely_share, rounding
from onepull.index.rules import MeanRule


def started_risk(trial: float, c: float, head_start: float) -> float:
    """Return f(N) with N = n + head_start."""
    return exploration(trial + head_start, c)


def share_aim(low: float, high: float, risk: float) -> tuple[float, float, float]:
    """Return what the kl-UCB bounds of all arms have in common in a context."""
    return low, high, risk


def share_bound(mean: float, root: float, aim: tuple[float, float, float]) -> float:
    """Return the kl-UCB bound on a reward between low and high, with `root` = 1/√m.

    >>> round(share_bound(0.0, 0.1, (-1.0, 1.0, 5.0)), 6)   # kl-UCB takes 0.5 to 0.654
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
    """Return θ̂ + G·√(f/2m) plus rounding, which the kl-UCB bound never exceeds."""
    low, high, risk = aim
    return mean + (high - low) * sqrt(0.5 * risk) * root + rounding(low, high)


def kl_ucb(c: float, head_start: float) -> MeanRule:
    """Return the rule of kl-UCB (Garivier and Cappé 2011) for rewards of any range.

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
