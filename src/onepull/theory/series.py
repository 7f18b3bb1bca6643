"""Series and thresholds used by the bounds."""

from __future__ import annotations

import math

import numpy as np

from onepull.arrays import Array


def zeta(s: float) -> float:
    """Return ζ(s) = Σ n^-s by the Euler-Maclaurin formula; infinity for s ≤ 1.

    >>> abs(zeta(2.0) - math.pi**2 / 6) < 1e-13
    True
    """
    if s <= 1:
        return math.inf
    if s > 64:  # the other terms are less than a rounding error
        return 1.0
    n = 32.0
    head = math.fsum(k**-s for k in range(1, int(n)))
    tail = n ** (1 - s) / (s - 1) + n**-s / 2
    rising = s
    for k, coefficient in enumerate((12, -720, 30240)):
        tail += rising * n ** (-s - 1 - 2 * k) / coefficient
        rising *= (s + 1 + 2 * k) * (s + 2 + 2 * k)
    return float(head + tail)


def settled_from(share: Array, cost: Array) -> Array:
    """Return the least integer n from which on share·n - 1 ≥ cost·ln n, for each pair.

    >>> settled_from(np.array([1 / 56]), np.array([804.0]))
    array([599012.])
    """
    # Convex and negative at 1, so Newton's method from the right converges to the last zero.
    n = np.maximum(4.0, 4.0 * (cost + 1) / share * np.log(np.maximum(4.0, (cost + 1) / share)))
    for _ in range(64):
        n = n - np.maximum(0.0, share * n - 1 - cost * np.log(n)) / (share - cost / n)
    return np.asarray(np.ceil(n - 1e-6))


def settled_printed(share: float, cost: float) -> float:
    """Return the least n with ⌊share·n⌋ > ⌈cost·ln n⌉.

    The floor first reaches v at n = ⌈v/share⌉, where the right side is smallest for this v.

    >>> settled_printed(1 / 56, 804.0)
    599032.0
    """
    low, high = max(1, math.floor(cost)), 4
    while not _holds(high, share, cost):
        high *= 2
    if _holds(low, share, cost):
        low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _holds(middle, share, cost) else (middle, high)
    return float(_first(high, share))


def _holds(value: int, share: float, cost: float) -> bool:
    return value > math.ceil(cost * math.log(_first(value, share)))


def _first(value: int, share: float) -> int:
    """Return the least n with ⌊share·n⌋ = value, up to the rounding error of the share."""
    return math.ceil(value / share - 1e-6)
