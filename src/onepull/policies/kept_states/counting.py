"""How much each kept state counts for the estimate of its arm, if arms change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.policies.kept_states.drift import DECAYS, DEVIATIONS
from onepull.policies.kept_states.merging import NEVER_MERGED

REPLAYED = 800  # states of all arms that a filter runs over again, in less than a millisecond
FEWEST_REPLAYED = 8  # of each arm


def replayed(arms: int) -> int:
    """Return how many of an arm's newest states a filter runs over again.

    >>> replayed(4), replayed(50), replayed(1000)
    (128, 16, 8)
    """
    return max(FEWEST_REPLAYED, min(NEVER_MERGED, REPLAYED // arms))


def counts_under(
    candidate: int, kept: Sequence[int], stands_for: Array, seen_at: NDArray[np.int64]
) -> tuple[Array, Array]:
    """Return how much each state counts for the mean and the deviation of its arm.

    The filter of the candidate runs again over the newest states of each arm.  Before that,
    older states count evenly.

    >>> from onepull.policies.kept_states.drift import STEADY
    >>> ones, times = np.ones((1, 3)), np.array([[0, 1, 2]])
    >>> mean, _ = counts_under(STEADY, [3], ones, times)
    >>> mean.round(3)
    array([[0.333, 0.333, 0.333]])
    """
    for_mean, for_deviation = np.zeros_like(stands_for), np.zeros_like(stands_for)
    decay, spread = float(DECAYS[candidate]), float(DEVIATIONS[candidate])
    again = replayed(len(kept))
    for arm, count in enumerate(kept):
        if not count:
            continue
        first = max(count - again, 1)
        older = stands_for[arm, :first]
        number = float(older.sum())
        times = seen_at[arm, :count]
        gaps = np.diff(times[first - 1 :])
        # Over a long time deviations even out.
        span = 1.0 + 0.5 * decay * float(times[first - 1] - times[0])
        mean, both, deviation = 1.0 / number + spread / span, -spread / span, spread
        gains = []
        for left in np.exp(-decay * gaps).tolist():
            both *= left
            deviation = left * left * (deviation - spread) + spread
            to_mean, to_deviation = mean + both, both + deviation
            noise = to_mean + to_deviation + 1.0
            gain, more = to_mean / noise, to_deviation / noise
            mean -= gain * to_mean
            both -= gain * to_deviation
            deviation -= more * to_deviation
            gains.append((gain, more, left))
        to_means, to_deviations, of_older, of_older_too = _spread_back(gains)
        for_mean[arm, first:count], for_deviation[arm, first:count] = to_means, to_deviations
        older = older / number
        for_mean[arm, :first], for_deviation[arm, :first] = of_older * older, of_older_too * older
    return for_mean, for_deviation


def _spread_back(
    gains: Sequence[tuple[float, float, float]],
) -> tuple[list[float], list[float], float, float]:
    """Return how much the state of each step counts at the end, for the mean and the deviation.

    The two last numbers are how much the mean before the first step counts for both.
    """
    for_mean: list[float] = []
    for_deviation: list[float] = []
    # How much a unit of the mean and of the deviation counts at the end, for both.
    a, b, c, d = 1.0, 0.0, 0.0, 1.0
    for gain, more, left in reversed(gains):
        mean, deviation = a * gain + b * more, c * gain + d * more
        for_mean.append(mean)
        for_deviation.append(deviation)
        a, b = a - mean, left * (b - mean)
        c, d = c - deviation, left * (d - deviation)
    return for_mean[::-1], for_deviation[::-1], a, c
