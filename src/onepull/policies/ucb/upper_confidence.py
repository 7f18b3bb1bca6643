"""Optimism: the rule that plays the highest upper confidence bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from onepull.checks import number
from onepull.index.hoeffding import IndexRule, hoeffding
from onepull.policies.explorer import Explorer
from onepull.policies.sharing.sharing import Sharing, shared
from onepull.problem import Problem


class Optimist(Explorer):
    """An index rule on shared knowledge: what UCB1, Multi-UCB, DCB and CCB have in common."""

    def __init__(
        self,
        sharing: Sharing,
        rule: IndexRule,
        *,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(sharing, seed=seed)
        self.rule = rule
        self._aim, self._index, self._rule_parameters = rule.aim, rule.index, rule.parameters

    def _indices(self, context: Mapping[str, Any]) -> Any:
        statistics, estimates, low, high = self._knowledge.view(context)
        aim = self._aim(low, high, statistics.trial, *self._rule_parameters)
        scores = statistics.score(self._index, estimates, aim)
        error = self._knowledge.error
        # It is the same for every arm, so it changes no choice; but it is part of the bound.
        return [score + error for score in scores] if error else scores

    def _leader(self, context: Mapping[str, Any]) -> int:
        statistics, estimates, low, high = self._knowledge.view(context)
        trial = statistics.trials + statistics.waiting + 1  # here a property would be slow
        aim = self._aim(low, high, trial, *self._rule_parameters)
        return statistics.leader(self._index, estimates, aim)


class UpperConfidence(Optimist):
    """The upper confidence bound with any width, on any sharing of knowledge.

    Index: θ̂ + G·√(α ln n / m).  Blind with α = 2 it is UCB1, per context Multi-UCB, joint
    with α = 2+ε DCB(ε) or, given a δ, CCB(ε, δ): each has its own name, with its guarantee.

    Parameters
    ----------
    sharing
        Who learns from a pull: "joint", "per-context" or "blind"; or every context through a
        factorisation: "histogram", "sketch(knots)" or "low-rank(tolerance)".
    delta
        Cuts interval contexts into cells no wider than this.
    alpha
        α > 0, how wide the bound is.
    seed
        Draw among tied arms with this seed or generator; the first arm wins without.

    Examples
    --------
    >>> from onepull import Finite, Interval, Problem
    >>> policy = UpperConfidence(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... ), sharing="per-context", alpha=0.5)
    >>> policy.observe("wifi", bits=2, capacity=5.0)
    >>> policy.choose(bits=2), policy.choose(bits=1)
    ('lte', 'wifi')
    """

    def __init__(
        self,
        problem: Problem,
        *,
        sharing: str = "joint",
        delta: float | Mapping[str, float] | None = None,
        alpha: float = 2.0,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.alpha = number("alpha", alpha, above=0.0)
        self._shared = sharing
        super().__init__(shared(problem, sharing, delta), hoeffding(self.alpha), seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """The sharing, δ if the contexts are cut into cells, and α."""
        return {"sharing": self._shared, **self._cut(), "alpha": self.alpha}
