"""How much each kept state counts for the estimate of its arm, if arms change."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.policies.kept_states.drift import DECAYS, DEVIATIONS
from onepull.policies.kept_states.merging import RECENT

REPLAYED = 800  # states of all arms that a filter runs over again, in one or two milliseconds
LEAST = 8  # of each arm


def replayed(arms: int) -> int:
    """Return how many of an arm's newest states a filter runs over again.

    >>> replayed(4), replayed(50), replayed(1000)
    (128, 16, 8)
    """
    return max(LEAST, min(RECENT, REPLAYED // arms))


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
        for_mean[arm, :first] = older / number
        times = seen_at[arm, :count].tolist()
        # Over a long time deviations even out.
        span = 1.0 + 0.5 * decay * (times[first - 1] - times[0])
        mean, both, deviation = 1.0 / number + spread / span, -spread / span, spread
        gains = []
        for last, now in zip(times[first - 1 : -1], times[first:], strict=True):
            left = exp(decay * (last - now))
            both *= left
            deviation = left * left * (deviation - spread) + spread
            to_mean, to_deviation = mean + both, both + deviation
            noise = to_mean + to_deviation + 1.0
            gain, more = to_mean / noise, to_deviation / noise
            mean -= gain * to_mean
            both -= gain * to_deviation
            deviation -= more * to_deviation
            gains.append((gain, more, left))
        _spread_back(gains, for_mean[arm, :count], for_deviation[arm, :count], first)
    return for_mean, for_deviation


def _spread_back(
    gains: Sequence[tuple[float, float, float]], for_mean: Array, for_deviation: Array, first: int
) -> None:
    """Turn the gains of a filter into how much each state counts at the end.

    Rows (m, d) say how much a unit of the mean and of the deviation at a step counts at the end,
    for the mean and for the deviation.
    """
    mean_row, deviation_row = (1.0, 0.0), (0.0, 1.0)
    for step in range(len(gains) - 1, -1, -1):
        gain, more, left = gains[step]
        place = first + step
        for_mean[place] = mean_row[0] * gain + mean_row[1] * more
        for_deviation[place] = deviation_row[0] * gain + deviation_row[1] * more
        mean_row, deviation_row = (
            (
                row[0] * (1.0 - gain) - row[1] * more,
                left * (row[1] * (1.0 - more) - row[0] * gain),
            )
            for row in (mean_row, deviation_row)
        )
    older = for_mean[:first].copy()
    for_mean[:first] = mean_row[0] * older
    for_deviation[:first] = deviation_row[0] * older
