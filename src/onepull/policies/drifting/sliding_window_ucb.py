"""Sliding-window UCB: upper confidence bounds for arms that drift."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from onepull.checks import whole_number
from onepull.policies.drifting.remembering import RememberingUCB
from onepull.problem import Problem
from onepull.statistics import Window


class SlidingWindowUCB(RememberingUCB):
    """Sliding-window UCB (Garivier and Moulines 2011) on any sharing of knowledge.

    Index: θ̂ + G·√(α ln min(n, W) / m), with mean θ̂ and pulls m of the last W observations;
    an arm that is not among them is as one that was never pulled.  With α > 1/2, a known
    number of changes C and W of order √(T ln T / C), wrong pulls of every arm are
    O(√(CT ln T)).  Where nothing changes they are O(T ln W / W): what is forgotten has to be
    explored again for ever.  With joint learning that is true of arms that are best in no
    context; the others are pulled anyway.  Keeps the window and twice what its sharing keeps.

    Parameters
    ----------
    window
        W, how many observations are remembered, of whichever arms; per context if the
        sharing is.
    sharing
        Who learns from a pull: "joint", "per-context", "blind", or through a factorisation.
    delta
        Cuts interval contexts into cells no wider than this.
    alpha
        α > 0, how wide the bound is.
    seed
        Draw among tied arms with this seed or generator; the first arm wins without.

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
        "wrong pulls O(√(CT log T)) in a single context that changes C times, with α > 1/2 and "
        "a window of order √(T log T / C) (Garivier and Moulines 2011); O(T log W / W) where "
        "nothing changes; for contexts that learn together none is known"
    )

    def __init__(  # noqa: PLR0913 - a full statement
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
        super().__init__(
            problem,
            partial(Window, window=self.window),
            memory=self.window,
            sharing=sharing,
            delta=delta,
            alpha=alpha,
            seed=seed,
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """The window, the sharing, δ if the contexts are cut into cells, and α."""
        return {"window": self.window, **super().parameters}
