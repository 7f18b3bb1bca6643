"""The empirical-likelihood bound on a histogram that fades, for arms that drift."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from onepull.policies.drifting.remembering import RememberingKL, discount_of, remembered_trials
from onepull.problem import Problem
from onepull.statistics import Discounted


class DiscountedKL(RememberingKL):
    """`EmpiricalKL` on states of which one shown k trials ago counts γ^k.

    Index: the highest mean reward of a law of states whose divergence from the discounted
    law of an arm is within f/m, m being the arm's discounted pulls, f = ln min(n, N) +
    c ln ln min(n, N) and N = 1/(1-γ) how many trials are remembered.  It never exceeds that of
    `DiscountedUCB` with α = f/(2 ln min(n, N)), which is ½ for c = 0, and makes use of small
    variance and of rewards that are rarely high.  For the Hoeffding width on discounted means
    there is a proof (Garivier and Moulines 2011); for this one there is none here, it is
    measured only.

    Where nothing changes, an arm that is best in no context is kept at about m = f/K, with K
    its divergence from the best: some T f/(N K) wrong pulls, for ever.  For the same reason it
    fails where an arm that was far from the best gets better: the larger K was, the more
    rarely the arm is looked at, and up to the whole memory may pass before it is.
    Keeps the histogram (or sketch) of the states of every arm, and one number more; the reward
    may change after the fact.

    Parameters
    ----------
    discount
        γ in (0, 1): 0.999 remembers about the last 1000 trials.
    c
        How much is explored beyond ln min(n, N).
    knots
        Sketch interval fields of the state with so many knots; 65 if not given.
    seed
        Draw among arms that tie, in discounted pulls too, so hardly any but those never pulled,
        with this seed or generator; the first arm wins without.

    Examples
    --------
    >>> from onepull import Finite
    >>> policy = DiscountedKL(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2, 3, 4])},
    ...     state={"capacity": Finite([0, 1, 2, 3, 4])},
    ...     reward="min(bits, capacity)",
    ... ), discount=0.9)
    >>> policy.observe_many(["wifi"] * 8 + ["lte"] * 8, capacity=[2] * 8 + [4] * 7 + [0])
    >>> print(policy.explain(bits=4))
    DiscountedKL at trial 17 with bits=4
      arm   pulls  estimate   bonus   index
      wifi    2.5    2.0000  1.2181  3.2181
    → lte     5.7    3.2977  0.6730  3.9706
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
        discount: float = 0.999,
        c: float = 0.0,
        knots: int | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.discount = discount_of(discount)
        super().__init__(
            problem,
            partial(Discounted, discount=self.discount),
            memory=remembered_trials(self.discount),
            c=c,
            knots=knots,
            seed=seed,
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """The discount, c, and the knots of a sketch."""
        return {"discount": self.discount, **super().parameters}
