"""Mixtures of laws; a truncated or a clipped law is one of its pieces and of points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.checks import real, shown
from onepull.distributions.discrete import Discrete
from onepull.distributions.distribution import Distribution, joint_support
from onepull.errors import ParameterError
from onepull.spaces import Box, Finite, Interval, Space

LEAST_MASS = 1e-3  # of a truncated law within its bounds, since samples outside are rejected


class Mixture(Distribution):
    """One of several laws at random, each with its weight.

    All have the same fields.  A mixture of laws of several fields draws all fields from the
    same of them, so that the fields depend on each other.

    Parameters
    ----------
    of
        The weight and the law of each part; the weights sum to 1.

    Examples
    --------
    >>> from onepull.distributions import Exponential, Uniform
    >>> law = Mixture([(0.9, Uniform(0, 2)), (0.1, Exponential(mean=30))])
    >>> round(law.expectation(lambda x: x), 9)
    3.9
    >>> law
    Mixture([(0.9, Uniform(low=0, high=2)), (0.1, Exponential(mean=30))])
    """

    def __init__(self, of: Sequence[tuple[float, Distribution]]) -> None:
        self._given = _weighted(of)
        laws = [law for _, law in self._given]
        if len({law.fields for law in laws}) != 1:
            raise ParameterError(
                f"Mixture takes laws with the same number of fields, given {shown(laws)}"
            )
        if any(law.in_order or len(law.pieces()) > 1 for law in laws):
            raise ParameterError(
                "Mixture takes laws that are drawn at random and never switch; "
                "use Switching({0: Mixture(…), …})"
            )
        self.fields, self.words = laws[0].fields, _common_words(laws)
        weights = [weight for weight, _ in self._given]
        self._parts = [
            (weight * share, part)
            for weight, law in zip(weights, self._numbered(laws), strict=True)
            for share, part in law.parts()
            if weight * share > 0
        ]
        self.effort = math.fsum(weight * law.effort for weight, law in self._parts)

    def _numbered(self, laws: list[Distribution]) -> list[Distribution]:
        """Return laws that number their words alike."""
        if not any(self.words):
            return laws
        spaces: dict[str, Space] = {
            f"field{i}": Finite(words) if words else Interval(-math.inf, math.inf)
            for i, words in enumerate(self.words)
        }
        return [law.on(Box(spaces)) for law in laws]

    def __repr__(self) -> str:
        """Show the law as it was written."""
        return f"Mixture({self._given!r})"

    def on(self, box: Box) -> Mixture:
        """Return the law with the numbers that a space gives to words."""
        if not any(self.words) or len(box) != self.fields:
            return self
        return Mixture([(weight, law.on(box)) for weight, law in self._given])

    def parts(self) -> list[tuple[float, Distribution]]:
        """Return the laws that are mixed, none of them a mixture, with their weights."""
        return list(self._parts)

    def between(self, low: float, high: float) -> tuple[float, Distribution | None]:
        """Return the probability of values from `low` to `high`, and the law given such a value."""
        found = [(weight, law.between(low, high)) for weight, law in self._parts]
        kept = [(w * share, law) for w, (share, law) in found if law is not None and w * share > 0]
        mass = math.fsum(weight for weight, _ in kept)
        return mass, Mixture([(weight / mass, law) for weight, law in kept]) if kept else None

    def clipped(self, ends: Sequence[tuple[float, float]]) -> Distribution:
        """Return the law with each field moved to the nearest end of its interval."""
        if self.lies_within(ends):
            return self
        if self.fields == 1:
            return Clipped(self, *ends[0])
        return Mixture([(weight, law.clipped(ends)) for weight, law in self._given])

    @property
    def atoms(self) -> tuple[Array, Array] | None:
        """The points of all parts and their probabilities; None if a part is continuous."""
        found = [(weight, law.atoms) for weight, law in self._parts]
        listed = [(weight, *atoms) for weight, atoms in found if atoms is not None]
        if len(listed) < len(found):
            return None
        rows, places = np.unique(
            np.vstack([points for _, points, _ in listed]), axis=0, return_inverse=True
        )
        weights = np.concatenate([weight * chances for weight, _, chances in listed])
        return rows, np.asarray(np.bincount(places.ravel(), weights, len(rows)), np.float64)

    @property
    def support(self) -> list[tuple[float, float]]:
        """The lowest and the highest value of each field, over all parts."""
        return joint_support(law for _, law in self._parts)

    def expectation(self, function: Callable[..., Array]) -> float:
        """Return the mean of a vectorised function, as accurate as those of the parts."""
        return sum(weight * law.expectation(function) for weight, law in self._parts)

    def diverges(self, function: Callable[..., Array]) -> float:
        """Return the mean of a function if it is infinite, else 0."""
        return sum(law.diverges(function) for _, law in self._parts)

    def rule(self, nodes: int) -> tuple[Array, Array]:
        """Return the points of the rules of all parts, with their weights."""
        atoms = self.atoms
        if atoms is not None:
            return atoms
        found = [(weight, *law.rule(nodes)) for weight, law in self._parts]
        points = np.vstack([points for _, points, _ in found])
        return points, np.concatenate([weight * weights for weight, _, weights in found])

    def sample(self, generator: np.random.Generator, size: int) -> Array:
        """Return `size` samples, one per row."""
        weights = np.array([weight for weight, _ in self._parts])
        chosen = generator.choice(len(weights), size, p=weights / weights.sum())
        rows = np.empty((size, self.fields))
        for i, (_, law) in enumerate(self._parts):
            mine = chosen == i
            rows[mine] = law.sample(generator, int(mine.sum()))
        return rows


class Truncated(Mixture):
    """A law of one field, given that its value lies in an interval.

    Both ends belong to the interval; an end that is not given is infinite.

    >>> from onepull.distributions import Exponential
    >>> law = Truncated(Exponential(mean=10), low=0, high=30)
    >>> law, law.support
    (Truncated(Exponential(mean=10), low=0, high=30), [(0.0, 30.0)])
    >>> round(law.expectation(lambda x: x), 9)  # 10 - 30/(e³ - 1)
    8.428129105
    """

    def __init__(self, of: Distribution, low: float = -math.inf, high: float = math.inf) -> None:
        self.law, self.low, self.high = _bounded("Truncated", of, low, high)
        mass, inside = self.law.between(self.low, self.high)
        if inside is None or inside.effort * LEAST_MASS > 1.0:
            raise ParameterError(
                f"{self!r} keeps {mass:.1g} of the law's mass; it needs at least {LEAST_MASS:g}"
            )
        super().__init__(inside.parts())

    def __repr__(self) -> str:
        """Show the law as it was written."""
        return _written(self)


class Clipped(Mixture):
    """A law of one field, with values outside an interval moved to its nearest end.

    So each end has the probability of everything beyond it.  An end that is not given is
    infinite.

    >>> from onepull.distributions import Exponential
    >>> law = Clipped(Exponential(mean=10), low=0, high=30)
    >>> round(law.expectation(lambda x: x == 30), 9)  # e⁻³
    0.049787068
    >>> round(law.expectation(lambda x: x), 9)  # 10 (1 - e⁻³)
    9.502129316
    """

    def __init__(self, of: Distribution, low: float = -math.inf, high: float = math.inf) -> None:
        self.law, self.low, self.high = _bounded("Clipped", of, low, high)
        super().__init__(self._cut())

    def _cut(self) -> list[tuple[float, Distribution]]:
        found: list[tuple[float, Distribution]] = []
        for weight, law in self.law.parts():
            if law.atoms is not None:
                found.append((weight, law.clipped([(self.low, self.high)])))
                continue
            (below, _), (above, _) = (
                law.between(-math.inf, self.low),
                law.between(self.high, math.inf),
            )
            mass, inside = law.between(self.low, self.high)
            ends = (below, self.low), (above, self.high)
            found += [(weight * share, Discrete([end], [1.0])) for share, end in ends if share]
            found += [] if inside is None else [(weight * mass, inside)]
        total = math.fsum(weight for weight, _ in found)
        return [(weight / total, law) for weight, law in found]

    def __repr__(self) -> str:
        """Show the law as it was written."""
        return _written(self)


def _written(law: Truncated | Clipped) -> str:
    ends = {"low": law.low, "high": law.high}
    stated = "".join(f", {n}={end:.15g}" for n, end in ends.items() if math.isfinite(end))
    return f"{type(law).__name__}({law.law!r}{stated})"


def _weighted(given: Any) -> list[tuple[float, Distribution]]:
    """Return weights and laws, checked."""
    try:
        pairs = [(real(weight), law) for weight, law in given]
    except (TypeError, ValueError):
        pairs = []
    if not pairs or not all(isinstance(law, Distribution) for _, law in pairs):
        raise ParameterError(
            f"Mixture takes pairs of a weight and a law, as in [(0.9, Uniform(0, 1)), "
            f"(0.1, Exponential(30))], given {shown(given)}"
        )
    weights = [weight for weight, _ in pairs]
    total = math.fsum(weights) if all(map(math.isfinite, weights)) else math.nan
    if min(weights) < 0 or not abs(total - 1.0) <= 1e-9:
        raise ParameterError(
            f"Mixture takes weights of 0 or more that sum to 1, given {shown(weights)}"
        )
    return [(weight / total, law) for weight, law in pairs]


def _common_words(laws: Sequence[Distribution]) -> tuple[tuple[str, ...], ...]:
    """Return all words of each field; raises if a field has words in some laws only."""
    if not any(any(law.words) for law in laws):
        return ()
    common: list[tuple[str, ...]] = []
    for place in range(laws[0].fields):
        found = [law.words[place] if law.words else () for law in laws]
        if any(found) and not all(found):
            raise ParameterError(
                f"Mixture takes words in a field of all its laws or of none, given {shown(laws)}"
            )
        common.append(tuple(dict.fromkeys(word for words in found for word in words)))
    return tuple(common)


def _bounded(kind: str, law: Any, low: Any, high: Any) -> tuple[Distribution, float, float]:
    """Return a law and the ends of an interval, checked."""
    if not isinstance(law, Distribution):
        raise ParameterError(f"{kind} takes a law, given {shown(law)}")
    if law.fields != 1:
        raise ParameterError(
            f"{kind} takes a law of one field, given {law.fields} by {law!r}; "
            f"use Independent({kind}(…), …)"
        )
    if any(law.words):
        raise ParameterError(f"{kind} takes a law of numbers, given words by {law!r}")
    if law.in_order or len(law.pieces()) > 1:
        raise ParameterError(
            f"{kind} takes a law that is drawn at random and never switches; "
            f"use Switching({{0: {kind}(…), …}})"
        )
    try:
        ends = real(low), real(high)
    except TypeError:
        ends = math.nan, math.nan
    if not ends[0] < ends[1] or not any(map(math.isfinite, ends)):
        raise ParameterError(
            f"{kind} takes numbers low < high, at least one of them finite, "
            f"given low={shown(low)}, high={shown(high)}"
        )
    return law, *ends
