"""kl-UCB on the bounded reward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from onepull.checks import number
from onepull.index.kl_ucb import kl_ucb
from onepull.policies.rule_policy import MeanPolicy
from onepull.policies.sharing.by_name import shared
from onepull.policies.traits import Traits
from onepull.problem import Problem


class KLUCB(MeanPolicy):
    """kl-UCB (Garivier and Cappé 2011) on any sharing of knowledge.

    Index: the highest mean of a coin, stretched to the reward's range in the context, whose
    divergence from the estimate is within f(n)/m, f(n) = ln N + c ln ln N with N = n +
    head_start.  It lies below the upper confidence bound with α = f/(2 ln n), most where
    rewards are near the ends of their range, and needs means only.  Its regret is logarithmic
    for c ≥ 3.  Keeps what its sharing keeps.

    Parameters
    ----------
    sharing
        Who learns from a pull: "joint", "per-context", "blind", or through a factorisation.
    delta
        Cuts interval contexts into cells no wider than this.
    c
        How much is explored beyond ln N.
    head_start
        Trials that count as gone by before the first one: no bound is then trusted at a
        higher risk than 1/head_start, however few trials there were.
    seed
        Draw among arms that tie, in pulls too, with this seed or generator; the first arm wins
        without.

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
        "O(log n) in a single context for c ≥ 3 (Garivier and Cappé 2011); with less, and for "
        "contexts that learn together none is known"
    )

    def __init__(  # noqa: PLR0913 - a sharing and a rule
        self,
        problem: Problem,
        *,
        sharing: str = "joint",
        delta: float | Mapping[str, float] | None = None,
        c: float = 0.0,
        head_start: float = 0.0,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.c = number("c", c, above=0.0, at_least=True)
        self.head_start = number("head_start", head_start, above=0.0, at_least=True)
        self._shared = sharing
        rule = kl_ucb(self.c, self.head_start)
        super().__init__(shared(problem, sharing, delta), rule, seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """The sharing, δ if the contexts are cut into cells, c and the head start."""
        rule = {"c": self.c, "head_start": self.head_start}
        return {"sharing": self._shared, **self._cut(), **rule}
