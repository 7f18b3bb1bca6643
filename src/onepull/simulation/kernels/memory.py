"""What compiled loops remember of the arms, and how an observation is taken in.

A loop is the same whatever is forgotten: it looks at `means[feature, arm]`, at pulls and at a
row of roots, and calls `take_in`, which is compiled for the type of the memory.  The steps
are those of `onepull.statistics.arm_statistics` and `onepull.forgetting`, in the same order.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numba.core import types
from numba.extending import overload
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.simulation.compiled import inlined, reachable
from onepull.simulation.kernels.rules import KernelRule
from onepull.statistics import ArmStatistics, Discounted, Restarting, Window, inverse_root, moved
from onepull.statistics.change_detector import (
    ALIKE,
    SPAN,
    alarm_level,
    coin_divergence,
    detector_scales,
    likelihood_ratio,
    tidied,
)
from onepull.statistics.discounted import FAINT, NOTHING

move = inlined(moved)
root_of = inlined(inverse_root)
level_of = inlined(alarm_level)
reachable(coin_divergence)
ratio_of = inlined(likelihood_ratio)
tidy = inlined(tidied)

BUCKETS = ALIKE * 32 + 1  # for more observations than can be


class Lasting(NamedTuple):
    """All that was ever observed."""

    means: Array
    pulls: NDArray[np.int64]
    roots: Array
    trials: NDArray[np.int64]


class Fading(NamedTuple):
    """Discounted statistics: pulls and roots as they are now, and in units of a common scale."""

    means: Array
    pulls: Array
    roots: Array
    trials: NDArray[np.int64]
    weights: Array
    narrow: Array
    scale: Array
    discount: float


class Sliding(NamedTuple):
    """Statistics of a window, those since it last began anew, and what it holds."""

    means: Array
    pulls: NDArray[np.int64]
    roots: Array
    trials: NDArray[np.int64]
    next_means: Array
    next_pulls: NDArray[np.int64]
    ring_arms: NDArray[np.int64]
    ring_rows: Array


class Watched(NamedTuple):
    """All since an arm last changed, when it was seen, and its change detector: `[arm, …]`."""

    means: Array
    pulls: NDArray[np.int64]
    roots: Array
    trials: NDArray[np.int64]
    seen: NDArray[np.int64]
    tests: NDArray[np.int64]
    buckets: NDArray[np.int64]
    sizes: NDArray[np.int64]
    sums: Array
    filled: NDArray[np.int64]
    filling: Array
    lows: Array
    scales: Array
    failure: float
    together: bool


FORGETTING = (Discounted, Window, Restarting)  # the statistics that forget and have a memory here
Memory: TypeAlias = Lasting | Fading | Sliding | Watched


def memory_of(
    kept: ArmStatistics | None, rule: KernelRule, arms: int, features: int, order: Literal["C", "F"]
) -> Memory:
    """Return an empty memory for statistics of a kind, and for the rule that looks at it.

    In order "F" it runs along the features.
    """
    means, trials = np.full((features, arms), np.inf, order=order), np.zeros(1, np.int64)
    counts, roots = np.zeros(arms, np.int64), np.zeros((1, arms))
    if isinstance(kept, Discounted):
        weights, narrow = np.zeros(arms), np.zeros(arms)
        return Fading(
            means, np.zeros(arms), roots, trials, weights, narrow, np.ones(1), kept.discount
        )
    if isinstance(kept, Window):
        ring = np.full(kept.window, -1), np.zeros((kept.window, features))
        return Sliding(means, counts, roots, trials, means.copy(order), counts.copy(), *ring)
    if isinstance(kept, Restarting):
        lows, scales = detector_scales(*kept.bounds)
        return Watched(
            means, counts, roots, trials,
            seen=getattr(rule, "seen", counts.copy()),  # a patient rule looks at it
            tests=counts.copy(),
            buckets=counts.copy(),
            sizes=np.zeros((arms, BUCKETS), np.int64),
            sums=np.zeros((arms, BUCKETS, features)),
            filled=counts.copy(),
            filling=np.zeros((arms, features)),
            lows=lows,
            scales=scales,
            failure=kept.failure,
            together=kept.together,
        )  # fmt: skip
    return Lasting(means, counts, roots, trials)


def take_in(memory: Any, arm: Any, table: Any, row: Any) -> None:
    """Take in an observation, a row of a table, and let go of what is past."""
    raise NotImplementedError  # the compiled forms are below


def lasts(memory: Any) -> bool:
    """Whether nothing is ever let go: then `learn` is all there is to do, and quicker."""
    raise NotImplementedError  # a constant for each type, below


@inlined
def learn(means: Any, pulls: Any, roots: Any, arm: Any, table: Any, row: Any) -> None:
    """Take a row of a table into means of all that was observed."""
    pulls[arm] += 1
    roots[0, arm] = root_of(pulls[arm])
    weight = 1.0 / pulls[arm]
    for r in range(means.shape[0]):
        means[r, arm] = move(means[r, arm], table[row, r], weight)


def _add(memory: Any, arm: Any, table: Any, row: Any) -> None:
    memory.trials[0] += 1
    learn(memory.means, memory.pulls, memory.roots, arm, table, row)


def _fade(memory: Any, arm: Any, table: Any, row: Any) -> None:
    means, weights, narrow, scale = memory.means, memory.weights, memory.narrow, memory.scale
    pulls, roots = memory.pulls, memory.roots
    memory.trials[0] += 1
    scale[0] *= memory.discount
    if scale[0] < FAINT:
        for j in range(weights.size):
            weights[j] *= scale[0]
            if weights[j] < NOTHING:
                weights[j] = 0.0
                narrow[j] = 0.0
                for r in range(table.shape[1]):
                    means[r, j] = np.inf
            else:
                narrow[j] = root_of(weights[j])
        scale[0] = 1.0
    unit = 1.0 / scale[0]
    weights[arm] += unit
    narrow[arm] = root_of(weights[arm])
    share = unit / weights[arm]
    for r in range(table.shape[1]):
        means[r, arm] = move(means[r, arm], table[row, r], share)
    swell = root_of(scale[0])
    for j in range(weights.size):
        pulls[j] = weights[j] * scale[0]
        roots[0, j] = narrow[j] * swell


def _slide(memory: Any, arm: Any, table: Any, row: Any) -> None:
    means, pulls, roots = memory.means, memory.pulls, memory.roots
    new, new_pulls = memory.next_means, memory.next_pulls
    arms, rows = memory.ring_arms, memory.ring_rows
    here = memory.trials[0] % arms.size
    memory.trials[0] += 1
    old = arms[here]
    if old >= 0:
        pulls[old] -= 1
        left = pulls[old]
        roots[0, old] = root_of(left) if left > 0 else 0.0
        for r in range(table.shape[1]):
            away = move(means[r, old], rows[here, r], -1.0 / left) if left > 0 else np.inf
            means[r, old] = away
    arms[here] = arm
    pulls[arm] += 1
    new_pulls[arm] += 1
    roots[0, arm] = root_of(pulls[arm])
    for r in range(table.shape[1]):
        rows[here, r] = table[row, r]
        means[r, arm] = move(means[r, arm], table[row, r], 1.0 / pulls[arm])
        new[r, arm] = move(new[r, arm], table[row, r], 1.0 / new_pulls[arm])
    if here == arms.size - 1:
        for j in range(pulls.size):
            pulls[j] = new_pulls[j]
            new_pulls[j] = 0
            roots[0, j] = root_of(pulls[j]) if pulls[j] > 0 else 0.0
            for r in range(table.shape[1]):
                means[r, j] = new[r, j]
                new[r, j] = np.inf


add = inlined(_add)


def _watch(memory: Any, arm: Any, table: Any, row: Any) -> None:
    add(memory, arm, table, row)
    filled, filling, buckets = memory.filled, memory.filling, memory.buckets
    memory.seen[arm] = memory.trials[0]
    filled[arm] += 1
    for r in range(table.shape[1]):
        share = (table[row, r] - memory.lows[r]) * memory.scales[r]
        filling[arm, r] += np.minimum(np.maximum(share, 0.0), 1.0)
    if filled[arm] < SPAN:
        return
    sizes, sums = memory.sizes[arm], memory.sums[arm]
    sizes[buckets[arm]] = SPAN
    sums[buckets[arm]] = filling[arm]
    buckets[arm] += 1
    filled[arm] = 0
    filling[arm] = 0.0
    memory.tests[arm] += 1
    if not alarmed(sizes, sums, buckets[arm], memory.tests[arm], memory.failure):
        buckets[arm] = tidy(sizes, sums, buckets[arm])
        return
    for j in range(buckets.size):
        if memory.together or j == arm:
            memory.means[:, j] = np.inf
            memory.pulls[j] = 0
            memory.roots[0, j] = 0.0
            memory.tests[j] = 0
            buckets[j] = 0
            filled[j] = 0
            filling[j] = 0.0


@inlined
def alarmed(sizes: Any, sums: Any, count: Any, tests: Any, failure: Any) -> Any:
    """Whether the means of any feature differ before and after any border of buckets."""
    many = sums.shape[1]
    level = level_of(tests, max(1, (count - 1) * many), failure)
    total = np.sum(sizes[:count])
    for r in range(many):
        whole = 0.0
        for k in range(count):
            whole += sums[k, r]
        before, sum_before = 0, 0.0
        for k in range(count - 1):
            before += sizes[k]
            sum_before += sums[k, r]
            if ratio_of(before, sum_before, total, whole) > level:
                return True
    return False


_STEPS = {Lasting: _add, Fading: _fade, Sliding: _slide, Watched: _watch}


@overload(take_in, jit_options={"forceinline": True, "error_model": "numpy"})
def _step(memory: Any, arm: Any, table: Any, row: Any) -> Any:
    """Return the step for the type of a memory."""
    if isinstance(memory, (types.NamedTuple, types.NamedUniTuple)):
        return _STEPS.get(memory.instance_class)
    return None


def _always(memory: Any) -> bool:
    return True


def _not_always(memory: Any) -> bool:
    return False


@overload(lasts, jit_options={"forceinline": True})
def _lasts(memory: Any) -> Any:
    """Return the answer for the type of a memory."""
    return _always if memory.instance_class is Lasting else _not_always
