"""Thompson sampling on the distribution of the state."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onepull.checks import number
from onepull.policies.states.on_states import OnStates
from onepull.policies.ties import best_of, even
from onepull.problem import Problem


class DirichletThompson(OnStates):
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

    randomised = True
    _generator: np.random.Generator

    def __init__(
        self,
        problem: Problem,
        *,
        prior: float = 1.0,
        knots: int | None = None,
        seed: int | np.random.Generator = 0,
    ) -> None:
        self.prior = number("prior", prior, above=0.0)
        super().__init__(problem, knots=knots, seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """The prior, and the knots of a sketch."""
        return {"prior": self.prior, **self._sketched()}

    def _indices(self, context: Mapping[str, Any]) -> Any:
        return self._knowledge.view(context)[1]

    def _chances(
        self, context: Mapping[str, Any], allowed: Sequence[int]
    ) -> Sequence[float] | None:
        indices = self._indices(context)
        best = best_of(indices, allowed)[:1]
        return even(best, allowed) if math.isinf(indices[best[0]]) else None

    def _draw(self, context: Mapping[str, Any], allowed: Sequence[int]) -> int:
        estimates = self._indices(context)
        best = best_of(estimates, allowed)[0]
        if math.isinf(estimates[best]):
            return best
        rewards, weights, _, _ = self._laws(context)
        values, pulls = np.array(rewards), self._knowledge.statistics.counts
        drawn = [
            float(self._generator.dirichlet(np.array(weights[j]) * pulls[j] + self.prior) @ values)
            for j in allowed
        ]
        return allowed[max(range(len(drawn)), key=drawn.__getitem__)]

    def _reason(
        self, context: Mapping[str, Any], indices: list[float], allowed: Sequence[int]
    ) -> str:
        del context
        pulled = math.isfinite(max(indices[j] for j in allowed))
        return "highest reward of a law drawn from the posterior" if pulled else "never pulled"
