"""The features of linear policies: numbers computed from the context and perhaps the arm."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeAlias

import numpy as np

from onepull.arrays import Array
from onepull.checks import shown
from onepull.errors import InputError, ParameterError
from onepull.formula import Formula
from onepull.payoff import State
from onepull.payoff.box_points import pieces, points
from onepull.problem import Problem, given_problem
from onepull.spaces import Box

CONTEXT_PIECES = 1024  # parts of the context space on which a feature is checked to be bounded

Coded: TypeAlias = Callable[[Mapping[str, float], str], Sequence[float]]
Written: TypeAlias = Sequence[str] | Mapping[str, Sequence[str]]


class FeatureMap(ABC):
    """Features of a context: the same for all arms, or different for each arm.

    Attributes
    ----------
    size
        d, the number of features.
    is_shared
        Whether all arms share one parameter vector; otherwise each arm has its own.
    given
        The features as they were given; None for the map that a policy uses by default.
    """

    size: int
    is_shared: bool
    given: Any = None

    @abstractmethod
    def rows(self, context: State) -> Array:
        """Return the features as rows: one row for all arms, or one for each arm."""

    def row(self, context: State, arm: int) -> Array:
        """Return the features of one arm."""
        row: Array = self.rows(context)[arm if self.is_shared else 0]
        return row

    def table(self, contexts: Array) -> Array:
        """Return the rows of many contexts, given as an array with one context a row."""
        return np.array([self.rows(tuple(context)) for context in contexts.tolist()])

    def with_arms(self, arms: Sequence[str]) -> Self:
        """Return the map for other arms; raises an error if an arm's features are not known."""
        del arms
        return self


class ScaledFields(FeatureMap):
    """1 and each context field scaled to [0, 1], all divided by √d.

    A field of words has a feature for each word but the first, which is 1 for that word.  No
    vector of features is longer than 1.

    >>> from onepull import Finite, Interval, Problem
    >>> problem = Problem(
    ...     arms=["a"], context={"y": Finite([1, 3]), "z": Interval(0, 4)},
    ...     state={"x": Interval(0, 1)}, reward="x * y * z",
    ... )
    >>> ScaledFields(problem.context).rows((3.0, 1.0)).round(3)
    array([[0.577, 0.577, 0.144]])
    """

    is_shared = False

    def __init__(self, context: Box) -> None:
        words = [
            (f, w) for f, n in enumerate(context) for w in range(1, len(context.words.get(n, ())))
        ]
        self._words = [(f, float(word)) for f, word in words]
        self._numbers = [f for f, name in enumerate(context) if name not in context.words]
        self.size = 1 + len(self._numbers) + len(self._words)
        self._one = 1.0 / math.sqrt(self.size)
        self._lows, self._weights = [], []
        for name in (context.names[f] for f in self._numbers):
            space = context[name]
            width = space.high - space.low
            if math.isinf(width):
                raise ParameterError(
                    f"context field {name!r} is unbounded and cannot be scaled to [0, 1]; "
                    f"give features, such as ['1', 'exp(-abs({name}))']"
                )
            self._lows.append(space.low)
            self._weights.append(self._one / width if width else 0.0)

    def rows(self, context: State) -> Array:
        """Return the features, the same for all arms."""
        numbers = [context[f] for f in self._numbers] if self._words else context
        scaled = [(v - low) * w for v, low, w in zip(numbers, self._lows, self._weights)]  # noqa: B905 - one each
        marks = [self._one * (context[f] == word) for f, word in self._words]
        return np.array([[self._one, *scaled, *marks]])

    def table(self, contexts: Array) -> Array:
        """Return the features of many contexts."""
        scaled = (contexts[:, self._numbers] - self._lows) * self._weights
        marks = [self._one * (contexts[:, [f]] == word) for f, word in self._words]
        table = np.hstack([np.full((len(contexts), 1), self._one), scaled, *marks])
        return table[:, None, :]


class WrittenFeatures(FeatureMap):
    """Formulas of the context fields, the same for all arms.

    >>> from onepull import Interval
    >>> WrittenFeatures(["1", "y", "y**2"], Box(y=Interval(0, 1))).rows((0.5,))
    array([[1.  , 0.5 , 0.25]])
    """

    is_shared = False

    def __init__(self, features: Sequence[str], context: Box) -> None:
        self._formulas = _formulas(features, context, "features")
        self._functions = [formula.scalar for formula in self._formulas]
        self.given = list(features)
        self.size = len(self._functions)

    def rows(self, context: State) -> Array:
        """Return the features, the same for all arms."""
        return np.array([[function(*context) for function in self._functions]])

    def table(self, contexts: Array) -> Array:
        """Return the features of many contexts."""
        columns = contexts.T
        return np.stack([formula.vector(*columns) for formula in self._formulas], -1)[:, None, :]


class ArmFeatures(FeatureMap):
    """Formulas of the context fields for each arm; the arms share one parameter vector.

    Formulas may be given for arms that are added later.

    >>> from onepull import Interval
    >>> features = ArmFeatures({"a": ["y"], "b": ["1 - y"]}, Box(y=Interval(0, 1)), ["b", "a"])
    >>> features.rows((0.25,))
    array([[0.75],
           [0.25]])
    """

    is_shared = True

    def __init__(
        self, features: Mapping[str, Sequence[str]], context: Box, arms: Sequence[str]
    ) -> None:
        self._known = {
            arm: [f.scalar for f in _formulas(texts, context, f"features of arm {arm!r}")]
            for arm, texts in features.items()
        }
        self.given = {arm: list(texts) for arm, texts in features.items()}
        sizes = {arm: len(functions) for arm, functions in self._known.items()}
        if len(set(sizes.values())) > 1:
            raise ParameterError(
                f"every arm must have as many features as the others; given {sizes}"
            )
        self._take_on(arms, ParameterError)
        self.size = max(sizes.values())

    def _take_on(self, arms: Sequence[str], error: type[Exception]) -> None:
        if unknown := [arm for arm in arms if arm not in self._known]:
            raise error(f"no features are given for arm {unknown[0]!r}")
        self._functions = [self._known[arm] for arm in arms]

    def rows(self, context: State) -> Array:
        """Return the features of each arm."""
        return np.array([[function(*context) for function in own] for own in self._functions])

    def row(self, context: State, arm: int) -> Array:
        """Return the features of one arm."""
        return np.array([function(*context) for function in self._functions[arm]])

    def with_arms(self, arms: Sequence[str]) -> Self:
        """Return the map for other arms; raises an error if an arm's features are not known."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._take_on(arms, InputError)
        return twin


class CodedFeatures(FeatureMap):
    """A Python callable of a context and an arm; the arms share one parameter vector.

    >>> from onepull import Interval
    >>> features = CodedFeatures(
    ...     lambda context, arm: [context["y"], arm == "b"], Box(y=Interval(0, 1)), ["a", "b"]
    ... )
    >>> features.rows((0.25,))
    array([[0.25, 0.  ],
           [0.25, 1.  ]])
    """

    is_shared = True

    def __init__(self, features: Coded, context: Box, arms: Sequence[str]) -> None:
        self.given = features
        self._context, self._arms = context, tuple(arms)
        sample = points(context, 1, np.random.default_rng(0))
        self.size = 0
        self._first = tuple(float(column[0]) for column in sample.values())
        self.size = len(self.row(self._first, 0))
        self.rows(self._first)

    def rows(self, context: State) -> Array:
        """Return the features of each arm."""
        return np.array([self.row(context, arm) for arm in range(len(self._arms))])

    def row(self, context: State, arm: int) -> Array:
        """Return the features of one arm; `ParameterError` if they are not d finite numbers."""
        fields, name = self._context.fields(context), self._arms[arm]
        asked = f"features(context, arm) with {fields} and {name!r}"
        try:
            given: Any = self.given(fields, name)
        except Exception as error:  # a caller's own code may raise anything
            raise ParameterError(f"{asked} raised {type(error).__name__}: {error}") from error
        try:
            row = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            row = np.zeros(())
        if row.ndim != 1 or not row.size or self.size not in (0, row.size):
            wanted = f"a list of {self.size} numbers" if self.size else "a list of numbers"
            raise ParameterError(f"{asked} must be {wanted}, given {given!r}")
        if not np.isfinite(row).all():
            raise ParameterError(f"{asked} must be finite, given {given!r}")
        return row

    def with_arms(self, arms: Sequence[str]) -> Self:
        """Return the map for other arms; raises an error if an arm's features are not known."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._arms = tuple(arms)
        twin.rows(self._first)
        return twin


def feature_map(problem: Problem, features: Written | Coded | None) -> FeatureMap:
    """Return the map for the `features` of a policy: of fields, formulas or a callable."""
    given_problem(problem)
    if features is None:
        return ScaledFields(problem.context)
    if isinstance(features, Mapping):
        return ArmFeatures(features, problem.context, problem.arms)
    if callable(features):
        return CodedFeatures(features, problem.context, problem.arms)
    if isinstance(features, str) or not isinstance(features, Sequence):
        raise ParameterError(
            "features must be a list of formulas, one such list for each arm, or a callable; "
            f"given {features!r}"
        )
    return WrittenFeatures(features, problem.context)


def _formulas(texts: Any, context: Box, where: str) -> list[Formula]:
    """Return formulas of the context fields; raises an error if one may be unbounded."""
    if (
        not isinstance(texts, Sequence)
        or not texts
        or isinstance(texts, str)
        or not all(isinstance(text, str) for text in texts)
    ):
        raise ParameterError(f"{where} must be a list of formulas, given {shown(texts)}")
    boxes, formulas = pieces(context, CONTEXT_PIECES), []
    for text in texts:
        formula = Formula(text, context.names, context.words, hidden=context.implied)
        values = formula.enclose(boxes)
        if not (np.isfinite(values.low).all() and np.isfinite(values.high).all()):
            raise ParameterError(
                f"{where}: {formula.text!r} is not known to be bounded on the contexts"
            )
        formulas.append(formula)
    return formulas
