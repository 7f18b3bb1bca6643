"""The interface of a factorisation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.errors import ParameterError
from onepull.factor.plain_psi import PlainPsi
from onepull.payoff import Features, State
from onepull.problem import Problem
from onepull.statistics import weighted


class Factorisation(ABC):
    """A factorisation of the reward, g(y, x) ≈ φ(y)·ψ(x), with a bound on its error.

    An arm's running mean of ψ(x) estimates its reward in *every* context as φ(y)·mean.  `phi`
    and `psi` define the factorisation; `look` computes the product in the fastest way, which is
    a look-up for a one-hot φ.

    Attributes
    ----------
    problem
        The problem of the reward.
    features
        R, the length of φ and ψ, which is how many numbers are stored per arm.
    error
        A bound on abs(g(y, x) - φ(y)·ψ(x)) over all contexts and states.
    psi
        ψ, a function from a state (its fields in order) to R numbers.
    delta
        The largest width of a cell, if interval contexts were divided into cells.
    knots
        Number of knots per interval field of the state, if states are sketched.
    keeps_states
        Whether the means of ψ are frequencies of states, so that the reward can be changed later.
    at_contexts
        The contexts at which ψ lists the reward, if it does.
    plain_psi
        ψ as a plain function, if there is one.  The simulator compiles it.  Without it and
        without `at_contexts`, the simulator needs states that can be listed.
    widens
        Whether the error is added to confidence bounds.  It is not for cells, as in the paper.

    Examples
    --------
    >>> from onepull import Finite, Interval, ContextTable
    >>> table: Factorisation = ContextTable(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2, 3])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... ))
    >>> float(table.phi((2.0,)) @ table.psi((5.0,)))   # min(2, 5)
    2.0
    """

    problem: Problem
    features: int
    error: float
    psi: Callable[[State], Features]
    delta: float | dict[str, float] | None = None
    knots: int | None = None
    keeps_states: bool = False
    at_contexts: Sequence[State] | None = None
    plain_psi: PlainPsi | None = None
    widens: bool = True

    def feature_bounds(self) -> tuple[Sequence[float], Sequence[float]]:
        """Return the lower and the upper bounds of the features ψ."""
        raise ParameterError(f"{type(self).__name__} does not define feature_bounds")

    def on(self, problem: Problem) -> Factorisation:
        """Return the factorisation with the same features for a problem with other arms.

        What was learned stays valid.  Raises `ParameterError` if the features depend on the
        attributes of the arms, and these are others.
        """
        if problem.known == self.problem.known or not problem.attributes:
            return self
        if problem.outcome == self.problem.outcome:
            return self._of_arms(problem)
        return self._rebuilt(problem)

    def _of_arms(self, problem: Problem) -> Factorisation:
        """Return the factorisation for other arms, whose attributes have the same values."""
        del problem
        return self

    def _rebuilt(self, problem: Problem) -> Factorisation:
        """Return the factorisation for a problem whose arms have other attributes."""
        del problem
        raise ParameterError(
            f"the features of {type(self).__name__} depend on the attributes of the arms, so the "
            "arms cannot change; use a table, a grid, or a policy that keeps states"
        )

    @abstractmethod
    def phi(self, context: State) -> Array:
        """Return φ of a context (its fields in order) as R numbers."""

    @abstractmethod
    def look(self, means: Any, fields: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """Return φ(y)·means for every arm, and bounds on φ(y)·ψ(x) over all states.

        `means` is `means[feature][arm]`, `fields` the context.  If arms have attributes, the
        bounds may be lists with one number for each arm.  Raises InputError if the context is
        invalid.
        """


class Dense(Factorisation):
    """A factorisation with a dense φ, so that an estimate is a full dot product."""

    @abstractmethod
    def bounds(self, context: State) -> tuple[Any, Any]:
        """Return bounds on φ(y)·ψ(x) over all states; of each arm, as lists, if they differ."""

    def phi_many(self, contexts: Array) -> Array:
        """Return φ of each context (one per row)."""
        return np.array([self.phi(tuple(row)) for row in contexts.tolist()])

    def bounds_many(self, contexts: Array) -> tuple[Array, Array]:
        """Return bounds on φ(y)·ψ(x) over all states in each context (one per row)."""
        found = np.array([self.bounds(tuple(row)) for row in contexts.tolist()])
        return found[:, 0], found[:, 1]

    def look(self, means: Any, fields: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """Return φ(y)·means for every arm, and bounds on φ(y)·ψ(x) over all states."""
        context = self.problem.context.exactly(fields)
        return weighted(self.phi(context), means), *self.bounds(context)
