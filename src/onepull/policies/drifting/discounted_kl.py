"""Discounted empirical KL-UCB, for arms that change over time."""

from __future__ import annotations

import numpy as np

from onepull.checks import share
from onepull.policies.drifting.remembering import PROVED_FOR_HOEFFDING, RememberingKL, discounted
from onepull.problem import Problem


class DiscountedKL(RememberingKL):
    """`EmpiricalKL` with discounting (Garivier and Moulines 2011), for arms that change.

    Index: the highest mean reward of any distribution of states whose divergence from the arm's
    discounted distribution is at most f/m.  A state observed k trials ago counts γ^k, m is the
    arm's discounted number of pulls, f = ln M + c ln ln M with M = min(n, N), and N = 1/(1-γ) is
    the number of trials remembered.

    Use it if the arms change over time, memory is scarce, and states can be listed or are bounded.
    Where they drift slowly, `AdaptiveKL` loses less.  The index is never above that of
    `DiscountedUCB` with α = f/(2 ln M), which is ½ for c = 0.  It is lower if rewards vary little
    or are rarely high.  It was measured but not proved: the proof of Garivier and Moulines is for
    the Hoeffding width on discounted means.

    If nothing changes, an arm that is never best keeps about m = f/K discounted pulls, where K
    is its divergence from the best arm.  That is about T f/(N K) wrong pulls in T trials.  For
    the same reason it is slow to notice that a bad arm has become good: the larger K was, the
    more rarely the arm is pulled, and up to N trials may pass.  It stores the histogram (or
    sketch) of each arm's states and one more number; the reward can be changed later.

    Parameters
    ----------
    discount
        γ in (0, 1): 0.999 remembers about the last 1000 trials.
    c
        Weight of the extra exploration term ln ln min(n, N).
    knots, seed
        Those of `EmpiricalKL`; of tied arms, those with the fewest discounted pulls are preferred.

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

    guarantee = PROVED_FOR_HOEFFDING

    def __init__(
        self,
        problem: Problem,
        *,
        discount: float = 0.999,
        c: float = 0.0,
        knots: int | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.discount = share("discount", discount)
        super().__init__(problem, discounted(self.discount), c, knots, seed)
