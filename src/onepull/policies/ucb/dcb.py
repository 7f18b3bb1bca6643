"""DCB(ε), the paper's policy for discrete contexts."""

from __future__ import annotations

import numpy as np

from onepull.factor import ContextTable
from onepull.policies.sharing.joint import Joint
from onepull.policies.ucb.known_reward import KnownReward
from onepull.problem import Problem


class DCB(KnownReward):
    """DCB(ε) (Sakulkar and Krishnamachari, algorithm 1): joint learning for listed contexts.

    Index: θ̂_ij + G_i·√((2+ε) ln n / m_j).  θ̂_ij is the mean over *all* m_j pulls of arm j of
    the reward that they would have given in context i, and G_i the range of the reward there.

    Use it if contexts can be listed and you need a proof, or a decision in a few microseconds.
    The regret is bounded for arms that are best in some context and logarithmic for the others
    (theorem 3).  It stores M+1 numbers per arm, for M contexts.

    Parameters
    ----------
    epsilon
        ε > 0: exploration beyond UCB1's.
    beyond_theory
        Allow ε ≤ 0, for which the paper has no bound.
    seed
        Break ties at random with this seed or generator; without one the first arm wins.

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
        "O(log n) for each arm that is never best and O(1) for the others, for ε > -1/2 "
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
            Joint(ContextTable(problem)), epsilon=epsilon, beyond_theory=beyond_theory, seed=seed
        )
