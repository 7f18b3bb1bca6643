"""DSEE: exploration by the calendar."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onepull.checks import number
from onepull.index.schedules import batch_start, turn
from onepull.policies.explorer import Explorer
from onepull.policies.sharing.sharing import shared
from onepull.problem import Problem


class DSEE(Explorer):
    """Deterministic sequencing of exploration and exploitation (Vakili, Liu, Zhao 2013).

    The arms are explored in turn until each has had ⌈w ln n⌉ turns, at other trials the best
    estimate is played; n counts what the sharing counts.  In a single context, with w large
    enough for the smallest gap, wrong pulls are O(log n).  All arms are explored alike, so
    with joint learning too even the arms that are best somewhere cost O(log n) (the paper's
    remark 3).  Keeps what its sharing keeps.

    Parameters
    ----------
    sharing
        Who learns from a pull: "joint", "per-context" or "blind".
    delta
        Cuts interval contexts into cells no wider than this.
    weight
        w > 0: how many turns an arm gets, per unit of ln n.
    seed
        Draw among tied arms with this seed or generator; the first arm wins without.

    Examples
    --------
    >>> from onepull import Finite, Interval, Problem
    >>> policy = DSEE(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... ), weight=1.0)
    >>> for _ in range(4):
    ...     arm = policy.choose(bits=2)
    ...     policy.observe(arm, capacity={"wifi": 3.0, "lte": 1.0}[arm])
    ...     print(arm)
    wifi
    lte
    wifi
    lte
    >>> policy.explain(bits=2).reason
    'highest estimate'
    """

    takes_turns = True

    def __init__(
        self,
        problem: Problem,
        *,
        sharing: str = "joint",
        delta: float | Mapping[str, float] | None = None,
        weight: float = 10.0,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.weight = number("weight", weight, above=0.0)
        self._shared = sharing
        self._starts: list[int] = []
        super().__init__(shared(problem, sharing, delta), seed=seed)

    def _take_on(self, problem: Problem) -> None:
        super()._take_on(problem)
        self._starts = [1]

    @property
    def parameters(self) -> dict[str, Any]:
        """The sharing, δ if the contexts are cut into cells, and w."""
        return {"sharing": self._shared, **self._cut(), "weight": self.weight}

    def _turn(self, trial: int) -> int:
        arms, starts = len(self._arms), self._starts
        while starts[-1] <= trial:
            starts.append(batch_start(len(starts) + 1, starts[-1], arms, self.weight))
        return turn(starts, trial, arms)

    def _indices(self, context: Mapping[str, Any]) -> Any:
        statistics, estimates, _, _ = self._knowledge.view(context)
        indices = list(estimates)
        arm = self._turn(statistics.trial)
        if arm >= 0 and 0 not in statistics.counts:
            indices[arm] = math.inf
        return indices

    def _reason(
        self, context: Mapping[str, Any], indices: list[float], allowed: Sequence[int]
    ) -> str:
        pulls, trials = self._knowledge.seen(context)
        arm = self._turn(trials + 1)
        if arm in allowed and 0 not in pulls:
            return f"it is the turn of {self._arms[arm]}"
        return super()._reason(context, indices, allowed)

    def _why(self) -> str:
        return "highest estimate"
