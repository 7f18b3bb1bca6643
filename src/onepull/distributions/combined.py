"""Laws built from other laws: independent fields, and changes over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.checks import shown
from onepull.distributions.distribution import Distribution, joint_support
from onepull.errors import ParameterError
from onepull.spaces import Box

TENSOR_NODES = (128, 64, 32, 16)  # the most of these that give no more than so many points:
MOST_POINTS = 1 << 22


class Independent(Distribution):
    """Several independent fields, each with its own law, in the order of the problem's fields.

    >>> from onepull.distributions import Discrete, Uniform
    >>> law = Independent(Uniform(0, 1), Discrete([1, 3], [0.5, 0.5]))
    >>> round(law.expectation(lambda x, y: x * y), 9)
    1.0
    """

    def __init__(self, *laws: Distribution) -> None:
        if not laws or any(law.fields != 1 or law.in_order for law in laws):
            raise ParameterError(
                f"Independent takes one law of one field for each field, given {list(laws)}"
            )
        if any(len(law.pieces()) > 1 for law in laws):
            raise ParameterError(
                "Independent takes laws that never switch; use Switching({0: Independent(…), …})"
            )
        self.laws = laws
        self.fields = len(laws)
        self.words = tuple(words for law in laws for words in law.words or ((),))
        self._rules: dict[int, tuple[Array, Array]] = {}

    def on(self, box: Box) -> Independent:
        """Return the law with the numbers that a space gives to words."""
        if not any(self.words) or len(box) != self.fields:
            return self
        parts = zip(self.laws, box.items(), strict=True)
        return Independent(*(law.on(Box({name: space})) for law, (name, space) in parts))

    def clipped(self, ends: Sequence[tuple[float, float]]) -> Independent:
        """Return the law with each field moved to the nearest end of its interval."""
        if self.lies_within(ends):
            return self
        return Independent(*(law.clipped([end]) for law, end in zip(self.laws, ends, strict=True)))

    def __repr__(self) -> str:
        """Show the laws."""
        return f"Independent({', '.join(map(repr, self.laws))})"

    @property
    def atoms(self) -> tuple[Array, Array] | None:
        """All combinations of values and their probabilities; None if a field is continuous."""
        parts = [law.atoms for law in self.laws]
        if any(part is None for part in parts):
            return None
        return _combined([part for part in parts if part is not None])

    @property
    def support(self) -> list[tuple[float, float]]:
        """The lowest and the highest value of each field."""
        return [law.support[0] for law in self.laws]

    def expectation(self, function: Callable[..., Array]) -> float:
        """Return the mean of a vectorised function of the fields.

        It is accurate to nine digits with one continuous field.  With more it uses a product
        of Gauss rules, accurate to eight digits for smooth functions, to four for functions with
        kinks and to two for functions with jumps.
        """
        smooth = [i for i, law in enumerate(self.laws) if law.atoms is None]
        if len(smooth) != 1:
            if infinity := self._diverges(function, smooth):
                return infinity
            points, weights = self.rule(self._affordable())
            return float(np.dot(weights, function(*points.T)))
        (place,) = smooth
        others = [law.rule(1) for i, law in enumerate(self.laws) if i != place]
        rows, weights = _combined(others) if others else (np.empty((1, 0)), np.ones(1))

        def along(x: Array) -> Array:
            total = np.zeros_like(x)
            for row, weight in zip(rows, weights, strict=True):
                values: list[Any] = row.tolist()
                values.insert(place, x)
                total = total + weight * function(*values)
            return total

        return self.laws[place].expectation(along)

    def _diverges(self, function: Callable[..., Array], smooth: list[int]) -> float:
        """Return the mean of a function if it is infinite along a field, else 0."""
        if not smooth:
            return 0.0
        middle: list[Any] = [law.rule(1)[0][0, 0] for law in self.laws]
        for place in smooth:

            def along(x: Array, place: int = place) -> Array:
                return function(*middle[:place], x, *middle[place + 1 :])

            if infinity := self.laws[place].diverges(along):
                return infinity
        return 0.0

    def _affordable(self) -> int:
        """Return how many nodes to take for each field."""
        for nodes in TENSOR_NODES:
            if math.prod(len(law.rule(nodes)[1]) for law in self.laws) <= MOST_POINTS:
                break
        return nodes

    def rule(self, nodes: int) -> tuple[Array, Array]:
        """Return the product of the quadrature rules of the fields."""
        if nodes not in self._rules:
            self._rules[nodes] = _combined([law.rule(nodes) for law in self.laws])
        return self._rules[nodes]

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` samples, one per row."""
        return np.hstack([law.sample(generator, size) for law in self.laws])


def _combined(parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    places = np.meshgrid(*(np.arange(len(weights)) for _, weights in parts), indexing="ij")
    picked = [place.ravel() for place in places]
    rows = np.hstack([rows[pick] for (rows, _), pick in zip(parts, picked, strict=True)])
    weights = np.prod([w[pick] for (_, w), pick in zip(parts, picked, strict=True)], axis=0)
    return rows, np.asarray(weights)


class Switching(Distribution):
    """A piecewise stationary law, which changes at given trials.

    >>> from onepull.distributions import Discrete
    >>> low, high = Discrete([1], [1.0]), Discrete([5], [1.0])
    >>> Switching({0: low, 1000: high}).pieces()[1]
    (1000, Discrete([5.0], [1.0]))
    """

    def __init__(self, laws: dict[int, Distribution]) -> None:
        starts = sorted(laws)
        if not starts or starts[0] != 0 or any(int(start) != start for start in starts):
            raise ParameterError(
                "Switching takes laws by the trial they begin at, the first at 0, "
                f"given {shown(starts)}"
            )
        if len({law.fields for law in laws.values()}) != 1:
            raise ParameterError("Switching takes laws with the same number of fields")
        if any(len(law.pieces()) > 1 for law in laws.values()):
            raise ParameterError("Switching takes stationary laws, not laws that switch")
        self._pieces = [(int(start), laws[start]) for start in starts]
        self.fields = self._pieces[0][1].fields

    def on(self, box: Box) -> Switching:
        """Return the law with the numbers that a space gives to words."""
        return Switching({start: law.on(box) for start, law in self._pieces})

    def clipped(self, ends: Sequence[tuple[float, float]]) -> Switching:
        """Return the law with each field moved to the nearest end of its interval."""
        return Switching({start: law.clipped(ends) for start, law in self._pieces})

    def __repr__(self) -> str:
        """Show the pieces."""
        return f"Switching({dict(self._pieces)})"

    def pieces(self) -> list[tuple[int, Distribution]]:
        """Return the stationary laws, each with its first trial."""
        return list(self._pieces)

    @property
    def support(self) -> list[tuple[float, float]]:
        """The lowest and the highest value of each field, over all pieces."""
        return joint_support(law for _, law in self._pieces)

    def expectation(self, function: Callable[..., Array]) -> float:
        """Return the mean under the first law."""
        return self._pieces[0][1].expectation(function)

    def rule(self, nodes: int) -> tuple[Array, Array]:
        """Return the quadrature rule of the first law."""
        return self._pieces[0][1].rule(nodes)

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return samples of the first `size` trials, one per row."""
        starts = [start for start, _ in self._pieces] + [size]
        parts = [
            law.sample(generator, min(size, stop))[start:]
            if law.in_order
            else law.sample(generator, max(0, min(size, stop) - start))
            for (start, law), stop in zip(self._pieces, starts[1:], strict=True)
            if start < size
        ]
        return np.vstack(parts)[:size]
