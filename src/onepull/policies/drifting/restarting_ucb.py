"""Restarting UCB: upper confidence bounds that forget an arm when it has changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from onepull.checks import number, whole_number
from onepull.errors import ParameterError
from onepull.index.hoeffding import hoeffding
from onepull.policies.decision import Decision
from onepull.policies.rule_policy import MeanPolicy
from onepull.policies.sharing.by_name import shared
from onepull.policies.ties import best_of
from onepull.policies.traits import Traits
from onepull.problem import Problem
from onepull.statistics import Restarting


class RestartingUCB(MeanPolicy):
    """An upper confidence bound with a change detector for every arm.

    Index: θ̂ + G·√(α ln n / m) of what an arm showed since it was last forgotten.  That
    happens when a likelihood-ratio test, as in GLR-UCB (Besson and Kaufmann 2019), finds a
    change in the mean of any of an arm's features: of its reward in any context, if learning
    is joint.  An arm that does not change is ever found changed with probability `failure`
    at most.  A change is seen only in an arm that is pulled, so one that was not observed
    for `patience` trials comes first.  Arms that are best in some context are pulled there,
    so with joint learning this costs only the others, each a wrong pull every `patience`
    trials.  An arm that got worse is soon found out, one that got better is not: so all are
    forgotten `together`, unless it is known that arms change one by one.  Keeps what its
    sharing keeps, and O(log n) numbers more for each.

    Parameters
    ----------
    failure
        The probability in (0, 1) that an arm is ever found changed although it is not.
    patience
        After how many trials without an observation an arm is pulled whatever its index is.
    together
        Whether all arms are forgotten when one has changed, or that arm alone.
    sharing
        Who learns from a pull: "joint", "per-context", "blind", or through a factorisation.
    delta
        Cuts interval contexts into cells no wider than this.
    alpha
        α > 0, how wide the bound is.
    seed
        Draw among tied arms with this seed or generator; the first arm wins without.

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
    _unseen = "nothing of it is remembered"
    guarantee = (
        "of its regret none is known; an arm that does not change is ever found changed with "
        "probability `failure` at most (after Besson and Kaufmann 2019)"
    )

    def __init__(  # noqa: PLR0913 - a full statement
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
        self.failure = number("failure", failure, above=0.0)
        if self.failure >= 1.0:
            raise ParameterError(f"failure is a probability below 1, given {failure!r}")
        self.patience = whole_number("patience", patience)
        if not isinstance(together, bool):
            raise ParameterError(f"together is true or false, given {together!r}")
        self.together = together
        self.alpha = number("alpha", alpha, above=0.0)
        self._shared = sharing
        watched = shared(problem, sharing, delta)
        lows, highs = watched.feature_bounds()
        kind = partial(Restarting, failure=self.failure, together=together)
        watched.keep(partial(kind, lows=lows, highs=highs))
        super().__init__(watched, hoeffding(self.alpha, patience=self.patience), seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """When to restart and to look, the sharing, δ if there are cells, and α."""
        return {
            "failure": self.failure,
            "patience": self.patience,
            "together": self.together,
            "sharing": self._shared,
            **self._cut(),
            "alpha": self.alpha,
        }

    def _reason(self, decision: Decision, indices: list[float]) -> str:
        statistics = decision.view[0]
        best = best_of(indices, decision.allowed)
        first = best[0]
        if len(best) > 1:
            return super()._reason(decision, indices)
        if first in self._overdue(decision):
            return f"not seen for {statistics.trials - statistics.seen[first]} trials"
        why = super()._reason(decision, indices)
        restarted = statistics.restarts[first]
        if not restarted:
            return why
        return f"{why}; it was restarted after a change at trial {restarted}"
