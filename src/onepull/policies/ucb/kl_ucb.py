"""kl-UCB on the bounded reward."""

from __future__ import annotations

import math
from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np

from onepull.checks import number
from onepull.index.empirical_likelihood import exploration, likely_share
from onepull.policies.explorer import Explorer
from onepull.policies.sharing.sharing import shared
from onepull.problem import Problem
from onepull.statistics import UNPULLED


def share_bound(mean: float, root: float, low: float, high: float, budget: float) -> float:
    """Return the kl-UCB bound on a reward in [low, high], with `root` = 1/√m.

    >>> round(share_bound(0.0, 0.1, -1.0, 1.0, 5.0), 6)   # the coin's bound, 0.5 to 0.654
    0.308484
    """
    if mean == inf:
        return mean
    if high <= low:
        return high
    share = (mean - low) / (high - low)
    return low + (high - low) * likely_share(share, budget * root * root)


class KLUCB(Explorer):
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

    evens_out = True

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
        super().__init__(shared(problem, sharing, delta), seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """The sharing, δ if the contexts are cut into cells, c and the head start."""
        rule = {"c": self.c, "head_start": self.head_start}
        return {"sharing": self._shared, **self._cut(), **rule}

    def _indices(self, context: Mapping[str, Any]) -> list[float]:
        statistics, estimates, low, high = self._knowledge.view(context)
        budget = exploration(statistics.trial + self.head_start, self.c)
        return [
            share_bound(mean, root, low, high, budget) if math.isfinite(mean) else UNPULLED
            for mean, root in zip(estimates, statistics.roots, strict=True)
        ]
