"""Sliding-window UCB, for arms that change over time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from onepull.checks import whole_number
from onepull.policies.drifting.remembering import RememberingUCB, newest
from onepull.policies.sharing.by_name import shared
from onepull.problem import Problem


class SlidingWindowUCB(RememberingUCB):
    """Sliding-window UCB (Garivier and Moulines 2011) for any sharing.

    Index: θ̂ + G·√(α ln min(n, W) / m), with the mean θ̂ and the number of pulls m among the last
    W observations.  An arm without a pull among them is treated as never pulled.

    Use it if the arms change and a simple bound is enough; `SlidingWindowKL` uses the
    distribution of the states.  With α > 1/2, a known number of changes C and W of order
    √(T ln T / C), it makes O(√(CT ln T)) wrong pulls of each arm.  If nothing changes it makes
    O(T ln W / W), because it must explore again what it has forgotten.  With joint learning this
    concerns only arms that are never best; the others are pulled anyway.  It stores the window
    and twice what its sharing stores.

    Parameters
    ----------
    window
        W, the number of observations to remember, of all arms together; per context if the
        sharing is "per-context".
    sharing, delta, alpha, seed
        Those of `UpperConfidence`.

    Examples
    --------
    >>> from onepull import Finite, Interval
    >>> policy = SlidingWindowUCB(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... ), window=30)
    >>> policy.observe_many(["wifi"] * 20 + ["lte"] * 20, capacity=[2.0] * 20 + [1.5] * 20)
    >>> print(policy.explain(bits=2))
    SlidingWindowUCB at trial 41 with bits=2
      arm   pulls  estimate   bonus   index
    → wifi     10    2.0000  0.9035  2.9035
      lte      20    1.5000  0.6389  2.1389
    wifi: highest index
    """

    guarantee = (
        "O(√(CT log T)) wrong pulls in a single context that changes C times, with α > 1/2 and a "
        "window of order √(T log T / C) (Garivier and Moulines 2011); O(T log W / W) if nothing "
        "changes; no bound is known for joint learning"
    )

    def __init__(  # noqa: PLR0913 - all are keyword-only
        self,
        problem: Problem,
        *,
        window: int = 2000,
        sharing: str = "joint",
        delta: float | Mapping[str, float] | None = None,
        alpha: float = 0.6,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.window = whole_number("window", window)
        super().__init__(shared(problem, sharing, delta), newest(self.window), alpha, seed)
