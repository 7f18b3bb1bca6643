"""Policies that play the highest upper confidence bound."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onepull.errors import ParameterError
from onepull.index import IndexRule
from onepull.policies.base import Policy
from onepull.policies.sharing import Sharing
from onepull.spaces import real


class UpperConfidence(Policy):
    """An index rule on shared knowledge: what UCB1, Multi-UCB, DCB and CCB have in common."""

    def __init__(
        self,
        sharing: Sharing,
        rule: IndexRule,
        *,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(sharing, seed=seed)
        self.rule = rule
        self._aim, self._index, self._rule_parameters = rule.aim, rule.index, rule.parameters

    def _indices(self, context: Mapping[str, Any]) -> Any:
        statistics, estimates, low, high = self._sharing.view(context)
        aim = self._aim(low, high, statistics.trials + 1, *self._rule_parameters)
        return statistics.score(self._index, estimates, aim)

    def _leader(self, context: Mapping[str, Any]) -> int:
        statistics, estimates, low, high = self._sharing.view(context)
        aim = self._aim(low, high, statistics.trials + 1, *self._rule_parameters)
        return statistics.leader(self._index, estimates, aim)

    def _estimates(self, context: Mapping[str, Any]) -> Sequence[float | None]:
        return [float(estimate) for estimate in self._sharing.view(context)[1]]


def number(name: str, value: Any, *, above: float, at_least: bool = False) -> float:
    """Return a parameter as a float, refusing what is not a number in its range."""
    try:
        read = real(value)
    except TypeError:
        read = float("nan")
    if (above <= read if at_least else above < read) and read < float("inf"):
        return read
    sign = ">=" if at_least else ">"
    limit = f" {sign} {above:g}" if math.isfinite(above) else ""
    raise ParameterError(f"{name} must be a number{limit}, given {value!r}")
