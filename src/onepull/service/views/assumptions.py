"""Whether what a policy relies on holds.

A state teaches about every context only if it does not depend on the context of its request.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from onepull.arrays import Array
from onepull.problem import Problem
from onepull.service.http.answers import Dependence, WarningsAnswer
from onepull.service.views.hosted import Hosted
from onepull.service.views.newest import SeenOutcome
from onepull.spaces import FAILED

FEWEST_PAIRS = 25  # pairs of outcomes, before anything is said
CHANCE = 0.001  # of one false warning among all that are looked for
WEAKEST = 0.25  # correlation that is worth a warning


def warnings_of(hosted: Hosted) -> WarningsAnswer:
    """Return what is believed of drift, and the states that seem to depend on the context."""
    router = hosted.router
    half_life = router.half_life
    seen = {arm: hosted.newest_seen(arm) for arm in router.problem.arms}
    return WarningsAnswer(
        knows_drift=half_life is not None,
        half_life=half_life if half_life is not None and math.isfinite(half_life) else None,
        dependent=dependences(router.problem, seen),
    )


def dependences(problem: Problem, seen: dict[str, list[SeenOutcome]]) -> list[Dependence]:
    """Return the fields of a state that seem to depend on a field of the context.

    Failures can depend on it, too: if long requests expire, and that counts as failed, an arm
    looks bad for short requests.

    >>> from onepull import Interval
    >>> problem = Problem(
    ...     arms=["a"], context={"size": Interval(0, 9)}, state={"wait": Interval(0, 99)},
    ...     reward="-wait * size",
    ... )
    >>> random = np.random.default_rng(1)
    >>> sizes = random.uniform(0, 9, 200)
    >>> waits = 3 * sizes + random.uniform(0, 9, 200)
    >>> found = dependences(problem, {"a": [SeenOutcome((x,), (y,)) for x, y in zip(sizes, waits)]})
    >>> [(one.arm, one.state, one.context) for one in found]
    [('a', 'wait', 'size')]
    """
    if not problem.context.has_fields:
        return []
    contexts = [
        (i, name) for i, name in enumerate(problem.context) if name not in problem.context.words
    ]
    tried = [
        (arm, state, context, *found)
        for arm, outcomes in seen.items()
        for state, rows, shown in _columns(problem, outcomes)
        for i, context in contexts
        if (found := correlation([row[i] for row in rows], shown)) is not None
    ]
    return [
        Dependence(arm, state, context, round(strength, 3), pairs)
        for arm, state, context, strength, pairs in tried
        if abs(strength) >= WEAKEST and _chance(strength, pairs) * len(tried) < CHANCE
    ]


def _columns(
    problem: Problem, outcomes: list[SeenOutcome]
) -> Iterator[tuple[str, list[tuple[float, ...]], list[float]]]:
    """Yield what outcomes show, with their contexts: each field of the state, and failures."""
    known = [(one.context, one.state) for one in outcomes if one.context is not None]
    answered = [(context, state) for context, state in known if state is not None]
    for i, name in enumerate(problem.state):
        if name not in problem.state.words:
            yield name, [context for context, _ in answered], [state[i] for _, state in answered]
    yield FAILED, [context for context, _ in known], [float(state is None) for _, state in known]


def correlation(x: Sequence[float], y: Sequence[float]) -> tuple[float, int] | None:
    """Return the rank correlation of changes between neighbours in time, and how many there are.

    A slow drift of an arm, together with a change of the requests that it gets, would look like
    dependence.  Differences of neighbours hardly see it.  None if there are too few of them.
    """
    pairs = len(x) // 2
    steps_x, steps_y = (
        np.asarray(values[: 2 * pairs], float).reshape(pairs, 2) @ (1.0, -1.0) for values in (x, y)
    )
    moved = (steps_x != 0.0) & (steps_y != 0.0)
    count = int(moved.sum())
    if count < FEWEST_PAIRS:
        return None
    ranks_x, ranks_y = _ranks(steps_x[moved]), _ranks(steps_y[moved])
    if np.ptp(ranks_x) == 0 or np.ptp(ranks_y) == 0:
        return None
    return float(np.corrcoef(ranks_x, ranks_y)[0, 1]), count


def _ranks(values: Array) -> Array:
    """Return the rank of each value; equal ones share theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2.0)[place])


def _chance(strength: float, pairs: int) -> float:
    """Return how likely a correlation of this size is without dependence (Fisher's z)."""
    z = math.atanh(min(abs(strength), 1.0 - 1e-12)) * math.sqrt((pairs - 3) / 1.06)
    return math.erfc(z / math.sqrt(2.0))
