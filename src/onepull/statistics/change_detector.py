"""Change detection: whether the mean of a stream stayed what it was."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.errors import SaveFileError
from onepull.payoff import Features

SPAN = 16  # observations in a bucket at first, and between tests
ALIKE = 4  # buckets of a size before two become one
TINY = 1e-300


def alarm_level(tests: int, ways: int, failure: float) -> float:
    """Return what the k-th test's statistic exceeds in any of `ways` by chance.

    Without a change each of them exceeds x with probability at most 4 (1 + x - ln 4) e^(-x);
    the tests k = 1, 2, … share the failure probability as 1/(k(k+1)).

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
    """Return KL between coins: numbers or arrays.

    >>> float(coin_divergence(0.0, 0.5))   # ln 2
    0.6931471805599453
    """
    # Where a coin never falls on one side, that counts for nothing.
    heads = p * np.log(np.maximum(p, TINY) / np.maximum(q, TINY))
    tails = (1.0 - p) * np.log(np.maximum(1.0 - p, TINY) / np.maximum(1.0 - q, TINY))
    return heads + tails


def likelihood_ratio(before: Any, sum_before: Any, total: Any, whole: Any) -> Any:
    """Return n₁ kl(μ₁, μ) + n₂ kl(μ₂, μ) of a cut, given sizes and sums: numbers or arrays.

    >>> round(float(likelihood_ratio(8, 2.0, 16, 8.0)), 12)   # 16 kl(1/4, 1/2)
    2.092992575058
    """
    # Rounding may carry a mean a little out of its range.
    mean = np.minimum(np.maximum(whole / total, 0.0), 1.0)
    older = np.minimum(np.maximum(sum_before / before, 0.0), 1.0)
    after = total - before
    newer = np.minimum(np.maximum((whole - sum_before) / after, 0.0), 1.0)
    return before * coin_divergence(older, mean) + after * coin_divergence(newer, mean)


def tidied(sizes: Any, sums: Any, count: int) -> int:
    """Put the two oldest buckets of a size together where there are too many; return the number.

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
        sums[oldest] = sums[oldest] + sums[oldest + 1]
        for k in range(oldest + 1, count - 1):
            sizes[k] = sizes[k + 1]
            sums[k] = sums[k + 1]
        count -= 1
        size *= 2


def detector_scales(lows: Sequence[float], highs: Sequence[float]) -> tuple[Array, Array]:
    """Return where features begin, and what makes shares of their ranges; nothing of none.

    >>> [scale.tolist() for scale in detector_scales([1, 3], [5, 3])]
    [[1.0, 3.0], [0.25, 0.0]]
    """
    begin = np.asarray(lows, np.float64)
    widths = np.asarray(highs, np.float64) - begin
    return begin, np.divide(1.0, widths, out=np.zeros(len(widths)), where=widths > 0.0)


class DetectorState(msgspec.Struct, forbid_unknown_fields=True):
    """The saved form: the buckets, oldest first, and what fills the next one."""

    tests: int = 0
    sizes: list[int] = []
    sums: list[list[float]] = []
    filling: list[list[float]] = []


class ChangeDetector:
    """A likelihood-ratio test for a change in the mean of bounded features.

    For every cut of what was seen into before and after it takes n₁ kl(μ₁, μ) + n₂ kl(μ₂, μ)
    of every feature, the generalised likelihood ratio for coins, which bounds that of any
    law on the same range (Besson and Kaufmann 2019).  Cuts are at the borders of buckets that
    double in size with age (as in Bifet and Gavaldà 2007), so that n observations take
    O(log n) memory; it tests whenever a bucket of 16 is full.  Without a change, the
    probability that it ever sees one is at most `failure`: that is a union over features,
    cuts and tests.  A change by a share d of a feature's range is seen after about
    ln(n²/failure) / (2 d²) observations.

    Parameters
    ----------
    lows, highs
        Between what every feature is.
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
        """Begin anew."""
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
        """Return the most numbers that so many observations may take."""
        sizes = max(1, (observations // SPAN).bit_length())
        return ALIKE * sizes * (len(self._lows) + 1) + SPAN * len(self._lows) + 1

    def take(self, features: Features) -> bool:
        """Take in one observation; say whether a change is seen."""
        self._filling.append([float(feature) for feature in features])
        if len(self._filling) < SPAN:
            return False
        shares = (np.array(self._filling) - self._lows) * self._scales
        self._sizes.append(SPAN)
        self._sums.append(np.cumsum(np.clip(shares, 0.0, 1.0), axis=0)[-1])
        self._filling = []
        self._tests += 1
        if self._test():
            return True
        count = tidied(self._sizes, self._sums, len(self._sizes))
        del self._sizes[count:], self._sums[count:]
        return False

    def _test(self) -> bool:
        # Sums that run: they add in one order whatever the shape, so that a plain loop agrees.
        ends, sums = np.cumsum(self._sizes)[:, None], np.cumsum(self._sums, axis=0)
        ratio = likelihood_ratio(ends[:-1], sums[:-1], ends[-1], sums[-1])
        level = alarm_level(self._tests, max(1, ratio.size), self.failure)
        return bool(np.any(ratio > level))

    def state(self) -> DetectorState:
        """Return everything seen as plain values."""
        sums = [row.tolist() for row in self._sums]
        return DetectorState(self._tests, list(self._sizes), sums, list(self._filling))

    def restore(self, state: DetectorState) -> None:
        """Take on a saved state; one that cannot be is refused."""
        rows = [*state.filling, *state.sums]
        if any(len(row) != len(self._lows) for row in rows) or len(state.sizes) != len(state.sums):
            raise SaveFileError(f"a change detector is not of {len(self._lows)} features")
        if len(state.filling) >= SPAN or min([state.tests, *state.sizes]) < 0:
            raise SaveFileError("a change detector has counts that cannot be")
        self._tests, self._sizes = state.tests, list(state.sizes)
        self._sums = [np.array(row, np.float64) for row in state.sums]
        self._filling = [[float(value) for value in row] for row in state.filling]
