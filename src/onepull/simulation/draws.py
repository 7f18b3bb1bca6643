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
from onepull.distributions.continuous import BETA, GAMMA, LOG_NORMAL, NORMAL, RICIAN, UNIFORM
from onepull.errors import ParameterError
from onepull.simulation.compiled import compiled, inlined, intrinsic, ir, numba, types

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
ASIDE = np.uint64(0xD1B54A32D192ED03)
SCALE = 2.0**-53
LISTED = 0  # the kind of a field with listed values


class Laws(NamedTuple):
    """Distributions as arrays for compiled code: one per arm, or the one of the contexts.

    A discrete distribution has `size` atoms beginning at row `start`, drawn by Walker's alias
    method or taken in order.  A continuous one has a kind and a shape for each field.  A field
    with listed values among continuous fields has shape[1] rows beginning at row shape[0].
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
    fields = laws[0].fields
    start, count, ordered = [], [], []
    keep: list[float] = []
    alias: list[int] = []
    rows: list[Array] = []
    kinds, shapes = np.zeros((len(laws), fields), np.int64), np.zeros((len(laws), fields, 4))
    for j, law in enumerate(laws):
        start.append(len(keep))
        ordered.append(law.in_order)
        atoms = law.atoms
        count.append(0 if atoms is None else len(atoms[0]))
        if atoms is not None:
            thresholds, others = _alias(atoms[1])
            keep += thresholds.tolist()
            alias += (others + start[-1]).tolist()
            rows.append(atoms[0])
            continue
        for f, part in enumerate(law.laws if isinstance(law, Independent) else (law,)):
            if isinstance(part, Continuous):
                kinds[j, f] = _kind_of(part)
                shapes[j, f, : len(part.shape)] = part.shape
                continue
            if part.atoms is None:
                raise ParameterError(
                    f"{type(part).__name__} is neither discrete nor Continuous, so the simulator "
                    "cannot draw from it; subclass Continuous and give quantile"
                )
            points, weights = part.rule(1)
            kinds[j, f], shapes[j, f, :2] = LISTED, (len(keep), len(weights))
            thresholds, others = _alias(weights)
            alias += (others + len(keep)).tolist()
            keep += thresholds.tolist()
            column = np.zeros((len(weights), fields))
            column[:, f] = points[:, 0]
            rows.append(column)
    return Laws(
        np.array(start, np.int64),
        np.array(count, np.int64),
        np.array(ordered, np.bool_),
        np.array(keep or [1.0]),
        np.array(alias or [0], np.int64),
        np.ascontiguousarray(np.vstack(rows) if rows else np.zeros((1, fields))),
        kinds,
        shapes,
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
    """Write a draw from the continuous distribution j into `out`, beginning at `at`."""
    # Each counter has a stream of its own, separate from the sequence of counters.
    stream = bits(key, counter) ^ ASIDE
    used = 0
    for f in range(kinds.shape[1]):
        a, b, c, d = shapes[j, f, 0], shapes[j, f, 1], shapes[j, f, 2], shapes[j, f, 3]
        if kinds[j, f] == LISTED:
            out[at + f] = rows[atom(int(a), int(b), False, keep, alias, stream, used, 0), f]
            used += 1
        else:
            out[at + f], used = value(kinds[j, f], a, b, c, d, stream, used)


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
