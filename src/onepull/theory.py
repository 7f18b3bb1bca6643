"""The paper's bounds as numbers."""

from __future__ import annotations

import math

import numpy as np

from onepull.formula import Array


def never_optimal(gaps: Array) -> list[int]:
    """Return the arms that are best in no context, given `gaps[context, arm]`.

    >>> never_optimal(np.array([[0.0, 0.2, 0.5], [0.1, 0.0, 0.3]]))
    [2]
    """
    return [j for j in range(gaps.shape[1]) if np.all(gaps[:, j] > 0)]


def theorem_1_printed(gaps: Array, epsilon: float, trial: float) -> Array:
    """Bound the pulls of each never-optimal arm as theorem 1 is printed.

    4(2+ε) ln n / min_i Δ_i² + 1 + π²/3.  It misses the ranges G_i and does not hold where
    they exceed one.

    >>> round(float(theorem_1_printed(np.array([[0.0, 0.5]]), 0.01, 1e5)[1]))
    375
    """
    return _pulls(np.where(gaps > 0, 1.0 / np.where(gaps > 0, gaps, 1.0), math.inf), epsilon, trial)


def theorem_1_corrected(gaps: Array, ranges: Array, epsilon: float, trial: float) -> Array:
    """Bound the pulls of each never-optimal arm: theorem 1 with the ranges its proof needs.

    4(2+ε) ln n · max_i (G_i/Δ_i)² + 1 + π²/3.

    >>> gaps, ranges = np.array([[0.0, 0.5]]), np.array([2.0])
    >>> round(float(theorem_1_corrected(gaps, ranges, 0.01, 1e5)[1]))
    1485
    """
    steep = np.where(gaps > 0, ranges[:, None] / np.where(gaps > 0, gaps, 1.0), math.inf)
    return _pulls(steep, epsilon, trial)


def _pulls(steep: Array, epsilon: float, trial: float) -> Array:
    worst: Array = np.max(steep, axis=0)
    return 4 * (2 + epsilon) * math.log(trial) * worst**2 + 1 + math.pi**2 / 3
