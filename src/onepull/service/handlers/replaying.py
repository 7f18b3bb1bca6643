"""A replay of the log within limits, since anybody with a key may ask for one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from onepull.router import Router
from onepull.router.definition.definition import policy_for
from onepull.router.replay.replay import replayed
from onepull.service.http.answers import ReplayAnswer
from onepull.service.http.messages import ReplayRequest
from onepull.store import Decided

MOST_EVENTS = 20_000  # that are read; the newest of the time span
MOST_DECISIONS = 3000  # that are made again; the newest of these
SECONDS = 8.0  # that making them again may take


def replay_within_limits(router: Router, asked: ReplayRequest) -> ReplayAnswer:
    """Return what another reward or policy would have chosen and earned.

    The router replays a whole log; here the newest part of the time span is replayed, and `notes`
    begins with that.
    """
    problem = router.problem
    other = problem if asked.reward is None else problem.with_reward(asked.reward)
    policy, _ = policy_for(other, asked.policy or router.asked["policy"])
    span = _Span(router, asked)
    found = replayed(policy, problem, span, seconds=SECONDS)
    return msgspec.structs.replace(found, notes=[*span.notes, *found.notes])


class _Span:
    """The events of a time span, as far as the limits allow."""

    def __init__(self, router: Router, asked: ReplayRequest) -> None:
        store, name = router.store, router.name
        last = store.last_sequence
        start = 0 if asked.since is None else _first_after(router, asked.since, last)
        end = last if asked.until is None else _first_after(router, asked.until, last)
        self.notes: list[str] = []
        if end - start > MOST_EVENTS:
            self.notes.append(f"only the newest {MOST_EVENTS:,} events are replayed")
        self._events = list(store.events(name, after=max(start, end - MOST_EVENTS), until=end))
        count = sum(isinstance(event, Decided) for event in self._events)
        self._skipped = max(count - MOST_DECISIONS, 0)
        if self._skipped:
            self.notes.append(f"only the newest {MOST_DECISIONS:,} decisions are made again")

    def __iter__(self) -> Iterator[Any]:
        """Yield the events; all outcomes are learned, old decisions are left out."""
        left = self._skipped
        for event in self._events:
            if isinstance(event, Decided) and left:
                left -= 1
                continue
            yield event


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
