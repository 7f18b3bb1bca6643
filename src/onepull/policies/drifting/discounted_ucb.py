"""Discounted UCB: upper confidence bounds for arms that drift."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from onepull.policies.drifting.remembering import RememberingUCB, discount_of, remembered_trials
from onepull.problem import Problem
from onepull.statistics import Discounted


class DiscountedUCB(RememberingUCB):
    """Discounted UCB (Garivier and Moulines 2011) on any sharing of knowledge.

    Index: θ̂ + G·√(α ln min(n, N) / m), where an observation made k trials ago counts γ^k in
    the mean θ̂ and in the pulls m, and N = 1/(1-γ) is how many trials are remembered.  With
    α > 2, a known number of changes C and N of order √(T/C), wrong pulls of every arm are
    O(√(CT) ln T).  Where nothing changes they are O(T ln N / N): what is forgotten has to be
    explored again for ever.  With joint learning that is true of arms that are best in no
    context; the others are pulled anyway.  Keeps what its sharing keeps, and one number more.

    Parameters
    ----------
    discount
        γ in (0, 1): 0.999 remembers about the last 1000 trials.
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
    >>> policy = DiscountedUCB(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... ), discount=0.9)
    >>> policy.observe_many(["wifi"] * 20 + ["lte"] * 20, capacity=[2.0] * 20 + [1.5] * 20)
    >>> print(policy.explain(bits=2))
    DiscountedUCB at trial 41 with bits=2
      arm   pulls  estimate   bonus   index
    → wifi    1.1    2.0000  2.2748  4.2748
      lte     8.8    1.5000  0.7932  2.2932
    wifi: highest index
    """

    guarantee = (
        "wrong pulls O(√(CT) log T) in a single context that changes C times, with α > 2 and a "
        "memory of order √(T/C) (Garivier and Moulines 2011); O(T log N / N) where nothing "
        "changes; for contexts that learn together none is known"
    )

    def __init__(  # noqa: PLR0913 - a full statement
        self,
        problem: Problem,
        *,
        discount: float = 0.999,
        sharing: str = "joint",
        delta: float | Mapping[str, float] | None = None,
        alpha: float = 0.6,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.discount = discount_of(discount)
        super().__init__(
            problem,
            partial(Discounted, discount=self.discount),
            memory=remembered_trials(self.discount),
            sharing=sharing,
            delta=delta,
            alpha=alpha,
            seed=seed,
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """The discount, the sharing, δ if the contexts are cut into cells, and α."""
        return {"discount": self.discount, **super().parameters}
