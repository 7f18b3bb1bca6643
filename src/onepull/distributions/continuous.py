"""Continuous laws of one field.

The simulator samples from `kind` and up to four `shape` numbers.  Means are computed from the
density on the interval `bulk`; the mass outside it is below rounding error.  A function that
grows fast may still have a part of its mean there, so the integral goes on as far as the density
is a number above 0, where that part counts.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from onepull.arrays import Array
from onepull.checks import real, shown
from onepull.distributions import quadrature
from onepull.distributions.distribution import Distribution
from onepull.distributions.mixtures import LEAST_MASS, Clipped
from onepull.errors import ParameterError

STEEPEST = 0.2  # the lowest allowed a of a density that behaves like x^(a-1) at an end
NARROWEST = 1e12  # the highest allowed a, since a law without a width has no density
LOGARITHM = 700.0  # e^700 is about the largest number
FARTHEST = 37.0  # standard deviations: beyond, the density of a normal law is 0
COUNTS = 1e-13  # the share of a mean that a tail must have to be integrated
HEAVY = 1e-10  # the share of the largest integrand at which a tail has not ended yet
TAIL_POINTS = 33
NO_MASS = 1e-18  # a probability that counts as 0
UNIFORM, NORMAL, LOG_NORMAL, GAMMA, RICIAN, BETA = range(1, 7)


class Continuous(Distribution):
    """A law with a density.

    To write your own, give `density`, `quantile`, `bulk` and `shape`.

    Attributes
    ----------
    bulk
        An interval outside of which the law has no mass, or next to none.
    shape
        Up to four numbers that `quantile` takes.
    quantile
        `quantile(u, *shape)`: the number below which a share u of all draws falls, a plain
        function.  The simulator compiles it and draws from it.
    kind
        How the simulator draws from a law of this package; 0 for one of your own.

    Examples
    --------
    >>> class Rising(Continuous):
    ...     def __init__(self, high):
    ...         super().__init__(high=high)
    ...         self.bulk, self.shape = (0.0, high), (high,)
    ...     @staticmethod
    ...     def quantile(u, high):
    ...         return high * u**0.5
    ...     def density(self, x):
    ...         return x
    >>> round(Rising(3.0).expectation(lambda x: x), 9)
    2.0
    >>> Rising(3.0).sample(np.random.default_rng(1), 2).round(3).tolist()
    [[2.146], [2.925]]
    """

    kind: ClassVar[int] = 0
    shape: tuple[float, ...]
    bulk: tuple[float, float]
    quantile: ClassVar[Callable[..., float] | None] = None

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` draws, a row each."""
        quantile = self.quantile
        if quantile is None:
            raise NotImplementedError(f"{type(self).__name__} has neither quantile nor sample")
        return np.array([[quantile(u, *self.shape)] for u in generator.random(size).tolist()])

    @abstractmethod
    def density(self, x: Array) -> Array:
        """Return the density up to a constant factor."""

    def expectation(self, function: Callable[..., Array]) -> float:
        """Return the mean of a vectorised function, accurate to nine digits.

        It is infinite if the function grows too fast for the tail of the law: if the integral
        has not converged where the density is about 1e-300 of its highest value, or where the
        function overflows.
        """
        return self.share(function, -math.inf, math.inf)

    def share(self, function: Callable[..., Array], low: float, high: float) -> float:
        """Return the part of a function's mean that values from `low` to `high` contribute.

        >>> round(Uniform(0, 2).share(lambda x: x, 0, 1), 9)
        0.25
        """
        with np.errstate(over="ignore", invalid="ignore"):  # a function may overflow in the tail
            return self._integral(function, low, high) / self._whole

    @cached_property
    def _whole(self) -> float:
        return self._integral(np.ones_like, -math.inf, math.inf)

    def rule(self, nodes: int) -> tuple[Array, Array]:
        """Return points and weights of a Gauss quadrature rule."""
        return self.rule_between(-math.inf, math.inf, nodes)

    def rule_between(self, low: float, high: float, nodes: int) -> tuple[Array, Array]:
        """Return points and weights of a Gauss quadrature rule, given a value in an interval."""
        first, last = self._range
        ends = max(first, self._variable(low)), min(last, self._variable(high))
        points, weights = quadrature.rule(self._weight, *ends, nodes)
        return np.clip(self._value(points), low, high)[:, None], weights

    def between(self, low: float, high: float) -> tuple[float, Continuous | None]:
        """Return the probability of values from `low` to `high`, and the law given such a value."""
        if self.lies_within([(low, high)]):
            return 1.0, self
        mass = min(1.0, self.share(np.ones_like, low, high))
        return (mass, Within(self, low, high, mass)) if mass > NO_MASS else (0.0, None)

    def clipped(self, ends: Sequence[tuple[float, float]]) -> Distribution:
        """Return the law with values outside an interval moved to its nearest end."""
        return self if self.lies_within(ends) else Clipped(self, *ends[0])

    # Integrals are over a variable t of which the value is a function, mostly the value itself.

    def _value(self, t: Array) -> Array:
        """Return the value at t."""
        return t

    def _variable(self, x: float) -> float:
        """Return the t at which the value is x."""
        return x

    def _weight(self, t: Array) -> Array:
        """Return the density of t, up to a constant factor."""
        return self.density(t)

    @property
    def _range(self) -> tuple[float, float]:
        """The t between which a quadrature rule has its points."""
        return self.bulk

    @property
    def _reach(self) -> tuple[float, float]:
        """The t up to which the density is a number above 0."""
        return self.bulk

    def _integral(self, function: Callable[..., Array], low: float, high: float) -> float:
        """Return the integral of a function times the density, in units of the range."""
        first, last = self._range
        least, most = self._variable(low), self._variable(high)

        def along(t: Array) -> Array:
            return function(self._value(t))

        def over(a: float, b: float) -> float:
            share = (b - a) / (last - first)
            return quadrature.integral(along, self._weight, a, b) * share if a < b else 0.0

        middle = over(max(first, least), min(last, most))
        total = middle
        for near, far in zip((first, last), self._reach, strict=True):
            start, stop = min(max(near, least), most), min(max(far, least), most)
            if start == stop:
                continue
            # Whether the integral converges shows in the whole tail.
            begin = near if stop == far else start
            end, infinity = self._tail(along, begin, stop, abs(middle) * (last - first))
            if infinity:
                return infinity
            total += over(max(least, min(begin, end)), min(most, max(begin, end)))
        return total

    def _tail(
        self, along: Callable[[Array], Array], near: float, far: float, size: float
    ) -> tuple[float, float]:
        """Return up to where to integrate a tail, and the integral if it is infinite, else 0.

        A tail that adds next to nothing to an integral of the given size ends where it begins.
        """
        if near == far:
            return near, 0.0
        points = np.linspace(near, far, TAIL_POINTS)
        weights = self._weight(points)
        values = np.where(weights > 0, along(points) * weights, 0.0)
        # Where the function overflows, the integrand may long be negligible.
        count = int(np.argmin([*np.isfinite(values), False]))
        if not count:
            return near, float(values[0])
        sizes, end = np.abs(values[:count]), float(points[count - 1])
        if sizes.max() * abs(end - near) <= COUNTS * size:
            return near, 0.0
        if sizes[-1] > HEAVY * sizes.max() and (count < TAIL_POINTS or self._goes_on(far)):
            return end, math.copysign(math.inf, values[count - 1])
        return end, 0.0

    def diverges(self, function: Callable[..., Array]) -> float:
        """Return the mean of a function if it is infinite, else 0; much faster than the mean.

        >>> Exponential(mean=1).diverges(lambda x: -np.exp(2 * x))
        -inf
        """
        first, last = self._range

        def along(t: Array) -> Array:
            return function(self._value(t))

        with np.errstate(over="ignore", invalid="ignore"):
            inside = np.linspace(first, last, TAIL_POINTS)[1:-1]
            size = float(np.mean(np.abs(along(inside) * self._weight(inside)))) * (last - first)
            tails = zip((first, last), self._reach, strict=True)
            return sum(self._tail(along, near, far, size)[1] for near, far in tails)

    def _goes_on(self, far: float) -> bool:
        """Return whether a tail was cut only because its density is next to 0 there."""
        (low, high), value = self.support[0], float(self._value(np.array(far)))
        return far in self._reach and low < value < high

    @property
    def support(self) -> list[tuple[float, float]]:
        """The lowest and the highest value; the highest may be infinite."""
        return [self.bulk]

    def __repr__(self) -> str:
        """Show the law as it was written."""
        stated = ", ".join(f"{name}={value:.15g}" for name, value in self._stated.items())
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
                    f"{type(self).__name__} {name} must be a finite number, given {shown(value)}"
                )
            self._stated[name] = number

    def _require_integrable(self, name: str) -> None:
        """Raise if the density is too steep at an end for accurate means and samples."""
        value = self._stated[name]
        if not STEEPEST <= value <= NARROWEST:
            limit = f"at most {NARROWEST:g}" if value > 1 else f"at least {STEEPEST:g}"
            raise ParameterError(f"{type(self).__name__} {name} must be {limit}, given {value:g}")

    def _require(self, name: str, *, above: float) -> None:
        if not self._stated[name] > above:
            raise ParameterError(
                f"{type(self).__name__} {name} must be above {above:g}, "
                f"given {self._stated[name]:g}"
            )


class Within(Continuous):
    """A continuous law, given that its value lies in an interval.

    Write it as `Truncated(law, low, high)`.

    Attributes
    ----------
    law
        The law that draws are from; those outside the interval are rejected.
    low, high
        The interval.
    mass
        The probability of the interval under `law`.

    Examples
    --------
    >>> law = Within(Exponential(mean=2), 1.0, math.inf, math.exp(-0.5))
    >>> round(law.expectation(lambda x: x), 9)
    3.0
    """

    shape = ()

    def __init__(self, law: Continuous, low: float, high: float, mass: float) -> None:
        super().__init__()
        self.law, self.low, self.high, self.mass = law, low, high, mass
        self.bulk = max(low, law.bulk[0]), min(high, law.bulk[1])
        self.effort = law.effort / mass

    def __repr__(self) -> str:
        """Show the law."""
        return f"Within({self.law!r}, {self.low:.15g}, {self.high:.15g}, {self.mass:.15g})"

    @property
    def support(self) -> list[tuple[float, float]]:
        """The part of the interval that the law reaches."""
        ((low, high),) = self.law.support
        return [(max(low, self.low), min(high, self.high))]

    def between(self, low: float, high: float) -> tuple[float, Continuous | None]:
        """Return the probability of values from `low` to `high`, and the law given such a value."""
        mass, law = self.law.between(max(low, self.low), min(high, self.high))
        return min(1.0, mass / self.mass), law

    def share(self, function: Callable[..., Array], low: float, high: float) -> float:
        """Return the part of a function's mean that values from `low` to `high` contribute."""
        return self.law.share(function, max(low, self.low), min(high, self.high)) / self.mass

    def diverges(self, function: Callable[..., Array]) -> float:
        """Return the mean of a function if it is infinite, else 0."""
        if self.lies_within([self.law.bulk]):
            return 0.0
        return self.law.diverges(
            lambda x: np.where((x >= self.low) & (x <= self.high), function(x), 0.0)
        )

    def rule_between(self, low: float, high: float, nodes: int) -> tuple[Array, Array]:
        """Return points and weights of a Gauss quadrature rule, given a value in an interval."""
        return self.law.rule_between(max(low, self.low), min(high, self.high), nodes)

    def density(self, x: Array) -> Array:
        """Return the density up to a factor."""
        return np.where((x >= self.low) & (x <= self.high), self.law.density(x), 0.0)

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` samples, one per row, by rejection."""
        kept = np.empty((0, 1))
        while len(kept) < size:
            count = int(min(1e6, 64 + 1.2 * (size - len(kept)) / self.mass))
            drawn = self.law.sample(generator, count)
            inside = (drawn[:, 0] >= self.low) & (drawn[:, 0] <= self.high)
            kept = np.concatenate([kept, drawn[inside]])
        return kept[:size]


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
        return max(low, mean - FARTHEST * sd), min(high, mean + FARTHEST * sd)

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
        return max(-FARTHEST, (-LOGARITHM - mean) / sd), min(FARTHEST, (LOGARITHM - mean) / sd)

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
        spread = FARTHEST * math.sqrt(shape)
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
        return max(0.0, sight - FARTHEST * spread) ** 2, (sight + FARTHEST * spread) ** 2

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


def _normal_mass(low: float, high: float) -> float:
    """Return the mass of a standard normal law between two numbers."""
    if low > 0:  # use the lower tail, where erfc is accurate
        low, high = -high, -low
    return 0.5 * (math.erfc(-high / math.sqrt(2)) - math.erfc(-low / math.sqrt(2)))
