"""The filters of `Drift` as plain loops for compiled code.

The library filters all candidates and contexts at once in numpy, since a loop in Python over a
hundred of them would take longer than the rest of a decision.  A kernel needs the loops: its calls
of numpy would allocate arrays at every trial.  Tests compare both to rounding.  The step of one
filter and the step back are functions of `counting`, compiled as they are.
"""

from __future__ import annotations

from math import exp, log, log1p
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.index import kept_likelihood
from onepull.policies.kept_states import counting
from onepull.policies.kept_states.drift import (
    DECAYS,
    DEVIATIONS,
    LEAST_NOISE_COUNT,
    LEAST_VARIANCE,
    ODDS,
    POOLED,
    STEADY,
    Drift,
)
from onepull.simulation.compiled import compiled, inlined, reachable

reachable(counting.filtered, forceinline=True)  # what a plain function calls

drifting_cost = inlined(kept_likelihood.drifting_cost)
filtered = inlined(counting.filtered)
first_errors = inlined(counting.first_errors)
run_filter = inlined(counting.run_filter)
spread_back = inlined(counting.spread_back)

CANDIDATE_COUNT = len(DECAYS)
LARGE = 1e150  # a product above is turned into its logarithm


class Filters(NamedTuple):
    """What `Drift` keeps, as arrays."""

    mean_error: Array  # [arm, candidate]
    both_error: Array
    deviation_error: Array
    means: Array  # [arm, candidate, context]
    deviations: Array
    squares: Array
    pooled: Array  # [context]
    likelihood: Array
    latest: NDArray[np.int64]
    compared: NDArray[np.int64]
    chosen: NDArray[np.int64]  # one number
    gains: Array  # of the newest pull: [mean, deviation, fading; candidate]


def filters_of(drift: Drift) -> Filters:
    """Return the filters of a drift that has seen nothing."""
    twin = drift.copy()
    return Filters(
        twin.errors[:, 0, :, 0].copy(),
        twin.errors[:, 1, :, 0].copy(),
        twin.errors[:, 2, :, 0].copy(),
        twin.levels[:, 0].copy(),
        twin.levels[:, 1].copy(),
        twin.squares,
        twin.pooled,
        twin.likelihood,
        np.array(twin.latest, np.int64),
        np.array(twin.compared, np.int64),
        np.array([twin.chosen], np.int64),
        np.zeros((3, CANDIDATE_COUNT)),
    )


@compiled
def learn(filters: Any, arm: Any, trial: Any, rewards: Any) -> None:
    """Learn the rewards of one pull in all contexts; write the gains and the fading."""
    gains, latest = filters.gains, filters.latest
    contexts = rewards.size
    if latest[arm] < 0:
        latest[arm] = trial
        for q in range(CANDIDATE_COUNT):
            for c in range(contexts):
                filters.means[arm, q, c] = rewards[c]
            gains[0, q], gains[1, q], gains[2, q] = 1.0, 0.0, 0.0
        return
    total, used = filters.compared.sum(), 0
    freedom = POOLED + filters.compared[arm]
    share = POOLED / total if total >= LEAST_NOISE_COUNT else 0.0
    # The first candidate is learned last: where it was never wrong there is nothing to compare.
    for q in range(CANDIDATE_COUNT - 1, -1, -1):
        left = exp(DECAYS[q] * (latest[arm] - trial))
        of_mean, of_both, of_deviation, gain, more, size = filtered(
            filters.mean_error[arm, q], filters.both_error[arm, q], filters.deviation_error[arm, q],
            DEVIATIONS[q], left,
        )  # fmt: skip
        filters.mean_error[arm, q], filters.both_error[arm, q] = of_mean, of_both
        filters.deviation_error[arm, q] = of_deviation
        gains[0, q], gains[1, q], gains[2, q] = gain, more, left
        means, deviations = filters.means[arm, q], filters.deviations[arm, q]
        squares, steady, pooled = (
            filters.squares[arm, q],
            filters.squares[arm, STEADY],
            filters.pooled,
        )
        used = 0
        # One logarithm of a product is faster than those of its factors: `offs` is one less than a
        # product.
        offs, logs = 0.0, 0.0
        for c in range(contexts):
            expected = left * deviations[c]
            wrong = rewards[c] - means[c] - expected
            noise = pooled[c] * share + steady[c]
            if total >= LEAST_NOISE_COUNT and noise > LEAST_VARIANCE * freedom:
                used += 1
                offs += wrong * wrong / noise * (1.0 + offs)
                if not offs < LARGE:
                    logs += log1p(offs)
                    offs = 0.0
            square = wrong * wrong / size
            squares[c] += square
            pooled[c] += square * (q == STEADY)
            means[c] += gain * wrong
            deviations[c] = expected + more * wrong
        if used > 0:
            filters.likelihood[q] -= 0.5 * (freedom + 1.0) * (logs + log1p(offs)) / used
    latest[arm] = trial
    filters.compared[arm] += 1
    if used > 0:
        filters.chosen[0] = most_likely(filters.likelihood)


@inlined
def most_likely(likelihood: Any) -> Any:
    """Return the candidate to go by: no change, unless change is more likely."""
    best = STEADY + 1
    for q in range(STEADY + 2, likelihood.size):
        if likelihood[q] > likelihood[best]:
            best = q
    rest = 0.0
    for q in range(STEADY + 1, likelihood.size):
        rest += exp(likelihood[q] - likelihood[best])
    rest /= likelihood.size - STEADY - 1
    return best if likelihood[best] + log(rest) > likelihood[STEADY] + ODDS else STEADY


@inlined
def faded(filters: Any, arm: Any, trial: Any) -> Any:
    """Return what is left of an arm's deviation at a trial, and the variance of its mean."""
    q = filters.chosen[0]
    spread = DEVIATIONS[q]
    left = exp(DECAYS[q] * (filters.latest[arm] - trial))
    error = filters.mean_error[arm, q] + 2.0 * left * filters.both_error[arm, q]
    return left, error + left * left * (filters.deviation_error[arm, q] - spread) + spread


@inlined
def unexplained(filters: Any, arm: Any) -> Any:
    """Return what share of an arm's variance is noise, by the chosen candidate."""
    q = filters.chosen[0]
    if q == STEADY:
        return 1.0
    raw, left = filters.squares[arm, STEADY], filters.squares[arm, q]
    total = 0.0
    for c in range(raw.size):
        total += left[c] / raw[c] if raw[c] > LEAST_VARIANCE else 1.0
    return min(total / raw.size, 1.0)


@compiled
def recount(
    chosen: Any, kept: Any, again: Any, stands_for: Any, seen_at: Any, counts: Any, lefts: Any
) -> None:
    """Write how much each of an arm's states counts for its mean and its deviation.

    The filter runs over the newest `again` states.  `counts` has a row for the mean and one for
    the deviation.  `lefts` is scratch.
    """
    if kept == 0:
        return
    decay, spread = DECAYS[chosen], DEVIATIONS[chosen]
    first = max(kept - again, 1)
    number = 0.0
    for s in range(first):
        number += stands_for[s]
    for s in range(first, kept):
        lefts[s] = exp(decay * (seen_at[s - 1] - seen_at[s]))
    newer, for_mean, for_deviation = lefts[first:kept], counts[0, first:kept], counts[1, first:kept]
    errors = first_errors(number, decay * (seen_at[first - 1] - seen_at[0]), spread)
    run_filter(errors, spread, newer, for_mean, for_deviation)
    of_older, of_older_too = spread_back(newer, for_mean, for_deviation)
    for s in range(first):
        counts[0, s] = of_older * (stands_for[s] / number)
        counts[1, s] = of_older_too * (stands_for[s] / number)
