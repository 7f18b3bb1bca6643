"""What another reward or policy would have chosen and earned, from the states in the log.

The reward is known, so a logged state tells what its arm would have earned for every request and
by every formula.  No probabilities of the old choices are needed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.errors import InputError, OnepullError
from onepull.policies import Policy
from onepull.problem import Problem
from onepull.router import Router
from onepull.router.definition import policy_for
from onepull.service.answers import ReplayAnswer, ReplayedArm
from onepull.service.messages import ReplayRequest
from onepull.store import Decided, Expired, Failed, Observed

MOST_EVENTS = 20_000  # that are read; the newest of the time span
MOST_REQUESTS = 3000  # that are decided again
MOST_OUTCOMES = 200  # of each arm, from which its reward is averaged
SECONDS = 8.0  # that deciding again may take


def replayed(router: Router, asked: ReplayRequest) -> ReplayAnswer:
    """Decide the requests of the log again; raises OnepullError if the formula does not fit."""
    problem = router.problem
    if asked.reward is not None:
        problem = problem.with_reward(asked.reward)
    policy, _ = policy_for(problem, asked.policy or router.asked["policy"])
    events, notes = _span(router, asked)
    rewards = _Rewards(problem, events)
    replay = _Replay(problem, policy, rewards)
    deadline = time.monotonic() + SECONDS
    first = max(sum(isinstance(event, Decided) for event in events) - MOST_REQUESTS, 0)
    for event in events:
        if isinstance(event, Decided):
            first -= 1
            if first < 0:
                replay.decide(event)
        else:
            replay.learn(event)
        if time.monotonic() > deadline:
            notes.append(f"stopped after {SECONDS:g} s; choose a shorter time span")
            break
    if replay.skipped:
        notes.append(f"{replay.skipped} requests do not fit the problem as it is now")
    if replay.unknown:
        notes.append(f"{replay.unknown} choices are of arms without a state in this time span")
    return replay.answer(asked.reward, type(policy).__name__, notes)


def _span(router: Router, asked: ReplayRequest) -> tuple[list[Any], list[str]]:
    """Return the events of a time span, and what was left out."""
    store, name = router.store, router.name
    last = store.last_sequence
    start = 0 if asked.since is None else _first_after(router, asked.since, last)
    end = last if asked.until is None else _first_after(router, asked.until, last)
    notes = []
    if end - start > MOST_EVENTS:
        notes.append(f"only the newest {MOST_EVENTS:,} events of the time span are replayed")
    after = max(start, end - MOST_EVENTS)
    found = [
        event
        for event in store.events(name, after=after, until=end)
        if isinstance(event, Decided | Observed | Failed | Expired)
    ]
    return found, notes


def _first_after(router: Router, moment: float, last: int) -> int:
    """Return the sequence number after which events are newer than a moment, by bisection."""
    low, high = 0, last
    while low < high:
        middle = (low + high) // 2
        found = router.store.read(router.name, after=middle, limit=1)
        if not found or found[0].time > moment:
            high = middle
        else:
            low = found[0].seq
    return low


def _outcomes(problem: Problem, events: list[Any]) -> Iterator[tuple[int, tuple[float, ...]]]:
    """Yield the arm and the outcome of each pull that shows one."""
    position = {arm: j for j, arm in enumerate(problem.arms)}
    for event in events:
        j = position.get(event.arm)
        if j is None or isinstance(event, Decided):
            continue
        try:
            if isinstance(event, Failed) or getattr(event, "failed", False):
                yield j, problem.failed_outcome_of(j)
            elif event.state is not None:
                yield j, problem.outcome_of(j, problem.state.read(event.state))
        except InputError:
            continue  # of the problem as it was before


class _Rewards:
    """The mean reward of each arm for a request, over the outcomes of the time span."""

    def __init__(self, problem: Problem, events: list[Any]) -> None:
        self._payoff = problem.payoff
        found: list[list[tuple[float, ...]]] = [[] for _ in problem.arms]
        for j, outcome in _outcomes(problem, events):
            found[j].append(outcome)
        self._columns = [_spread(rows) for rows in found]

    def mean(self, j: int, context: tuple[float, ...]) -> float | None:
        """Return the mean reward of an arm; None if nothing is known of it."""
        columns = self._columns[j]
        if columns is None:
            return None
        count = columns.shape[1]
        rewards = self._payoff.vector(*(np.full(count, value) for value in context), *columns)
        return float(np.mean(rewards))


def _spread(rows: list[tuple[float, ...]]) -> Array | None:
    """Return outcomes as columns, evenly thinned out if there are many."""
    if not rows:
        return None
    places = np.linspace(0, len(rows) - 1, min(len(rows), MOST_OUTCOMES)).round().astype(int)
    columns: Array = np.array(rows, dtype=float)[places].T
    return columns


class _Replay:
    def __init__(self, problem: Problem, policy: Policy, rewards: _Rewards) -> None:
        self._problem, self._policy, self._rewards = problem, policy, rewards
        self._position = {arm: j for j, arm in enumerate(problem.arms)}
        count = len(problem.arms)
        self._chosen, self._was_chosen = [0] * count, [0] * count
        self._earned: list[list[float]] = [[] for _ in range(count)]
        self._was_earned: list[list[float]] = [[] for _ in range(count)]
        self.requests = self.skipped = self.unknown = 0

    def decide(self, event: Decided) -> None:
        """Choose again for a request."""
        old = self._position.get(event.arm)
        try:
            context = self._problem.context.read(event.context)
            eligible = None
            if event.eligible is not None:
                eligible = [arm for arm in event.eligible if arm in self._position]
            new = self._position[self._policy.choose(eligible=eligible, **event.context)]
        except OnepullError:
            self.skipped += 1
            return
        if old is None:
            self.skipped += 1
            return
        self.requests += 1
        for j, counts, earned in (
            (new, self._chosen, self._earned),
            (old, self._was_chosen, self._was_earned),
        ):
            counts[j] += 1
            mean = self._rewards.mean(j, context)
            if mean is not None:
                earned[j].append(mean)
            else:
                self.unknown += 1

    def learn(self, event: Any) -> None:
        """Learn what was seen, as the policy would have at that moment."""
        if not getattr(event, "counts", True) or (isinstance(event, Expired) and not event.teaches):
            return
        failed = isinstance(event, Failed) or getattr(event, "failed", False)
        state: dict[str, Any] = {} if failed else getattr(event, "state", None) or {}
        reward = None if failed else getattr(event, "reward", None)
        try:
            self._policy.observe(event.arm, reward=reward, failed=failed, **event.context, **state)
        except OnepullError:
            return  # of the problem as it was before

    def answer(self, reward: str | None, policy: str, notes: list[str]) -> ReplayAnswer:
        """Return the comparison."""
        arms = {
            arm: ReplayedArm(
                chosen=self._chosen[j],
                was_chosen=self._was_chosen[j],
                reward=_mean(self._earned[j]),
                was_reward=_mean(self._was_earned[j]),
            )
            for arm, j in self._position.items()
        }
        return ReplayAnswer(
            requests=self.requests,
            reward=reward,
            policy=policy,
            earned=_mean([value for values in self._earned for value in values]),
            was_earned=_mean([value for values in self._was_earned for value in values]),
            arms=arms,
            notes=notes,
        )


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None
