"""The upper confidence bound for any sharing and any width."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from onepull.checks import constant
from onepull.index.hoeffding import hoeffding
from onepull.policies.rule_policy import MeanPolicy
from onepull.policies.sharing.by_name import shared
from onepull.problem import Problem


class UpperConfidence(MeanPolicy):
    """The upper confidence bound of UCB1 (Auer, Cesa-Bianchi, Fischer 2002) for any sharing.

    Index: θ̂ + G·√(α ln n / m).

    Use it to choose the width or the sharing freely, for example to share through a
    factorisation.  With "blind" and α = 2 it is UCB1, with "per-context" and α = 2 Multi-UCB,
    with "joint" and α = 2+ε DCB(ε) or, given a δ, CCB(ε, δ).  Their guarantees hold for it.  It
    stores what its sharing stores.

    Parameters
    ----------
    sharing
        Which contexts learn from a pull: "joint" (all), "per-context" (its own) or "blind" (the
        context is ignored).  Or a factorisation through which all contexts learn: "histogram",
        "sketch(knots)" or "low-rank(tolerance)".
    delta
        Divide interval contexts into cells no wider than this.
    alpha
        α > 0: scale of the confidence width.
    seed
        Break ties at random with this seed or generator; without one the first arm wins.

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
        "the bound of DCB and CCB with ε = α - 2 for joint learning and α > 3/2; of UCB1 and "
        "Multi-UCB for α = 2, blind or per context; of DCB plus 2·error·T for a factorisation"
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
        self.alpha = constant("alpha", alpha, above=0.0)
        super().__init__(shared(problem, sharing, delta), hoeffding(self.alpha), seed=seed)
