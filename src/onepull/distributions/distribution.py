"""The interface of all distributions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from onepull.arrays import Array
from onepull.errors import ParameterError
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
    effort
        How many draws a sample takes on average: more than 1 if some are rejected.
    """

    fields: int = 1
    effort: float = 1.0
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

    def diverges(self, function: Callable[..., Array]) -> float:
        """Return the mean of a function if it is infinite, else 0.

        For laws of one field.  A law with a bounded support has finite means.
        """
        del function
        return 0.0

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

    def parts(self) -> list[tuple[float, Distribution]]:
        """Return the law as a mixture of laws that are no mixtures, with their weights.

        >>> from onepull.distributions import Discrete, Mixture, Uniform
        >>> fast, slow = Uniform(0, 1), Discrete([30], [1])
        >>> Mixture([(0.9, fast), (0.1, slow)]).parts()
        [(0.9, Uniform(low=0, high=1)), (0.1, Discrete([30.0], [1.0]))]
        >>> fast.parts()
        [(1.0, Uniform(low=0, high=1))]
        """
        return [(1.0, self)]

    def between(self, low: float, high: float) -> tuple[float, Distribution | None]:
        """Return the probability of values from `low` to `high`, and the law given such a value.

        The law is None if the probability is 0.  Only for laws of one field.

        >>> from onepull.distributions import Discrete
        >>> Discrete([1, 2, 3], [0.5, 0.25, 0.25]).between(2, 3)
        (0.5, Discrete([2.0, 3.0], [0.5, 0.5]))
        """
        del low, high
        raise ParameterError(
            f"{type(self).__name__} can be neither truncated nor clipped, since it has neither "
            "atoms nor a density; subclass Continuous"
        )

    def clipped(self, ends: Sequence[tuple[float, float]]) -> Distribution:
        """Return the law with each field moved to the nearest end of its interval.

        >>> from onepull.distributions import Discrete
        >>> Discrete([1, 5], [0.5, 0.5]).clipped([(0, 3)])
        Discrete([1.0, 3.0], [0.5, 0.5])
        """
        if self.lies_within(ends):
            return self
        raise ParameterError(
            f"{type(self).__name__} cannot be clipped, since it has neither atoms nor a density; "
            "subclass Continuous"
        )

    def lies_within(self, ends: Sequence[tuple[float, float]]) -> bool:
        """Return whether no field ever leaves its interval.

        >>> from onepull.distributions import Exponential
        >>> Exponential(2).lies_within([(0, 30)])
        False
        """
        fields = zip(self.support, ends, strict=True)
        return all(low >= least and high <= most for (low, high), (least, most) in fields)


def joint_support(laws: Iterable[Distribution]) -> list[tuple[float, float]]:
    """Return the lowest and the highest value of each field, over all laws.

    >>> from onepull.distributions import Uniform
    >>> joint_support([Uniform(0, 1), Uniform(-1, 0.5)])
    [(-1.0, 1.0)]
    """
    return [
        (min(low for low, _ in field), max(high for _, high in field))
        for field in zip(*(law.support for law in laws), strict=True)
    ]
