"""UCB-V on the known reward."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepull.checks import number
from onepull.index.bernstein import empirical_bernstein
from onepull.policies.states.state_policy import StatePolicy
from onepull.problem import Problem


class EmpiricalBernstein(StatePolicy):
    """UCB-V (Audibert, Munos, Szepesvári 2009) on the known reward: narrow where it varies little.

    Index: θ̂ + √(2V f/m) + 3G f/m with f = ζ ln n and V the variance of the reward that the
    observed states give in this context.  Its regret is logarithmic, with the variance in
    place of the squared range for ζ > 1.  Keeps the histogram (or sketch) of the states of
    every arm.

    Parameters
    ----------
    zeta
        ζ > 0.
    knots
        Sketch interval fields of the state with so many knots; 65 if not given.
    seed
        Draw among tied arms with this seed or generator; the first arm wins without.

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
        "Munos and Szepesvári 2009); for contexts that learn together none is known"
    )

    def __init__(
        self,
        problem: Problem,
        *,
        zeta: float = 1.2,
        knots: int | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.zeta = number("zeta", zeta, above=0.0)
        super().__init__(problem, empirical_bernstein(self.zeta), knots=knots, seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """ζ, and the knots of a sketch."""
        return {"zeta": self.zeta, **self._sketched()}
