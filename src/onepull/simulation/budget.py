"""Budgets in a simulation: the best mixture of arms, and what each policy can still pay."""

from __future__ import annotations

import numpy as np

from onepull.arrays import Array
from onepull.budgets import SLACK
from onepull.environment.environment import BUDGET_NODES, Environment
from onepull.simulation.prepared import Arms

NO_ARM = -1  # the arm of a trial at which nothing is pulled


class Funds:
    """The costs and the budget of an environment over a horizon.

    The cost of a pull depends on its arm only.  So a policy that ignores the budget is run
    without it, and the pulls it cannot pay are removed afterwards.
    """

    def __init__(self, environment: Environment, horizon: int) -> None:
        assert environment.budget is not None  # noqa: S101 - the caller has checked
        self.costs = np.array(list(environment.costs.values()))
        self.budget = environment.budget
        self.value = environment.best_mix(horizon).value
        self.notes = [
            f"regret is against the best mixture for the budget, worth {self.value:.6g} per trial"
        ]
        if any(piece.contexts.atoms is None for piece in environment.pieces()):
            rough = abs(self.value - environment.best_mix(horizon, BUDGET_NODES // 2).value)
            self.notes.append(
                f"the best mixture is computed at {BUDGET_NODES} contexts, to within about "
                f"{rough:.0e}"
            )

    def purse(self) -> Purse:
        """Return a full purse, for one policy in one replication."""
        return Purse(self.costs, self.budget)

    def losses(self, rewards: Array) -> Array:
        """Return the regret of each arm, and in the last column that of pulling nothing."""
        return np.column_stack([self.value - rewards, np.full(len(rewards), self.value)])


class Purse:
    """What one policy has left.  After the first pull that it cannot pay, it pulls no more.

    >>> arms = np.array([0, 1, 0, 0, 1])
    >>> Purse(np.array([1.0, 0.0]), 2.0).pay(arms)
    >>> arms
    array([ 0,  1,  0, -1, -1])
    """

    def __init__(self, costs: Array, budget: float) -> None:
        self.costs = costs
        self.budget = budget
        self.spent = 0.0

    def pay(self, chosen: Arms) -> None:
        """Pay for the arms chosen in a stretch of trials; remove the pulls that cannot be paid."""
        spent = self.spent + np.cumsum(self.costs[chosen])
        paid = int(np.searchsorted(spent, self.budget * (1 + SLACK), side="right"))
        if paid:
            self.spent = float(spent[paid - 1])
        if paid < len(chosen):
            chosen[paid:] = NO_ARM
            self.costs = np.full_like(self.costs, np.inf)  # no later pull can be paid either
