"""What the learners of a policy class have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from onepull.checks import number
from onepull.errors import ParameterError
from onepull.policies.decision import Decision
from onepull.policies.policy import Policy
from onepull.policies.policy_class.history import History
from onepull.policies.ties import even
from onepull.policies.traits import Traits


class ClassLearner(Policy):
    """Competes with the best policy of a finite class, from rewards and their probabilities.

    The index of an arm is its mean reward in the context's cell, each reward weighed by the
    inverse of its probability; a few unlikely pulls may take it out of the reward's range.
    Ties between policies go to the first, so the place of an arm in the list matters, unless
    the policies were listed.
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
            self.traits = replace(self.traits, arm_order_matters=False)  # type: ignore[misc]  # of this one

    @property
    def delta(self) -> float | dict[str, float] | None:
        """The largest width of a cell, if interval contexts were cut into cells."""
        return self._knowledge.cells.delta

    @property
    def _class(self) -> dict[str, Any]:
        """The policies and the cut as parameters, where they were given."""
        kind, delta = self._knowledge.policies.kind, self.delta
        stated = {"policies": kind, "delta": delta}
        return {name: value for name, value in stated.items() if value is not None}

    def _look(self, context: Mapping[str, Any]) -> int:
        return self._knowledge.cells.locate(context)

    def _indices(self, decision: Decision) -> Any:
        return self._knowledge.estimates(decision.view).tolist()

    def _estimates(self, decision: Decision) -> Sequence[float | None]:
        pulls, _ = self._knowledge.seen(decision.context)
        known = zip(self._indices(decision), pulls, strict=True)
        return [estimate if count else None for estimate, count in known]

    def _chances(self, decision: Decision) -> Sequence[float]:
        everywhere, allowed = self._knowledge.chances(decision.view), decision.allowed
        kept = [float(everywhere[j]) for j in allowed]
        total = math.fsum(kept)
        if total <= 0:  # no policy with weight plays any of them
            return even(allowed, allowed)
        return [chance / total for chance in kept]


def failure_probability(value: Any) -> float:
    """Return the probability with which a guarantee may fail, refusing what is none."""
    read = number("failure", value, above=0.0)
    if read >= 1:
        raise ParameterError(f"failure is a probability, in (0, 1), given {value!r}")
    return read
