"""Pulls that fail with a probability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.checks import number, shown
from onepull.distributions.distribution import Distribution
from onepull.errors import ParameterError
from onepull.spaces import Box


class Failing(Distribution):
    """The law of an arm whose pulls fail with a probability, and otherwise show a state.

    The problem must tell the reward of a failure.  Means and samples are of the states shown.

    Parameters
    ----------
    of
        The law of the state of a pull that does not fail.
    chance
        The probability that a pull fails.

    Examples
    --------
    >>> from onepull.distributions import Exponential
    >>> Failing(Exponential(2.0), 0.05)
    Failing(Exponential(mean=2), 0.05)
    """

    def __init__(self, of: Distribution, chance: float) -> None:
        law: Any = of
        if not isinstance(law, Distribution) or isinstance(law, Failing):
            raise ParameterError(f"Failing takes the law of a state, given {shown(law)}")
        if len(law.pieces()) > 1:
            raise ParameterError(
                "Failing takes a law that never switches; use Switching({0: Failing(…), …})"
            )
        if law.in_order:
            raise ParameterError(
                "Failing takes a law that is drawn at random, and this one is replayed in order"
            )
        self.law: Distribution = law
        self.chance = number("chance", chance, above=0.0, at_least=True, most=1.0)
        self.fields, self.words, self.effort = law.fields, law.words, law.effort

    def __repr__(self) -> str:
        """Show the law and the probability."""
        return f"Failing({self.law!r}, {self.chance!r})"

    def on(self, box: Box) -> Failing:
        """Return the law with the numbers that a space gives to words."""
        return Failing(self.law.on(box), self.chance)

    def clipped(self, ends: Sequence[tuple[float, float]]) -> Failing:
        """Return the law with each field moved to the nearest end of its interval."""
        return Failing(self.law.clipped(ends), self.chance)

    @property
    def support(self) -> list[tuple[float, float]]:
        """The lowest and the highest value of each field."""
        return self.law.support

    @property
    def atoms(self) -> tuple[Array, Array] | None:
        """The states shown and their probabilities; None if continuous."""
        return self.law.atoms

    def expectation(self, function: Callable[..., Array]) -> float:
        """Return the mean of a function of the state shown."""
        return self.law.expectation(function)

    def rule(self, nodes: int) -> tuple[Array, Array]:
        """Return the quadrature rule of the states shown."""
        return self.law.rule(nodes)

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` states shown, one per row."""
        return self.law.sample(generator, size)
