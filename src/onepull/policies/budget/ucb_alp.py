"""UCB-ALP: optimism under a budget, planned anew at every decision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onepull.budgets import best_mix
from onepull.policies.budget.spender import Spender
from onepull.policies.ties import best_of, even


class UCBALP(Spender):
    """UCB-ALP (Wu, Srikant, Liu, Jiang 2015): the best mixture for what is left of a budget.

    Index: r̄ + G·√(ln n / 2m), no higher than the reward can be.  At each decision the linear
    programme of `best_mix` finds the mixture of arms in every context that earns most, by the
    indices, of what spends no more than the budget left over the trials left; the arm is
    drawn from it.  Shared per context it is the published policy; with joint sharing one
    pull teaches every context, through the known reward.

    Published for costs that are all one (besides doing nothing, here an arm that costs
    nothing) and known frequencies of the contexts, where the regret against the best mixture is
    O(log T), and O(√T) where the budget just pays for a set of contexts.  With other costs the
    paper explores first instead; we keep the indices, without its proof.  Keeps what its
    sharing keeps, one count a context and the spending.

    Parameters
    ----------
    costs
        What a pull costs, by arm; one that is not named costs nothing, and one must.
    budget
        What may be spent in all, counted when pulls are observed: late feedback is paid late.
    horizon
        The number of trials that the budget is for.
    sharing
        Who learns from a pull: "per-context" as published, "joint", or another but "blind".
    delta
        Cuts interval contexts into cells no wider than this.
    contexts
        The probability of each context or cell, if known; else they are counted.
    seed
        Where the draws come from.

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
        "O(log T) to the best mixture for the budget, per context, for costs that are all one "
        "and known frequencies of the contexts, O(√T) where the budget just pays for a set of "
        "contexts (Wu, Srikant, Liu and Jiang 2015); with other costs or joint learning none is "
        "known"
    )

    def _confidence(self) -> tuple[float, int]:
        return 0.5, self.trials + 1

    def _planned(self, cell: int, payable: Sequence[int]) -> Sequence[float]:
        optimism, costs = self._bounds(1), self._cost_list()
        mix = best_mix(optimism, self._frequencies, costs, self.rate)
        shares = mix.shares[cell, payable]
        if shares.sum() > 0:
            return (shares / shares.sum()).tolist()  # type: ignore[no-any-return]
        # The plan has none of them: the best at the price that spending has in the plan.
        worth = optimism[cell] - mix.price * np.array(costs)
        return even(best_of(worth, payable)[:1], payable)

    def _why(self) -> str:
        return "the best mixture of arms"
