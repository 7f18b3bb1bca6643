"""Thompson sampling on the distribution of the state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onepull.checks import number
from onepull.index.rules import PosteriorRule
from onepull.policies.decision import Decision
from onepull.policies.rule_policy import runs_rules
from onepull.policies.states.state_policy import KeepsStates
from onepull.policies.ties import best_of, even
from onepull.policies.traits import Traits
from onepull.problem import Problem


@runs_rules
class DirichletThompson(KeepsStates):
    """Plays the arm whose law, drawn from its posterior, gives the highest reward.

    The posterior of an arm's weights on the listed states is a Dirichlet law with `prior`
    added to every count, so one draw ranks the arm in every context (Thompson 1933; for
    listed rewards Riou and Honda 2020, whose bound is asymptotically the best possible in a
    single context).  Its mean regret is low and its tail heavy.  Keeps the histogram (or
    sketch) of the states of every arm.

    Parameters
    ----------
    prior
        What is added to the count of every listed state, > 0.
    knots
        Sketch interval fields of the state with so many knots; 65 if not given.
    seed
        Where the draws come from.

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
        "in a single context asymptotically the least possible, for listed rewards and a prior "
        "of 1 (Riou and Honda 2020); for contexts that learn together none is known"
    )

    def __init__(
        self,
        problem: Problem,
        *,
        prior: float = 1.0,
        knots: int | None = None,
        seed: int | np.random.Generator = 0,
    ) -> None:
        self.prior = number("prior", prior, above=0.0)
        super().__init__(problem, PosteriorRule(prior=self.prior), knots=knots, seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """The prior, and the knots of a sketch."""
        return {"prior": self.prior, **self._sketched()}

    def _indices(self, decision: Decision) -> Any:
        return decision.view.estimates

    def _chances(self, decision: Decision) -> Sequence[float] | None:
        best = best_of(decision.view.estimates, decision.allowed)[:1]
        fresh = math.isinf(decision.view.estimates[best[0]])
        return even(best, decision.allowed) if fresh else None

    def _draw(self, decision: Decision) -> int:
        view, allowed = decision.view, decision.allowed
        best = best_of(view.estimates, allowed)[0]
        if math.isinf(view.estimates[best]):
            return best
        values, pulls, prior = np.array(view.values), view.statistics.counts, self._rule.prior
        drawn = [
            float(self._generator.dirichlet(np.array(view.laws[j]) * pulls[j] + prior) @ values)
            for j in allowed
        ]
        return allowed[max(range(len(drawn)), key=drawn.__getitem__)]

    def _reason(self, decision: Decision, indices: list[float]) -> str:
        pulled = math.isfinite(max(indices[j] for j in decision.allowed))
        return "highest reward of a law drawn from the posterior" if pulled else self._unseen
