"""The law of an arm's outcome: its known attributes, its state, and whether the pull fails."""

from __future__ import annotations

from copy import copy

import numpy as np

from onepull.distributions import Discrete, Distribution, Failing, Independent, Mixture, Switching
from onepull.errors import ParameterError
from onepull.payoff import State
from onepull.problem import Problem


def outcome_law(problem: Problem, arm: str, law: Distribution) -> Distribution:
    """Return the law of the outcome of an arm, given the law of its state.

    >>> from onepull import Interval
    >>> from onepull.distributions import Uniform
    >>> problem = Problem(
    ...     arms={"a": {"price": 3}}, state={"x": Interval(0, 1)}, reward="x - price", failure=-9
    ... )
    >>> outcome_law(problem, "a", Failing(Uniform(0, 1), 0.1))
    Independent(Discrete([3.0], [1.0]), Uniform(low=0, high=1), Discrete([0.0, 1.0], [0.9, 0.1]))
    """
    if problem.outcome is problem.state:
        _refuse_failing(law, arm)
        return law
    known = problem.known[problem.arms.index(arm)]
    if len(law.pieces()) > 1:
        return Switching({s: _outcome(problem, arm, known, one) for s, one in law.pieces()})
    return _outcome(problem, arm, known, law)


def _outcome(problem: Problem, arm: str, known: State, law: Distribution) -> Distribution:
    chance = law.chance if isinstance(law, Failing) else 0.0
    shown = law.law if isinstance(law, Failing) else law
    if problem.failure is None:
        _refuse_failing(law, arm)
    ending = () if problem.failure is None else (_failures(chance),)
    if isinstance(shown, Discrete):
        return _listed(shown, known, ending)
    if len(shown.parts()) > 1:
        mixed = ((weight, _failing(part, chance)) for weight, part in shown.parts())
        return Mixture([(weight, _outcome(problem, arm, known, part)) for weight, part in mixed])
    parts = shown.laws if isinstance(shown, Independent) else (shown,)
    return Independent(*(Discrete([value], [1.0]) for value in known), *parts, *ending)


def _failing(law: Distribution, chance: float) -> Distribution:
    return Failing(law, chance) if chance else law


def _failures(chance: float) -> Discrete:
    return Discrete([0.0, 1.0], [1.0 - chance, chance]) if chance else Discrete([0.0], [1.0])


def _listed(law: Discrete, known: State, ending: tuple[Discrete, ...]) -> Discrete:
    """Return a law on listed outcomes; it stays in order if the law of the state is."""
    twin = copy(law)
    count = len(law.values)
    rows, weights = law.values, law.probabilities
    for last in ending:
        values, chances = last.atoms
        rows = np.vstack([np.hstack([rows, np.tile(value, (count, 1))]) for value in values])
        weights = np.concatenate([weights * chance for chance in chances])
    twin.values = np.hstack([np.tile(known, (len(rows), 1)), rows])
    twin.probabilities = weights
    twin.fields = twin.values.shape[1]
    twin.words = ()
    return twin


def _refuse_failing(law: Distribution, arm: str) -> None:
    if any(isinstance(piece, Failing) for _, piece in law.pieces()):
        raise ParameterError(
            f"the pulls of arm {arm!r} may fail, but the problem does not tell the reward of a "
            "failure; give failure=… to the problem"
        )
