"""ε-greedy: exploration at random trials."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from onepull.checks import constant
from onepull.errors import ParameterError
from onepull.index.schedules import epsilon_greedy
from onepull.policies.request import Request
from onepull.policies.rule_policy import TurnPolicy
from onepull.policies.sharing.by_name import shared
from onepull.policies.traits import Traits
from onepull.problem import Problem


class EpsilonGreedy(TurnPolicy):
    """ε-greedy (Auer, Cesa-Bianchi, Fischer 2002): explore with probability cK/(d²n).

    Index: the estimate θ̂.  With probability ε_n = min(1, cK/(d²n)) an arm is drawn uniformly at
    random, otherwise the best estimate is played.  n counts the trials of the context if the
    sharing is "per-context", and all trials otherwise.

    Use it for comparison.  In a single context, with c > 5 and d below every gap, it makes
    O(log n) wrong pulls.  It explores all arms equally, so even arms that are best in some
    context cost O(log n) with joint learning (Sakulkar and Krishnamachari, remark 3).  It stores
    what its sharing stores.

    Parameters
    ----------
    sharing, delta
        Those of `DSEE`.
    c, gap
        The constants of the schedule; `gap` is d as a share of the reward's range.
    seed
        Seed or generator of the random draws.

    Examples
    --------
    >>> from onepull import Finite, Interval, Problem
    >>> policy = EpsilonGreedy(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... ), c=0.1, gap=0.5, seed=1)
    >>> policy.observe_many(["wifi", "lte", "lte", "lte"], capacity=[2.0, 1.0, 1.0, 1.0])
    >>> print(policy.explain(bits=2))
    EpsilonGreedy at trial 5 with bits=2
      arm   pulls  estimate   bonus   index  chance
      wifi      1    2.0000  0.0000  2.0000  0.9200
      lte       3    1.0000  0.0000  1.0000  0.0800
    a draw: highest estimate, or one drawn evenly with probability 0.16
    """

    traits = Traits(randomised=True, needs_no_lowest_reward=True)
    guarantee = (
        "O(log n) for each arm in a single context, with c > 5 and d below every gap (Auer, "
        "Cesa-Bianchi and Fischer 2002); with joint learning also for arms that are best in some "
        "context (Sakulkar and Krishnamachari, remark 3)"
    )

    def __init__(  # noqa: PLR0913 - all are keyword-only
        self,
        problem: Problem,
        *,
        sharing: str = "joint",
        delta: float | Mapping[str, float] | None = None,
        c: float = 5.0,
        gap: float = 0.1,
        seed: int | np.random.Generator = 0,
    ) -> None:
        self.c = constant("c", c, above=0.0)
        self.gap = constant("gap", gap, above=0.0)
        if self.gap > 1:
            raise ParameterError(
                f"gap must be a share of the reward's range, in (0, 1], given {gap!r}"
            )
        rule = epsilon_greedy(self.c, self.gap)
        super().__init__(shared(problem, sharing, delta), rule, seed=seed)

    def _reason(self, request: Request, indices: list[float]) -> str:
        if math.isinf(max(indices[j] for j in request.allowed)):
            return self._unseen
        rate = self._rate(request)
        return f"highest estimate, or one drawn evenly with probability {rate:.2g}"
