"""How traffic and payoff would change with another reward, at once.

The newest requests are valued with the newest outcomes of every arm, by the present reward and by
another one.  Nothing is learned again, so it takes milliseconds; `replaying` also learns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.problem import Problem
from onepull.router.replay.arm_values import best_arms, means_at
from onepull.service.http.answers import WhatIfAnswer, WhatIfArm
from onepull.service.http.messages import WhatIfRequest
from onepull.service.views.axes import contexts_along, points_of
from onepull.service.views.hosted import Hosted
from onepull.store import Decided

MOST_REQUESTS = 200
MOST_WHAT_IF_REWARDS = 4_000_000  # rewards that are computed
POINTS = 60


def what_if(hosted: Hosted, asked: WhatIfRequest) -> WhatIfAnswer:
    """Value the newest requests; raises OnepullError if the formula does not fit."""
    present = hosted.router.problem
    other = present.with_reward(asked.reward)
    requests, contexts = _requests(present, hosted.newest_requests(MOST_REQUESTS))
    field = next(iter(present.context), "") if present.context.has_fields else ""
    points = points_of(present.context[field], POINTS) if field else []
    along = contexts_along(present, field, {}, points) if field else []
    values = _Values(hosted, present, [*contexts, *along])
    now, then = values.by(present), values.by(other)
    count = len(requests)
    may = _may(hosted, present, requests)
    old, new = best_arms(now[:, :count], may), best_arms(then[:, :count], may)
    everywhere = np.repeat(_active(hosted, present)[:, None], len(along), axis=1)
    valued = int((new >= 0).sum())
    notes = []
    if count > valued:
        notes.append(f"{count - valued} requests have no arm with an outcome")
    if hosted.router.stats().controls.pinned is not None:
        notes.append("the pinned arm is left out of account: shares are as without it")
    return WhatIfAnswer(
        requests=valued,
        reward=asked.reward,
        earned=_earned(then, new),
        was_earned=_earned(then, old),
        arms={
            arm: WhatIfArm(
                share=_share(new == j, valued),
                was_share=_share(old == j, valued),
                earned=_earned(then, np.where(new == j, new, -1)),
                outcomes=values.outcomes[j],
            )
            for j, arm in enumerate(present.arms)
        },
        field=field,
        points=points,
        best=_names(present, best_arms(then[:, count:], everywhere)),
        was_best=_names(present, best_arms(now[:, count:], everywhere)),
        notes=notes,
    )


def _requests(
    problem: Problem, newest: list[Decided]
) -> tuple[list[Decided], list[tuple[float, ...]]]:
    """Return the requests that fit the problem as it is now, and their contexts."""
    found, contexts = [], []
    for request in newest:
        try:
            contexts.append(problem.context.read(request.context))
        except ValueError:  # of the problem as it was before
            continue
        found.append(request)
    return found, contexts


class _Values:
    """The mean reward of every arm in every context, over its newest outcomes.

    As in the policy, older ones count for less if arms change.
    """

    def __init__(self, hosted: Hosted, problem: Problem, contexts: list[tuple[float, ...]]) -> None:
        self._contexts = contexts
        most = max(MOST_WHAT_IF_REWARDS // max(len(problem.arms) * len(contexts), 1), 1)
        self._half_life = hosted.router.half_life
        self._known = [hosted.newest_outcomes(problem, arm).newest(most) for arm in problem.arms]
        self.outcomes = [len(known.rows) for known in self._known]

    def by(self, problem: Problem) -> Array:
        """Return the means by the reward of a problem; NaN where nothing is known."""
        rows = [known.rows for known in self._known]
        weights = [known.weights(self._half_life) for known in self._known]
        return means_at(problem, rows, self._contexts, weights)


def _active(hosted: Hosted, problem: Problem) -> Array:
    stats = hosted.router.stats()
    out = {*stats.controls.paused, *stats.drained}
    return np.array([arm not in out for arm in problem.arms])


def _may(hosted: Hosted, problem: Problem, requests: list[Decided]) -> Array:
    """Return which arm may be chosen for which request."""
    active = _active(hosted, problem)
    return np.array([
        active if request.eligible is None
        else active & np.array([arm in request.eligible for arm in problem.arms])
        for request in requests
    ], dtype=bool).reshape(len(requests), len(problem.arms)).T  # fmt: skip


def _earned(values: Array, chosen: Any) -> float | None:
    places = np.flatnonzero(chosen >= 0)
    return float(values[chosen[places], places].mean()) if len(places) else None


def _share(chosen: Any, count: int) -> float | None:
    return float(chosen.sum() / count) if count else None


def _names(problem: Problem, best: Any) -> list[str | None]:
    return [problem.arms[j] if j >= 0 else None for j in best.tolist()]
