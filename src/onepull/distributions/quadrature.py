"""Numerical integration of functions under a density."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from onepull.arrays import Array

PANEL_TOLERANCE = 1e-11
DEEPEST = 60
MOST_PANELS = 4096  # a function that needs more is noise


def _lobatto(order: int) -> tuple[Array, Array]:
    """Return a Gauss-Lobatto rule, which includes both ends and so sees jumps at the edges."""
    last = np.polynomial.legendre.Legendre.basis(order - 1)
    x = np.concatenate([[-1.0], np.sort(last.deriv().roots().real), [1.0]])
    return x, 2.0 / (order * (order - 1) * last(x) ** 2)


FEW_NODES, MANY_NODES = _lobatto(8), _lobatto(15)


def smooth(s: Array) -> tuple[Array, Array]:
    """Return h(s) and h'(s) of a smooth step from 0 to 1 that is flat at both ends.

    Substituting x = h(s) makes densities that are infinite at an end integrable.
    """
    return (
        s**4 * (35.0 - 84.0 * s + 70.0 * s**2 - 20.0 * s**3),
        140.0 * s**3 * (1.0 - s) ** 3,
    )


def rule(
    density: Callable[[Array], Array], low: float, high: float, nodes: int
) -> tuple[Array, Array]:
    """Return points and weights of a composite Gauss rule under a density."""
    panels = max(1, nodes // 8)
    x, w = np.polynomial.legendre.leggauss(max(1, nodes // panels))
    edges = np.linspace(0.0, 1.0, panels + 1)
    half = 0.5 / panels
    s = (edges[:-1, None] + half + half * x).ravel()
    place, slope = smooth(s)
    points = low + (high - low) * place
    weights = np.tile(w * half, panels) * slope * (high - low) * density(points)
    return points, weights / weights.sum()


def integral(
    function: Callable[[Array], Array], density: Callable[[Array], Array], low: float, high: float
) -> float:
    """Return the integral of a function times a density over the width, by adaptive quadrature.

    The width is left out, since a mean is the quotient of two such integrals: for a small
    function on a narrow interval the product with it would be 0.
    Panels are halved until two rules agree.  The error is below 1e-9 of the function's size,
    also with kinks and jumps.
    """
    left = np.linspace(0.0, 1.0, 17)[:-1]
    width = np.full(16, 1.0 / 16.0)
    total, size = 0.0, 0.0
    for _ in range(DEEPEST):
        fine, coarse = (
            _panel(function, density, low, high, left, width, nodes)
            for nodes in (MANY_NODES, FEW_NODES)
        )
        size = max(size, float(np.max(np.abs(fine) / width)))
        settled = np.abs(fine - coarse) <= PANEL_TOLERANCE * size * np.maximum(width, 1e-3)
        total += float(fine[settled].sum())
        if settled.all():
            return total
        if len(left) > MOST_PANELS:
            return total + float(fine[~settled].sum())
        left, width = left[~settled], width[~settled] / 2
        left, width = np.concatenate([left, left + width]), np.concatenate([width, width])
    return total + float(_panel(function, density, low, high, left, width, MANY_NODES).sum())


def _panel(  # noqa: PLR0913, PLR0917 - all parts of an integral
    function: Callable[[Array], Array],
    density: Callable[[Array], Array],
    low: float,
    high: float,
    left: Array,
    width: Array,
    nodes: tuple[Array, Array],
) -> Array:
    x, w = nodes
    # Stay off the ends, where a density or a function may be infinite.
    s = np.clip(left[:, None] + width[:, None] * (x + 1.0) / 2, 1e-18, 1.0 - 2.0**-53)
    place, slope = smooth(s)
    points = low + (high - low) * place
    values = np.broadcast_to(function(points), points.shape) * density(points) * slope
    result: Array = (values @ w) * width / 2
    return result
