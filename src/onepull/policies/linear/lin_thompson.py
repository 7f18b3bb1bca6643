"""Thompson sampling on linear models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from onepull.arrays import Array
from onepull.checks import constant
from onepull.policies.linear.features import Coded, Written, feature_map
from onepull.policies.linear.linear_model import LinearPolicy, along
from onepull.policies.linear.ridge import Solution, ridge
from onepull.policies.request import Request
from onepull.policies.ties import even
from onepull.policies.traits import Traits
from onepull.problem import Problem


class LinearThompson(LinearPolicy):
    """Linear Thompson sampling (Agrawal, Goyal 2012): the best arm under a drawn θ.

    For each request θ̃ is drawn from N(θ̂, v²(λI+A)⁻¹), with A = Σ x xᵀ, b = Σ r x and
    θ̂ = (λI+A)⁻¹b for rewards scaled to [0, 1], and the arm with the highest θ̃ᵀx is played.
    `explain` shows θ̂ᵀx, without a draw.  If the mean reward is linear in features no longer
    than 1, regret is Õ(d√(dT)) with v = R√(9d ln(n/δ)) and R = 1/2, the spread of a reward in
    [0, 1].  The default v is far smaller, as is common, and has no such bound.  If the mean is
    not linear, regret may grow linearly.  Unlike in the paper, every arm is pulled once
    first.  The policy keeps d²+d+1 numbers for each arm.  If the arms share one θ, it keeps d²+d
    numbers for all and one for each.

    Parameters
    ----------
    features
        As for `LinUCB`.
    spread
        v >= 0, in units of the reward's range.
    regulariser
        λ > 0, 1 in the paper.
    seed
        The seed or generator of the draws.

    Examples
    --------
    >>> from onepull import Interval, Problem
    >>> policy = LinearThompson(Problem(
    ...     arms=["a", "b"],
    ...     context={"power": Interval(0, 1)},
    ...     state={"gain": Interval(0, 4)},
    ...     reward="power * gain",
    ... ), features=["power"], seed=1)
    >>> policy.observe_many(["a", "b", "b"], power=[1.0, 1.0, 1.0], gain=[3.0, 1.0, 1.0])
    >>> print(policy.explain(power=0.5))
    LinearThompson at trial 4 with power=0.5
      arm  pulls  estimate   bonus   index
      a        1    0.7500  0.0000  0.7500
      b        2    0.3333  0.0000  0.3333
    a draw: highest of the rewards that a drawn parameter gives
    >>> sorted(policy.choose(power=0.5) for _ in range(5))
    ['a', 'a', 'a', 'a', 'b']
    """

    traits = Traits(extrapolates=True, randomised=True)
    guarantee = (
        "Õ(d√(dT)) if rewards are linear in the features, with a spread of √(9d log(n/δ))/2 "
        "(Agrawal and Goyal 2012); no bound is known with the default; if rewards are not "
        "linear in the features, regret may be linear"
    )

    def __init__(
        self,
        problem: Problem,
        *,
        features: Written | Coded | None = None,
        spread: float = 0.5,
        regulariser: float = 1.0,
        seed: int | np.random.Generator = 0,
    ) -> None:
        self.spread = constant("spread", spread, above=0.0, at_least=True)
        self.regulariser = constant("regulariser", regulariser, above=0.0)
        solve = partial(ridge, regulariser=self.regulariser)
        super().__init__(problem, feature_map(problem, features), solve, seed=seed)

    def _scores(self, rows: Array, solution: Solution) -> Array:
        return along(rows, solution[0])

    def _drawn(self, solution: Solution) -> Array:
        """Return a new draw of θ̃ for every model."""
        thetas, roots = solution
        assert self._generator is not None  # noqa: S101 - a randomised policy has one
        luck = self._generator.standard_normal((len(thetas), 1, thetas.shape[1]))
        drawn: Array = thetas + self.spread * np.matmul(luck, roots)[:, 0, :]
        return drawn

    def _draw(self, request: Request) -> int:
        rows, solution = request.view
        scores = self._in_rewards(along(rows, self._drawn(solution)))
        return max(request.allowed, key=scores.__getitem__)

    def _chances(self, request: Request) -> Sequence[float] | None:
        pulls = self._knowledge.counts.pulls
        fresh = [j for j in request.allowed if pulls[j] == 0]
        return even(fresh[:1], request.allowed) if fresh else None

    def _reason(self, request: Request, indices: list[float]) -> str:
        del indices
        if 0 in [self._knowledge.counts.pulls[j] for j in request.allowed]:
            return self._unseen
        return "highest of the rewards that a drawn parameter gives"
