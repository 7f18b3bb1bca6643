"""Base class of policies with a budget."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from onepull.arrays import Array
from onepull.budgets import cost_of
from onepull.checks import LARGEST_COUNT, constant, shown
from onepull.errors import InputError, ParameterError
from onepull.factor import partition
from onepull.index.hoeffding import hoeffding, hoeffding_width
from onepull.policies.budget.ledger import Ledger
from onepull.policies.policy import Policy
from onepull.policies.request import Request
from onepull.policies.sharing.by_name import shared
from onepull.policies.sharing.in_flight import Counted, View, counted, of_each_arm
from onepull.policies.sharing.sharing import Sharing
from onepull.policies.ties import best_of, even
from onepull.policies.traits import Traits
from onepull.problem import Problem

UCB = hoeffding(1.0)  # only its index is used; the width is computed in _scores


class Spender(Policy):
    """Base class of policies with costs, a budget and a horizon.

    An arm that was never pulled comes first if the remaining budget pays for it.  After that an
    arm is drawn from the plan.  If the remaining budget pays for none of the eligible arms, the
    cheapest of them is chosen, since `choose` always returns an arm.
    """

    traits = Traits(randomised=True)
    # Required: no default suits every problem.
    needs: ClassVar[tuple[str, ...]] = ("costs", "budget", "horizon")
    _knowledge: Ledger

    def __init__(  # noqa: PLR0913 - all are keyword-only
        self,
        problem: Problem,
        *,
        costs: Mapping[str, float] | None = None,
        budget: float | None = None,
        horizon: int | None = None,
        sharing: str = "per-context",
        delta: float | Mapping[str, float] | None = None,
        contexts: Sequence[float] | None = None,
        seed: int | np.random.Generator = 0,
    ) -> None:
        if costs is None or budget is None or horizon is None:
            given = zip(self.needs, (costs, budget, horizon), strict=True)
            raise ParameterError(
                f"{type(self).__name__} needs {' and '.join(n for n, v in given if v is None)}, "
                f"as in costs={{{problem.arms[-1]!r}: 1.0}}, budget=100, horizon=1000"
            )
        if isinstance(sharing, str) and sharing == "blind":  # type: ignore[redundant-expr]
            raise ParameterError(
                "a budget is planned per context, so sharing cannot be 'blind'; use 'joint' or "
                "'per-context'"
            )
        self.horizon = int(constant("horizon", horizon, above=0.0, most=LARGEST_COUNT))
        if self.horizon != horizon:
            raise ParameterError(f"horizon must be a whole number from 1, given {horizon!r}")
        cells = partition(problem, delta)
        self._weights = None if contexts is None else _probabilities(contexts, cells.features)
        # Other sharings have no cells.
        cut = delta if str(sharing) in ("joint", "per-context") else None
        ledger = Ledger(shared(problem, sharing, cut), cells, costs, budget)
        if 0.0 not in ledger.costs.values():
            raise ParameterError(
                "at least one arm must cost 0, to be pulled when the budget is spent, "
                f"given {ledger.costs}"
            )
        self._centres = [problem.context.fields(c) for c in cells.centres]
        super().__init__(ledger, seed=seed)

    @property
    def sharing(self) -> Sharing:
        """What a pull teaches in which contexts, with everything learned."""
        return self._knowledge.sharing

    @property
    def costs(self) -> dict[str, float]:
        """What a pull of each arm costs."""
        return dict(self._knowledge.costs)

    @property
    def budget(self) -> float:
        """The total budget."""
        return self._knowledge.budget

    @property
    def spent(self) -> float:
        """The total cost of the observed pulls."""
        return self._knowledge.spent

    @property
    def parameters(self) -> dict[str, Any]:
        """The costs above 0, the budget, the horizon, the sharing, δ and context probabilities."""
        stated: dict[str, Any] = {
            "costs": {arm: cost for arm, cost in self._knowledge.costs.items() if cost},
            "budget": self.budget,
            "horizon": self.horizon,
            "sharing": self.sharing.name,
        }
        if self.sharing.delta is not None:
            stated["delta"] = self.sharing.delta
        if self._weights is not None:
            stated["contexts"] = self._weights.tolist()
        return stated

    def add_arm(  # type: ignore[override]  # a cost is no attribute
        self, arm: str, *, cost: float = 0.0, **attributes: float | str
    ) -> None:
        """Add an arm with its cost; it has never been pulled."""
        checked = cost_of(arm, cost)
        super().add_arm(arm, **attributes)
        self._knowledge.costs[arm] = checked

    def remove_arm(self, arm: str) -> None:
        """Remove an arm that is not the only free one."""
        free = [a for a, cost in self._knowledge.costs.items() if not cost]
        if free == [self._arms[self._find(arm)]] and len(self._arms) > 1:
            raise InputError(f"arm {arm!r} is the only one that costs 0 and cannot be removed")
        super().remove_arm(arm)

    # Inputs of the plan

    @property
    def rate(self) -> float:
        """The remaining budget per remaining trial; beyond the horizon one trial is assumed."""
        return self._knowledge.left / max(self.horizon - self.trials, 1)

    @property
    def _frequencies(self) -> Array:
        return self._knowledge.frequencies if self._weights is None else self._weights

    def _cost_list(self) -> list[float]:
        return list(self._knowledge.costs.values())

    @abstractmethod
    def _confidence(self) -> tuple[float, int]:
        """Return α and n of the confidence width G·√(α ln n / m)."""

    def _scores(self, view: View, sign: int) -> tuple[Any, Any, Any]:
        """Return the upper (+1) or lower (-1) confidence bounds in a context, and the ranges."""
        statistics, estimates, lows, highs = view
        alpha, trial = self._confidence()
        error = sign * self.sharing.error
        if isinstance(lows, float):
            width = sign * hoeffding_width(lows, highs, trial, alpha)
            scores = statistics.score(UCB, estimates, width)
        else:  # each arm has its own range
            columns = zip(estimates, statistics.roots, lows, highs, strict=True)
            scores = [
                UCB.index(mean, root, sign * hoeffding_width(low, high, trial, alpha))
                for mean, root, low, high in columns
            ]
        arms = len(self._arms)
        ranges = of_each_arm(lows, arms), of_each_arm(highs, arms)
        return [score + error for score in scores] if error else scores, *ranges

    def _bounds(self, sign: int) -> Array:
        """Return these bounds for all cells and arms, limited to the range of the reward."""
        rows = []
        for centre in self._centres:
            scores, lows, highs = self._scores(self.sharing.view(centre), sign)
            unknown = highs if sign > 0 else lows
            rows.append(
                [
                    end if s == math.inf else min(max(s, low), high)
                    for s, low, high, end in zip(scores, lows, highs, unknown, strict=True)
                ]
            )
        return np.array(rows)

    def _look(self, context: Mapping[str, Any]) -> Any:
        return self.sharing.view(context)

    def _counted(self, request: Request) -> Counted:
        return counted(request.view[0])._replace(trials=self._knowledge.trials)

    def _indices(self, request: Request) -> list[float]:
        scores, _, highs = self._scores(request.view, 1)
        return [
            s if s == math.inf else min(s, high)
            for s, high in zip(map(float, scores), highs, strict=True)
        ]

    def _estimates(self, request: Request) -> Sequence[float | None]:
        return [float(estimate) for estimate in request.view[1]]

    # Choosing

    @abstractmethod
    def _planned(self, cell: int, payable: Sequence[int]) -> Sequence[float]:
        """Return the probabilities of the payable arms in a cell, all of which were pulled."""

    def _payable(self, allowed: Sequence[int]) -> Sequence[int]:
        """Return the arms that the remaining budget pays for, or the cheapest if there are none."""
        ledger = self._knowledge
        paid = [j for j in allowed if ledger.pays_for(self._arms[j])]
        if paid:
            return paid
        costs = self._cost_list()
        cheapest = min(costs[j] for j in allowed)
        return [j for j in allowed if costs[j] == cheapest]

    def _chances(self, request: Request) -> Sequence[float]:
        indices, allowed = request.once(self._indices), request.allowed
        payable = self._payable(allowed)
        best = best_of(indices, payable)
        if math.isinf(indices[best[0]]):
            return even(best[:1], allowed)
        planned = self._planned(self._knowledge.cells.locate(request.context), payable)
        chances = dict(zip(payable, planned, strict=True))
        return [chances.get(j, 0.0) for j in allowed]

    def _reason(self, request: Request, indices: list[float]) -> str:
        payable = self._payable(request.allowed)
        if math.isinf(max(indices[j] for j in payable)):
            return self._unseen
        return f"{self._why()}, with {self.rate:.4g} to spend a trial"


def _probabilities(given: Sequence[float], cells: int) -> Array:
    try:
        found = np.array(given, np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    if found.shape != (cells,) or not (found >= 0).all() or not math.isclose(found.sum(), 1.0):
        raise ParameterError(
            f"contexts must be {cells} probabilities that sum to 1, one per context or cell, "
            f"given {shown(given)}"
        )
    return found
