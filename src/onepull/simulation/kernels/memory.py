"""What compiled loops remember of the arms, and how an observation is added.

A loop is the same whatever is forgotten: it reads `means[feature, arm]`, the pulls and a row of
roots, and calls `take_in`, which is compiled for the type of the memory.  The steps are the plain
functions of `onepull.statistics`, compiled as they are, with these exceptions:

- Steps that move a whole row of numbers have a second body here.  The library moves lists or
  numpy rows, a kernel loops.
- `_add`, `_slide` and the first lines of `_watch` run at every trial and are written for arrays.
  Compiled from steps on whole memories, the compiler counts references to every array at each
  step, which takes several times as long as the step itself.  They call the library's `moved`,
  `inverse_root` and `share_of_range`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.simulation.compiled import inlined, overload, reachable
from onepull.simulation.kernels.rule_types import KernelRule
from onepull.statistics import (
    ArmStatistics,
    Discounted,
    Restarting,
    Window,
    arm_statistics,
    change_detector,
    discounted,
    inverse_root,
    moved,
    restarting,
)
from onepull.statistics.change_detector import ALIKE, SPAN, detector_scales
from onepull.statistics.window import GONE

move = inlined(moved)
root_of = inlined(inverse_root)
share_of_range = inlined(change_detector.share_of_range)
ratio_of = inlined(change_detector.likelihood_ratio)
fade = inlined(discounted.fade)
finds_change = inlined(change_detector.finds_change)
restart = inlined(restarting.restart)
# What the plain functions call by name.
reachable(
    arm_statistics.forget_arm,
    change_detector.coin_divergence,
    discounted.rescale,
)
reachable(change_detector.alarm_level, change_detector.tidied, forceinline=True)

BUCKETS = ALIKE * 32 + 1  # enough for any number of observations


class Lasting(NamedTuple):
    """Statistics of all observations."""

    means: Array
    pulls: NDArray[Any]  # numbers, or weights if they are discounted
    roots: Array
    trials: NDArray[np.int64]


class FadingMeans(NamedTuple):
    """Discounted statistics; `kept` has the weights, and pulls and roots are kept / scaled."""

    means: Array
    pulls: Array
    roots: Array
    trials: NDArray[np.int64]
    kept: Lasting
    scale: Array
    discount: float


class Sliding(NamedTuple):
    """Statistics of a window, those of the current round of its ring, and the ring."""

    means: Array
    pulls: NDArray[np.int64]
    roots: Array
    trials: NDArray[np.int64]
    next_means: Array
    next_pulls: NDArray[np.int64]
    ring_arms: NDArray[np.int64]
    ring_rows: Array


class Detectors(NamedTuple):
    """The change detectors of all arms: `[arm, …]`."""

    tests: NDArray[np.int64]
    buckets: NDArray[np.int64]
    sizes: NDArray[np.int64]
    sums: Array
    filled: NDArray[np.int64]
    filling: Array
    lows: Array
    scales: Array


class Watched(NamedTuple):
    """Statistics since an arm's last change, when each was seen, and the detectors."""

    means: Array
    pulls: NDArray[np.int64]
    roots: Array
    trials: NDArray[np.int64]
    seen: NDArray[np.int64]
    restarts: NDArray[np.int64]
    detectors: Detectors
    failure: float
    together: bool


FORGETTING = (Discounted, Window, Restarting)  # those that have a memory here
Memory: TypeAlias = Lasting | FadingMeans | Sliding | Watched


def memory_of(
    kept: ArmStatistics | None, rule: KernelRule, arms: int, features: int, order: Literal["C", "F"]
) -> Memory:
    """Return an empty memory for statistics of a kind, and for the rule that reads it.

    In order "F" the features of an arm are next to each other.
    """
    means, trials = np.full((features, arms), np.inf, order=order), np.zeros(1, np.int64)
    counts, roots = np.zeros(arms, np.int64), np.zeros((1, arms))
    lasting = Lasting(means, counts, roots, trials)
    if isinstance(kept, Discounted):
        weighed = Lasting(means, np.zeros(arms), roots.copy(), trials)
        return FadingMeans(means, np.zeros(arms), roots, trials, weighed, np.ones(1), kept.discount)
    if isinstance(kept, Window):
        ring = np.full(kept.window, GONE), np.zeros((kept.window, features))
        return Sliding(*lasting, means.copy(order), counts.copy(), *ring)
    if isinstance(kept, Restarting):
        lows, scales = detector_scales(*kept.bounds)
        detectors = Detectors(
            tests=counts.copy(),
            buckets=counts.copy(),
            sizes=np.zeros((arms, BUCKETS), np.int64),
            sums=np.zeros((arms, BUCKETS, features)),
            filled=counts.copy(),
            filling=np.zeros((arms, features)),
            lows=lows,
            scales=scales,
        )
        seen = getattr(rule, "seen", counts.copy())  # a patient rule reads it
        return Watched(*lasting, seen, counts.copy(), detectors, kept.failure, kept.together)
    return lasting


def take_in(memory: Any, arm: Any, table: Any, row: Any) -> None:
    """Add an observation, a row of a table, and forget what is too old."""
    raise NotImplementedError  # the compiled forms are below


def lasts(memory: Any) -> bool:
    """Return whether nothing is ever forgotten; then `learn` is enough, and faster."""
    raise NotImplementedError  # a constant for each type, below


@inlined
def learn(means: Any, pulls: Any, roots: Any, arm: Any, table: Any, row: Any) -> None:
    """Add a row of a table to the statistics of all observations."""
    pulls[arm] += 1
    roots[0, arm] = root_of(pulls[arm])
    weight = 1.0 / pulls[arm]
    for r in range(means.shape[0]):
        means[r, arm] = move(means[r, arm], table[row, r], weight)


def _add(memory: Any, arm: Any, table: Any, row: Any) -> None:
    memory.trials[0] += 1
    learn(memory.means, memory.pulls, memory.roots, arm, table, row)


def _fade(memory: Any, arm: Any, table: Any, row: Any) -> None:
    memory.trials[0] += 1
    kept = memory.kept
    scale = fade(kept, memory.scale[0], memory.discount, arm, table[row])
    memory.scale[0] = scale
    # The library does this when it is asked for pulls and roots.
    weights, narrow, pulls, roots = kept.pulls, kept.roots, memory.pulls, memory.roots
    swell = root_of(scale)
    for j in range(pulls.size):
        pulls[j] = weights[j] * scale
        roots[0, j] = narrow[0, j] * swell


def _slide(memory: Any, arm: Any, table: Any, row: Any) -> None:
    means, pulls, roots = memory.means, memory.pulls, memory.roots
    new, new_pulls = memory.next_means, memory.next_pulls
    arms, rows = memory.ring_arms, memory.ring_rows
    here = memory.trials[0] % arms.size
    memory.trials[0] += 1
    old = arms[here]
    if old != GONE:
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
    detectors = memory.detectors
    filled, filling = detectors.filled, detectors.filling
    lows, scales = detectors.lows, detectors.scales
    memory.seen[arm] = memory.trials[0]
    filled[arm] += 1
    for r in range(table.shape[1]):
        filling[arm, r] += share_of_range(table[row, r], lows[r], scales[r])
    if filled[arm] == SPAN and finds_change(detectors, memory.failure, arm):
        kept = Lasting(memory.means, memory.pulls, memory.roots, memory.trials)
        restart(kept, detectors, memory.restarts, memory.trials[0], arm, memory.together)


_STEPS = {Lasting: _add, FadingMeans: _fade, Sliding: _slide, Watched: _watch}


@overload(take_in, forceinline=True, error_model="numpy")
def _step(memory: Any, arm: Any, table: Any, row: Any) -> Any:
    """Return the step for the type of a memory."""
    return _STEPS.get(_class_of(memory))


def _always(memory: Any) -> bool:
    return True


def _not_always(memory: Any) -> bool:
    return False


@overload(lasts, forceinline=True)
def _lasts(memory: Any) -> Any:
    """Return the answer for the type of a memory."""
    return _always if _class_of(memory) is Lasting else _not_always


def _class_of(memory: Any) -> Any:
    if isinstance(memory, (types.NamedTuple, types.NamedUniTuple)):
        return memory.instance_class
    return None


# The second bodies, for arrays.  The compiler wants the names and annotations of the first ones.


def _compiled_for(
    kind: type[Any], step: Callable[..., Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a body of a step for memories of a type."""

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        def chosen(memory: Any, *rest: Any) -> Any:
            del rest
            return body if _class_of(memory) is kind else None

        overload(step, forceinline=True, error_model="numpy", strict=False)(chosen)
        return body

    return register


@_compiled_for(Lasting, arm_statistics.move_means)
def _move_means(kept: Any, arm: int, features: Any, weight: float) -> None:
    means = kept.means
    for r in range(means.shape[0]):
        means[r, arm] = move(means[r, arm], features[r], weight)


@_compiled_for(Lasting, arm_statistics.clear_means)
def _clear_means(kept: Any, arm: int) -> None:
    means = kept.means
    for r in range(means.shape[0]):
        means[r, arm] = np.inf


@_compiled_for(Lasting, arm_statistics.update_root)
def _update_root(kept: Any, arm: int, scale: float) -> None:
    count = kept.pulls[arm]
    kept.roots[0, arm] = root_of(count) if count > 0 else 0.0


@_compiled_for(Detectors, change_detector.close_bucket)
def _close_bucket(detectors: Any, arm: int) -> Any:
    sizes, sums, count = detectors.sizes[arm], detectors.sums[arm], detectors.buckets[arm]
    filling = detectors.filling
    sizes[count] = SPAN
    for r in range(filling.shape[1]):
        sums[count, r] = filling[arm, r]
        filling[arm, r] = 0.0
    detectors.filled[arm] = 0
    detectors.buckets[arm] = count + 1
    detectors.tests[arm] += 1
    return detectors.tests[arm], sizes, sums, count + 1


@_compiled_for(Detectors, change_detector.keep_buckets)
def _keep_buckets(detectors: Any, arm: int, count: int) -> None:
    detectors.buckets[arm] = count


@_compiled_for(Detectors, change_detector.reset_detector)
def _reset_detector(detectors: Any, arm: int) -> None:
    detectors.tests[arm] = 0
    detectors.buckets[arm] = 0
    detectors.filled[arm] = 0
    filling = detectors.filling
    for r in range(filling.shape[1]):
        filling[arm, r] = 0.0


@overload(change_detector.add_next_row, forceinline=True)
def _add_next_row(sums: Any, row: int) -> Any:
    """Return the body for arrays."""

    def looped(sums: Any, row: int) -> None:
        for r in range(sums.shape[1]):
            sums[row, r] += sums[row + 1, r]

    return looped


@overload(change_detector.take_next_row, forceinline=True)
def _take_next_row(sums: Any, row: int) -> Any:
    """Return the body for arrays."""

    def looped(sums: Any, row: int) -> None:
        for r in range(sums.shape[1]):
            sums[row, r] = sums[row + 1, r]

    return looped


@overload(change_detector.any_cut_exceeds, forceinline=True, error_model="numpy")
def _any_cut_exceeds(sizes: Any, sums: Any, count: int, level: float) -> Any:
    """Return the body for arrays."""

    def looped(sizes: Any, sums: Any, count: int, level: float) -> Any:
        total = 0
        for k in range(count):
            total += sizes[k]
        for r in range(sums.shape[1]):
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

    return looped
