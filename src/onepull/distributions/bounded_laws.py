"""Continuous laws on an interval."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from onepull.arrays import Array
from onepull.distributions import quadrature
from onepull.distributions.continuous import FARTHEST_DEVIATIONS, Continuous
from onepull.distributions.law_kinds import BETA, NORMAL, UNIFORM
from onepull.distributions.mixtures import LEAST_MASS
from onepull.errors import ParameterError


class Uniform(Continuous):
    """The uniform law on an interval.

    >>> round(Uniform(0, 2).expectation(lambda x: x**2), 12)
    1.333333333333
    """

    kind = UNIFORM

    def __init__(self, low: float, high: float) -> None:
        super().__init__(low=low, high=high)
        self._require("high", above=self._stated["low"])
        self.bulk = self._stated["low"], self._stated["high"]
        self.shape = self.bulk

    def between(self, low: float, high: float) -> tuple[float, Continuous | None]:
        """Return the probability of values from `low` to `high`, and the law given such a value."""
        first, last = max(low, self.bulk[0]), min(high, self.bulk[1])
        if not first < last:
            return 0.0, None
        return (last - first) / (self.bulk[1] - self.bulk[0]), Uniform(first, last)

    def density(self, x: Array) -> Array:
        """Return a constant."""
        return np.ones_like(x)

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` samples, one per row."""
        return generator.uniform(*self.bulk, (size, 1))


class Beta(Continuous):
    """The beta law on an interval.

    >>> round(Beta(2, 3, low=0, high=10).expectation(lambda x: x), 9)
    4.0
    """

    kind = BETA

    def __init__(self, a: float, b: float, *, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(a=a, b=b, low=low, high=high)
        self._require_integrable("a")
        self._require_integrable("b")
        self._require("high", above=self._stated["low"])
        a, b, low, high = self.shape = tuple(self._stated.values())
        centre = a / (a + b)
        reach = 12.0 * math.sqrt(centre * (1 - centre) / (a + b + 1)) + 45.0 / (a + b)
        self._shares = max(0.0, centre - reach), min(1.0, centre + reach)
        self.bulk = low + (high - low) * self._shares[0], low + (high - low) * self._shares[1]
        self._logarithm = (a - 1) * math.log(centre) + (b - 1) * math.log1p(-centre)

    @property
    def support(self) -> list[tuple[float, float]]:
        """The interval."""
        return [(self._stated["low"], self._stated["high"])]

    def _integral(self, function: Callable[..., Array], low: float, high: float) -> float:
        if self.shape[1] >= 1.0:
            return super()._integral(function, low, high)
        # The density is infinite at the upper end.  Measure the distance from each end, so that
        # it is exact there.
        a, b, first, last = self.shape
        width = last - first
        from_first = [min(max((x - first) / width, 0.0), 0.5) for x in (low, high)]
        from_last = [min(max((last - x) / width, 0.0), 0.5) for x in (high, low)]

        def over(
            value: Callable[[Array], Array], density: Callable[[Array], Array], ends: list[float]
        ) -> float:
            near, far = ends
            if not near < far:
                return 0.0
            return quadrature.integral(lambda u: function(value(u)), density, near, far) * (
                far - near
            )

        return over(lambda u: first + width * u, _power(a, b), from_first) + over(
            lambda u: last - width * u, _power(b, a), from_last
        )

    # Integrals are over the share of the interval: next to the lower end, where the density may be
    # infinite, the difference of two values is not exact.

    def _value(self, t: Array) -> Array:
        low, high = self.shape[2:]
        return low + (high - low) * t

    def _variable(self, x: float) -> float:
        low, high = self.shape[2:]
        return (x - low) / (high - low)

    def _weight(self, t: Array) -> Array:
        a, b = self.shape[:2]
        share = np.clip(t, 1e-300, 1.0 - 1e-16)
        logarithm = (a - 1) * np.log(share) + (b - 1) * np.log1p(-share)
        return np.asarray(np.exp(logarithm - self._logarithm))

    @property
    def _range(self) -> tuple[float, float]:
        return self._shares

    @property
    def _reach(self) -> tuple[float, float]:
        return self._shares

    def density(self, x: Array) -> Array:
        """Return the density up to a factor."""
        low, high = self.shape[2:]
        return self._weight((x - low) / (high - low))

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` samples, one per row."""
        a, b, low, high = self.shape
        return np.minimum(high, low + (high - low) * generator.beta(a, b, (size, 1)))


def _power(near: float, far: float) -> Callable[[Array], Array]:
    """Return the density of a beta law as a function of the distance from one end."""
    return lambda u: np.asarray(
        np.exp((near - 1) * np.log(np.maximum(u, 1e-300)) + (far - 1) * np.log1p(-u))
    )


class TruncatedNormal(Continuous):
    """A normal law truncated to an interval.

    >>> round(TruncatedNormal(1, 0.5, low=0, high=2).expectation(lambda x: x), 9)
    1.0
    """

    kind = NORMAL

    def __init__(self, mean: float, sd: float, *, low: float, high: float) -> None:
        super().__init__(mean=mean, sd=sd, low=low, high=high)
        self._require("sd", above=0.0)
        self._require("high", above=self._stated["low"])
        mean, sd, low, high = self._stated.values()
        mass = _normal_mass((low - mean) / sd, (high - mean) / sd)
        if mass < LEAST_MASS:
            raise ParameterError(
                f"TruncatedNormal with mean {mean:g} and sd {sd:g} has {mass:.1g} of its mass "
                f"between {low:g} and {high:g}; it needs at least {LEAST_MASS:g}"
            )
        self.bulk = max(low, min(mean, high) - 9 * sd), min(high, max(mean, low) + 9 * sd)
        self.shape = mean, sd, low, high

    @property
    def _reach(self) -> tuple[float, float]:
        mean, sd, low, high = self.shape
        return max(low, mean - FARTHEST_DEVIATIONS * sd), min(high, mean + FARTHEST_DEVIATIONS * sd)

    @property
    def support(self) -> list[tuple[float, float]]:
        """The interval."""
        _, _, low, high = self.shape
        return [(low, high)]

    def density(self, x: Array) -> Array:
        """Return the density up to a factor."""
        return np.asarray(np.exp(-0.5 * ((x - self.shape[0]) / self.shape[1]) ** 2))

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` samples, one per row, by rejection."""
        mean, sd, low, high = self.shape
        kept = np.empty(0)
        while len(kept) < size:
            drawn = generator.normal(mean, sd, max(64, 2 * size))
            kept = np.concatenate([kept, drawn[(drawn >= low) & (drawn <= high)]])
        return kept[:size, None]


def _normal_mass(low: float, high: float) -> float:
    """Return the mass of a standard normal law between two numbers."""
    if low > 0:  # use the lower tail, where erfc is accurate
        low, high = -high, -low
    return 0.5 * (math.erfc(-high / math.sqrt(2)) - math.erfc(-low / math.sqrt(2)))
