"""What a distribution of states or contexts is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from onepull.arrays import Array


class Distribution(ABC):
    """The law of a state or a context, one value a field.

    Attributes
    ----------
    fields
        The number of fields.
    in_order
        Whether its points come one after the other instead of at random.
    """

    fields: int = 1
    in_order: bool = False

    @property
    def atoms(self) -> tuple[Array, Array] | None:
        """The points (a row each) and their probabilities, where there are finitely many."""
        return None

    @property
    @abstractmethod
    def support(self) -> list[tuple[float, float]]:
        """The least and the greatest value of each field."""

    @abstractmethod
    def expectation(self, function: Callable[..., Array]) -> float:
        """Return the mean of a vectorised function of the fields."""

    @abstractmethod
    def rule(self, nodes: int) -> tuple[Array, Array]:
        """Return points and weights whose weighted sum approximates an expectation.

        Takes about `nodes` points a field, and exactly the atoms where there are any.
        """

    @abstractmethod
    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` draws, a row each."""

    def pieces(self) -> list[tuple[int, Distribution]]:
        """Return the trials from which each stationary piece holds; there is one usually."""
        return [(0, self)]
