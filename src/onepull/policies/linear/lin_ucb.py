"""LinUCB: upper confidence bounds on linear models."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from onepull.arrays import Array
from onepull.checks import constant
from onepull.index.hoeffding import optimistic
from onepull.policies.linear.features import Coded, Written, feature_map
from onepull.policies.linear.linear_model import LinearPolicy, along, lengths
from onepull.policies.linear.ridge import Solution, ridge
from onepull.problem import Problem

ALPHA = 1.0 + math.sqrt(math.log(2.0 / 0.1) / 2.0)


class LinUCB(LinearPolicy):
    """LinUCB (Li, Chu, Langford, Schapire 2010): ridge regression and its confidence width.

    Index: θ̂ᵀx + α·√(xᵀ(λI+A)⁻¹x), with A = Σ x xᵀ, b = Σ r x and θ̂ = (λI+A)⁻¹b over an
    arm's pulls, for rewards scaled to [0, 1].  If the mean reward is linear in features no
    longer than 1, regret is Õ(√(dT)) for SupLinUCB, which plays this index on independent
    samples (Chu, Li, Reyzin, Schapire 2011), and Õ(d√T) for the index itself with an α that
    grows as √(d ln n) (Abbasi-Yadkori, Pál, Szepesvári 2011), where d counts the features of
    all models.  If it is not linear, regret may grow linearly.  Unlike in the papers, every
    arm is pulled once first.  The policy keeps d²+d+1 numbers for each arm.  If the arms share one
    θ, it keeps d²+d numbers for all and one for each.

    Parameters
    ----------
    features
        A list of formulas of the context fields: every arm has a θ of its own.  Or one list of
        formulas for each arm, or a callable of the context and the arm: the arms share one θ.
        By default 1 and each field scaled to [0, 1], all divided by √d.
    alpha
        α; by default 1 + √(ln(2/δ)/2) with δ = 0.1, as in the paper.
    regulariser
        λ > 0, 1 in the papers.
    seed
        A seed or generator that draws among tied arms; without one the first arm wins.

    Examples
    --------
    >>> from onepull import Interval, Problem
    >>> policy = LinUCB(Problem(
    ...     arms=["a", "b"],
    ...     context={"power": Interval(0, 1)},
    ...     state={"gain": Interval(0, 4)},
    ...     reward="power * gain",
    ... ), features=["power"], alpha=1.0)
    >>> policy.observe_many(["a", "b", "b"], power=[1.0, 1.0, 1.0], gain=[2.0, 1.0, 1.0])
    >>> print(policy.explain(power=0.5))
    LinUCB at trial 4 with power=0.5
      arm  pulls  estimate   bonus   index
    → a        1    0.5000  1.4142  1.9142
      b        2    0.3333  1.1547  1.4880
    a: highest index
    """

    guarantee = (
        "Õ(d√T) if rewards are linear in the features and alpha grows as √(d log n) "
        "(Abbasi-Yadkori, Pál and Szepesvári 2011), with a constant alpha for SupLinUCB only "
        "(Chu et al. 2011); if rewards are not linear in the features, regret may be"
    )

    def __init__(
        self,
        problem: Problem,
        *,
        features: Written | Coded | None = None,
        alpha: float = ALPHA,
        regulariser: float = 1.0,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.alpha = constant("alpha", alpha, above=0.0, at_least=True)
        self.regulariser = constant("regulariser", regulariser, above=0.0)
        solve = partial(ridge, regulariser=self.regulariser)
        super().__init__(problem, feature_map(problem, features), solve, seed=seed)

    def _scores(self, rows: Array, solution: Solution) -> Array:
        thetas, roots = solution
        scores: Array = optimistic(along(rows, thetas), lengths(rows, roots), self.alpha)
        return scores
