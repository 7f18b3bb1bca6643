"""DCB(ε), the paper's policy for discrete contexts."""

from __future__ import annotations

import numpy as np

from onepull.factor import Table
from onepull.policies.sharing.joint import Joint
from onepull.policies.ucb.known_reward import KnownReward
from onepull.problem import Problem


class DCB(KnownReward):
    """DCB(ε) for finitely many contexts (the paper's algorithm 1).

    Index: θ̂_ij + G_i·√((2+ε) ln n / m_j), where θ̂_ij is the mean over *all* pulls of arm
    j of the reward they would have given in context i.  Arms that are best in some
    context cost a bounded regret, the others a logarithmic one (theorem 3).  Keeps M+1
    numbers an arm.

    Parameters
    ----------
    epsilon
        ε > 0: exploration beyond UCB1's.
    beyond_theory
        Allow ε ≤ 0, for which the paper has no bound.
    seed
        Draw among tied arms with this seed or generator; the first arm wins without.

    Examples
    --------
    >>> from onepull import Finite, Interval, Problem
    >>> policy = DCB(Problem(
    ...     arms=["wifi", "lte", "5g"],
    ...     context={"bits": Finite([1, 2, 3, 4])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... ), epsilon=0.01)
    >>> policy.observe("wifi", capacity=2.0)
    >>> policy.choose(bits=3)
    'lte'
    """

    guarantee = (
        "O(log n) for every arm that is best nowhere, bounded for the others, for ε > -1/2 "
        "(Sakulkar and Krishnamachari, theorem 3, corrected)"
    )

    def __init__(
        self,
        problem: Problem,
        *,
        epsilon: float = 0.01,
        beyond_theory: bool = False,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(
            Joint(Table(problem)), epsilon=epsilon, beyond_theory=beyond_theory, seed=seed
        )
