"""kl-UCB for bounded rewards."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from onepull.checks import constant
from onepull.index.kl_ucb import kl_ucb
from onepull.policies.rule_policy import MeanPolicy
from onepull.policies.sharing.by_name import shared
from onepull.policies.traits import Traits
from onepull.problem import Problem


class KLUCB(MeanPolicy):
    """kl-UCB (Garivier and Cappé 2011) for any sharing.

    Index: the highest mean θ with m·kl(θ̂, θ) ≤ f(n).  kl is the divergence of Bernoulli
    distributions scaled to the reward's range in the context, and f(n) = ln N + c ln ln N with
    N = n + head_start.

    Use it if only means can be stored, because states are too many or unbounded.  Its index is
    below that of `UpperConfidence` with α = f/(2 ln n), by most if rewards are near the ends of
    their range.  Its regret in a single context is logarithmic for c ≥ 3.  It stores what its
    sharing stores.

    Parameters
    ----------
    sharing, delta
        Those of `UpperConfidence`.
    c, head_start, seed
        Those of `EmpiricalKL`.

    Examples
    --------
    >>> from onepull import Finite
    >>> policy = KLUCB(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2, 3, 4])},
    ...     state={"capacity": Finite([0, 1, 2, 3, 4])},
    ...     reward="min(bits, capacity)",
    ... ))
    >>> policy.observe_many(["wifi", "lte"], capacity=[1, 3])
    >>> policy.choose(bits=3)
    'lte'
    """

    traits = Traits(breaks_ties_by_pulls=True)
    guarantee = (
        "O(log n) in a single context for c ≥ 3 (Garivier and Cappé 2011); no bound is known for "
        "smaller c or for joint learning"
    )

    def __init__(  # noqa: PLR0913 - all are keyword-only
        self,
        problem: Problem,
        *,
        sharing: str = "joint",
        delta: float | Mapping[str, float] | None = None,
        c: float = 0.0,
        head_start: float = 0.0,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.c = constant("c", c, above=0.0, at_least=True)
        self.head_start = constant("head_start", head_start, above=0.0, at_least=True)
        rule = kl_ucb(self.c, self.head_start)
        super().__init__(shared(problem, sharing, delta), rule, seed=seed)
