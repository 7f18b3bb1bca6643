"""Continuous laws of positive numbers without a bound."""

from __future__ import annotations

import math

import numpy as np

from onepull.arrays import Array
from onepull.distributions.continuous import FARTHEST_DEVIATIONS, LOGARITHM, Continuous
from onepull.distributions.law_kinds import GAMMA, LOG_NORMAL
from onepull.errors import ParameterError


class LogNormal(Continuous):
    """The law of exp(Z) for a normal Z; its median is exp(mean).

    >>> round(LogNormal(0, 0.5).expectation(lambda x: x), 9) == round(math.exp(0.125), 9)
    True
    """

    kind = LOG_NORMAL

    def __init__(self, mean: float, sd: float) -> None:
        super().__init__(mean=mean, sd=sd)
        self._require("sd", above=0.0)
        self.shape = self._stated["mean"], self._stated["sd"]
        ends = self.shape[0] - 9 * self.shape[1], self.shape[0] + 9 * self.shape[1]
        if not -LOGARITHM <= ends[0] <= ends[1] <= LOGARITHM:
            raise ParameterError(
                f"LogNormal(mean={mean:g}, sd={sd:g}) reaches from e^{ends[0]:g} to "
                f"e^{ends[1]:g}; expected e^-{LOGARITHM:g} to e^{LOGARITHM:g}"
            )
        self.bulk = math.exp(ends[0]), math.exp(ends[1])

    @property
    def support(self) -> list[tuple[float, float]]:
        """All positive numbers."""
        return [(0.0, math.inf)]

    # Integrals are over the normal variable.

    def _value(self, t: Array) -> Array:
        mean, sd = self.shape
        return np.asarray(np.exp(mean + sd * t))

    def _variable(self, x: float) -> float:
        mean, sd = self.shape
        return (math.log(x) - mean) / sd if x > 0.0 else -math.inf

    def _weight(self, t: Array) -> Array:
        return np.asarray(np.exp(-0.5 * t**2))

    @property
    def _range(self) -> tuple[float, float]:
        # The mean of the k-th power is that of a normal variable around k·sd.
        return -9.0, min(9.0 + 2.0 * self.shape[1], self._reach[1])

    @property
    def _reach(self) -> tuple[float, float]:
        mean, sd = self.shape
        return max(-FARTHEST_DEVIATIONS, (-LOGARITHM - mean) / sd), min(
            FARTHEST_DEVIATIONS, (LOGARITHM - mean) / sd
        )

    def density(self, x: Array) -> Array:
        """Return the density up to a factor."""
        mean, sd = self.shape
        return np.asarray(np.exp(-0.5 * ((np.log(x) - mean) / sd) ** 2) / x)

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` samples, one per row."""
        mean, sd = self.shape
        return generator.lognormal(mean, sd, (size, 1))


class Gamma(Continuous):
    """The gamma law, by its mean and shape; shape 1 is the exponential law.

    >>> round(Gamma(mean=3, shape=2).expectation(lambda x: x), 9)
    3.0
    """

    kind = GAMMA

    def __init__(self, *, mean: float, shape: float) -> None:
        super().__init__(mean=mean, shape=shape)
        self._require("mean", above=0.0)
        self._require_integrable("shape")
        self.shape = self._stated["shape"], self._stated["mean"] / self._stated["shape"]
        spread = 12.0 * math.sqrt(self.shape[0])
        ends = max(0.0, self.shape[0] - spread), self.shape[0] + spread + 45.0
        self.bulk = self.shape[1] * ends[0], self.shape[1] * ends[1]

    @property
    def _reach(self) -> tuple[float, float]:
        shape, scale = self.shape
        spread = FARTHEST_DEVIATIONS * math.sqrt(shape)
        return scale * max(0.0, shape - spread), scale * (shape + spread + LOGARITHM)

    @property
    def support(self) -> list[tuple[float, float]]:
        """All numbers from 0."""
        return [(0.0, math.inf)]

    def density(self, x: Array) -> Array:
        """Return the density up to a factor."""
        shape, scale = self.shape
        share = np.maximum(x / scale, 1e-300)
        # Relative to the density at the mean; otherwise a large shape would overflow.
        return np.asarray(np.exp((shape - 1) * np.log(share / shape) - (share - shape)))

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` samples, one per row."""
        shape, scale = self.shape
        return generator.gamma(shape, scale, (size, 1))


class Exponential(Gamma):
    """The exponential law.

    >>> round(Exponential(mean=2).expectation(lambda x: np.minimum(x, 2)), 9)
    1.264241118
    """

    def __init__(self, mean: float) -> None:
        super().__init__(mean=mean, shape=1.0)
        del self._stated["shape"]
