"""The search for the leading arm of one decision of `AdaptiveKL`, outside of a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepull.simulation.compiled import compiled
from onepull.simulation.kernels.kept_bounds import Elsewhere, Search, likely_leader


def search_leader(
    rewards: Any,
    stands_for: Any,
    pulls: Any,
    counts: Any,
    trial: Any,
    tops: Any,
    allowed: Any,
    means: Any,
    unit: Any,
) -> Any:
    """Return the arm with the highest bound, as `CompiledSearch` says."""
    arms, room = rewards.shape
    numbers, steps = np.zeros((11, arms)), np.zeros((2, arms), np.int64)
    search = Search(
        numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6],
        numbers[7], numbers[8], numbers[9], numbers[10], steps[0], steps[1],
    )  # fmt: skip
    # A place without a state stands for nothing.
    points = np.full(arms, room)
    elsewhere = Elsewhere(means, unit, np.zeros(means.shape[1]))
    return likely_leader(
        rewards, stands_for, points, pulls, counts, tops, trial, elsewhere, allowed, search
    )


# It takes microseconds.  A thread that let go of the interpreter would wait milliseconds for it.
leading_arm: Any = compiled(search_leader, nogil=False)


def compile_search() -> None:
    """Compile the search, or load it; from then on it is compiled for no other types."""
    one, arm = np.ones((1, 1)), np.zeros(1, np.int64)
    leading_arm(one, one, one[0], arm + 1, 1, one[0], arm, one, 1.0)
    leading_arm.disable_compile()
