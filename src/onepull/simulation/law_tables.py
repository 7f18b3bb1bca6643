"""Distributions as arrays for compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.distributions import Continuous, Distribution, Independent
from onepull.distributions.continuous import Within
from onepull.errors import ParameterError
from onepull.simulation.own_quantiles import quantile_address

# Kinds of a field, beside those of continuous laws.
LISTED_VALUES = 0  # one of listed values
MIXED_FIELD = -1  # a mixture of laws of this field
MIXED_FIELDS = -2  # a mixture of laws of all fields
SHAPE = 6  # numbers of a shape: those of the law, and the ends of an interval


class Laws(NamedTuple):
    """Distributions as arrays for compiled code: one per arm, or the one of the contexts.

    A discrete distribution has `size` atoms beginning at row `start`, drawn by Walker's alias
    method or taken in order.  A continuous one has a kind and a shape for each field: four
    numbers, and the ends of the interval that draws must lie in.  A field with listed values
    among continuous fields has shape[1] rows beginning at row shape[0].  A mixture has such
    rows too, which hold the numbers of its parts: further distributions after those given.
    """

    start: NDArray[np.int64]
    size: NDArray[np.int64]
    ordered: NDArray[np.bool_]
    keep: Array
    alias: NDArray[np.int64]
    rows: Array
    kinds: NDArray[np.int64]
    shapes: Array


def tabulate(laws: Sequence[Distribution]) -> Laws:
    """Return distributions as arrays."""
    tables = _Tables(laws[0].fields)
    start, count, ordered = [], [], []
    for _ in laws:
        tables.add()
    for j, law in enumerate(laws):
        start.append(len(tables.keep))
        ordered.append(law.in_order)
        atoms = law.atoms
        count.append(0 if atoms is None else len(atoms[0]))
        if atoms is None:
            tables.write(j, law)
        else:
            tables.list_rows(*atoms)
    return Laws(
        np.array(start, np.int64),
        np.array(count, np.int64),
        np.array(ordered, np.bool_),
        np.array(tables.keep or [1.0]),
        np.array(tables.alias or [0], np.int64),
        np.ascontiguousarray(
            np.vstack(tables.rows) if tables.rows else np.zeros((1, tables.fields))
        ),
        np.array(tables.kinds),
        np.array(tables.shapes),
    )


class _Tables:
    """The arrays of `Laws` while they grow."""

    def __init__(self, fields: int) -> None:
        self.fields = fields
        self.keep: list[float] = []
        self.alias: list[int] = []
        self.rows: list[Array] = []
        self.kinds: list[NDArray[np.int64]] = []
        self.shapes: list[Array] = []

    def add(self) -> int:
        """Return the number of a new distribution."""
        self.kinds.append(np.zeros(self.fields, np.int64))
        self.shapes.append(np.zeros((self.fields, SHAPE)))
        return len(self.kinds) - 1

    def list_rows(self, rows: Array, weights: Array) -> tuple[int, int]:
        """Add rows to draw from; return the first and how many they are."""
        start = len(self.keep)
        thresholds, others = _alias(weights)
        self.keep += thresholds.tolist()
        self.alias += (others + start).tolist()
        self.rows.append(rows)
        return start, len(weights)

    def _list_column(self, f: int, values: Any, weights: Any) -> tuple[int, int]:
        column = np.zeros((len(weights), self.fields))
        column[:, f] = values
        return self.list_rows(column, np.asarray(weights))

    def write(self, j: int, law: Distribution) -> None:
        """Write distribution j."""
        if isinstance(law, Independent):
            for f, part in enumerate(law.laws):
                self._write_field(j, f, part)
        elif law.fields == 1:
            self._write_field(j, 0, law)
        elif len(law.parts()) > 1:
            self._write_together(j, law.parts())
        else:
            raise _undrawable(law)

    def _write_together(self, j: int, parts: Sequence[tuple[float, Distribution]]) -> None:
        """Write a mixture of laws of several fields."""
        numbers, weights = [], []
        for weight, law in parts:
            if law.atoms is None:
                numbers.append(self.add())
                weights.append(weight)
                self.write(numbers[-1], law)
                continue
            for point, chance in zip(*law.atoms, strict=True):  # a part for each point
                numbers.append(self.add())
                weights.append(weight * chance)
                self.shapes[-1][:, :2] = self.list_rows(point[None], np.ones(1))  # LISTED_VALUES
        self.kinds[j][0] = MIXED_FIELDS
        self.shapes[j][0, :2] = self._list_column(0, numbers, weights)

    def _write_field(self, j: int, f: int, law: Distribution) -> None:
        """Write a field of distribution j."""
        parts = law.parts()
        if law.atoms is not None:
            points, weights = law.atoms
            self.kinds[j][f] = LISTED_VALUES
            self.shapes[j][f, :2] = self._list_column(f, points[:, 0], weights)
        elif len(parts) > 1:
            numbers = [self.add() for _ in parts]
            for number, (_, part) in zip(numbers, parts, strict=True):
                self._write_field(number, f, part)
            self.kinds[j][f] = MIXED_FIELD
            self.shapes[j][f, :2] = self._list_column(f, numbers, [weight for weight, _ in parts])
        else:
            ((_, plain),) = parts
            self.shapes[j][f, -2:] = -np.inf, np.inf
            if isinstance(plain, Within):
                self.shapes[j][f, -2:] = plain.low, plain.high
                plain = plain.law
            if not isinstance(plain, Continuous):
                raise _undrawable(plain)
            self.kinds[j][f] = _kind_of(plain)
            self.shapes[j][f, : len(plain.shape)] = plain.shape


def _undrawable(law: Distribution) -> ParameterError:
    return ParameterError(
        f"{type(law).__name__} is neither discrete nor Continuous, so the simulator "
        "cannot draw from it; subclass Continuous and give quantile"
    )


def _alias(weights: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return Walker's alias tables: keep slot i with probability keep[i], else take alias[i]."""
    count = len(weights)
    share = weights * count
    keep, alias = np.ones(count), np.arange(count)
    small = [i for i in range(count) if share[i] < 1.0]
    large = [i for i in range(count) if share[i] >= 1.0]
    while small and large:
        less, more = small.pop(), large.pop()
        keep[less], alias[less] = share[less], more
        share[more] -= 1.0 - share[less]
        (small if share[more] < 1.0 else large).append(more)
    return keep, alias


def _kind_of(law: Continuous) -> int:
    """Return the kind of a law, or the address of its own quantile function."""
    quantile = type(law).quantile
    if quantile is not None:
        return quantile_address(quantile, len(law.shape))
    ours = next(kind for kind in type(law).__mro__ if "kind" in vars(kind))
    if not law.kind or any(
        "density" in vars(own) for own in type(law).__mro__[: type(law).__mro__.index(ours)]
    ):
        raise ParameterError(
            f"{type(law).__name__} needs quantile, a plain function of u and its shape, to be "
            "simulated"
        )
    return law.kind
