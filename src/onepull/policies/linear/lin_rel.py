"""LinRel: least squares on well-observed directions, full uncertainty on the others."""

from __future__ import annotations

import math

import numpy as np

from onepull.arrays import Array
from onepull.checks import share
from onepull.index.hoeffding import optimistic
from onepull.policies.linear.features import Coded, Written, feature_map
from onepull.policies.linear.linear_model import LinearPolicy, along, lengths
from onepull.policies.linear.ridge import Solution
from onepull.problem import Problem

KNOWN = 1.0 - 1e-9  # the least eigenvalue that counts as 1, to allow for rounding


def spectral(gram: Array, moment: Array) -> Solution:
    """Return θ̂ on the eigenvectors with eigenvalues λ >= 1, and two matrices.

    With A = UᵀΔU, the first matrix maps x to Δ^-½Ux on these eigenvectors; its length is the
    paper's ‖a‖.  The second maps x to Ux on the other eigenvectors: ṽ.
    """
    values, vectors = np.linalg.eigh(gram)
    known = values >= KNOWN
    weights = np.where(known, 1.0 / np.sqrt(np.where(known, values, 1.0)), 0.0)
    root = weights[:, None] * vectors.T
    return root.T @ (root @ moment), root, np.where(known, 0.0, 1.0)[:, None] * vectors.T


class LinRel(LinearPolicy):
    """LinRel (Auer 2002): least squares on well-observed directions, full uncertainty elsewhere.

    Index: θ̂ᵀx + ‖a‖·√(ln(2n/δ)) + ‖ṽ‖, for rewards scaled to [0, 1].  θ̂ and ‖a‖ come from least
    squares on the eigenvectors of A = Σ x xᵀ with eigenvalues of at least 1.  ṽ is the rest of x,
    about which nothing is assumed to be known.  If the mean reward is linear in features
    no longer than 1, with a θ no longer than 1, regret is Õ(√T) for SupLinRel, which plays
    this index on independent samples.  There is no such bound for LinRel itself, and if the mean
    is not linear, regret may grow linearly.  Unlike in the paper, the trial n replaces the
    horizon, δ replaces δ/K so that an arm's index does not depend on the number of arms, and every
    arm is pulled once first.  The policy keeps d²+d+1 numbers for each arm.  If the arms share one
    θ, it keeps d²+d numbers for all and one for each.

    Parameters
    ----------
    features
        As for `LinUCB`; each vector of features should have a length of at most 1.
    failure
        δ in (0, 1): the probability that the bounds of an arm fail.
    seed
        A seed or generator that draws among tied arms; without one the first arm wins.

    Examples
    --------
    >>> from onepull import Interval, Problem
    >>> policy = LinRel(Problem(
    ...     arms=["a", "b"],
    ...     context={"power": Interval(0, 1)},
    ...     state={"gain": Interval(0, 4)},
    ...     reward="power * gain",
    ... ), features=["power"])
    >>> policy.observe_many(["a", "b"], power=[1.0, 0.5], gain=[2.0, 2.0])
    >>> print(policy.explain(power=0.5))
    LinRel at trial 3 with power=0.5
      arm  pulls  estimate   bonus   index
    → a        1    1.0000  4.0469  5.0469
      b        1    0.0000  2.0000  2.0000
    a: highest index
    """

    guarantee = (
        "Õ(√T) for SupLinRel only, of which this is the index (Auer 2002); if rewards are not "
        "linear in the features, regret may be"
    )

    def __init__(
        self,
        problem: Problem,
        *,
        features: Written | Coded | None = None,
        failure: float = 0.1,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.failure = share("failure", failure)
        super().__init__(problem, feature_map(problem, features), spectral, seed=seed)

    def _scores(self, rows: Array, solution: Solution) -> Array:
        thetas, roots, rests = solution
        width = math.sqrt(math.log(2.0 * (self.trials + 1) / self.failure))
        scores: Array = optimistic(along(rows, thetas), lengths(rows, roots), width)
        return scores + lengths(rows, rests)
