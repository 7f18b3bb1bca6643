"""What a policy with a budget stores besides its estimates: spending and context counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.budgets import MOST_COST, can_pay, costs_by_arm
from onepull.checks import Count, number, restored
from onepull.errors import SaveFileError
from onepull.factor import Cells
from onepull.policies.sharing.inherited import cells_of, check_cells
from onepull.policies.sharing.knowledge import Knowledge
from onepull.policies.sharing.sharing import Sharing
from onepull.problem import Problem


class Ledger(Knowledge):
    """A sharing together with the spending so far and the number of times each cell occurred.

    Both are updated when a pull is observed, so a pull in flight has not been paid yet.  A
    context is counted if it is given with the observation.
    """

    def __init__(
        self, sharing: Sharing, cells: Cells, costs: Mapping[str, float], budget: float
    ) -> None:
        self.problem = sharing.problem
        self.sharing, self.cells = sharing, cells
        self.costs = costs_by_arm(self.problem.arms, costs)
        self.budget = number("budget", budget, above=0.0)
        self.spent = 0.0
        self.contexts = np.zeros(cells.features, np.int64)

    @property
    def kind(self) -> str:
        """What is learned beside the spending."""
        return f"{type(self).__name__}({self.sharing.kind})"

    @property
    def left(self) -> float:
        """What is left of the budget."""
        return max(self.budget - self.spent, 0.0)

    def pays_for(self, arm: str) -> bool:
        """Whether the remaining budget pays for a pull of an arm."""
        return can_pay(self.budget - self.spent, self.costs[arm], self.budget)

    @property
    def frequencies(self) -> Array:
        """The frequency of each cell, with one added to each count so that none is zero."""
        counts = self.contexts + np.float64(1.0)
        shares: Array = counts / counts.sum()
        return shares

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Learn from one observation, its cost and its context."""
        told = self.problem.context.among(fields)
        cell = self.cells.locate(told) if self.problem.context.are_complete(told) else None
        self.sharing.learn(arm, fields, reward)
        self.spent += self.costs[self.problem.arms[arm]]
        if cell is not None:
            self.contexts[cell] += 1

    def check(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Raise what `learn` would raise, and change nothing."""
        told = self.problem.context.among(fields)
        if self.problem.context.are_complete(told):
            self.cells.locate(told)
        self.sharing.check(arm, fields, reward)

    @property
    def adds_up(self) -> bool:  # type: ignore[override]  # read-only here
        """Whether what two have learned can be added."""
        return self.sharing.adds_up

    def take_local(self, old: Self) -> None:
        """Take over the costs of arms that were added."""
        self.costs = dict(old.costs)
        self.sharing.take_local(old.sharing)

    def seen(self, context: Mapping[str, Any]) -> tuple[Sequence[int], int]:
        """Return each arm's number of pulls that count in a context, and the number of trials."""
        return self.sharing.seen(context)[0], self.trials

    def mean_state(self, arm: int) -> dict[str, float] | None:
        """Return the mean of each number of an arm's state, None if states are not learned."""
        return self.sharing.mean_state(arm)

    @property
    def trials(self) -> int:
        """The number of observations behind the current estimates."""
        return self.sharing.trials

    @property
    def storage(self) -> int:
        """How many numbers are stored: those of the sharing, the contexts and the spending."""
        return self.sharing.storage + self.cells.features + 1

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Switch to a problem with one more arm, which is free, or without arm `removed`."""
        self.sharing.change_arms(problem, removed)
        self.costs = {arm: self.costs.get(arm, 0.0) for arm in problem.arms}
        self.problem = problem

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Add what `other` has learned and spent; its arm `arms[j]` is arm j here."""
        self.sharing.merge(other.sharing, arms)
        self.spent += other.spent
        self.contexts = self.contexts + other.contexts

    def inherit(self, old: Self, accepted: float = 0.0) -> float:
        """Take over what was learned for a problem with narrower spaces."""
        check_cells(self.problem, old.problem)
        error = self.sharing.inherit(old.sharing, accepted)
        self.spent = old.spent
        self.contexts[cells_of(old.cells, self.cells)] = old.contexts
        return error

    def state(self) -> Any:
        """Return everything learned and spent as plain values."""
        learned = self.sharing.state()
        return {"spent": self.spent, "contexts": self.contexts.tolist(), "learned": learned}

    def restore(self, state: Any) -> None:
        """Restore a saved state; raises SaveFileError if it is invalid."""
        saved = restored(_LedgerState, state, "costs and contexts")
        if len(saved.contexts) != self.cells.features:
            raise SaveFileError(
                f"the saved context counts must be {self.cells.features} numbers, "
                f"given {len(saved.contexts)}"
            )
        self.sharing.restore(saved.learned)
        if sum(saved.contexts) > self.trials or saved.spent > self.trials * MOST_COST:
            raise SaveFileError(
                f"the saved contexts and costs are those of more than {self.trials} trials: given "
                f"{sum(saved.contexts)} contexts and {saved.spent:g} spent"
            )
        self.spent = saved.spent
        self.contexts = np.array(saved.contexts, np.int64)

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.sharing, twin.contexts = self.sharing.copy(), self.contexts.copy()
        twin.costs = dict(self.costs)
        return twin


class _LedgerState(msgspec.Struct, forbid_unknown_fields=True):
    spent: Annotated[float, msgspec.Meta(ge=0.0)]
    contexts: list[Count]
    learned: Any
