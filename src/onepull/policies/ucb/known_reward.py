"""Base class of DCB and CCB: ε, and the paper's condition on it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onepull.checks import constant, flag
from onepull.errors import ParameterError
from onepull.index.hoeffding import hoeffding
from onepull.policies.rule_policy import MeanPolicy
from onepull.policies.sharing.doubling import Doubling
from onepull.policies.sharing.joint import Joint

SWITCHES = frozenset({"beyond_theory", "carry_over"})
_WHY_POSITIVE = (
    "theorem 2 bounds the wrong pulls of arms that are best in some context by a series in "
    "n^-(1+2ε), which diverges at ε = 0; pass beyond_theory=True to run it without that bound"
)


def _exploration(epsilon: Any, *, beyond_theory: bool) -> float:
    """Return ε; raises ParameterError for ε ≤ 0 unless `beyond_theory` allows it."""
    beyond_theory = flag("beyond_theory", beyond_theory)
    value = constant("epsilon", epsilon, above=-2.0 if beyond_theory else -math.inf)
    if value <= 0 and not beyond_theory:
        raise ParameterError(f"epsilon must be > 0, given {epsilon!r}: {_WHY_POSITIVE}")
    return value


class KnownReward(MeanPolicy):
    """Base class of DCB and CCB: ε, with the paper's condition on it."""

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
    def beyond_theory(self) -> bool:
        """Whether ε ≤ 0, for which the paper has no bound."""
        return self.epsilon <= 0

    @property
    def parameters(self) -> dict[str, Any]:
        """The keyword arguments that recreate this policy, without switches that are off."""
        return {n: v for n, v in super().parameters.items() if v or n not in SWITCHES}
