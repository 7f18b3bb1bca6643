"""Restarting UCB: upper confidence bounds that restart when a change is detected."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from onepull.checks import constant, flag, share, whole_number
from onepull.index.hoeffding import hoeffding
from onepull.policies.drifting.remembering import NOT_REMEMBERED
from onepull.policies.request import Request
from onepull.policies.rule_policy import MeanPolicy
from onepull.policies.sharing.by_name import shared
from onepull.policies.ties import best_of
from onepull.policies.traits import Traits
from onepull.problem import Problem
from onepull.statistics import Restarting


class RestartingUCB(MeanPolicy):
    """UCB with a change detector per arm, after GLR-UCB (Besson and Kaufmann 2019).

    Index: θ̂ + G·√(α ln n / m), computed from the observations since the arm's last restart.  An
    arm restarts when a likelihood-ratio test detects a change in the mean of any of its features
    (with joint learning, of its reward in any context).

    Use it if arms change abruptly and rarely.  A false alarm for an arm that never changes has a
    probability of at most `failure`.  A change can only be detected in an arm that is pulled, so
    an arm that was not observed for `patience` trials is pulled first.  With joint learning this
    costs one wrong pull every `patience` trials for each arm that is never best; the others are
    pulled anyway.  An arm that gets worse is detected soon, one that gets better is not.  So by
    default all arms restart `together`; turn this off if arms change one at a time and only get
    worse.  It stores what its sharing stores, and O(log n) more numbers for each of these.

    Parameters
    ----------
    failure
        Largest probability of a false alarm for an arm that never changes, in (0, 1).
    patience
        Pull an arm that was not observed for this many trials, whatever its index.
    together
        Whether all arms restart when one has changed, or only that arm.
    sharing, delta, alpha, seed
        Those of `UpperConfidence`.

    Examples
    --------
    >>> from onepull import Finite, Interval
    >>> policy = RestartingUCB(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... ), together=False)
    >>> policy.observe_many(["lte"] * 20 + ["wifi"] * 90, capacity=[0.5] * 60 + [2.0] * 50)
    >>> print(policy.explain(bits=2))
    RestartingUCB at trial 111 with bits=2
      arm   pulls  estimate   bonus   index
    → wifi     10    2.0000  1.0631  3.0631
      lte      20    0.5000  0.7518  1.2518
    wifi: highest index; it was restarted after a change at trial 100
    """

    traits = Traits(order_matters=True, forgets=True)
    _unseen = NOT_REMEMBERED
    guarantee = (
        "no bound on its regret is known; the probability of a false alarm for an arm that never "
        "changes is at most `failure` (after Besson and Kaufmann 2019)"
    )

    def __init__(  # noqa: PLR0913 - all are keyword-only
        self,
        problem: Problem,
        *,
        failure: float = 0.01,
        patience: int = 200,
        together: bool = True,
        sharing: str = "joint",
        delta: float | Mapping[str, float] | None = None,
        alpha: float = 0.6,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.failure = share("failure", failure)
        self.patience = whole_number("patience", patience)
        self.together = flag("together", together)
        self.alpha = constant("alpha", alpha, above=0.0)
        watched = shared(problem, sharing, delta)
        lows, highs = watched.feature_bounds()
        kind = partial(Restarting, failure=self.failure, together=self.together)
        watched.keep(partial(kind, lows=lows, highs=highs))
        super().__init__(watched, hoeffding(self.alpha, patience=self.patience), seed=seed)

    def _reason(self, request: Request, indices: list[float]) -> str:
        statistics = request.view[0]
        best = best_of(indices, request.allowed)
        first = best[0]
        if len(best) > 1:
            return super()._reason(request, indices)
        if first in self._overdue(request):
            return f"not seen for {statistics.trials - statistics.seen[first]} trials"
        why = super()._reason(request, indices)
        restarted = statistics.restarts[first]
        if not restarted:
            return why
        return f"{why}; it was restarted after a change at trial {restarted}"
