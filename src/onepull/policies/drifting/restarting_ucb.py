"""Restarting UCB: upper confidence bounds that forget an arm when it has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from onepull.checks import number, whole_number
from onepull.errors import ParameterError
from onepull.factor import Atoms, Cells, LowRank
from onepull.index.hoeffding import hoeffding
from onepull.policies.sharing.sharing import Joint, Sharing, shared
from onepull.policies.ties import best_of
from onepull.policies.ucb.upper_confidence import Optimist
from onepull.problem import Problem
from onepull.statistics import Restarting


class RestartingUCB(Optimist):
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

    order_matters = True
    unseen = "nothing of it is remembered"

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
        lows, highs = feature_bounds(watched)
        kind = partial(Restarting, failure=self.failure, together=together)
        watched.keep(partial(kind, lows=lows, highs=highs))
        super().__init__(watched, hoeffding(self.alpha), seed=seed)

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

    def _statistics(self, context: Mapping[str, Any]) -> Restarting:
        statistics = self._knowledge.view(context)[0]
        assert isinstance(statistics, Restarting)  # noqa: S101 - it was told to keep them
        return statistics

    def _overdue(self, statistics: Restarting) -> list[int]:
        """Return the arms of which nothing was seen for too long."""
        latest = statistics.trials - self.patience
        if min(statistics.seen) > latest:
            return []
        waited_for = statistics.in_flight
        return [j for j, seen in enumerate(statistics.seen) if seen <= latest and not waited_for[j]]

    def _indices(self, context: Mapping[str, Any]) -> Any:
        indices = super()._indices(context)
        statistics, _, low, high = self._knowledge.view(context)
        for arm in self._overdue(self._statistics(context)):
            if statistics.pulls[arm]:
                # Above any index there can be, below that of an arm that was never pulled.
                width = self._aim(low, high, statistics.trial, *self._rule_parameters)
                indices[arm] = high + (high - low) + width + self._knowledge.error
        return indices

    def _leader(self, context: Mapping[str, Any]) -> int:
        statistics = self._statistics(context)
        if self._overdue(statistics):
            indices = self._indices(context)
            return int(max(range(len(indices)), key=indices.__getitem__))
        return super()._leader(context)

    def _reason(
        self, context: Mapping[str, Any], indices: list[float], allowed: Sequence[int]
    ) -> str:
        statistics = self._statistics(context)
        best = best_of(indices, allowed)
        first = best[0]
        if len(best) > 1:
            return super()._reason(context, indices, allowed)
        if statistics.pulls[first] and first in self._overdue(statistics):
            return f"not seen for {statistics.trials - statistics.seen[first]} trials"
        why = super()._reason(context, indices, allowed)
        restarted = statistics.restarts[first]
        if not restarted:
            return why
        return f"{why}; it was restarted after a change at trial {restarted}"


def feature_bounds(sharing: Sharing) -> tuple[Sequence[float], Sequence[float]]:
    """Return between what every feature is that a sharing keeps.

    >>> from onepull import Finite, Interval
    >>> problem = Problem(
    ...     arms=["a"], context={"y": Finite([1, 2])}, state={"x": Interval(0, 3)}, reward="x * y"
    ... )
    >>> feature_bounds(shared(problem, "joint", None))
    ([0.0, 0.0], [3.0, 6.0])
    """
    if not isinstance(sharing, Joint):
        low, high = sharing.problem.payoff.whole_range
        return [low], [high]
    factor = sharing.factor
    if isinstance(factor, Cells):
        return factor.centre_bounds
    if isinstance(factor, Atoms):
        return [0.0] * factor.features, [1.0] * factor.features
    if isinstance(factor, LowRank):
        columns = np.array(factor.pivots).T
        fields = {n: (c, c) for n, c in zip(sharing.problem.context, columns, strict=True)}
        lows, highs = sharing.problem.payoff.range(fields)
        return lows.tolist(), highs.tolist()
    raise ParameterError(f"it is not known between what the features of {factor!r} are")
