"""Discounted UCB, for arms that change over time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from onepull.checks import share
from onepull.policies.drifting.remembering import RememberingUCB, discounted
from onepull.policies.sharing.by_name import shared
from onepull.problem import Problem


class DiscountedUCB(RememberingUCB):
    """Discounted UCB (Garivier and Moulines 2011) for any sharing.

    Index: θ̂ + G·√(α ln min(n, N) / m).  An observation made k trials ago counts γ^k in the mean
    θ̂ and in the number of pulls m, and N = 1/(1-γ) is the number of trials remembered.

    Use it if the arms change over time and a simple bound is enough; `DiscountedKL` uses the
    distribution of the states.  With α > 2, a known number of changes C and N of order √(T/C),
    it makes O(√(CT) ln T) wrong pulls of each arm.  If nothing changes it makes O(T ln N / N),
    because it must explore again what it has forgotten.  With joint learning this concerns only
    arms that are never best; the others are pulled anyway.  It stores what its sharing stores and
    one more number.

    Parameters
    ----------
    discount
        γ in (0, 1): 0.999 remembers about the last 1000 trials.
    sharing, delta, alpha, seed
        Those of `UpperConfidence`.

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
        "O(√(CT) log T) wrong pulls in a single context that changes C times, with α > 2 and a "
        "memory of order √(T/C) (Garivier and Moulines 2011); O(T log N / N) if nothing changes; "
        "no bound is known for joint learning"
    )

    def __init__(  # noqa: PLR0913 - all are keyword-only
        self,
        problem: Problem,
        *,
        discount: float = 0.999,
        sharing: str = "joint",
        delta: float | Mapping[str, float] | None = None,
        alpha: float = 0.6,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.discount = share("discount", discount)
        super().__init__(shared(problem, sharing, delta), discounted(self.discount), alpha, seed)
