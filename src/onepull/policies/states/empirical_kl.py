"""The empirical-likelihood bound for the known reward."""

from __future__ import annotations

import numpy as np

from onepull.checks import constant
from onepull.index.empirical_kl import empirical_kl
from onepull.policies.states.state_policy import StatePolicy
from onepull.policies.traits import Traits
from onepull.problem import Problem


class EmpiricalKL(StatePolicy):
    """Empirical KL-UCB (Cappé et al. 2013) for the known reward.

    Index: the highest mean reward of any distribution of states whose divergence from the
    observed one is at most f(n)/m, with f(n) = ln N + c ln ln N and N = n + head_start.

    Use it if states can be listed or are bounded and arms do not change; `AdaptiveKL`, the
    default, assumes neither.  Its index is between the estimate and the upper confidence bound
    with α = f/(2 ln n).  It is lower if rewards vary little or are rarely high.  With c = 3 it is
    asymptotically optimal in a single context.  With c = 0 it has less regret at practical
    horizons, but more runs with high regret; a head start makes these rarer at almost no cost.
    It stores the histogram (or sketch) of each arm's states.

    Parameters
    ----------
    c
        Weight of the extra exploration term ln ln N.
    head_start
        Added to the trial number.  It keeps the bounds wide in the first trials: their nominal
        error probability is at most 1/head_start.
    knots
        Number of knots of the sketch per interval field of the state; 65 by default.
    seed
        Break ties at random with this seed or generator, among the least pulled of the tied arms;
        without one the first of these wins.

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
        "asymptotically optimal in a single context for rewards with finitely many values and "
        "c = 3 (Cappé et al. 2013); no bound is known for smaller c or for joint learning"
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
        self.c = constant("c", c, above=0.0, at_least=True)
        self.head_start = constant("head_start", head_start, above=0.0, at_least=True)
        rule = empirical_kl(self.c, self.head_start)
        super().__init__(problem, rule, knots=knots, seed=seed)
