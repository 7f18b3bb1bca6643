"""Multi-UCB: one UCB1 for every context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from onepull.factor import partition
from onepull.index.hoeffding import hoeffding
from onepull.policies.rule_policy import MeanPolicy
from onepull.policies.sharing.per_context import PerContext
from onepull.problem import Problem


class MultiUCB(MeanPolicy):
    """One UCB1 for every context, each learning from its own pulls only.

    Index: r̄ + G·√(2 ln n_i / m_i), all of it counted within context i (or its cell) and
    with G the range of the reward there.  On interval contexts, cut into cells no wider
    than δ, it is the Query-ad-clustering of Lu, Pál and Pál (2010) with a free δ.  Its
    regret is logarithmic in every context and arm apart: O(MK log n).  Keeps 2 numbers
    for every context and arm.

    >>> from onepull import Finite, Interval, Problem
    >>> policy = MultiUCB(Problem(
    ...     arms=["a", "b"],
    ...     context={"power": Interval(0, 1)},
    ...     state={"gain": Interval(0, 4)},
    ...     reward="log(1 + power * gain)",
    ... ), delta=0.25)
    >>> policy.observe("a", power=0.1, gain=2.0)
    >>> policy.choose(power=0.2), policy.choose(power=0.9)
    ('b', 'a')
    """

    guarantee = (
        "O(MK log n), UCB1's in every context; on cells Õ(T^2/3) for one Lipschitz field at the "
        "best δ (Lu, Pál and Pál 2010)"
    )

    def __init__(
        self,
        problem: Problem,
        *,
        delta: float | Mapping[str, float] | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(PerContext(partition(problem, delta)), hoeffding(2.0), seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """δ, if the contexts are cut into cells."""
        return self._cut()
