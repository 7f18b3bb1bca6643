"""Groups of levels that an arm's observations do not distinguish.

The likelihood depends only on the probability of each group, so the index is computed on groups.
These are plain functions of arrays: the library runs them, the simulator compiles them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepull.index.set_likelihood import coarse_bound


def group_levels(told: Any, group: Any) -> int:
    """Write the group of every level into `group`, and return the number of groups.

    Levels that belong to the same sets of `told` form a group.  A level that belongs to no set
    gets -1.

    >>> group = np.zeros(4, np.int64)
    >>> group_levels(np.array([[1.0, 0, 1.0, 0], [1.0, 1.0, 1.0, 0]]), group), group.tolist()
    (2, [0, 1, 0, -1])
    """
    groups = 0
    sets, levels = told.shape
    for s in range(levels):
        group[s] = -1
        for d in range(sets):
            if told[d, s] > 0.0:
                group[s] = groups
                break
        if group[s] < 0:
            continue
        for r in range(s):
            if group[r] >= 0 and alike(told, r, s):
                group[s] = group[r]
                break
        if group[s] == groups:
            groups += 1
    return groups


def alike(told: Any, level: int, other: int) -> bool:
    """Return whether two levels belong to the same sets.

    >>> told = np.array([[1.0, 0.0, 1.0]])
    >>> alike(told, 0, 2), alike(told, 0, 1)
    (True, False)
    """
    for d in range(told.shape[0]):  # noqa: SIM110 - a plain loop compiles
        if told[d, level] != told[d, other]:
            return False
    return True


def sets_of_groups(told: Any, group: Any, groups: int) -> Any:
    """Return `told` with one column for each group instead of one for each level.

    >>> told, group = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]), np.array([0, 1, 0])
    >>> sets_of_groups(told, group, 2).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    found = np.empty((told.shape[0], groups))
    for s in range(told.shape[1]):
        if group[s] >= 0:
            found[:, group[s]] = told[:, s]
    return found


def best_of_groups(values: Any, group: Any, groups: int) -> Any:
    """Return the highest value in each group of levels.

    >>> best_of_groups(np.array([1.0, 2.0, 3.0]), np.array([0, -1, 0]), 1).tolist()
    [3.0]
    """
    best = np.full(groups, -np.inf)
    for s in range(len(values)):
        g = group[s]
        if g >= 0 and values[s] > best[g]:
            best[g] = values[s]
    return best


def bound_of_groups(  # noqa: PLR0913, PLR0917 - plain arguments, so that a compiler can take them
    told: Any, counts: Any, group: Any, law: Any, highs: Any, top: float, risk: float
) -> tuple[float, float]:
    """Return an arm's bound in a context and how fast it rises with the risk.

    `told` and `law` are by group, `highs` is the highest reward of each level, and `top` is the
    highest of all.

    >>> group, law = np.array([0, 0, -1]), np.array([1.0])
    >>> bound, _ = bound_of_groups(
    ...     np.ones((1, 1)), np.array([9.0]), group, law, np.array([0.0, 0.5, 1.0]), 1.0, 1.0
    ... )
    >>> bool(0.5 < bound < 1.0)
    True
    """
    values = best_of_groups(highs, group, law.size)
    return coarse_bound(told, counts, values, top, law, risk)
