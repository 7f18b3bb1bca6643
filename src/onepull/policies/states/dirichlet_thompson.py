"""Thompson sampling on the distribution of the state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onepull.checks import constant
from onepull.index.rules import PosteriorRule
from onepull.policies.request import Request
from onepull.policies.rule_policy import runs_rules
from onepull.policies.states.state_policy import KeepsStates
from onepull.policies.ties import best_of, even
from onepull.policies.traits import Traits
from onepull.problem import Problem


@runs_rules
class DirichletThompson(KeepsStates):
    """Thompson sampling with a Dirichlet posterior (Thompson 1933; Riou and Honda 2020).

    Index: the estimate θ̂.  For a decision a distribution of the states is drawn for each arm
    from its posterior, and the arm with the highest mean reward under it is played.  The
    posterior is a Dirichlet distribution with `prior` added to the count of each listed state.

    Use it if you want a randomised policy with low mean regret and accept that some runs have
    high regret.  It is asymptotically optimal in a single context for rewards with finitely many
    values (Riou and Honda 2020).  It stores the histogram (or sketch) of each arm's states.

    Parameters
    ----------
    prior
        Added to the count of each listed state, > 0.
    knots
        Number of knots of the sketch per interval field of the state; 65 by default.
    seed
        Seed or generator of the random draws.

    Examples
    --------
    >>> from onepull import Finite
    >>> policy = DirichletThompson(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2, 3, 4])},
    ...     state={"capacity": Finite([0, 4])},
    ...     reward="min(bits, capacity)",
    ... ), seed=1)
    >>> policy.observe_many(["wifi", "lte"] * 50, capacity=[0, 4] * 50)
    >>> policy.choose(bits=3)
    'lte'
    """

    traits = Traits(randomised=True)
    _generator: np.random.Generator
    _rule: PosteriorRule
    guarantee = (
        "asymptotically optimal in a single context for rewards with finitely many values and a "
        "prior of 1 (Riou and Honda 2020); no bound is known for joint learning"
    )

    def __init__(
        self,
        problem: Problem,
        *,
        prior: float = 1.0,
        knots: int | None = None,
        seed: int | np.random.Generator = 0,
    ) -> None:
        self.prior = constant("prior", prior, above=0.0)
        super().__init__(problem, PosteriorRule(prior=self.prior), knots=knots, seed=seed)

    def _indices(self, request: Request) -> Any:
        return request.view.estimates

    def _chances(self, request: Request) -> Sequence[float] | None:
        best = best_of(request.view.estimates, request.allowed)[:1]
        fresh = math.isinf(request.view.estimates[best[0]])
        return even(best, request.allowed) if fresh else None

    def _draw(self, request: Request) -> int:
        view, allowed = request.view, request.allowed
        best = best_of(view.estimates, allowed)[0]
        if math.isinf(view.estimates[best]):
            return best
        values, pulls, prior = np.array(view.values), view.statistics.counts, self._rule.prior
        drawn = [
            float(
                self._generator.dirichlet(np.array(view.laws[j]) * pulls[j] + prior)
                @ (values[j] if self.problem.attributes else values)
            )
            for j in allowed
        ]
        return allowed[max(range(len(drawn)), key=drawn.__getitem__)]

    def _reason(self, request: Request, indices: list[float]) -> str:
        pulled = math.isfinite(max(indices[j] for j in request.allowed))
        why = "highest mean reward under a distribution drawn from the posterior"
        return why if pulled else self._unseen
