"""A budget in a simulation: what it can earn at best, and who runs out of it."""

from __future__ import annotations

import numpy as np

from onepull.arrays import Array
from onepull.budgets import SLACK
from onepull.environment.environment import NODES, Environment
from onepull.simulation.prepared import Arms

NOTHING = -1  # the arm of a trial at which nothing is pulled


class Funds:
    """The costs and the budget of an environment over a horizon.

    What a pull costs depends on its arm alone, so a policy that does not know of the budget
    can be run without it, and what it could not pay is struck out afterwards.
    """

    def __init__(self, environment: Environment, horizon: int) -> None:
        assert environment.budget is not None  # noqa: S101 - asked for only where there is one
        self.costs = np.array(list(environment.costs.values()))
        self.budget = environment.budget
        self.value = environment.best_mix(horizon).value
        self.notes = [
            f"regret is against the best mixture for the budget, worth {self.value:.6g} a trial"
        ]
        if any(piece.contexts.atoms is None for piece in environment.pieces()):
            rough = abs(self.value - environment.best_mix(horizon, NODES // 2).value)
            self.notes.append(
                f"that mixture is worked out at {NODES} contexts, good to about {rough:.0e}"
            )

    def purse(self) -> Purse:
        """Return the whole budget, for one policy in one replication."""
        return Purse(self.costs, self.budget)

    def losses(self, rewards: Array) -> Array:
        """Return what each reward falls short of the best mixture's, and in the end nothing's."""
        return np.column_stack([self.value - rewards, np.full(len(rewards), self.value)])


class Purse:
    """What one policy has left; the first pull that it cannot pay is the end of it.

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
        """Pay for the arms chosen at a stretch of trials, striking out what cannot be paid."""
        spent = self.spent + np.cumsum(self.costs[chosen])
        paid = int(np.searchsorted(spent, self.budget * (1 + SLACK), side="right"))
        if paid:
            self.spent = float(spent[paid - 1])
        if paid < len(chosen):
            chosen[paid:] = NOTHING
            self.costs = np.full_like(self.costs, np.inf)  # nor anything later
