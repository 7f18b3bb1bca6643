"""Ridge regression of one model: θ̂ = (λI+A)⁻¹b, and a root of the inverse.

`solve_ridge` and what it calls are plain functions.  The library runs them in CPython on lists,
the simulator compiles them for arrays.  Their cost grows with d³, so beyond a few features the
library calls LAPACK instead, which agrees to rounding.  The simulator never does: compiled code
reaches LAPACK through scipy, and for small d the call costs more than the loops.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, TypeAlias

import numpy as np

from onepull.arrays import Array

FEW_FEATURES = 4  # up to so many features CPython is quicker than LAPACK

# What a model is solved for: θ̂, and whatever else a rule needs, as arrays.
Solution: TypeAlias = tuple[Array, ...]


def cholesky(gram: Any, regulariser: float, lower: Any) -> None:
    """Write the lower triangle C with CCᵀ = λI+A.

    >>> lower = [[0.0, 0.0], [0.0, 0.0]]
    >>> cholesky([[3.0, 2.0], [2.0, 9.0]], 1.0, lower)
    >>> lower
    [[2.0, 0.0], [1.0, 3.0]]
    """
    for i in range(len(lower)):
        row = lower[i]
        for j in range(i):
            other = lower[j]
            rest = gram[i][j]
            for k in range(j):
                rest -= row[k] * other[k]
            row[j] = rest / other[j]
        pivot = gram[i][i] + regulariser
        for k in range(i):
            pivot -= row[k] * row[k]
        row[i] = sqrt(max(pivot, regulariser))  # no pivot is below λ, rounding aside


def invert(lower: Any, root: Any) -> None:
    """Write the inverse of a lower triangle; `root` must be zero above its diagonal.

    >>> root = [[0.0, 0.0], [0.0, 0.0]]
    >>> invert([[2.0, 0.0], [1.0, 4.0]], root)
    >>> root
    [[0.5, 0.0], [-0.125, 0.25]]
    """
    for i in range(len(lower)):
        row, inverse = lower[i], root[i]
        for j in range(i):
            total = 0.0
            for k in range(j, i):
                total += row[k] * root[k][j]
            inverse[j] = -total / row[i]
        inverse[i] = 1.0 / row[i]


def solve_ridge(  # noqa: PLR0913, PLR0917 - plain arguments, so that a compiler can take them
    gram: Any, moment: Any, regulariser: float, lower: Any, root: Any, theta: Any
) -> None:
    """Write θ̂ and the root R = C⁻¹, where λI+A = CCᵀ and θ̂ = RᵀRb; `lower` is room for C.

    >>> lower, root, theta = [[0.0]], [[0.0]], [0.0]
    >>> solve_ridge([[3.0]], [2.0], 1.0, lower, root, theta)
    >>> root, theta
    ([[0.5]], [0.5])
    """
    cholesky(gram, regulariser, lower)
    invert(lower, root)
    for k in range(len(theta)):
        theta[k] = 0.0
    for i in range(len(theta)):
        inverse = root[i]
        turned = 0.0
        for k in range(i + 1):
            turned += inverse[k] * moment[k]
        for k in range(i + 1):
            theta[k] += inverse[k] * turned


def ridge(gram: Array, moment: Array, *, regulariser: float) -> Solution:
    """Return θ̂ = (λI+A)⁻¹b and a root R of that inverse, RᵀR = (λI+A)⁻¹.

    With the root, √(xᵀ(λI+A)⁻¹x) is the length of Rx, and Rᵀz is normal with this
    covariance if z is standard normal.

    >>> ridge(np.array([[3.0]]), np.array([2.0]), regulariser=1.0)
    (array([0.5]), array([[0.5]]))
    """
    size = len(moment)
    if size <= FEW_FEATURES:
        lower, found = [[0.0] * size for _ in range(size)], [[0.0] * size for _ in range(size)]
        theta = [0.0] * size
        solve_ridge(gram.tolist(), moment.tolist(), regulariser, lower, found, theta)
        return np.array(theta), np.array(found)
    whole = gram + regulariser * np.eye(size)
    try:
        root = np.linalg.inv(np.linalg.cholesky(whole))
    except np.linalg.LinAlgError:  # rounding: no eigenvalue is below λ
        values, vectors = np.linalg.eigh(whole)
        root = vectors.T / np.sqrt(np.maximum(values, regulariser))[:, None]
    return root.T @ (root @ moment), root
