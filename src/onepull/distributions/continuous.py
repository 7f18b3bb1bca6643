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
from onepull.distributions.mixtures import Clipped
from onepull.errors import ParameterError

LOWEST_SHAPE = 0.2  # the lowest allowed a of a density that behaves like x^(a-1) at an end
HIGHEST_SHAPE = 1e12  # the highest allowed a, since a law without a width has no density
LOGARITHM = 700.0  # e^700 is about the largest number
FARTHEST_DEVIATIONS = 37.0  # standard deviations: beyond, the density of a normal law is 0
SMALLEST_TAIL = 1e-13  # the share of a mean that a tail must have to be integrated
OPEN_TAIL = 1e-10  # the share of the largest integrand at which a tail has not ended yet
TAIL_POINTS = 33
NO_MASS = 1e-18  # a probability that counts as 0


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

        >>> from onepull.distributions import Uniform
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
        if sizes.max() * abs(end - near) <= SMALLEST_TAIL * size:
            return near, 0.0
        if sizes[-1] > OPEN_TAIL * sizes.max() and (count < TAIL_POINTS or self._goes_on(far)):
            return end, math.copysign(math.inf, values[count - 1])
        return end, 0.0

    def diverges(self, function: Callable[..., Array]) -> float:
        """Return the mean of a function if it is infinite, else 0; much faster than the mean.

        >>> from onepull.distributions import Exponential
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
        if not LOWEST_SHAPE <= value <= HIGHEST_SHAPE:
            limit = f"at most {HIGHEST_SHAPE:g}" if value > 1 else f"at least {LOWEST_SHAPE:g}"
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
    >>> from onepull.distributions import Exponential
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
