"""How much each kept state counts for the estimate of its arm, if arms change."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

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
        past = float(times[first - 1] - times[0])
        lefts = np.exp(-decay * gaps).tolist()
        gains, more_gains = [0.0] * len(lefts), [0.0] * len(lefts)
        errors = first_errors(number, decay * past, spread)
        run_filter(errors, spread, lefts, gains, more_gains)
        of_older, of_older_too = spread_back(lefts, gains, more_gains)
        for_mean[arm, first:count], for_deviation[arm, first:count] = gains, more_gains
        older = older / number
        for_mean[arm, :first], for_deviation[arm, :first] = of_older * older, of_older_too * older
    return for_mean, for_deviation


def first_errors(number: float, faded: float, spread: float) -> tuple[float, float, float]:
    """Return the errors of a filter that starts with the mean of older observations.

    Parameters
    ----------
    number
        How many older observations there are.
    faded
        Over how long they were made, in units in which a deviation fades to 1/e.
    spread
        The variance of a deviation, in units of that of the noise.

    Examples
    --------
    >>> first_errors(2.0, 0.0, 3.0)  # of the mean, of mean and deviation together, of the deviation
    (3.5, -3.0, 3.0)
    """
    # Over a long time deviations even out.
    span = 1.0 + 0.5 * faded
    return 1.0 / number + spread / span, -spread / span, spread


def run_filter(
    errors: tuple[float, float, float],
    spread: float,
    lefts: Sequence[float],
    gains: MutableSequence[float],
    more_gains: MutableSequence[float],
) -> None:
    """Write the gains of the mean and of the deviation at every observation.

    `lefts` is what is left of the deviation before, at each observation.

    >>> gains, more_gains = [0.0, 0.0], [0.0, 0.0]
    >>> run_filter((0.5, 0.0, 0.0), 0.0, [1.0, 1.0], gains, more_gains)
    >>> gains == [1 / 3, 1 / 4], more_gains
    (True, [0.0, 0.0])
    """
    mean, both, deviation = errors
    for step, left in enumerate(lefts):
        mean, both, deviation, gain, more, _ = filtered(mean, both, deviation, spread, left)
        gains[step], more_gains[step] = gain, more


def filtered(
    mean: float, both: float, deviation: float, spread: float, left: float
) -> tuple[float, float, float, float, float, float]:
    """Return what an observation makes of the errors of a filter.

    With the new errors come the gains of the mean and of the deviation, and the expected square
    of the error of prediction.  `left` is what is left of the deviation before.

    >>> filtered(1.0, 0.0, 0.0, 0.0, 1.0)  # as many observations of the mean as before
    (0.5, 0.0, 0.0, 0.5, 0.0, 2.0)
    """
    both *= left
    deviation = left * left * (deviation - spread) + spread
    to_mean, to_deviation = mean + both, both + deviation
    size = to_mean + to_deviation + 1.0
    gain, more = to_mean / size, to_deviation / size
    mean, both = mean - gain * to_mean, both - gain * to_deviation
    return mean, both, deviation - more * to_deviation, gain, more, size


def spread_back(
    lefts: Sequence[float], gains: MutableSequence[float], more_gains: MutableSequence[float]
) -> tuple[float, float]:
    """Turn the gains of each step into how much its state counts at the end.

    That is for the mean and for the deviation.  How much the mean before the first step counts
    for them is returned.

    >>> gains, more_gains = [1 / 3, 1 / 4], [0.0, 0.0]
    >>> of_older, _ = spread_back([1.0, 1.0], gains, more_gains)
    >>> of_older, gains
    (0.5, [0.25, 0.25])
    """
    # How much a unit of the mean and of the deviation counts at the end, for both.
    a, b, c, d = 1.0, 0.0, 0.0, 1.0
    for step in range(len(lefts) - 1, -1, -1):
        gain, more, left = gains[step], more_gains[step], lefts[step]
        mean, deviation = a * gain + b * more, c * gain + d * more
        gains[step], more_gains[step] = mean, deviation
        a, b = a - mean, left * (b - mean)
        c, d = c - deviation, left * (d - deviation)
    return a, c
