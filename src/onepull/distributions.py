"""Distributions of an arm's state, for those who know them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from onepull.errors import ParameterError
from onepull.formula import Array


class Distribution(Protocol):
    """The distribution of a state."""

    def expectation(self, function: Callable[..., Array]) -> float:
        """Return the mean of a vectorised function of the state fields."""

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` states, a row each."""


class Discrete:
    """Finitely many states with their probabilities.

    A state is a number or, with several fields, a row of them.

    >>> Discrete([0, 3], [0.5, 0.5]).expectation(lambda x: np.minimum(2.0, x))
    1.0
    """

    def __init__(
        self, values: Sequence[Any] | Array, probabilities: Sequence[float] | Array
    ) -> None:
        try:
            rows = np.array(values, dtype=np.float64)
            weights = np.array(probabilities, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParameterError(
                f"Discrete takes states of equal length and numbers as probabilities, "
                f"given {values!r} and {probabilities!r}"
            ) from None
        rows = rows[:, None] if rows.ndim == 1 else rows
        if rows.ndim != 2 or weights.shape != (len(rows),) or not len(rows):
            raise ParameterError(
                f"Discrete takes one probability a state, given {len(rows)} states "
                f"and {weights.size} probabilities"
            )
        if not np.all(np.isfinite(rows)):
            raise ParameterError(f"Discrete takes finite states, given {values!r}")
        if not np.all(weights >= 0) or abs(weights.sum() - 1.0) > 1e-9:
            raise ParameterError(
                f"Discrete takes probabilities that sum to 1, given {probabilities!r}"
            )
        self.values = rows
        self.probabilities = weights / weights.sum()

    def __repr__(self) -> str:
        """Show states and probabilities."""
        rows = self.values.ravel() if self.values.shape[1] == 1 else self.values
        return f"Discrete({rows.tolist()}, {self.probabilities.tolist()})"

    def expectation(self, function: Callable[..., Array]) -> float:
        """Return the mean of a vectorised function of the state fields."""
        return float(np.dot(self.probabilities, function(*self.values.T)))

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` states, a row each."""
        return self.values[generator.choice(len(self.values), size, p=self.probabilities)]
