"""Continuous laws of one field.

Each has a `kind` and up to four `shape` numbers, from which the simulator draws; its
density, from which means are computed; and an interval outside of which it has less mass
than rounding.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from onepull.distributions import quadrature
from onepull.distributions.base import Distribution
from onepull.errors import ParameterError
from onepull.formula import Array
from onepull.spaces import real

UNIFORM, NORMAL, LOG_NORMAL, GAMMA, RICIAN, BETA = range(1, 7)


class Continuous(Distribution):
    """A law with a density."""

    kind: ClassVar[int]
    shape: tuple[float, ...]
    bulk: tuple[float, float]

    @abstractmethod
    def density(self, x: Array) -> Array:
        """Return the density, up to a factor that makes no difference to means."""

    def expectation(self, function: Callable[..., Array]) -> float:
        """Return the mean of a vectorised function, to nine digits of its size."""
        mass = quadrature.mean(np.ones_like, self.density, *self.bulk)
        return quadrature.mean(function, self.density, *self.bulk) / mass

    def rule(self, nodes: int) -> tuple[Array, Array]:
        """Return points and weights of a Gauss rule."""
        points, weights = quadrature.rule(self.density, *self.bulk, nodes)
        return points[:, None], weights

    @property
    def support(self) -> list[tuple[float, float]]:
        """The least and the greatest value; the latter infinite where there is none."""
        return [self.bulk]

    def __repr__(self) -> str:
        """Show the law as it was written."""
        stated = ", ".join(f"{name}={value:g}" for name, value in self._stated.items())
        return f"{type(self).__name__}({stated})"

    def __init__(self, **stated: Any) -> None:
        self._stated: dict[str, float] = {}
        for name, value in stated.items():
            try:
                number = real(value)
            except TypeError:
                number = math.nan
            if not math.isfinite(number):
                raise ParameterError(
                    f"{type(self).__name__} {name} must be a finite number, given {value!r}"
                )
            self._stated[name] = number

    def _require(self, name: str, *, above: float) -> None:
        if not self._stated[name] > above:
            raise ParameterError(
                f"{type(self).__name__} {name} must be above {above:g}, "
                f"given {self._stated[name]:g}"
            )


class Uniform(Continuous):
    """All values of an interval alike.

    >>> round(Uniform(0, 2).expectation(lambda x: x**2), 12)
    1.333333333333
    """

    kind = UNIFORM

    def __init__(self, low: float, high: float) -> None:
        super().__init__(low=low, high=high)
        self._require("high", above=self._stated["low"])
        self.bulk = self._stated["low"], self._stated["high"]
        self.shape = self.bulk

    def density(self, x: Array) -> Array:
        """Return a constant."""
        return np.ones_like(x)

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` draws, a row each."""
        return generator.uniform(*self.bulk, (size, 1))


class Beta(Continuous):
    """The beta law on an interval.

    >>> round(Beta(2, 3, low=0, high=10).expectation(lambda x: x), 9)
    4.0
    """

    kind = BETA

    def __init__(self, a: float, b: float, *, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(a=a, b=b, low=low, high=high)
        self._require("a", above=0.0)
        self._require("b", above=0.0)
        self._require("high", above=self._stated["low"])
        self.bulk = self._stated["low"], self._stated["high"]
        self.shape = (self._stated["a"], self._stated["b"], *self.bulk)

    def density(self, x: Array) -> Array:
        """Return the density up to a factor."""
        a, b, low, high = self.shape
        share = np.clip((x - low) / (high - low), 1e-300, 1.0 - 1e-16)
        return np.asarray(np.exp((a - 1) * np.log(share) + (b - 1) * np.log1p(-share)))

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` draws, a row each."""
        a, b, low, high = self.shape
        return low + (high - low) * generator.beta(a, b, (size, 1))


class TruncatedNormal(Continuous):
    """A normal law kept to an interval.

    >>> round(TruncatedNormal(1, 0.5, low=0, high=2).expectation(lambda x: x), 9)
    1.0
    """

    kind = NORMAL

    def __init__(self, mean: float, sd: float, *, low: float, high: float) -> None:
        super().__init__(mean=mean, sd=sd, low=low, high=high)
        self._require("sd", above=0.0)
        self._require("high", above=self._stated["low"])
        mean, sd, low, high = self._stated.values()
        if not low - 8 * sd < mean < high + 8 * sd:
            raise ParameterError(
                f"TruncatedNormal has no mass between {low:g} and {high:g}: "
                f"its mean {mean:g} is more than eight sd away"
            )
        self.bulk = low, high
        self.shape = mean, sd, low, high

    def density(self, x: Array) -> Array:
        """Return the density up to a factor."""
        return np.asarray(np.exp(-0.5 * ((x - self.shape[0]) / self.shape[1]) ** 2))

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` draws, a row each, by drawing until they fall inside."""
        mean, sd, low, high = self.shape
        kept = np.empty(0)
        while len(kept) < size:
            drawn = generator.normal(mean, sd, max(64, 2 * size))
            kept = np.concatenate([kept, drawn[(drawn >= low) & (drawn <= high)]])
        return kept[:size, None]


class LogNormal(Continuous):
    """exp of a normal law; its median is exp(mean).

    >>> round(LogNormal(0, 0.5).expectation(lambda x: x), 9) == round(math.exp(0.125), 9)
    True
    """

    kind = LOG_NORMAL

    def __init__(self, mean: float, sd: float) -> None:
        super().__init__(mean=mean, sd=sd)
        self._require("sd", above=0.0)
        self.shape = self._stated["mean"], self._stated["sd"]
        self.bulk = tuple(math.exp(mean + z * sd) for z in (-9.0, 9.0))  # type: ignore[assignment]

    @property
    def support(self) -> list[tuple[float, float]]:
        """All positive numbers."""
        return [(0.0, math.inf)]

    def density(self, x: Array) -> Array:
        """Return the density up to a factor."""
        mean, sd = self.shape
        return np.asarray(np.exp(-0.5 * ((np.log(x) - mean) / sd) ** 2) / x)

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` draws, a row each."""
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
        self._require("shape", above=0.0)
        self.shape = self._stated["shape"], self._stated["mean"] / self._stated["shape"]
        spread = self.shape[0] + 12.0 * math.sqrt(self.shape[0]) + 45.0
        self.bulk = 0.0, self.shape[1] * spread

    @property
    def support(self) -> list[tuple[float, float]]:
        """All numbers from zero."""
        return [(0.0, math.inf)]

    def density(self, x: Array) -> Array:
        """Return the density up to a factor."""
        shape, scale = self.shape
        share = np.maximum(x / scale, 1e-300)
        return np.asarray(np.exp((shape - 1) * np.log(share) - share))

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` draws, a row each."""
        shape, scale = self.shape
        return generator.gamma(shape, scale, (size, 1))


class Exponential(Gamma):
    """The exponential law.

    >>> round(Exponential(mean=2).expectation(lambda x: np.minimum(x, 2)), 9)
    1.264241118
    """

    def __init__(self, mean: float) -> None:
        super().__init__(mean=mean, shape=1.0)


class Rayleigh(Gamma):
    """The power gain of a Rayleigh fading channel with a mean SNR in dB: exponential.

    >>> round(Rayleigh(snr_db=10).expectation(lambda x: x), 9)
    10.0
    """

    def __init__(self, *, snr_db: float) -> None:
        super().__init__(mean=decibel(snr_db), shape=1.0)


class Nakagami(Gamma):
    """The power gain of a Nakagami-m fading channel with a mean SNR in dB.

    >>> round(Nakagami(snr_db=0, m=2).expectation(lambda x: x), 9)
    1.0
    """

    def __init__(self, *, snr_db: float, m: float) -> None:
        super().__init__(mean=decibel(snr_db), shape=m)


class Rician(Continuous):
    """The power gain of a Rician fading channel with a mean SNR in dB.

    `k` is the power of the line of sight over that of the rest, not in dB.

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
    def support(self) -> list[tuple[float, float]]:
        """All numbers from zero."""
        return [(0.0, math.inf)]

    def density(self, x: Array) -> Array:
        """Return the density up to a factor."""
        sight, spread = self.shape
        root = np.sqrt(np.maximum(x, 0.0))
        argument = root * sight / spread**2
        # exp and the Bessel function would overflow apart; together they are a normal tail.
        scaled = np.where(
            argument < 500, np.i0(np.minimum(argument, 500)) * np.exp(-np.minimum(argument, 500)), 0
        )
        tail = 1.0 / np.sqrt(2 * np.pi * np.maximum(argument, 1.0))
        bessel = np.where(argument < 500, scaled, tail * (1 + 1 / (8 * np.maximum(argument, 1.0))))
        return np.asarray(np.exp(-0.5 * ((root - sight) / spread) ** 2) * bessel)

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` draws, a row each."""
        sight, spread = self.shape
        parts = generator.normal(0.0, spread, (size, 2))
        return ((sight + parts[:, :1]) ** 2) + parts[:, 1:] ** 2


def decibel(snr_db: float) -> float:
    """Return a power ratio from its decibels.

    >>> decibel(10)
    10.0
    """
    try:
        return float(10.0 ** (real(snr_db) / 10.0))
    except (TypeError, OverflowError):
        raise ParameterError(f"snr_db must be a number of decibels, given {snr_db!r}") from None
