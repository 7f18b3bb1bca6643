"""What a log shows about each arm, and what that is worth under any formula.

The reward is known, so a state that an arm has shown can be valued in every context and under every
formula.  The mean over an arm's logged states estimates what the arm would have earned, whoever
chose it and however likely that was: no propensities are needed.  This holds as long as the state
of an arm depends neither on the context nor on having been chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from onepull.arrays import Array
from onepull.errors import OnepullError
from onepull.payoff import State
from onepull.policies.sharing.observation import observed_outcome
from onepull.problem import Problem
from onepull.router.replay.arm_values import means_at, rewards_at
from onepull.spaces import FAILED
from onepull.store.events import Expired, Failed, Observed

STATES = 1000  # of an arm that are valued in each context; evenly spread over the log


class Shown(NamedTuple):
    """An outcome in the log: its arm, its context if it is known, and what the pull showed."""

    arm: str
    context: dict[str, Any]
    told: dict[str, Any]
    reward: float | None


def shown_by(event: Any) -> Shown | None:
    """Return what an event shows of an arm, None if nothing.

    >>> shown_by(Observed(id="one", arm="a", state={"x": 0.5})).told
    {'x': 0.5}
    """
    if isinstance(event, Observed):
        return Shown(event.arm, event.context, event.state or {}, event.reward)
    if isinstance(event, Failed) or (isinstance(event, Expired) and event.failed):
        return Shown(event.arm, event.context, {FAILED: True}, None)
    if isinstance(event, Expired) and event.state is not None:
        return Shown(event.arm, event.context, event.state, None)
    return None


def state_told(problem: Problem, logged: Problem, each: Shown) -> dict[str, Any] | None:
    """Return the state that an outcome tells, by field; None if its reward does not tell it.

    A reward is understood by the formula of `logged`, under which it was observed.
    """
    if each.reward is None:
        return each.told
    try:
        state = logged.payoff_of(each.arm).invert(each.reward, logged.context.read(each.context))
        return dict(problem.state.fields(state))
    except (OnepullError, ValueError, KeyError):
        return None


class Evidence:
    """The outcomes of each arm, valued under the reward of a problem.

    Outcomes that the problem does not allow, and rewards that do not tell the state, are left out.
    """

    def __init__(self, problem: Problem, logged: Problem, shown: Iterable[Shown]) -> None:
        self.problem = problem
        self.left_out = 0
        self.earned: list[float] = []
        found: dict[str, list[State]] = {arm: [] for arm in problem.arms}
        for each in shown:
            outcome = self._outcome(each, logged)
            if outcome is None:
                self.left_out += 1
                continue
            found[each.arm].append(outcome)
            self._value_itself(each, outcome)
        self.outcomes = {arm: np.array(_spread(rows)) for arm, rows in found.items() if rows}

    def _outcome(self, each: Shown, logged: Problem) -> State | None:
        """Return what a pull showed, with the attributes that its arm has in this problem."""
        problem = self.problem
        told = state_told(problem, logged, each)
        if told is None or each.arm not in problem.arms:
            return None
        try:
            return observed_outcome(problem, problem.arms.index(each.arm), told, None)
        except (OnepullError, ValueError):
            return None

    def _value_itself(self, each: Shown, outcome: State) -> None:
        try:
            context = self.problem.context.exactly(each.context)
        except OnepullError:
            return
        self.earned.append(float(self.problem.payoff.scalar(*context, *outcome)))

    def rewards(self, arm: str, context: State) -> Array | None:
        """Return the reward of each outcome of an arm in a context, None if it has none."""
        rows = self.outcomes.get(arm)
        return None if rows is None else rewards_at(self.problem, rows, [context])[0]

    def means(self, contexts: Sequence[State]) -> Array:
        """Return the mean reward of every arm in every context; NaN if nothing is known of it."""
        rows = [self.outcomes.get(arm, ()) for arm in self.problem.arms]
        return means_at(self.problem, rows, contexts)

    def value(self, played: dict[tuple[str, State], int]) -> tuple[float | None, float | None]:
        """Return the mean reward of choices, and its standard error.

        `played` counts how often an arm was chosen in a context.  Choices of arms that the log
        shows nothing of are left out.
        """
        by_arm: dict[str, Array] = {}
        counts: dict[str, int] = {}
        for (arm, context), times in played.items():
            values = self.rewards(arm, context)
            if values is None:
                continue
            by_arm[arm] = by_arm.get(arm, 0.0) + times * values
            counts[arm] = counts.get(arm, 0) + times
        total = sum(counts.values())
        if not total:
            return None, None
        mean = math.fsum(float(sums.mean()) for sums in by_arm.values()) / total
        spread = math.fsum(
            float(sums.var(ddof=1)) / len(sums) for sums in by_arm.values() if len(sums) > 1
        )
        return mean, math.sqrt(spread) / total


def _spread(rows: list[State]) -> list[State]:
    """Return some of many rows, evenly spread."""
    if len(rows) <= STATES:
        return rows
    return [rows[i * len(rows) // STATES] for i in range(STATES)]
