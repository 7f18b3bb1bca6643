"""A problem that a service serves: its router, and what the dashboard shows of it."""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections import deque
from typing import Any
from urllib.parse import quote

import msgspec

from onepull.problem import Problem
from onepull.router import Router
from onepull.service.http.answers import ArmTimeline, ProblemAnswer, TimelineAnswer
from onepull.service.views.newest import Newest, Outcomes, SeenOutcome
from onepull.service.views.timeline import Timeline
from onepull.store import Control, Decided, Defined, Event, Failed, Observed

TAIL = 100_000  # events that are read at the start to show the past
SHOWN = 50  # decisions and changes in a live message
MOST_PENDING = 200_000  # events that wait to be counted
TOLD_CHANGES = (Control, Defined)
TOLD_OUTCOMES = (Observed, Failed)
TOLD = (Decided, *TOLD_OUTCOMES, *TOLD_CHANGES)  # in live messages


class Hosted:
    """A router with its timeline, its newest states and its live messages.

    All of it follows from the log.  The router hands over what it has folded, and `catch_up`
    counts it.
    """

    def __init__(self, router: Router) -> None:
        self.router = router
        self.timeline = Timeline(router.problem)
        self.newest = Newest()
        self._pending: deque[Any] = deque(maxlen=MOST_PENDING)
        self._lock = threading.Lock()
        self._news: list[Any] = []
        router.follow(self._pending.extend)
        self._sequence = router.sequence  # what comes later is new
        self._has_read_tail = False  # which takes a second, so a start does not wait for it

    @property
    def name(self) -> str:
        """Its name."""
        return self.router.name

    @property
    def path(self) -> str:
        """Where it is on the network."""
        return f"/v1/problems/{quote(self.name, safe='')}"

    def _read_tail(self) -> None:
        """Read the newest part of the log."""
        last = self._sequence
        for event in self.router.store.events(self.name, after=max(last - TAIL, 0), until=last):
            self._fold(event)
        self._news.clear()
        self._has_read_tail = True

    def _fold(self, event: Event) -> None:
        self.timeline.fold(event)
        self.newest.fold(event)
        if isinstance(event, TOLD):
            self._news.append(event)

    def catch_up(self) -> None:
        """Count what the router has folded since the last call."""
        with self._lock:
            self._count()

    def _count(self) -> None:
        problem = self.router.problem
        if problem is not self.timeline.problem:
            self.timeline.switch(problem)
            self.newest.keep(set(problem.arms))
        if not self._has_read_tail:
            self._read_tail()
        while self._pending:
            event = self._pending.popleft()
            if event.seq > self._sequence:  # the tail may overlap
                self._fold(event)
                self._sequence = event.seq
        if len(self._news) > 4 * SHOWN:
            del self._news[: -4 * SHOWN]

    def tick(self) -> dict[str, Any] | None:
        """Return what is new since the last tick, None if nothing is."""
        with self._lock:
            self._count()
            news, self._news = self._news, []
        if not news:
            return None
        decided = [event for event in news if isinstance(event, Decided)]
        changed = [event for event in news if isinstance(event, TOLD_CHANGES)]
        learned = [event for event in news if isinstance(event, TOLD_OUTCOMES)]
        return {
            "problem": self.name,
            "sequence": self._sequence,
            "time": time.time(),
            "decisions": decided[-SHOWN:],
            "observations": learned[-SHOWN:],
            "changes": [without_policy(event) for event in changed[-SHOWN:]],
        }

    def span(self, seconds: float, most: int) -> TimelineAnswer:
        """Return the timeline of the last seconds, in at most so many buckets."""
        self.catch_up()
        now = time.time()
        level, fine = Timeline.level(seconds)
        width = fine * math.ceil(seconds / fine / max(most - 1, 1))
        # Buckets begin at the same moments in every answer, so that a picture stands still.
        start = (now - seconds) // width * width
        count = int((now - start) // width) + 1
        with self._lock:
            columns = self.timeline.columns(level, start, width, count)
        arms = {
            arm: ArmTimeline(
                [int(c.decisions) if c else 0 for c in column],
                [int(c.observations) if c else 0 for c in column],
                [int(c.failures) if c else 0 for c in column],
                [int(c.expired) if c else 0 for c in column],
                [c.reward / c.rewards if c and c.rewards else None for c in column],
            )
            for arm, column in columns.items()
        }
        return TimelineAnswer(start, float(width), arms)

    def described(self) -> ProblemAnswer:
        """Return the problem as it is now, with its version."""
        router = self.router
        stats, problem = router.stats(), router.problem
        written = problem.to_dict() if problem.reward.is_formula else problem.outline()
        asked = router.asked
        found = ProblemAnswer(
            name=self.name,
            version="",
            problem=written,
            policy=stats.policy.policy,
            asked=asked["policy"],
            mode=stats.mode,
            fallback=stats.fallback,
            expires=asked["expires"],
            on_expiry=asked["on_expiry"],
            sticky=asked["sticky"],
            snapshot_every=asked["snapshot_every"],
            keep=asked["keep"],
            controls=stats.controls,
            drained=stats.drained,
        )
        text = msgspec.json.encode(found, order="sorted")
        return msgspec.structs.replace(found, version=hashlib.sha256(text).hexdigest()[:16])

    def newest_outcomes(self, problem: Problem, arm: str) -> Outcomes:
        """Return the newest outcomes of an arm."""
        self.catch_up()
        with self._lock:
            return self.newest.outcomes(problem, arm)

    def newest_seen(self, arm: str) -> list[SeenOutcome]:
        """Return the newest outcomes of an arm with their contexts."""
        self.catch_up()
        with self._lock:
            return self.newest.seen(self.router.problem, arm)

    def newest_requests(self, count: int) -> list[Decided]:
        """Return the newest decisions."""
        self.catch_up()
        with self._lock:
            return list(self.newest.requests)[-count:]

    def newest_changes(self) -> list[Any]:
        """Return the newest changes that operators made."""
        self.catch_up()
        with self._lock:
            return [without_policy(event) for event in self.newest.changes]


def without_policy(event: Any) -> Any:
    """Return a change for readers; the contents of a save file are of no use to them."""
    if isinstance(event, Defined):
        told = {"event": "defined", "seq": event.seq, "time": event.time, "problem": event.problem}
        return told | ({"reward": event.reward, "by": event.by} if event.reward else {})
    return event
