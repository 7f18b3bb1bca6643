"""Random numbers that depend only on key, trial and arm.

A draw is a function of its counter: the state that arm j would show at trial t is the same for
all policies, whether or not they pull it.  So policies are compared on the same random numbers
without storing them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, exp, log, pi, sqrt
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.distributions import Continuous, Distribution, Independent
from onepull.distributions.continuous import (
    BETA,
    GAMMA,
    LOG_NORMAL,
    NORMAL,
    RICIAN,
    UNIFORM,
    Within,
)
from onepull.errors import ParameterError
from onepull.simulation.compiled import compiled, inlined, intrinsic, ir, numba, types

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
ASIDE = np.uint64(0xD1B54A32D192ED03)
SCALE = 2.0**-53
# Kinds of a field, beside those of continuous laws.
LISTED = 0  # one of listed values
MIXED = -1  # a mixture of laws of this field
TOGETHER = -2  # a mixture of laws of all fields
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


def keys(seed: int, experiment: int, replication: int) -> NDArray[np.uint64]:
    """Return two random keys of a replication: for the environment and for random policies."""
    sequence = np.random.SeedSequence(seed, spawn_key=(experiment, replication))
    return sequence.generate_state(2, np.uint64).astype(np.uint64)


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
                self.shapes[-1][:, :2] = self.list_rows(point[None], np.ones(1))  # LISTED
        self.kinds[j][0] = TOGETHER
        self.shapes[j][0, :2] = self._list_column(0, numbers, weights)

    def _write_field(self, j: int, f: int, law: Distribution) -> None:
        """Write a field of distribution j."""
        parts = law.parts()
        if law.atoms is not None:
            points, weights = law.atoms
            self.kinds[j][f] = LISTED
            self.shapes[j][f, :2] = self._list_column(f, points[:, 0], weights)
        elif len(parts) > 1:
            numbers = [self.add() for _ in parts]
            for number, (_, part) in zip(numbers, parts, strict=True):
                self._write_field(number, f, part)
            self.kinds[j][f] = MIXED
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
        return address_of(quantile, len(law.shape))
    ours = next(kind for kind in type(law).__mro__ if "kind" in vars(kind))
    if not law.kind or any(
        "density" in vars(own) for own in type(law).__mro__[: type(law).__mro__.index(ours)]
    ):
        raise ParameterError(
            f"{type(law).__name__} needs quantile, a plain function of u and its shape, to be "
            "simulated"
        )
    return law.kind


_LOCK = Lock()  # simulations may be prepared in several threads
_COMPILED_QUANTILES: dict[Any, Any] = {}  # must not be freed while kernels call them


def address_of(quantile: Any, size: int) -> int:
    """Return the address of the compiled quantile function of a user's own distribution.

    Kernels are compiled once for all distributions.  They call such a function by its address,
    which is stored as the kind of the distribution.
    """
    with _LOCK:
        return _address(quantile, size)


def _address(quantile: Any, size: int) -> int:
    if (quantile, size) not in _COMPILED_QUANTILES:
        plain, number = inlined(quantile), types.float64

        def none(u: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
            return plain(u)

        def one(u: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
            return plain(u, a)

        def two(u: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
            return plain(u, a, b)

        def three(u: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
            return plain(u, a, b, c)

        def four(u: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
            return plain(u, a, b, c, d)

        signature = number(number, number, number, number, number)
        made = numba.cfunc(signature, error_model="numpy")((none, one, two, three, four)[size])
        _COMPILED_QUANTILES[quantile, size] = made
    return int(_COMPILED_QUANTILES[quantile, size].address)


@intrinsic
def call_at(typing: Any, address: Any, u: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Call a function of five numbers by its address."""
    del typing, address, u, a, b, c, d
    number = types.float64
    signature = number(types.int64, number, number, number, number, number)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        double = ir.DoubleType()
        pointer = ir.FunctionType(double, [double] * 5).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], pointer), arguments[1:])

    return signature, generate


@inlined
def bits(key: Any, counter: Any) -> Any:
    """Return 64 random bits for a counter (SplitMix64 at that place of its sequence)."""
    z = key + np.uint64(counter) * GOLDEN
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))


@inlined
def place(trial: Any, arms: Any, arm: Any) -> Any:
    """Return the counter of the draw of an arm at a trial; arm -1 is the context."""
    return trial * (arms + 1) + 1 + arm


@inlined
def uniform(key: Any, counter: Any) -> Any:
    """Return a uniform random number in [0, 1) for a counter."""
    # Signed, since a processor converts signed integers to floats in one instruction.
    return np.float64(np.int64(bits(key, counter) >> np.uint64(11))) * SCALE


@inlined
def atom(
    start: Any, count: Any, ordered: Any, keep: Any, alias: Any, key: Any, counter: Any, trial: Any
) -> Any:
    """Return the row of the atom drawn from `count` atoms that begin at `start`."""
    if ordered:
        return start + trial % count
    place = uniform(key, counter) * count
    slot = int(place)
    found = start + slot
    # Read in any case: a branch on a random number would be mispredicted.
    other = alias[found]
    return other if place - slot >= keep[found] else found


@inlined
def draw(
    kinds: Any,
    shapes: Any,
    keep: Any,
    alias: Any,
    rows: Any,
    j: Any,
    key: Any,
    counter: Any,
    out: Any,
    at: Any,
) -> None:
    """Write a draw from the distribution j, which has no atoms, into `out`, beginning at `at`."""
    # Each counter has a stream of its own, separate from the sequence of counters.
    stream = bits(key, counter) ^ ASIDE
    used = 0
    i = np.int64(j)
    if kinds[i, 0] == TOGETHER:
        a, b = shapes[i, 0, 0], shapes[i, 0, 1]
        i = np.int64(rows[atom(int(a), int(b), False, keep, alias, stream, used, 0), 0])
        used += 1
    for f in range(kinds.shape[1]):
        p = i
        if kinds[p, f] == MIXED:
            a, b = shapes[p, f, 0], shapes[p, f, 1]
            p = np.int64(rows[atom(int(a), int(b), False, keep, alias, stream, used, 0), f])
            used += 1
        a, b, c, d = shapes[p, f, 0], shapes[p, f, 1], shapes[p, f, 2], shapes[p, f, 3]
        if kinds[p, f] == LISTED:
            out[at + f] = rows[atom(int(a), int(b), False, keep, alias, stream, used, 0), f]
            used += 1
            continue
        low, high = shapes[p, f, 4], shapes[p, f, 5]
        x, used = value(kinds[p, f], a, b, c, d, stream, used)
        while x < low or x > high:
            x, used = value(kinds[p, f], a, b, c, d, stream, used)
        out[at + f] = x


@compiled
def show(laws: Any, j: Any, key: Any, counter: Any, trial: Any, out: Any) -> None:
    """Write a draw from distribution j into `out`."""
    if laws.size[j] == 0:
        draw(laws.kinds, laws.shapes, laws.keep, laws.alias, laws.rows, j, key, counter, out, 0)
        return
    start, count, ordered = laws.start[j], laws.size[j], laws.ordered[j]
    found = atom(start, count, ordered, laws.keep, laws.alias, key, counter, trial)
    for f in range(laws.rows.shape[1]):
        out[f] = laws.rows[found, f]


@compiled
def normal(stream: Any, used: Any) -> Any:
    """Return a standard normal random number from two uniform ones (Box and Muller)."""
    radius = sqrt(-2.0 * log(1.0 - uniform(stream, used)))
    return radius * cos(2.0 * pi * uniform(stream, used + 1))


@compiled
def gamma(shape: Any, stream: Any, used: Any) -> Any:
    """Return a gamma random number (Marsaglia and Tsang 2000), and how many uniforms were used."""
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - uniform(stream, used)) ** (1.0 / shape)
        used += 1
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    while True:
        x = normal(stream, used)
        v = (1.0 + c * x) ** 3
        u = 1.0 - uniform(stream, used + 2)
        used += 3
        if v > 0.0 and log(u) < 0.5 * x * x + d - d * v + d * log(v):
            return d * v * boost, used


@compiled
def value(kind: Any, a: Any, b: Any, c: Any, d: Any, stream: Any, used: Any) -> Any:  # noqa: PLR0911 - one per kind
    """Return a draw from a continuous distribution with shape a, b, c, d, and the uniforms used."""
    if kind == UNIFORM:
        return a + (b - a) * uniform(stream, used), used + 1
    if kind == NORMAL:
        while True:
            x = a + b * normal(stream, used)
            used += 2
            if c <= x <= d:
                return x, used
    if kind == LOG_NORMAL:
        return exp(a + b * normal(stream, used)), used + 2
    if kind == GAMMA:
        x, used = gamma(a, stream, used)
        return x * b, used
    if kind == RICIAN:
        x = a + b * normal(stream, used)
        y = b * normal(stream, used + 2)
        return x * x + y * y, used + 4
    if kind == BETA:
        x, used = gamma(a, stream, used)
        y, used = gamma(b, stream, used)
        return min(d, c + (d - c) * (x / (x + y))), used  # rounding may go beyond the end
    return call_at(kind, uniform(stream, used), a, b, c, d), used + 1  # type: ignore[call-arg]  # the compiler gives the first
