"""Random numbers that depend only on key, trial and arm.

A draw is a function of its counter: the state that arm j would show at trial t is the same for
all policies, whether or not they pull it.  So policies are compared on the same random numbers
without storing them.
"""

from __future__ import annotations

from functools import partial
from math import cos, exp, log, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepull.distributions.law_kinds import BETA, GAMMA, LOG_NORMAL, NORMAL, RICIAN, UNIFORM
from onepull.policies.kept_states.merging import SPLITMIX_FACTORS, SPLITMIX_STEPS
from onepull.simulation.compiled import compiled, inlined
from onepull.simulation.law_tables import LISTED_VALUES, MIXED_FIELD, MIXED_FIELDS
from onepull.simulation.own_quantiles import call_at

GOLDEN, ASIDE = map(np.uint64, SPLITMIX_STEPS)
FIRST_FACTOR, SECOND_FACTOR = map(np.uint64, SPLITMIX_FACTORS)
SCALE = 2.0**-53


def keys(seed: int, experiment: int, replication: int) -> NDArray[np.uint64]:
    """Return two random keys of a replication: for the environment and for random policies."""
    sequence = np.random.SeedSequence(seed, spawn_key=(experiment, replication))
    return sequence.generate_state(2, np.uint64).astype(np.uint64)


@inlined
def bits(key: Any, counter: Any) -> Any:
    """Return 64 random bits for a counter (SplitMix64 at that place of its sequence)."""
    z = key + np.uint64(counter) * GOLDEN
    z = (z ^ (z >> np.uint64(30))) * FIRST_FACTOR
    z = (z ^ (z >> np.uint64(27))) * SECOND_FACTOR
    return z ^ (z >> np.uint64(31))


@partial(inlined, from_python=True)
def place(trial: Any, arms: Any, arm: Any) -> Any:
    """Return the counter of the draw of an arm at a trial; arm -1 is the context."""
    return trial * (arms + 1) + 1 + arm


@partial(inlined, from_python=True)
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
    kinds: Any, shapes: Any, keep: Any, alias: Any, rows: Any, j: Any, key: Any, counter: Any,
    out: Any, at: Any,
) -> None:  # fmt: skip
    """Write a draw from the distribution j, which has no atoms, into `out`, beginning at `at`."""
    # Each counter has a stream of its own, separate from the sequence of counters.
    stream = bits(key, counter) ^ ASIDE
    used = 0
    i = np.int64(j)
    if kinds[i, 0] == MIXED_FIELDS:
        a, b = shapes[i, 0, 0], shapes[i, 0, 1]
        i = np.int64(rows[atom(int(a), int(b), False, keep, alias, stream, used, 0), 0])
        used += 1
    for f in range(kinds.shape[1]):
        p = i
        if kinds[p, f] == MIXED_FIELD:
            a, b = shapes[p, f, 0], shapes[p, f, 1]
            p = np.int64(rows[atom(int(a), int(b), False, keep, alias, stream, used, 0), f])
            used += 1
        a, b, c, d = shapes[p, f, 0], shapes[p, f, 1], shapes[p, f, 2], shapes[p, f, 3]
        if kinds[p, f] == LISTED_VALUES:
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
