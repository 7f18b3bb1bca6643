"""Interval arithmetic that also encloses slopes.

An `Enclosure` holds, for each box of an array of boxes, an interval that contains all values
of a term on that box.  For each field of interest it also holds an interval that contains all
slopes (difference quotients) along that field.  A jump counts as an infinite slope, so a
threshold is 'nondecreasing' although it has no derivative.

The bounds hold for the *computed* values of a formula, which are the rewards that a policy
sees, whether they are computed on numbers, on arrays or in machine code.  Rounding is monotone
in IEEE arithmetic, so the bounds of sums, products, quotients, roots and remainders need no
margin.  `exp`, the logarithms and general powers come from mathematical libraries, which may
differ by some units in the last place: their bounds are widened by `outward`, before a jump
such as `floor` makes a large difference of a small one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array

Bounds: TypeAlias = tuple[Array, Array]

# A library function is off by at most 4 units in the last place, as numpy states for its own.
# So two of them differ by at most 8; two more cover the rounding of the margin itself.
MARGIN = 10 * 2.0**-52
SMALLEST_NORMAL = float(np.finfo(float).tiny)  # below it, numbers lose digits and may become 0


class Undefined(Exception):  # noqa: N818 - turned into a FormulaError, which points at the place
    """A term has no finite value somewhere on the box."""


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Bounds on the values of a term, and on its slopes along the fields of interest.

    Both ends of an interval have the same shape.
    """

    low: Array
    high: Array
    slopes: dict[str, Bounds] = field(default_factory=dict)

    @property
    def bounds(self) -> Bounds:
        """The lower and upper bounds of the values."""
        return self.low, self.high

    @property
    def infinite(self) -> NDArray[np.bool_]:
        """Where a bound is infinite."""
        return np.isinf(self.low) | np.isinf(self.high)

    def without(self, boxes: NDArray[np.bool_]) -> Enclosure:
        """Return the enclosure with NaN for some boxes.

        The checks ignore NaN, and the choice between two branches never picks it.
        """
        low, high = (np.where(boxes, np.nan, end) for end in self.bounds)
        return Enclosure(low, high, self.slopes)


def product(a: Bounds, b: Bounds) -> Bounds:
    """Multiply two intervals, with 0 times infinity taken as 0."""
    with np.errstate(all="ignore"):
        corners = [np.where((x == 0) | (y == 0), 0.0, x * y) for x in a for y in b]
    return extremes(corners)


def extremes(values: Sequence[Array]) -> Bounds:
    """Return the smallest interval that contains all values."""
    return reduce(np.minimum, values), reduce(np.maximum, values)


def outward(low: Array, high: Array) -> Bounds:
    """Widen an interval by what library functions may be off.

    Zero stays zero, and no bound changes its sign.
    """
    return -_above(-low) + 0.0, _above(high)  # no negative zero


def _above(value: Array) -> Array:
    least = np.where(value > 0, SMALLEST_NORMAL, 0.0)
    more = value * np.where(value > 0, 1 + MARGIN, 1 - MARGIN)
    return np.where(np.abs(value) < SMALLEST_NORMAL, least, more)


def total(parts: Sequence[Bounds]) -> Bounds:
    """Add intervals.

    A bound that is the sum of two opposite infinities is not known: then it is infinite.
    """
    low, high = parts[0]
    for part in parts[1:]:
        opposite = np.isinf(low) & np.isinf(part[0]), np.isinf(high) & np.isinf(part[1])
        low, high = low + part[0], high + part[1]
        if opposite[0].any() or opposite[1].any():
            low = np.where(opposite[0] & np.isnan(low), -np.inf, low)
            high = np.where(opposite[1] & np.isnan(high), np.inf, high)
    return low, high


def hull(a: Bounds, b: Bounds) -> Bounds:
    """Return the smallest interval that contains both."""
    return np.minimum(a[0], b[0]), np.maximum(a[1], b[1])


def point(value: float) -> Bounds:
    """Return the interval that holds a single number."""
    return np.float64(value) * np.ones(()), np.float64(value) * np.ones(())


ZERO = point(0.0)


def chain(
    arguments: Sequence[Enclosure], partials: Callable[[], Sequence[Bounds]]
) -> dict[str, Bounds]:
    """Return the slopes of f(arguments) by the chain rule, from bounds on f's partial slopes.

    The partial slopes are computed only if the slopes of an argument are of interest.
    """
    names = dict.fromkeys(name for argument in arguments for name in argument.slopes)
    known = partials() if names else ()
    slopes = {}
    for name in names:
        low, high = total(
            [
                product(partial, argument.slopes[name])
                for argument, partial in zip(arguments, known, strict=True)
                if name in argument.slopes
            ]
        )
        # Infinity minus infinity: the slope can be anything.
        slopes[name] = (
            np.where(np.isnan(low), -np.inf, low),
            np.where(np.isnan(high), np.inf, high),
        )
    return slopes


def blend(
    a: Enclosure, b: Enclosure, surely_a: NDArray[np.bool_], surely_b: NDArray[np.bool_]
) -> dict[str, Bounds]:
    """Return the slopes of a continuous term that equals `a` in places and `b` elsewhere."""
    slopes = {}
    for name in dict.fromkeys([*a.slopes, *b.slopes]):
        of_a, of_b = a.slopes.get(name, ZERO), b.slopes.get(name, ZERO)
        either = hull(of_a, of_b)
        slopes[name] = (
            np.where(surely_a, of_a[0], np.where(surely_b, of_b[0], either[0])),
            np.where(surely_a, of_a[1], np.where(surely_b, of_b[1], either[1])),
        )
    return slopes


def rising(
    function: Callable[[Array], Array], slope: Callable[[Array, Array], Bounds]
) -> Callable[[Enclosure], Enclosure]:
    """Return the function that encloses a nondecreasing function of one term."""

    def enclose(a: Enclosure) -> Enclosure:
        with np.errstate(all="ignore"):
            slopes = chain([a], lambda: [slope(a.low, a.high)])
            return Enclosure(function(a.low), function(a.high), slopes)

    return enclose
