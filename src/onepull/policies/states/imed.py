"""IMED for the known reward."""

from __future__ import annotations

import numpy as np

from onepull.index.imed import imed
from onepull.policies.states.state_policy import StatePolicy
from onepull.policies.traits import Traits
from onepull.problem import Problem


class IMED(StatePolicy):
    """IMED, indexed minimum empirical divergence (Honda and Takemura 2015).

    Index: -(m·K(F̂, θ̂*) + ln m).  K is the divergence of the arm's observed distribution F̂ from
    the nearest one with a mean of at least the best estimate θ̂* in this context.

    Use it if the mean regret matters and rare bad runs do not.  In our benchmark its mean regret
    is mostly the lowest, but some runs stay with a wrong arm for a long time.  It is
    asymptotically optimal in a single context.  It stores the histogram (or sketch) of each arm's
    states, so these need bounds.  Where they have none, use `AdaptiveKL`: its index, too, needs
    only a highest reward.

    Parameters
    ----------
    knots, seed
        Those of `EmpiricalBernstein`.

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
    >>> policy.choose(bits=4)   # wifi: ln 1.5 + ln 1, lte: 0 + ln 2
    'wifi'
    """

    traits = Traits(index_is_reward=False, index_depends_on_other_arms=True)
    guarantee = (
        "asymptotically optimal in a single context (Honda and Takemura 2015); no bound is known "
        "for joint learning"
    )

    def __init__(
        self,
        problem: Problem,
        *,
        knots: int | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(problem, imed(), knots=knots, seed=seed)

    def _why(self) -> str:
        return "least divergence from the best"

    def _index_note(self) -> str:
        return "the index is the divergence with a minus, and not in units of the reward"
