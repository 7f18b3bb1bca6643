"""What rules of exploration have in common: the sharing they use, any of those there are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onepull.errors import ParameterError
from onepull.policies.base import Policy
from onepull.policies.sharing import Sharing
from onepull.spaces import real


class Explorer(Policy):
    """A rule of exploration on shared knowledge."""

    _knowledge: Sharing

    def __init__(self, sharing: Sharing, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(sharing, seed=seed)

    @property
    def sharing(self) -> Sharing:
        """How this policy shares knowledge, and what it has learned."""
        return self._knowledge

    @property
    def delta(self) -> float | dict[str, float] | None:
        """The largest width of a cell, if interval contexts were cut into cells."""
        return self._knowledge.delta

    def _cut(self) -> dict[str, Any]:
        """Return δ as a parameter, where there is one."""
        return {} if self.delta is None else {"delta": self.delta}

    def _estimates(self, context: Mapping[str, Any]) -> Sequence[float | None]:
        return [float(estimate) for estimate in self._knowledge.view(context)[1]]


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
