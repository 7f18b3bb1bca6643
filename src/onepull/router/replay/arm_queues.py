"""What a replay shows a policy that decides the requests of a log again.

A policy learns from the arms that it chooses.  So each time that it chooses an arm, it is shown the
next outcome of that arm in the log, as many events later as that outcome came after its decision.
If the states of an arm depend neither on time, nor on the request, nor on the choice, the policy
behaves as it would have done, until the outcomes of an arm are used up (the queue-based evaluator
of Mandel et al., 2016).  Then they are shown again, from the first on, and that is counted.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from onepull.errors import OnepullError
from onepull.policies.policy import Policy
from onepull.problem import Problem
from onepull.router.replay.evidence import Shown, shown_by, state_told
from onepull.store.events import Decided, Expired, GaveUp


class Entry(NamedTuple):
    """What became of a logged decision: after how many events, and what was shown, if anything."""

    lag: int | None = None  # None if the log ends before
    shown: Shown | None = None


class ArmQueues:
    """What became of the decisions of a log, one queue for each arm, in the order of decisions.

    Attributes
    ----------
    events
        The events of the log.
    shown
        All outcomes in it.
    loose
        Outcomes of no decision in it, by the place in the log; they are learned as they came.
    reused
        How often an outcome was shown again, by arm.

    Examples
    --------
    >>> from onepull.store.events import Observed
    >>> queues = ArmQueues([Decided(id="1", arm="a"), Observed(id="1", arm="a", state={"x": 1})])
    >>> queues.next("a"), queues.next("a") == queues.next("a"), queues.reused
    (Entry(lag=1, shown=Shown(arm='a', context={}, told={'x': 1}, reward=None)), True, {'a': 2})
    """

    def __init__(self, events: Iterable[Any]) -> None:
        self.events = list(events)
        self.shown: list[Shown] = []
        self.loose: dict[int, Shown] = {}
        self.reused: dict[str, int] = {}
        decided: dict[str, tuple[int, Decided]] = {}
        ended: dict[str, Entry] = {}
        for place, event in enumerate(self.events):
            if isinstance(event, Decided):
                decided.setdefault(event.id, (place, event))
                continue
            told = shown_by(event)
            if told is not None:
                self.shown.append(told)
            if told is None and not isinstance(event, Expired | GaveUp):
                continue
            if not getattr(event, "counts", True):  # an expiry was learned in its place
                continue
            start, decision = decided.get(event.id, (place, None))
            if told is not None and (decision is None or decision.arm != told.arm):
                self.loose[place] = told
            elif decision is not None:  # an answer may come after a give-up
                ended[event.id] = Entry(place - start, told)
        self._rows: dict[str, list[Entry]] = {}
        for id_, (_, decision) in decided.items():
            self._rows.setdefault(decision.arm, []).append(ended.get(id_, Entry()))
        self._used = dict.fromkeys(self._rows, 0)

    @property
    def arms(self) -> frozenset[str]:
        """The arms for which there is a decision."""
        return frozenset(self._rows)

    def next(self, arm: str) -> Entry:
        """Return what becomes of the next decision for an arm."""
        row, used = self._rows[arm], self._used[arm]
        self._used[arm] = used + 1
        if used >= len(row):
            self.reused[arm] = self.reused.get(arm, 0) + 1
        return row[used % len(row)]


class Learner:
    """A policy that is shown outcomes when they come.

    Parameters
    ----------
    policy
        The policy, which learns.
    logged
        The problem of the log, by whose reward an outcome without a state is understood.

    Attributes
    ----------
    unshown
        How often there was an outcome that the policy could not be shown.
    """

    def __init__(self, policy: Policy, logged: Problem) -> None:
        self._policy, self._logged = policy, logged
        self._coming: list[tuple[int, int, str, dict[str, Any], Shown | None]] = []
        self._number = 0
        self._is_same_reward = policy.problem.payoff.computes_as(logged.payoff)
        self.unshown = 0

    def pull(self, arm: str, context: dict[str, Any], place: int, entry: Entry) -> None:
        """Count a pull in flight, and wait for what becomes of it."""
        self._policy.pulled(arm, **context)
        if entry.lag is not None:
            self._number += 1
            due = place + entry.lag, self._number, arm, context, entry.shown
            heapq.heappush(self._coming, due)

    def catch_up(self, place: int) -> None:
        """Learn all that has come up to a place in the log."""
        while self._coming and self._coming[0][0] <= place:
            _, _, arm, context, shown = heapq.heappop(self._coming)
            told = None if shown is None else self._told(shown, context)
            if told is not None and self._has_observed(arm, context, told):
                continue
            self._policy.gave_up(arm, **context)
            if told is not None:
                self.unshown += 1
            elif shown is not None:
                self.learn(shown)

    def _has_observed(self, arm: str, context: dict[str, Any], told: dict[str, Any]) -> bool:
        try:
            self._policy.observe(arm, **context, **told)
        except OnepullError:  # the problem does not allow it any more
            return False
        return True

    def _told(self, shown: Shown, context: dict[str, Any]) -> dict[str, Any] | None:
        """Return what an outcome tells in a context, as `observe` takes it; None if nothing."""
        if shown.reward is not None and context == shown.context and self._is_same_reward:
            return {"reward": shown.reward}
        return state_told(self._policy.problem, self._logged, shown)

    def learn(self, shown: Shown) -> bool:
        """Learn an outcome without answering a pull in flight; False if it cannot be learned.

        Then it is counted.
        """
        policy, arm, context = self._policy, shown.arm, shown.context
        told = self._told(shown, context)
        with suppress(OnepullError):  # an arm or a context that the problem does not have any more
            answers = told is not None and policy.is_in_flight(arm)
            if answers:  # it must not answer that of another decision
                policy.pulled(arm, **context)
            if told is not None and self._has_observed(arm, context, told):
                return True
            if answers:
                policy.gave_up(arm, **context)
        self.unshown += 1
        return False
