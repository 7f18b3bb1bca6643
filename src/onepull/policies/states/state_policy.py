"""Base classes of policies that store the distribution of each arm's states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from onepull.factor import Atoms, Histogram, Sketch
from onepull.index.rules import (
    PosteriorRule,
    StateRule,
    leading_law,
    leading_law_of_arms,
    no_law_cap,
)
from onepull.payoff.box_points import is_finite
from onepull.policies.request import Request
from onepull.policies.rule_policy import RulePolicy, runs_rules
from onepull.policies.sharing.in_flight import of_each_arm, worst_state
from onepull.policies.sharing.joint import Joint
from onepull.policies.ties import foremost
from onepull.problem import Problem, given_problem
from onepull.statistics import UNPULLED, ArmStatistics


class LawView(NamedTuple):
    """What a rule on states reads in a context."""

    statistics: ArmStatistics
    estimates: Any
    low: Any  # the lowest and the highest reward; by arm if arms have attributes
    high: Any
    values: Any  # the reward of each listed state; by arm if arms have attributes
    laws: list[Any]  # for each arm, the frequency of each listed state


class KeepsStates(RulePolicy):
    """Base class of policies that store states: a histogram of listed states, or a sketch."""

    _knowledge: Joint

    def __init__(
        self,
        problem: Problem,
        rule: StateRule | PosteriorRule,
        *,
        knots: int | None = None,
        sharing: Joint | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(sharing or Joint(states_of(problem, knots)), rule, seed=seed)

    @property
    def knots(self) -> int | None:
        """Number of knots per interval field of the state, if there is one."""
        return self._knowledge.factor.knots

    def _look(self, context: Mapping[str, Any]) -> LawView:
        """Return each listed state's reward, each arm's frequencies, and the reward's bounds."""
        statistics, estimates, low, high = self._knowledge.view(context)
        factor = self._knowledge.factor
        values = factor.phi(self.problem.context.exactly(context)).tolist()
        means, arms = statistics.means, range(len(self._arms))
        laws = (
            [[row[j] for row in means] for j in arms]
            if isinstance(means, list)
            else [means[:, j].tolist() for j in arms]
        )
        if statistics.waiting:
            each = values if self.problem.attributes else [values] * len(arms)
            laws = [surely_worst(each[j]) if statistics.unanswered(j) else laws[j] for j in arms]
        return LawView(statistics, estimates, low, high, values, laws)

    def _estimates(self, request: Request) -> Sequence[float | None]:
        return [float(e) if math.isfinite(e) else UNPULLED for e in request.view.estimates]


@runs_rules
class StatePolicy(KeepsStates):
    """Base class of policies with an index from observed states: empirical KL, IMED, UCB-V.

    >>> from onepull import IMED, EmpiricalKL
    >>> issubclass(IMED, StatePolicy), issubclass(EmpiricalKL, StatePolicy)
    (True, True)
    """

    _rule: StateRule

    def _leader(self, request: Request) -> int:
        if request.allowed is not self._everyone or not self._keeps_to_rule:
            return super()._leader(request)
        view, rule = request.view, self._rule
        if self.problem.attributes:
            return leading_law_of_arms(
                view.values, view.laws, view.statistics.counts, view.estimates, view.low, view.high,
                rule.exploration(view.statistics.trial, *rule.parameters), rule.index,
                rule.breaks_ties_by_pulls,
            )  # fmt: skip
        return leading_law(
            view.values,
            view.laws,
            view.statistics.counts,
            view.estimates,
            view.low,
            view.high,
            rule.exploration(view.statistics.trial, *rule.parameters),
            rule.index,
            rule.cap or no_law_cap,
            rule.breaks_ties_by_pulls,
        )

    def _indices(self, request: Request) -> list[float]:
        view, rule = request.view, self._rule
        counts = view.statistics.counts
        exploration = rule.exploration(view.statistics.trial, *rule.parameters)
        known = [e for e, m in zip(view.estimates, counts, strict=True) if m]
        best = max(known, default=0.0)
        arms = len(counts)
        values = view.values if self.problem.attributes else [view.values] * arms
        lows, highs = of_each_arm(view.low, arms), of_each_arm(view.high, arms)
        columns = (values, view.laws, counts, view.estimates, lows, highs)
        return [
            rule.index(rewards, law, m, mean, best, low, high, exploration) if m else UNPULLED
            for rewards, law, m, mean, low, high in zip(*columns, strict=True)
        ]

    def _foremost(self, request: Request, indices: Any) -> list[int]:
        by_pulls = self._rule.breaks_ties_by_pulls
        pulls = request.view.statistics.counts if by_pulls else None
        return foremost(indices, request.allowed, pulls)


def surely_worst(values: Sequence[float]) -> list[float]:
    """Return the distribution assumed for an arm without feedback: always the worst state.

    >>> surely_worst([2.0, 0.5, 1.0])
    [0.0, 1.0, 0.0]
    """
    worst = worst_state(values)
    return [float(s == worst) for s in range(len(values))]


def states_of(problem: Problem, knots: int | None = None) -> Atoms:
    """Return a histogram if the states can be listed and no knots are given, else a sketch."""
    if is_finite(given_problem(problem).state) and knots is None:
        return Histogram(problem)
    return Sketch(problem) if knots is None else Sketch(problem, knots=knots)
