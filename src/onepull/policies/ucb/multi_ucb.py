"""Multi-UCB: a separate UCB1 for each context."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from onepull.factor import partition
from onepull.index.hoeffding import hoeffding
from onepull.policies.rule_policy import MeanPolicy
from onepull.policies.sharing.per_context import PerContext
from onepull.problem import Problem


class MultiUCB(MeanPolicy):
    """A separate UCB1 for each context; on cells, Query-ad-clustering (Lu, Pál and Pál 2010).

    Index: r̄ + G·√(2 ln n_i / m_i), computed from the pulls in context i (or its cell) only.  G
    is the range of the reward there.

    Use it for comparison: it shares nothing across contexts.  Its regret is O(MK log n) for M
    contexts and K arms.  It stores 2 numbers per context and arm.

    Parameters
    ----------
    delta, seed
        Those of `UpperConfidence`.

    Examples
    --------
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
        "O(MK log n), which is UCB1's bound in each context; on cells Õ(T^2/3) for one Lipschitz "
        "field at the best δ (Lu, Pál and Pál 2010)"
    )

    def __init__(
        self,
        problem: Problem,
        *,
        delta: float | Mapping[str, float] | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(PerContext(partition(problem, delta)), hoeffding(2.0), seed=seed)
