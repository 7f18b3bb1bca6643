"""Base class of policies that learn from a policy class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from onepull.policies.policy import Policy
from onepull.policies.policy_class.history import History
from onepull.policies.request import Request
from onepull.policies.ties import even
from onepull.policies.traits import Traits


class ClassLearner(Policy):
    """Base class of policies that compete with the best policy of a finite class.

    The index of an arm is its mean reward in the cell of the context, with each reward weighted
    by the inverse probability of the pull.  A few unlikely pulls may move it outside the range
    of the reward.  Ties between policies go to the first, so the order of the arms matters unless
    the policies are listed.
    """

    traits = Traits(
        randomised=True,
        order_matters=True,
        arm_order_matters=True,
        weighs_chances=True,
        extrapolates=True,
    )

    _knowledge: History

    def __init__(self, history: History, *, seed: int | np.random.Generator) -> None:
        super().__init__(history, seed=seed)
        if history.policies.is_listed:
            self.traits = replace(self.traits, arm_order_matters=False)  # type: ignore[misc]  # of this instance

    @property
    def delta(self) -> float | dict[str, float] | None:
        """The largest width of a cell, if interval contexts were divided into cells."""
        return self._knowledge.cells.delta

    @property
    def policies(self) -> str | list[list[str]] | None:
        """The class of policies as it was given; None if it was not."""
        return self._knowledge.policies.kind

    def _look(self, context: Mapping[str, Any]) -> int:
        return self._knowledge.cells.locate(context)

    def _indices(self, request: Request) -> Any:
        return self._knowledge.estimates(request.view).tolist()

    def _estimates(self, request: Request) -> Sequence[float | None]:
        known = zip(request.once(self._indices), request.once(self._counted).pulls, strict=True)
        return [estimate if count else None for estimate, count in known]

    def _chances(self, request: Request) -> Sequence[float]:
        everywhere, allowed = self._knowledge.chances(request.view), request.allowed
        kept = [float(everywhere[j]) for j in allowed]
        total = math.fsum(kept)
        if total <= 0:  # no policy with weight plays any of them
            return even(allowed, allowed)
        return [chance / total for chance in kept]
