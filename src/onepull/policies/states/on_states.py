"""Policies that know the distribution of every arm's state, not only means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onepull.factor import Atoms, Histogram, Sketch
from onepull.payoff.box_points import is_finite
from onepull.policies.explorer import Explorer
from onepull.policies.sharing.sharing import Joint
from onepull.problem import Problem
from onepull.statistics import UNPULLED


class OnStates(Explorer):
    """A rule on the weights of listed states: a histogram of finitely many, else a sketch."""

    _knowledge: Joint

    def __init__(
        self,
        problem: Problem,
        *,
        knots: int | None = None,
        sharing: Joint | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(sharing or Joint(states_of(problem, knots)), seed=seed)

    @property
    def knots(self) -> int | None:
        """How many knots an interval field of the state has, if there is one."""
        factor = self._knowledge.factor
        return factor.knots if isinstance(factor, Sketch) else None

    def _sketched(self) -> dict[str, Any]:
        """Return the knots as a parameter, where there are any."""
        return {} if self.knots is None else {"knots": self.knots}

    def _laws(self, context: Mapping[str, Any]) -> tuple[Any, list[Any], float, float]:
        """Return the reward of each listed state, each arm's weights, and the reward's bounds."""
        factor: Any = self._knowledge.factor
        here = self.problem.context.exactly(context)
        rewards = factor.phi(here).tolist()
        statistics = self._knowledge.statistics
        means = statistics.means
        arms = range(len(self._arms))
        weights = (
            [[row[j] for row in means] for j in arms]
            if isinstance(means, list)
            else [means[:, j].tolist() for j in arms]
        )
        if statistics.waiting:
            worst = rewards.index(min(rewards))
            surely = [float(s == worst) for s in range(len(rewards))]
            weights = [surely if statistics.unanswered(j) else weights[j] for j in arms]
        return rewards, weights, *factor.bounds(here)

    def _indices(self, context: Mapping[str, Any]) -> list[float]:
        rewards, weights, low, high = self._laws(context)
        statistics = self._knowledge.statistics
        estimates = self._knowledge.view(context)[1]
        counts, trial = statistics.counts, statistics.trial
        best = max((e for e, m in zip(estimates, counts, strict=True) if m), default=0.0)
        return [
            self._index(rewards, law, m, low, high, float(best), trial) if m else UNPULLED
            for law, m in zip(weights, counts, strict=True)
        ]

    def _index(  # noqa: PLR0913, PLR0917 - all that a rule may look at
        self,
        rewards: Any,
        weights: Any,
        pulls: float,
        low: float,
        high: float,
        best: float,
        trial: int,
    ) -> float:
        """Return the index of one arm that was pulled; `best` is the best estimate of all."""
        raise NotImplementedError

    def _estimates(self, context: Mapping[str, Any]) -> Sequence[float | None]:
        estimates = self._knowledge.view(context)[1]
        return [float(e) if math.isfinite(e) else UNPULLED for e in estimates]


def states_of(problem: Problem, knots: int | None = None) -> Atoms:
    """Return the histogram of finitely many states, or the sketch of others."""
    if is_finite(problem.state) and knots is None:
        return Histogram(problem)
    return Sketch(problem) if knots is None else Sketch(problem, knots=knots)
