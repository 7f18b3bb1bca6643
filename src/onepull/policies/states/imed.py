"""IMED on the known reward."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepull.index.imed import imed
from onepull.policies.states.state_policy import StatePolicy
from onepull.policies.traits import Traits
from onepull.problem import Problem


class IMED(StatePolicy):
    """Indexed minimum empirical divergence (Honda and Takemura 2015) on the known reward.

    Index: -(m·K(F̂, θ̂*) + ln m), with K the divergence of the arm's observed law from one as
    good as the best estimate θ̂* in this context.  It has the least regret of all in the mean
    and the heaviest tail: runs that are stuck on a wrong arm for long.  Asymptotically that
    of the best index policy.  Keeps the histogram (or sketch) of the states of every arm.

    Parameters
    ----------
    knots
        Sketch interval fields of the state with so many knots; 65 if not given.
    seed
        Draw among tied arms with this seed or generator; the first arm wins without.

    Examples
    --------
    >>> from onepull import Finite
    >>> policy = IMED(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2, 3, 4])},
    ...     state={"capacity": Finite([0, 1, 2, 3, 4])},
    ...     reward="min(bits, capacity)",
    ... ))
    >>> policy.observe_many(["wifi", "lte", "lte"], capacity=[1, 4, 0])
    >>> policy.choose(bits=4)   # wifi: K = ln 1.5 and ln 1, lte: nothing and ln 2
    'wifi'
    """

    traits = Traits(index_is_reward=False, index_depends_on_other_arms=True)
    guarantee = (
        "in a single context asymptotically the least possible (Honda and Takemura 2015); for "
        "contexts that learn together none is known"
    )

    def __init__(
        self,
        problem: Problem,
        *,
        knots: int | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(problem, imed(), knots=knots, seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """The knots of a sketch."""
        return self._sketched()

    def _why(self) -> str:
        return "least divergence from the best"
