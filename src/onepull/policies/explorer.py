"""What rules of exploration have in common: the sharing they use, any of those there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Self

import msgspec
import numpy as np

from onepull.errors import ParameterError
from onepull.factor import Atoms
from onepull.payoff import Reward
from onepull.payoff.reward import Source
from onepull.policies.policy import Policy
from onepull.policies.sharing.sharing import Sharing


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

    def with_reward(self, reward: Reward | Source) -> Self:
        """Return a policy for another reward that knows all that this one has learned.

        This takes knowledge of the states themselves: a histogram or a sketch.

        >>> from onepull import EmpiricalKL, Finite, Problem
        >>> policy = EmpiricalKL(Problem(
        ...     arms=["near", "far"],
        ...     context={"bits": Finite([1, 4])},
        ...     state={"capacity": Finite([0, 2, 4])},
        ...     reward="min(bits, capacity)",
        ... ))
        >>> policy.observe_many(["near", "far"] * 60, capacity=[2, 4, 2, 0, 2, 0] * 20)
        >>> policy.choose(bits=4), policy.with_reward("capacity >= bits").choose(bits=4)
        ('near', 'far')
        """
        factor = getattr(self._knowledge, "factor", None)
        if not isinstance(factor, Atoms):
            raise ParameterError(
                f"{type(self).__name__} keeps rewards, not states, so it cannot tell what another "
                "reward would have been; keep a histogram or a sketch"
            )
        twin = self._rebuilt(self.problem.with_reward(reward), self._written())
        twin._knowledge.restore(self._plain_state())  # noqa: SLF001 - a twin's own
        twin._generator = deepcopy(self._generator)  # noqa: SLF001 - a twin's own
        return twin

    def _plain_state(self) -> Any:
        return msgspec.to_builtins(self._knowledge.state())

    def _cut(self) -> dict[str, Any]:
        """Return δ as a parameter, where there is one."""
        return {} if self.delta is None else {"delta": self.delta}

    def _estimates(self, context: Mapping[str, Any]) -> Sequence[float | None]:
        return [float(estimate) for estimate in self._knowledge.view(context)[1]]
