"""The interface of all distributions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from onepull.arrays import Array
from onepull.spaces import Box


class Distribution(ABC):
    """The law of a state or a context, with one value per field.

    Attributes
    ----------
    fields
        The number of fields.
    in_order
        Whether points come in a fixed order instead of at random.
    words
        For each field, its words in the order of their numbers; none for a field of numbers.
    """

    fields: int = 1
    in_order: bool = False
    words: tuple[tuple[str, ...], ...] = ()

    def on(self, box: Box) -> Distribution:
        """Return the law with the numbers that a space gives to words.

        >>> from onepull import Discrete, Finite
        >>> law = Discrete(["eu", "us"], [0.75, 0.25])
        >>> law.on(Box(region=Finite(["us", "asia", "eu"]))).atoms[0].ravel().tolist()
        [2.0, 0.0]
        """
        del box
        return self

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
