"""The operations of the formula language on enclosures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.formula.enclosure import (
    SMALLEST_NORMAL,
    ZERO,
    Bounds,
    Enclosure,
    Undefined,
    blend,
    chain,
    extremes,
    hull,
    outward,
    point,
    product,
    rising,
    total,
)

DISTINCT = 2.0**50  # quotients below it are told apart from their neighbours


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
    high = np.maximum(high, SMALLEST_NORMAL)  # it may have become 0
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


def enclosed_staircase(
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
        high = np.where(a.high > 0, np.maximum(high, SMALLEST_NORMAL), high)  # it may have become 0
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
        low = np.where((low == 0) & (a.low < 0), -SMALLEST_NORMAL, low)
        high = np.where((high == 0) & ((a.low != 0) | (a.high != 0)), SMALLEST_NORMAL, high)
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
