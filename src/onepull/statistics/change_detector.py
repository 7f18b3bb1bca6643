"""Change detection: test whether the mean of a stream of observations changed.

The functions are plain: `ChangeDetector` runs them and the simulator compiles them.  Those at the
end of the steps, from `close_bucket` on, have a second body in
`onepull.simulation.kernels.memory`.  The library keeps the raw rows of the current bucket and
works with numpy on all features and cuts at once, since a loop in CPython over all of them would
take a hundred times as long.  The compiler does not take cumulative sums along an axis, so a
kernel loops.  Both call `likelihood_ratio` and `share_of_range`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Annotated, Any

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.checks import Count, FiniteNumber
from onepull.errors import SaveFileError
from onepull.payoff import Features
from onepull.payoff.reward import NARROWEST

SPAN = 16  # observations in a new bucket, and between two tests
ALIKE = 4  # buckets of one size that are kept before two are merged
SMALLEST_PROBABILITY = 1e-300


def alarm_level(tests: int, ways: int, failure: float) -> float:
    """Return the level above which the k-th test, of `ways` statistics, reports a change.

    Without a change each statistic exceeds x with probability at most 4 (1 + x - ln 4) e^(-x).
    Test k gets the share 1/(k(k+1)) of the failure probability.

    >>> from math import exp
    >>> level = alarm_level(10, 40, 0.01)
    >>> round(level, 2)
    17.28
    >>> 4 * (1 + level - log(4)) / exp(level) * 40 * 10 * 11 < 0.01
    True
    """
    share = log(4.0 * ways * tests * (tests + 1) / failure)
    return share + log(1.0 + share + log(1.0 + share))


def coin_divergence(p: Any, q: Any) -> Any:
    """Return the KL divergence between two Bernoulli laws; p and q are numbers or arrays.

    >>> float(coin_divergence(0.0, 0.5))   # ln 2
    0.6931471805599453
    """
    # An outcome of probability 0 under p adds 0: the logarithm stays finite.
    heads = p * np.log(np.maximum(p, SMALLEST_PROBABILITY) / np.maximum(q, SMALLEST_PROBABILITY))
    tails = (1.0 - p) * np.log(
        np.maximum(1.0 - p, SMALLEST_PROBABILITY) / np.maximum(1.0 - q, SMALLEST_PROBABILITY)
    )
    return heads + tails


def likelihood_ratio(before: Any, sum_before: Any, total: Any, whole: Any) -> Any:
    """Return n₁ kl(μ₁, μ) + n₂ kl(μ₂, μ) of a cut, given sizes and sums, numbers or arrays.

    >>> round(float(likelihood_ratio(8, 2.0, 16, 8.0)), 12)   # 16 kl(1/4, 1/2)
    2.092992575058
    """
    # Rounding may put a mean slightly outside [0, 1].
    mean = np.minimum(np.maximum(whole / total, 0.0), 1.0)
    older = np.minimum(np.maximum(sum_before / before, 0.0), 1.0)
    after = total - before
    newer = np.minimum(np.maximum((whole - sum_before) / after, 0.0), 1.0)
    return before * coin_divergence(older, mean) + after * coin_divergence(newer, mean)


def tidied(sizes: Any, sums: Any, count: int) -> int:
    """Merge the two oldest buckets of a size if there are too many; return the number left.

    >>> sizes, sums = [32, 16, 16, 16, 16, 16], [9.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    >>> count = tidied(sizes, sums, 6)
    >>> sizes[:count], sums[:count]
    ([32, 32, 16, 16, 16], [9.0, 3.0, 3.0, 4.0, 5.0])
    """
    size = SPAN
    while True:
        alike, oldest = 0, count
        for k in range(count):
            if sizes[k] == size:
                alike += 1
                oldest = min(oldest, k)
        if alike <= ALIKE:
            return count
        sizes[oldest] = 2 * size
        add_next_row(sums, oldest)
        for k in range(oldest + 1, count - 1):
            sizes[k] = sizes[k + 1]
            take_next_row(sums, k)
        count -= 1
        size *= 2


def add_next_row(sums: Any, row: int) -> None:
    """Add the row after it to a row."""
    sums[row] = sums[row] + sums[row + 1]


def take_next_row(sums: Any, row: int) -> None:
    """Replace a row by the one after it."""
    sums[row] = sums[row + 1]


def detector_scales(lows: Sequence[float], highs: Sequence[float]) -> tuple[Array, Array]:
    """Return each feature's lower bound and 1 / width, or 0 for a width of 0.

    >>> [scale.tolist() for scale in detector_scales([1, 3], [5, 3])]
    [[1.0, 3.0], [0.25, 0.0]]
    """
    begin = np.asarray(lows, np.float64)
    widths = np.asarray(highs, np.float64) - begin
    return begin, np.where(widths > 0.0, 1.0 / np.maximum(widths, NARROWEST), 0.0)


def finds_change(detectors: Any, failure: float, arm: int) -> Any:
    """Close the full bucket of an arm and test; return whether there is a change.

    `detectors` is a sequence with a `ChangeDetector` for each arm, or the same in arrays.
    """
    tests, sizes, sums, count = close_bucket(detectors, arm)
    level = alarm_level(tests, max(1, (count - 1) * len(sums[0])), failure)
    if any_cut_exceeds(sizes, sums, count, level):
        return True
    keep_buckets(detectors, arm, tidied(sizes, sums, count))
    return False


def share_of_range(value: Any, low: Any, scale: Any) -> Any:
    """Return where a feature lies in its range, from 0 to 1; numbers or arrays.

    >>> [float(share_of_range(value, 2.0, 0.25)) for value in (1.0, 3.0, 7.0)]
    [0.0, 0.25, 1.0]
    """
    return np.minimum(np.maximum((value - low) * scale, 0.0), 1.0)


def close_bucket(detectors: Any, arm: int) -> Any:
    """Close the current bucket; return the number of tests, sizes, sums and their number."""
    return detectors[arm].close()


def any_cut_exceeds(sizes: Any, sums: Any, count: int, level: float) -> Any:
    """Return whether the likelihood ratio of any feature at any cut is above a level.

    >>> any_cut_exceeds([16, 16], [[4.0], [12.0]], 2, 4.0)   # 32 kl(1/4, 1/2) = 4.19
    True
    """
    # Cumulative sums add in one order whatever the shape, so they agree with a loop bit for bit.
    ends, parts = np.cumsum(sizes[:count])[:, None], np.cumsum(sums[:count], axis=0)
    ratio = likelihood_ratio(ends[:-1], parts[:-1], ends[-1], parts[-1])
    return bool((ratio > level).any())


def keep_buckets(detectors: Any, arm: int, count: int) -> None:
    """Keep the first buckets of an arm."""
    detectors[arm].keep(count)


def reset_detector(detectors: Any, arm: int) -> None:
    """Forget all observations of an arm."""
    detectors[arm].forget()


class DetectorState(msgspec.Struct, forbid_unknown_fields=True):
    """The saved form: the buckets, oldest first, and the rows of the current bucket."""

    tests: Count = 0
    sizes: list[Count] = []
    sums: list[list[FiniteNumber]] = []
    filling: Annotated[list[list[FiniteNumber]], msgspec.Meta(max_length=SPAN - 1)] = []


class ChangeDetector:
    """A likelihood-ratio test for a change in the mean of bounded features.

    It cuts the observations into an older and a newer part and computes, for every feature and
    every cut, n₁ kl(μ₁, μ) + n₂ kl(μ₂, μ).  This is the generalised likelihood ratio of Bernoulli
    laws, and an upper bound for other laws on the same range (Besson and Kaufmann 2019).  The
    cuts are between buckets, which double in size with age (as in Bifet and Gavaldà 2007), so
    n observations take O(log n) memory.  It tests whenever a bucket of 16 is full.  Without a
    change it ever reports one with probability at most `failure`, by a union bound over features,
    cuts and tests.  A change by a share d of a feature's range is found after about
    ln(n²/failure) / (2 d²) observations.

    Parameters
    ----------
    lows, highs
        Each feature's bounds.
    failure
        The probability of a false alarm.

    Examples
    --------
    >>> detector = ChangeDetector([0.0], [10.0], failure=0.01)
    >>> any(detector.take([4.0 + i % 3]) for i in range(1000))
    False
    >>> next(i for i in range(1000) if detector.take([9.0]))
    71
    """

    __slots__ = ("_filling", "_lows", "_scales", "_sizes", "_sums", "_tests", "failure")

    def __init__(
        self, lows: Sequence[float], highs: Sequence[float], *, failure: float = 0.01
    ) -> None:
        self._lows, self._scales = detector_scales(lows, highs)
        self.failure = failure
        self.forget()

    def forget(self) -> None:
        """Forget all observations."""
        self._tests = 0
        self._sizes: list[int] = []
        self._sums: list[Array] = []
        self._filling: list[list[float]] = []

    @property
    def storage(self) -> int:
        """The number of numbers kept."""
        buckets = len(self._sizes) * (len(self._lows) + 1)
        return buckets + len(self._filling) * len(self._lows) + 1

    def storage_after(self, observations: int) -> int:
        """Return the largest number of numbers that are kept after so many observations."""
        sizes = max(1, (observations // SPAN).bit_length())
        return ALIKE * sizes * (len(self._lows) + 1) + SPAN * len(self._lows) + 1

    def take(self, features: Features) -> bool:
        """Add one observation; return whether a change is found."""
        self._filling.append([float(feature) for feature in features])
        if len(self._filling) < SPAN:
            return False
        return bool(finds_change((self,), self.failure, 0))

    def close(self) -> tuple[int, list[int], list[Array], int]:
        """Close the current bucket; return the number of tests, sizes, sums and their number."""
        shares = share_of_range(np.array(self._filling), self._lows, self._scales)
        self._sizes.append(SPAN)
        self._sums.append(np.cumsum(shares, axis=0)[-1])
        self._filling = []
        self._tests += 1
        return self._tests, self._sizes, self._sums, len(self._sizes)

    def keep(self, count: int) -> None:
        """Keep the first buckets."""
        del self._sizes[count:], self._sums[count:]

    @property
    def rows(self) -> list[list[float]]:
        """The observations in the current bucket."""
        return self._filling

    def state(self) -> DetectorState:
        """Return the buckets and rows as plain values."""
        sums = [row.tolist() for row in self._sums]
        return DetectorState(self._tests, list(self._sizes), sums, list(self._filling))

    def restore(self, state: DetectorState) -> None:
        """Restore a saved state; raises SaveFileError if it is invalid."""
        rows = [*state.filling, *state.sums]
        if any(len(row) != len(self._lows) for row in rows) or len(state.sizes) != len(state.sums):
            raise SaveFileError(
                "the rows of a saved change detector have a wrong length or number; expected "
                f"{len(self._lows)} features in each"
            )
        doubled = [(size // SPAN).bit_count() == 1 and not size % SPAN for size in state.sizes]
        if not all(doubled) or state.sizes != sorted(state.sizes, reverse=True):
            raise SaveFileError(
                f"the buckets of a saved change detector must hold {SPAN}, {2 * SPAN}, … "
                f"observations, the largest first, given {state.sizes}"
            )
        if state.tests * SPAN != sum(state.sizes):
            raise SaveFileError(
                f"a saved change detector has {state.tests} tests of {sum(state.sizes)} "
                f"observations; expected one for every {SPAN}"
            )
        if not all(
            -1e-6 <= part <= size * (1 + 1e-6)
            for size, row in zip(state.sizes, state.sums, strict=True)
            for part in row
        ):
            raise SaveFileError("a sum of a saved change detector is outside its bucket's range")
        self._tests, self._sizes = state.tests, list(state.sizes)
        self._sums = [np.array(row, np.float64) for row in state.sums]
        self._filling = [[float(value) for value in row] for row in state.filling]
