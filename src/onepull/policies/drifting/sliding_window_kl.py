"""The empirical-likelihood bound on the latest states, for arms that drift."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from onepull.checks import whole_number
from onepull.policies.drifting.remembering import RememberingKL
from onepull.problem import Problem
from onepull.statistics import Window


class SlidingWindowKL(RememberingKL):
    """`EmpiricalKL` on the last W observations, whichever arms they were of.

    Index: the highest mean reward of a law of states whose likelihood is within f/m of that
    observed in the window, m being the arm's pulls in it and f = ln min(n, W) +
    c ln ln min(n, W); an arm that is not in the window is as one that was never pulled.  It
    never exceeds that of `SlidingWindowUCB` with α = f/(2 ln min(n, W)), which is ½ for c = 0.
    For the Hoeffding width there is a proof (Garivier and Moulines 2011); for this one there is
    none here, it is measured only.

    Where nothing changes, an arm that is best in no context is kept at about m = f/K pulls in
    the window, with K its divergence from the best, and at one at least: some T f/(W K) wrong
    pulls, for ever.  For the same reason it fails where an arm that was far from the best gets
    better: that may be seen only when the arm has left the window.  Keeps the window and twice
    the histogram (or sketch) of the states of every arm; the reward may change after the fact.

    Parameters
    ----------
    window
        W, how many observations are remembered, of whichever arms.
    c
        How much is explored beyond ln min(n, W).
    knots
        Sketch interval fields of the state with so many knots; 65 if not given.
    seed
        Draw among arms that tie, in pulls too, with this seed or generator; the first arm wins
        without.

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

    guarantee = (
        "none is known; for the Hoeffding width on the same means there is one (Garivier and "
        "Moulines 2011)"
    )

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
        super().__init__(
            problem,
            partial(Window, window=self.window),
            memory=self.window,
            c=c,
            knots=knots,
            seed=seed,
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """The window, c, and the knots of a sketch."""
        return {"window": self.window, **super().parameters}
