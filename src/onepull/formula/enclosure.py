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
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array

Bounds: TypeAlias = tuple[Array, Array]

# A library function is off by at most 4 units in the last place, as numpy states for its own.
# So two of them differ by at most 8; two more cover the rounding of the margin itself.
MARGIN = 10 * 2.0**-52
TINY = float(np.finfo(float).tiny)  # below it, numbers lose digits and may become 0
DISTINCT = 2.0**50  # quotients below it are told apart from their neighbours


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
    least = np.where(value > 0, TINY, 0.0)
    more = value * np.where(value > 0, 1 + MARGIN, 1 - MARGIN)
    return np.where(np.abs(value) < TINY, least, more)


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


def lesser(a: Enclosure, b: Enclosure) -> Enclosure:
    """Enclose min(a, b)."""
    slopes = blend(a, b, a.high <= b.low, b.high <= a.low)
    return Enclosure(np.minimum(a.low, b.low), np.minimum(a.high, b.high), slopes)


def greater(a: Enclosure, b: Enclosure) -> Enclosure:
    """Enclose max(a, b)."""
    slopes = blend(a, b, a.low >= b.high, b.low >= a.high)
    return Enclosure(np.maximum(a.low, b.low), np.maximum(a.high, b.high), slopes)


def plus(a: Enclosure, b: Enclosure) -> Enclosure:
    """Enclose a + b."""
    one = point(1.0)
    return Enclosure(*total([a.bounds, b.bounds]), chain([a, b], lambda: [one, one]))


def negative(a: Enclosure) -> Enclosure:
    """Enclose -a."""
    return Enclosure(-a.high, -a.low, chain([a], lambda: [point(-1.0)]))


def minus(a: Enclosure, b: Enclosure) -> Enclosure:
    """Enclose a - b."""
    return plus(a, negative(b))


def times(a: Enclosure, b: Enclosure) -> Enclosure:
    """Enclose a * b."""
    return Enclosure(*product(a.bounds, b.bounds), chain([a, b], lambda: [b.bounds, a.bounds]))


def square(x: Any) -> Any:
    """Return x ** 2, which every form of a formula rounds alike."""
    return x * x


def cube(x: Any) -> Any:
    """Return x ** 3, which every form of a formula rounds alike."""
    return x * x * x


def squared(a: Enclosure) -> Enclosure:
    """Enclose a ** 2."""
    low, high = extremes([square(a.low), square(a.high)])
    low = np.where((a.low <= 0) & (a.high >= 0), 0.0, low)
    return Enclosure(low, high, chain([a], lambda: [product(point(2.0), a.bounds)]))


def cubed(a: Enclosure) -> Enclosure:
    """Enclose a ** 3."""
    return rising(cube, lambda *ends: product(point(3.0), squared(Enclosure(*ends)).bounds))(a)


def reciprocal(a: Enclosure) -> Enclosure:
    """Enclose 1 / a; raises `Undefined` if a may be 0."""
    if np.any((a.low <= 0) & (a.high >= 0)):
        raise Undefined("may divide by zero")
    with np.errstate(all="ignore"):
        low, high = 1 / a.high, 1 / a.low

    def partials() -> list[Bounds]:
        steep = product((low, high), (low, high))
        return [(-steep[1], -steep[0])]

    return Enclosure(low, high, chain([a], partials))


def over(a: Enclosure, b: Enclosure) -> Enclosure:
    """Enclose a / b; raises `Undefined` if b may be 0."""
    inverse = reciprocal(b).bounds
    with np.errstate(all="ignore"):
        corners = [np.where((x == 0) | np.isinf(y), 0.0, x / y) for x in a.bounds for y in b.bounds]
    low, high = extremes(corners)
    slopes = chain([a, b], lambda: [inverse, product((-high, -low), inverse)])
    return Enclosure(low, high, slopes)


def magnitude(a: Enclosure) -> Enclosure:
    """Enclose abs(a)."""
    folded = greater(a, negative(a))
    return Enclosure(np.maximum(folded.low, 0.0), folded.high, folded.slopes)


def exponential(a: Enclosure) -> Enclosure:
    """Enclose exp(a)."""
    if np.any(a.high > 709):
        raise Undefined("exp may overflow: its argument can exceed 709")
    low, high = outward(np.exp(a.low), np.exp(a.high))
    high = np.maximum(high, TINY)  # it may have become 0
    low = np.where(a.low >= 0, np.maximum(low, 1.0), low)
    high = np.where(a.high <= 0, np.minimum(high, 1.0), high)
    return Enclosure(low, high, chain([a], lambda: [(low, high)]))


def logarithm(
    function: Callable[[Array], Array], name: str, base: float, shift: float = 0.0
) -> Callable[[Enclosure], Enclosure]:
    """Return the function that encloses a logarithm of (shift + its argument)."""
    scale = 1 / np.log(base)

    def slope(low: Array, high: Array) -> Bounds:
        return scale / (shift + high), scale / (shift + low)

    def enclose(a: Enclosure) -> Enclosure:
        if np.any(a.low <= -shift):
            raise Undefined(f"{name} is not defined: its argument can be {0.0 - shift:g} or less")
        wide = rising(function, slope)(a)
        return Enclosure(*outward(*wide.bounds), wide.slopes)

    return enclose


def root(a: Enclosure) -> Enclosure:
    """Enclose sqrt(a)."""
    if np.any(a.low < 0):
        raise Undefined("sqrt is not defined: its argument can be negative")
    return rising(np.sqrt, lambda low, high: (0.5 / np.sqrt(high), 0.5 / np.sqrt(low)))(a)


def staircase(
    function: Callable[[Array], Array],
) -> Callable[[Enclosure], Enclosure]:
    """Return the function that encloses floor or ceil, whose slope is 0 or a jump."""

    def slope(low: Array, high: Array) -> Bounds:
        flat = function(low) == function(high)
        return np.zeros_like(low), np.where(flat, 0.0, np.inf)

    return rising(function, slope)


def remainder(a: Enclosure, b: Enclosure) -> Enclosure:
    """Enclose a % b, which has the sign of b."""
    if np.any((b.low <= 0) & (b.high >= 0)):
        raise Undefined("may divide by zero")
    steps, ends, small = [], [], np.ones((), bool)
    for x, y in [(x, y) for x in a.bounds for y in b.bounds]:
        # The remainder after a large quotient takes long to compute, and says nothing.
        here = np.abs(x / y) < DISTINCT
        divisor = np.where(here, y, 1.0)
        dividend = np.where(here, x, 0.0)
        end = np.mod(dividend, divisor)
        steps.append(np.rint((dividend - end) / divisor))
        ends.append(end)
        small = small & here
    least, most = extremes(steps)
    # All of the box lies between the same two multiples of b.
    same = small & (least == most)
    slopes = {
        name: (np.where(same, low, -np.inf), np.where(same, high, np.inf))
        for name, (low, high) in chain([a, b], lambda: [point(1.0), (-most, -least)]).items()
    }
    low, high = extremes(ends)
    low = np.where(same, low, np.minimum(b.low, 0.0))
    high = np.where(same, high, np.maximum(b.high, 0.0))
    return Enclosure(low, high, slopes)


def power(a: Enclosure, b: Enclosure) -> Enclosure:
    """Enclose a ** b, for a constant b or a positive a."""
    exponent = float(np.ravel(b.low)[0])
    constant = not b.slopes and np.all((b.low == exponent) & (b.high == exponent))
    if constant and exponent.is_integer():
        return _whole_power(a, exponent)
    if np.any(a.low < 0):
        raise Undefined(
            "a power with a fractional exponent is not defined: its base can be negative"
        )
    if np.any((a.low <= 0) & (b.low <= 0)):
        raise Undefined("a power is not defined: its base can be 0 with an exponent of 0 or less")
    with np.errstate(all="ignore"):
        low, high = outward(*extremes([np.power(x, y) for x in a.bounds for y in b.bounds]))
        high = np.where(a.high > 0, np.maximum(high, TINY), high)  # it may have become 0
        # 1 ** b is 1, and so is a ** 0.
        rises = ((a.low >= 1) & (b.low >= 0)) | ((a.high <= 1) & (b.high <= 0))
        falls = ((a.low >= 1) & (b.high <= 0)) | ((a.high <= 1) & (b.low >= 0))
        low = np.where(rises, np.maximum(low, 1.0), low)
        high = np.where(falls, np.minimum(high, 1.0), high)
    _refuse_overflow(low, high)

    def partials() -> list[Bounds]:
        lowered = extremes([np.power(x, y - 1) for x in a.bounds for y in b.bounds])
        by_base = product(b.bounds, lowered)
        return [by_base, product((low, high), (np.log(a.low), np.log(a.high)))]

    return Enclosure(low, high, chain([a, b], partials))


def _whole_power(a: Enclosure, exponent: float) -> Enclosure:
    if exponent < 0 and np.any((a.low <= 0) & (a.high >= 0)):
        raise Undefined("may divide by zero: a negative power of something that can be 0")

    def bounds(n: float) -> Bounds:
        if n == 0:
            return np.ones_like(a.low), np.ones_like(a.low)
        low, high = outward(*extremes([np.power(a.low, n), np.power(a.high, n)]))
        # They may have become 0.
        low = np.where((low == 0) & (a.low < 0), -TINY, low)
        high = np.where((high == 0) & ((a.low != 0) | (a.high != 0)), TINY, high)
        # A power of 1 is 1, and one of -1 is 1 or -1.
        within = (np.abs(a.low) <= 1) & (np.abs(a.high) <= 1) & (n > 0)
        low = np.where(within, np.maximum(low, -1.0), low)
        high = np.where(within, np.minimum(high, 1.0), high)
        if n % 2 == 0 and n > 0:
            low = np.where((a.low <= 0) & (a.high >= 0), 0.0, np.maximum(low, 0.0))
        return low, high

    low, high = bounds(exponent)
    _refuse_overflow(low, high)

    def partials() -> list[Bounds]:
        return [product(point(exponent), bounds(exponent - 1))]

    return Enclosure(low, high, chain([a], partials))


def _refuse_overflow(low: Array, high: Array) -> None:
    if np.any(np.isinf(low) | np.isinf(high)):
        raise Undefined("a power may overflow")


def opposed(a: Enclosure, b: Enclosure) -> NDArray[np.bool_]:
    """Tell where a + b may be infinity minus infinity."""
    up, down = np.inf, -np.inf
    return np.asarray(((a.high == up) & (b.low == down)) | ((a.low == down) & (b.high == up)))


def zero_times_infinity(a: Enclosure, b: Enclosure) -> NDArray[np.bool_]:
    """Tell where a * b may be zero times infinity."""
    a_zero, b_zero = ((x.low <= 0) & (x.high >= 0) for x in (a, b))
    return (a.infinite & b_zero) | (b.infinite & a_zero)


def below(a: Enclosure, b: Enclosure) -> Enclosure:
    """Enclose a < b, as 0 or 1."""
    return _truth(a, b, surely=a.high < b.low, never=a.low >= b.high)


def at_most(a: Enclosure, b: Enclosure) -> Enclosure:
    """Enclose a <= b, as 0 or 1."""
    return _truth(a, b, surely=a.high <= b.low, never=a.low > b.high)


def equal(a: Enclosure, b: Enclosure) -> Enclosure:
    """Enclose a == b, as 0 or 1."""
    same = (a.low == a.high) & (b.low == b.high) & (a.low == b.low)
    truth = _truth(a, b, surely=same, never=(a.high < b.low) | (a.low > b.high))
    unknown = truth.low < truth.high
    slopes = {
        name: (np.where(unknown, -np.inf, 0.0), np.where(unknown, np.inf, 0.0))
        for name in truth.slopes
    }
    return Enclosure(truth.low, truth.high, slopes)


def _truth(
    a: Enclosure, b: Enclosure, *, surely: NDArray[np.bool_], never: NDArray[np.bool_]
) -> Enclosure:
    """Enclose a comparison that turns from true to false as a - b rises."""
    slopes = {}
    for name, (low, high) in minus(a, b).slopes.items():
        settled = surely | never | ((low == 0) & (high == 0))
        slopes[name] = (
            np.where(settled | (high <= 0), 0.0, -np.inf),
            np.where(settled | (low >= 0), 0.0, np.inf),
        )
    return Enclosure(np.where(surely, 1.0, 0.0), np.where(never, 0.0, 1.0), slopes)


def opposite(a: Enclosure) -> Enclosure:
    """Enclose not a."""
    return minus(Enclosure(*point(1.0)), a)


def choice(condition: Enclosure, a: Enclosure, b: Enclosure) -> Enclosure:
    """Enclose 'a if condition else b'; its slopes include the jump between the branches."""
    surely_a, surely_b = condition.low == 1, condition.high == 0
    either = hull(a.bounds, b.bounds)
    low = np.where(surely_a, a.low, np.where(surely_b, b.low, either[0]))
    high = np.where(surely_a, a.high, np.where(surely_b, b.high, either[1]))
    slopes = blend(a, b, surely_a, surely_b)
    jump = minus(a, b).bounds
    for name, turn in condition.slopes.items():
        slopes[name] = total([slopes.get(name, ZERO), product(turn, jump)])
    return Enclosure(low, high, slopes)
