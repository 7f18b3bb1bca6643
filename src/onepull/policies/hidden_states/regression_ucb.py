"""RegressionUCB: learning every context from rewards alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.checks import constant
from onepull.index.regression import regression_bound
from onepull.policies.hidden_states.regression_sums import RegressionSums, View
from onepull.policies.policy import Policy
from onepull.policies.request import Request
from onepull.policies.traits import Traits
from onepull.problem import Problem, given_problem
from onepull.statistics import UNPULLED


class RegressionUCB(Policy):
    """Regression of rewards on the shapes that the known formula gives them.

    A reward may not tell the state.  But the mean reward of an arm, as a function of the context,
    is a mixture of the functions g(·, s), one for each state s, and these are known.  So a reward
    in one context says something about the mean in every other.  This policy estimates the mixture
    by ridge regression: `Shapes` describes the features, `RegressionSums` the estimate.

    Index: θ̂ + √(2c·ln(1 + n·v)·σ²·v), where v is the share of the noise that is left in θ̂ (1/m
    after m pulls in the same context) and σ² is the variance of the noise in this context, from
    the errors of earlier predictions: for this arm or for all arms, whichever is larger.

    It takes any problem and any context.  Rewards that jump or bend are described by up to 16
    shapes, which leaves an error.  It assumes that arms do not change over time.  Pulls in flight
    count as if they had been observed in the context at hand.

    Parameters
    ----------
    c
        How much is explored.
    seed
        Seed or generator to draw among arms with equal index and equal pulls; without it the first
        arm is taken.

    Examples
    --------
    >>> from math import inf
    >>> from onepull import Interval
    >>> policy = RegressionUCB(Problem(
    ...     arms=["alpha", "beta"],
    ...     context={"tokens": Interval(1, 4000)},
    ...     state={"first": Interval(0, inf), "each": Interval(0, inf)},
    ...     reward="-first - tokens * each",
    ... ))
    >>> sizes = [1, 100, 500, 900] * 5
    >>> policy.observe_many(["alpha"] * 20, tokens=sizes, reward=[-3, -4, -8, -12] * 5)
    >>> policy.observe_many(["beta"] * 20, tokens=sizes, reward=[-1, -3, -11, -19] * 5)
    >>> policy.choose(tokens=50), policy.choose(tokens=4000)   # alpha starts later and is faster
    ('beta', 'alpha')
    """

    traits = Traits(
        breaks_ties_by_pulls=True,
        extrapolates=True,
        index_depends_on_other_arms=True,
        order_matters=True,
        needs_no_lowest_reward=True,
    )
    guarantee = "no bound is known; if shapes are left out, regret may be linear"
    _knowledge: RegressionSums

    def __init__(
        self,
        problem: Problem,
        *,
        c: float = 0.5,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.c = constant("c", c, above=0.0, at_least=True)
        super().__init__(RegressionSums(given_problem(problem)), seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """How much is explored."""
        return {"c": self.c}

    def _look(self, context: Mapping[str, Any]) -> View:
        return self._knowledge.look(self.problem.context.exactly(context))

    def _indices(self, request: Request) -> Array:
        means, variances, shares, scales, offsets = request.view
        pulls, trials, *_ = request.once(self._counted)
        bounds = regression_bound(means, variances, shares, trials + 1, self.c)
        indices: Array = offsets + scales * bounds
        if 0 in pulls:
            indices[np.array(pulls) == 0] = UNPULLED
        return indices

    def _estimates(self, request: Request) -> Sequence[float | None]:
        means, _, _, scales, offsets = request.view
        pulls = np.array(self._knowledge.counts.pulls)
        estimates: list[float | None] = np.where(
            pulls > 0, offsets + scales * means, UNPULLED
        ).tolist()
        return estimates
