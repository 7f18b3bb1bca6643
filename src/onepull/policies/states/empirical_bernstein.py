"""UCB-V for the known reward."""

from __future__ import annotations

import numpy as np

from onepull.checks import constant
from onepull.index.bernstein import empirical_bernstein
from onepull.policies.states.state_policy import StatePolicy
from onepull.problem import Problem


class EmpiricalBernstein(StatePolicy):
    """UCB-V (Audibert, Munos, Szepesvári 2009): an upper confidence bound that uses the variance.

    Index: θ̂ + √(2V f/m) + 3G f/m with f = ζ ln n.  V is the variance of the rewards that the
    observed states give in this context.

    Use it if rewards vary little compared with their range G.  Of the sharper indices it had the
    lightest tail on the paper's four channels, and it is the quickest compiled.  On random problems
    it lost about as much as `DCB`, and over four times as much as `EmpiricalKL`.  For ζ > 1 its
    regret in a single context is logarithmic, with the variance in place of G².  It stores the
    histogram (or sketch) of each arm's states.

    Parameters
    ----------
    zeta
        ζ > 0: scale of the exploration.
    knots
        Number of knots of the sketch per interval field of the state; 65 by default.
    seed
        Break ties at random with this seed or generator; without one the first arm wins.

    Examples
    --------
    >>> from onepull import Finite
    >>> policy = EmpiricalBernstein(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2, 3, 4])},
    ...     state={"capacity": Finite([0, 1, 2, 3, 4])},
    ...     reward="min(bits, capacity)",
    ... ))
    >>> policy.observe_many(["wifi", "lte"], capacity=[1, 3])
    >>> policy.choose(bits=3)
    'lte'
    """

    guarantee = (
        "O(log n) in a single context, with the variance in place of G², for ζ > 1 (Audibert, "
        "Munos and Szepesvári 2009); no bound is known for joint learning"
    )

    def __init__(
        self,
        problem: Problem,
        *,
        zeta: float = 1.2,
        knots: int | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.zeta = constant("zeta", zeta, above=0.0)
        super().__init__(problem, empirical_bernstein(self.zeta), knots=knots, seed=seed)
