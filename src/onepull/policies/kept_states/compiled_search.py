"""The compiled search for the leading arm, if there is one.

The library does without a compiler.  `compile_decisions`, which is in a layer above, puts the
compiled form of `likely_leaders` here.  It is one function for all problems, so it is compiled
before the first decision or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array

Arms = NDArray[np.int64]


class CompiledSearch:
    """A place for the compiled search, the same for all policies of a process.

    Attributes
    ----------
    leader
        Takes the rewards of each arm's states, what these stand for, the pulls of each arm, its
        count by which ties are broken, its budget, the tops and the allowed arms.  Returns an arm.
        None if there is none.

    Examples
    --------
    >>> CompiledSearch().leader is None
    True
    """

    leader: Callable[..., int] | None = None


COMPILED = CompiledSearch()


def as_arrays(
    rewards: Array,
    counts: Sequence[int],
    budgets: Sequence[float],
    tops: Any,
    allowed: Sequence[int],
) -> tuple[Array, Arms, Array, Array, Arms]:
    """Return arguments of the search with the types for which it was compiled.

    >>> as_arrays(np.ones((2, 1)), [3, 4], [0.1, 0.2], 1.0, range(2))[3:]
    (array([1.]), array([0, 1]))
    """
    everyone = len(allowed) == len(counts)
    return (
        np.ascontiguousarray(rewards),
        np.array(counts, np.int64),
        np.array(budgets, np.float64),
        np.array([tops] if isinstance(tops, float) else tops, np.float64),
        np.arange(len(counts)) if everyone else np.array(allowed, np.int64),
    )
