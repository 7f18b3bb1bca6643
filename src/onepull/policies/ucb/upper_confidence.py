"""Optimism: the rule that plays the highest upper confidence bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from onepull.checks import number
from onepull.index.hoeffding import hoeffding
from onepull.policies.rule_policy import MeanPolicy
from onepull.policies.sharing.by_name import shared
from onepull.problem import Problem


class UpperConfidence(MeanPolicy):
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

    guarantee = (
        "with joint learning that of DCB and CCB with ε = α - 2, for α > 3/2; blind or per "
        "context with α = 2 that of UCB1 and Multi-UCB; through a factorisation that of DCB, "
        "and 2·error·T"
    )

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
