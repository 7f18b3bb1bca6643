"""UCB-ALP: upper confidence bounds under a budget, with a linear programme per decision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onepull.budgets import best_mix
from onepull.policies.budget.spender import Spender
from onepull.policies.ties import best_of, even


class UCBALP(Spender):
    """UCB-ALP (Wu, Srikant, Liu, Jiang 2015): the best mixture of arms for the remaining budget.

    Index: r̄ + G·√(ln n / 2m), at most the highest possible reward.  At each decision the linear
    programme of `best_mix` finds, from the indices, the most profitable mixture of arms in each
    context that spends no more than the remaining budget over the remaining trials.  The arm is
    drawn from it.

    Use it if pulls cost money and there is a budget.  With "per-context" sharing it is the
    published policy; with "joint" each pull teaches all contexts through the known reward.  The
    published bounds are for costs that are all 1 (besides skipping, which is an arm of cost 0
    here) and known frequencies of the contexts.  The regret against the best mixture is then
    O(log T), or O(√T) if the budget exactly pays for a set of contexts.  For other costs the
    publication explores first; we use the same indices, without a proof.  It stores what its
    sharing stores, one count per context and the spending.

    Parameters
    ----------
    costs
        Cost of a pull by arm.  Arms that are not named cost 0; at least one arm must cost 0.
    budget
        The total budget.  A pull is paid when it is observed.
    horizon
        The number of trials that the budget is for.
    sharing
        Which contexts learn from a pull: "per-context" as published, "joint" or a factorisation;
        not "blind".
    delta
        Divide interval contexts into cells no wider than this.
    contexts
        The probability of each context or cell, if known; by default they are estimated.
    seed
        Seed or generator of the random draws.

    Examples
    --------
    >>> from onepull import Finite, Interval, Problem
    >>> policy = UCBALP(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 4])},
    ...     state={"capacity": Interval(0, 4)},
    ...     reward="min(bits, capacity)",
    ... ), costs={"lte": 1.0}, budget=40, horizon=100, sharing="joint", contexts=[0.5, 0.5])
    >>> policy.observe_many(["wifi", "lte"] * 30, capacity=[1.0, 4.0] * 30)
    >>> print(policy.explain(bits=4))
    UCBALP at trial 61 with bits=4
      arm   pulls  estimate   bonus   index  chance
      wifi     30    1.0000  1.0470  2.0470  0.5000
      lte      30    4.0000  0.0000  4.0000  0.5000
    a draw: the best mixture of arms, with 0.25 to spend a trial
    """

    guarantee = (
        "O(log T) against the best mixture for the budget, per context, for costs that are all 1 "
        "and known frequencies of the contexts; O(√T) if the budget exactly pays for a set of "
        "contexts (Wu, Srikant, Liu and Jiang 2015); no bound is known for other costs or joint "
        "learning"
    )

    def _confidence(self) -> tuple[float, int]:
        return 0.5, self.trials + 1

    def _planned(self, cell: int, payable: Sequence[int]) -> Sequence[float]:
        optimism, costs = self._bounds(1), self._cost_list()
        mix = best_mix(optimism, self._frequencies, costs, self.rate)
        shares = mix.shares[cell, payable]
        if shares.sum() > 0:
            return (shares / shares.sum()).tolist()  # type: ignore[no-any-return]
        # The plan uses none of them: take the best after subtracting the plan's price of spending.
        worth = optimism[cell] - mix.price * np.array(costs)
        return even(best_of(worth, payable)[:1], payable)

    def _why(self) -> str:
        return "the best mixture of arms"
