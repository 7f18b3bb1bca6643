"""The compiled search for the leading arm, if there is one.

The library does without a compiler.  `compile_decisions`, which is in a layer above, puts the
compiled form of the search of `KeptBounds` here.  It is one function for all problems, so it is
compiled before the first decision or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onepull.arrays import ArmNumbers, Array


class CompiledSearch:
    """A place for the compiled search, the same for all policies of a process.

    Attributes
    ----------
    leader
        Takes the rewards of each arm's states, what these stand for, the pulls of each arm, its
        count with pulls in flight, the trial, the tops, the allowed arms, and the means of each arm
        in other contexts with their unit.  Returns an arm.  None if there is none.

    Examples
    --------
    >>> CompiledSearch().leader is None
    True
    """

    leader: Callable[..., int] | None = None


COMPILED = CompiledSearch()


def as_arrays(
    rewards: Array, counts: Sequence[int], tops: Any, allowed: Sequence[int]
) -> tuple[Array, ArmNumbers, Array, ArmNumbers]:
    """Return arguments of the search with the types for which it was compiled.

    >>> as_arrays(np.ones((2, 1)), [3, 4], 1.0, range(2))[2:]
    (array([1.]), array([0, 1]))
    """
    everyone = len(allowed) == len(counts)
    return (
        np.require(rewards, np.float64, ["C", "W"]),
        np.array(counts, np.int64),
        np.array([tops] if isinstance(tops, float) else tops, np.float64),
        np.arange(len(counts)) if everyone else np.array(allowed, np.int64),
    )
