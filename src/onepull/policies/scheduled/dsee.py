"""DSEE: exploration at scheduled trials."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from onepull.checks import constant
from onepull.index.schedules import dsee
from onepull.policies.request import Request
from onepull.policies.rule_policy import TurnPolicy
from onepull.policies.sharing.by_name import shared
from onepull.policies.traits import Traits
from onepull.problem import Problem


class DSEE(TurnPolicy):
    """Deterministic sequencing of exploration and exploitation (Vakili, Liu, Zhao 2013).

    Index: the estimate θ̂.  The arms are explored in turn until each has had ⌈w ln n⌉ turns; at
    other trials the best estimate is played.  n counts the trials of the context if the sharing
    is "per-context", and all trials otherwise.

    Use it if exploration must happen at known trials, or for comparison.  In a single context,
    with w large enough for the smallest gap, it makes O(log n) wrong pulls.  It explores all
    arms equally, so even arms that are best in some context cost O(log n) with joint learning
    (Sakulkar and Krishnamachari, remark 3).  It stores what its sharing stores.

    Parameters
    ----------
    sharing
        Which contexts learn from a pull: "joint", "per-context" or "blind".
    delta
        Divide interval contexts into cells no wider than this.
    weight
        w > 0: number of turns of each arm per unit of ln n.
    seed
        Break ties at random with this seed or generator; without one the first arm wins.

    Examples
    --------
    >>> from onepull import Finite, Interval, Problem
    >>> policy = DSEE(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... ), weight=1.0)
    >>> for _ in range(4):
    ...     arm = policy.choose(bits=2)
    ...     policy.observe(arm, capacity={"wifi": 3.0, "lte": 1.0}[arm])
    ...     print(arm)
    wifi
    lte
    wifi
    lte
    >>> policy.explain(bits=2).reason
    'highest estimate'
    """

    traits = Traits(arm_order_matters=True, needs_no_lowest_reward=True)
    guarantee = (
        "O(log n) for each arm in a single context, with a weight that is large enough for the "
        "smallest gap (Vakili, Liu and Zhao 2013); with joint learning also for arms that are best "
        "in some context (Sakulkar and Krishnamachari, remark 3)"
    )

    def __init__(
        self,
        problem: Problem,
        *,
        sharing: str = "joint",
        delta: float | Mapping[str, float] | None = None,
        weight: float = 10.0,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.weight = constant("weight", weight, above=0.0)
        super().__init__(shared(problem, sharing, delta), dsee(self.weight), seed=seed)

    def _reason(self, request: Request, indices: list[float]) -> str:
        arm = self._due(request)
        if arm is not None:
            return f"it is the turn of {self._arms[arm]}"
        return super()._reason(request, indices)
