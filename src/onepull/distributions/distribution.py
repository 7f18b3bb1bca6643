"""The interface of all distributions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from onepull.arrays import Array


class Distribution(ABC):
    """The law of a state or a context, with one value per field.

    Attributes
    ----------
    fields
        The number of fields.
    in_order
        Whether points come in a fixed order instead of at random.
    """

    fields: int = 1
    in_order: bool = False

    @property
    def atoms(self) -> tuple[Array, Array] | None:
        """The points, one per row, and their probabilities; None if continuous."""
        return None

    @property
    @abstractmethod
    def support(self) -> list[tuple[float, float]]:
        """The lowest and the highest value of each field."""

    @abstractmethod
    def expectation(self, function: Callable[..., Array]) -> float:
        """Return the mean of a vectorised function of the fields."""

    @abstractmethod
    def rule(self, nodes: int) -> tuple[Array, Array]:
        """Return points and weights of a quadrature rule for expectations.

        It has about `nodes` points per field; for a discrete law it is `atoms`, which is exact.
        """

    @abstractmethod
    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` samples, one per row."""

    def pieces(self) -> list[tuple[int, Distribution]]:
        """Return the stationary pieces, each with its first trial; most laws have one."""
        return [(0, self)]
