"""The power gains of fading channels."""

from __future__ import annotations

import math

import numpy as np

from onepull.arrays import Array
from onepull.checks import real
from onepull.distributions.continuous import FARTHEST_DEVIATIONS, Continuous
from onepull.distributions.law_kinds import RICIAN
from onepull.distributions.positive_laws import Gamma
from onepull.errors import ParameterError


class Rayleigh(Gamma):
    """The power gain of a Rayleigh fading channel with a mean SNR in dB (exponential).

    >>> round(Rayleigh(snr_db=10).expectation(lambda x: x), 9)
    10.0
    """

    def __init__(self, *, snr_db: float) -> None:
        super().__init__(mean=decibel(snr_db), shape=1.0)
        self._stated = {"snr_db": float(snr_db)}


class Nakagami(Gamma):
    """The power gain of a Nakagami-m fading channel with a mean SNR in dB.

    >>> round(Nakagami(snr_db=0, m=2).expectation(lambda x: x), 9)
    1.0
    """

    def __init__(self, *, snr_db: float, m: float) -> None:
        super().__init__(mean=decibel(snr_db), shape=m)
        self._stated = {"snr_db": float(snr_db), "m": self._stated["shape"]}


class Rician(Continuous):
    """The power gain of a Rician fading channel with a mean SNR in dB.

    `k` is the ratio of line-of-sight power to scattered power, not in dB.

    >>> round(Rician(snr_db=3, k=4).expectation(lambda x: x), 6) == round(decibel(3), 6)
    True
    """

    kind = RICIAN

    def __init__(self, *, snr_db: float, k: float) -> None:
        super().__init__(snr_db=snr_db, k=k)
        if self._stated["k"] < 0:
            raise ParameterError(f"Rician k must be 0 or more, given {k!r}")
        power, k = decibel(snr_db), self._stated["k"]
        self.shape = math.sqrt(power * k / (k + 1)), math.sqrt(power / (2 * (k + 1)))
        sight, spread = self.shape
        self.bulk = max(0.0, sight - 9 * spread) ** 2, (sight + 9 * spread) ** 2

    @property
    def _reach(self) -> tuple[float, float]:
        sight, spread = self.shape
        return max(0.0, sight - FARTHEST_DEVIATIONS * spread) ** 2, (
            sight + FARTHEST_DEVIATIONS * spread
        ) ** 2

    @property
    def support(self) -> list[tuple[float, float]]:
        """All numbers from 0."""
        return [(0.0, math.inf)]

    def density(self, x: Array) -> Array:
        """Return the density up to a factor."""
        sight, spread = self.shape
        root = np.sqrt(np.maximum(x, 0.0))
        argument = root * sight / spread**2
        # exp and the Bessel function would overflow separately, so combine them.
        scaled = np.where(
            argument < 500, np.i0(np.minimum(argument, 500)) * np.exp(-np.minimum(argument, 500)), 0
        )
        tail = 1.0 / np.sqrt(2 * np.pi * np.maximum(argument, 1.0))
        part = 1.0 / (8.0 * np.maximum(argument, 1.0))
        series = 1 + part * (1 + part * (4.5 + part * 37.5))
        bessel = np.where(argument < 500, scaled, tail * series)
        return np.asarray(np.exp(-0.5 * ((root - sight) / spread) ** 2) * bessel)

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` samples, one per row."""
        sight, spread = self.shape
        parts = generator.normal(0.0, spread, (size, 2))
        return ((sight + parts[:, :1]) ** 2) + parts[:, 1:] ** 2


def decibel(snr_db: float) -> float:
    """Convert decibels to a power ratio.

    >>> decibel(10)
    10.0
    """
    try:
        power = float(10.0 ** (real(snr_db) / 10.0))
    except (TypeError, OverflowError):
        power = math.inf
    if not 0.0 < power < math.inf:
        raise ParameterError(f"snr_db must be a number of decibels, given {snr_db!r}")
    return power
