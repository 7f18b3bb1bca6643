"""The empirical-likelihood bound on the known reward."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepull.checks import number
from onepull.index.empirical_kl import empirical_kl
from onepull.policies.states.state_policy import StatePolicy
from onepull.policies.traits import Traits
from onepull.problem import Problem


class EmpiricalKL(StatePolicy):
    """The empirical-likelihood upper bound on the known reward (Cappé et al. 2013).

    Index: the highest mean reward of a law of states whose likelihood is within f(n)/m of
    the observed one, f(n) = ln N + c ln ln N with N = n + head_start.  It always lies between
    the estimate and the upper confidence bound with α = f/(2 ln n), and makes use of small
    variance and of rewards that are rarely high.  With c = 3 its regret is asymptotically
    that of the best index policy; c = 0 pays less at practical horizons, with a heavier tail,
    which a head start makes lighter at next to no cost.  Keeps the histogram (or sketch) of
    the states of every arm.

    Parameters
    ----------
    c
        How much is explored beyond ln N.
    head_start
        Trials that count as gone by before the first one: no bound is then trusted at a
        higher risk than 1/head_start, however few trials there were.
    knots
        Sketch interval fields of the state with so many knots; 65 if not given.
    seed
        Draw among arms that tie, in pulls too, with this seed or generator; the first arm wins
        without.

    Examples
    --------
    >>> from onepull import Finite
    >>> policy = EmpiricalKL(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2, 3, 4])},
    ...     state={"capacity": Finite([0, 1, 2, 3, 4])},
    ...     reward="min(bits, capacity)",
    ... ))
    >>> policy.observe_many(["wifi", "lte", "lte"], capacity=[1, 4, 4])
    >>> print(policy.explain(bits=3))
    EmpiricalKL at trial 4 with bits=3
      arm   pulls  estimate   bonus   index
      wifi      1    1.0000  1.5000  2.5000
    → lte       2    3.0000  0.0000  3.0000
    lte: highest index
    """

    traits = Traits(breaks_ties_by_pulls=True)
    guarantee = (
        "in a single context asymptotically the least possible, for laws of finitely many "
        "values and c = 3 (Cappé et al. 2013); with less, and for contexts that learn together "
        "none is known"
    )

    def __init__(
        self,
        problem: Problem,
        *,
        c: float = 0.0,
        head_start: float = 0.0,
        knots: int | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.c = number("c", c, above=0.0, at_least=True)
        self.head_start = number("head_start", head_start, above=0.0, at_least=True)
        rule = empirical_kl(self.c, self.head_start)
        super().__init__(problem, rule, knots=knots, seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """C, the head start, and the knots of a sketch."""
        return {"c": self.c, "head_start": self.head_start, **self._sketched()}
