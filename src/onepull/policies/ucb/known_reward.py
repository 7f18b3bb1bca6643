"""What DCB and CCB have in common: ε, and the paper's condition on it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onepull.checks import number
from onepull.errors import ParameterError
from onepull.index.hoeffding import hoeffding
from onepull.policies.rule_policy import MeanPolicy
from onepull.policies.sharing.doubling import Doubling
from onepull.policies.sharing.joint import Joint

_WHY_POSITIVE = (
    "theorem 2 bounds the wrong pulls of arms that are right somewhere by a series in "
    "n^-(1+2ε), which diverges at ε = 0; beyond_theory=True runs it all the same"
)


def _exploration(epsilon: Any, *, beyond_theory: bool) -> float:
    """Return ε, refusing what the paper's proof does not cover unless asked for."""
    value = number("epsilon", epsilon, above=-2.0 if beyond_theory else -math.inf)
    if value <= 0 and not beyond_theory:
        raise ParameterError(f"epsilon must be > 0, given {epsilon!r}: {_WHY_POSITIVE}")
    return value


class KnownReward(MeanPolicy):
    """What DCB and CCB have in common: ε, with the paper's condition on it."""

    def __init__(
        self,
        sharing: Joint | Doubling,
        *,
        epsilon: float,
        beyond_theory: bool,
        seed: int | np.random.Generator | None,
    ) -> None:
        self.epsilon = _exploration(epsilon, beyond_theory=beyond_theory)
        super().__init__(sharing, hoeffding(2.0 + self.epsilon), seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """ε, and whether it was asked for against the theory."""
        stated: dict[str, Any] = {"epsilon": self.epsilon}
        return stated if self.epsilon > 0 else {**stated, "beyond_theory": True}
