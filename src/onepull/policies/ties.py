"""Find the best arms, break ties and draw.

The tie rule is `comes_before` in `onepull.index.rules`, where it is compiled, too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from onepull.errors import ParameterError
from onepull.index.rules import comes_before


def best_of(indices: Any, allowed: Sequence[int]) -> list[int]:
    """Return the allowed positions with the highest index.

    >>> best_of([5, 7, 9, 7], [0, 1, 3])
    [1, 3]
    """
    try:
        values = [indices[j] for j in allowed]
    except IndexError:
        raise ParameterError(
            f"`_indices` must return an index for each arm, given {len(indices)} for at least "
            f"{max(allowed) + 1} arms"
        ) from None
    if any(map(math.isnan, values)):
        raise ParameterError(f"an index is NaN, given {list(indices)}")
    highest = max(values)
    return [j for j, value in zip(allowed, values, strict=True) if value == highest]


def foremost(indices: Any, allowed: Sequence[int], pulls: Sequence[float] | None) -> list[int]:
    """Return the allowed positions with the highest index, reduced to the least pulled if given.

    >>> foremost([5, 7, 9, 7], [0, 1, 3], None), foremost([5, 7, 9, 7], [0, 1, 3], [9, 4, 1, 2])
    ([1, 3], [3])
    """
    best = best_of(indices, allowed)
    if pulls is None or len(best) == 1:
        return best
    first = least_pulled(best, pulls)
    return [arm for arm in best if pulls[arm] == pulls[first]]


def least_pulled(arms: Sequence[int], pulls: Sequence[float]) -> int:
    """Return the first of the arms by the tie rule.

    >>> least_pulled([1, 2, 3], [1, 5, 4, 4])
    2
    """
    first = arms[0]
    for arm in arms[1:]:
        if comes_before(arm, pulls[arm], first, pulls[first], True):
            first = arm
    return first


def even(best: Collection[int], allowed: Sequence[int]) -> list[float]:
    """Return the probabilities of a uniform draw from `best`, for each allowed position.

    >>> even([1, 3], [0, 1, 3])
    [0.0, 0.5, 0.5]
    """
    members = set(best)
    share = 1.0 / len(members)
    return [share if j in members else 0.0 for j in allowed]


def drawn(
    choices: Sequence[int], chances: Sequence[float], generator: np.random.Generator | None
) -> int:
    """Return a choice drawn with the given probabilities; a certain one uses no random number."""
    if 1.0 in chances or generator is None:
        return choices[max(range(len(chances)), key=chances.__getitem__)]
    left = generator.random() * math.fsum(chances)
    last = 0
    for i, chance in enumerate(chances):
        if chance > 0:
            last = i
            left -= chance
            if left < 0:
                break
    return choices[last]
