"""Sliding-window empirical KL-UCB, for arms that change over time."""

from __future__ import annotations

import numpy as np

from onepull.checks import whole_number
from onepull.policies.drifting.remembering import PROVED_FOR_HOEFFDING, RememberingKL, newest
from onepull.problem import Problem


class SlidingWindowKL(RememberingKL):
    """`EmpiricalKL` on a sliding window (Garivier and Moulines 2011), for arms that change.

    Index: the highest mean reward of any distribution of states whose divergence from the one
    observed in the window is at most f/m.  The window holds the last W observations of all arms,
    m is the arm's number of pulls in it, and f = ln M + c ln ln M with M = min(n, W).  An arm
    without a pull in the window is treated as never pulled.

    Use it if the arms change over time, states can be listed or are bounded, and `AdaptiveKL` takes
    too long, which loses less where the arms drift slowly.  The index is never above that of
    `SlidingWindowUCB` with α = f/(2 ln M), which is ½ for c = 0.  It was measured but not proved:
    the proof of Garivier and Moulines is for the Hoeffding width.

    If nothing changes, an arm that is never best keeps about m = f/K pulls in the window, and at
    least one, where K is its divergence from the best arm.  That is about T f/(W K) wrong pulls
    in T trials.  For the same reason it is slow to notice that a bad arm has become good: it may
    only be pulled again when it has left the window.  It stores the window and twice the
    histogram (or sketch) of each arm's states; the reward can be changed later.

    Parameters
    ----------
    window
        W, the number of observations to remember, of all arms together.
    c
        Weight of the extra exploration term ln ln min(n, W).
    knots, seed
        Those of `EmpiricalKL`.

    Examples
    --------
    >>> from onepull import Finite
    >>> policy = SlidingWindowKL(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2, 3, 4])},
    ...     state={"capacity": Finite([0, 1, 2, 3, 4])},
    ...     reward="min(bits, capacity)",
    ... ), window=10)
    >>> policy.observe_many(["wifi"] * 8 + ["lte"] * 8, capacity=[2] * 8 + [4] * 7 + [0])
    >>> print(policy.explain(bits=4))
    SlidingWindowKL at trial 17 with bits=4
      arm   pulls  estimate   bonus   index
      wifi      2    2.0000  1.3675  3.3675
    → lte       8    3.5000  0.4797  3.9797
    lte: highest index
    """

    guarantee = PROVED_FOR_HOEFFDING

    def __init__(
        self,
        problem: Problem,
        *,
        window: int = 1000,
        c: float = 0.0,
        knots: int | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.window = whole_number("window", window)
        super().__init__(problem, newest(self.window), c, knots, seed)
