"""The decisions whose outcome has not arrived."""

from __future__ import annotations

import heapq
import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from onepull.store.events import Decided

GRACE = 5.0  # seconds after which a decision of another worker, which may be dead, expires too
MOST_EARLY_ANSWERS = 10_000  # answers that are remembered, should their decision be read after them
MOST_STALE_DEADLINES = 1000  # deadlines of answered decisions that may wait to be cleared away


class Flights:
    """Decisions in flight, each with the time at which it expires by this process's own clock.

    A decision that was read from the log expires by its own time, `expires_at`, also if it is read
    much later, such as after a restart.  So the clocks of machines that share a log must agree
    within a few seconds.

    Attributes
    ----------
    expires
        After how many seconds a new decision expires.

    Examples
    --------
    >>> flights = Flights(60.0)
    >>> flights.add(Decided(id="one", arm="a"), deadline=160.0)
    >>> [event.id for event in flights.expired(now=161.0)], len(flights)
    (['one'], 1)
    >>> flights.pop("one").arm
    'a'
    """

    def __init__(self, expires: float) -> None:
        self.expires = expires
        self.own: dict[str, tuple[Decided, float]] = {}
        self.foreign: dict[str, tuple[Decided, float]] = {}
        self._deadlines: list[tuple[float, str]] = []  # a heap; answered decisions stay for a while
        self._look_at = (
            MOST_STALE_DEADLINES  # deadlines, to see whether most are of answered decisions
        )
        # Ordered, since a plain dict takes long to find its first key after many deletions.
        self._answered: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        """Return how many decisions are in flight."""
        return len(self.own) + len(self.foreign)

    def __iter__(self) -> Iterator[Decided]:
        """Return an iterator over those that are in flight now; later changes do not affect it.

        To take it is quick, so that decisions need not wait while others go through it.
        """
        now = [*self.own.values(), *self.foreign.values()]
        return (event for event, _ in now)

    def get(self, id_: str) -> Decided | None:
        """Return a decision in flight."""
        found: Any = self.own.get(id_) or self.foreign.get(id_)
        return found[0] if found else None

    def add(self, event: Decided, deadline: float) -> None:
        """Add a decision of this process that expires at a time of its clock."""
        self.own[event.id] = event, deadline
        self._note(deadline, event.id)

    def was_answered(self, id_: str) -> bool:
        """Whether an answer came before its decision, which then must not wait for another one.

        A client that gives up waiting for a decision uses its fallback, and reports that.
        """
        return id_ in self._answered

    def read(self, event: Decided, now: float) -> bool:
        """Add a decision that was read from the log; return whether it is new."""
        id_ = event.id
        if id_ in self.own or id_ in self.foreign:
            return False
        if id_ in self._answered:
            del self._answered[id_]
            return False
        left = event.expires_at - time.time()
        # Not longer than it was to wait, even if the clock that wrote it is ahead.
        deadline = now + min(left, event.expires_at - event.time) + GRACE
        self.foreign[id_] = event, deadline
        self._note(deadline, id_)
        return True

    def _note(self, deadline: float, id_: str) -> None:
        heapq.heappush(self._deadlines, (deadline, id_))
        if len(self._deadlines) > self._look_at:
            self._look_at = 2 * len(self) + MOST_STALE_DEADLINES
            if len(self._deadlines) > self._look_at:
                self._clear()

    def _clear(self) -> None:
        flying = (*self.own.items(), *self.foreign.items())
        self._deadlines = [(deadline, id_) for id_, (_, deadline) in flying]
        heapq.heapify(self._deadlines)

    def pop(self, id_: str) -> Decided | None:
        """Remove a decision that is answered; return it if it was in flight."""
        found: Any = self.own.pop(id_, None) or self.foreign.pop(id_, None)
        if found:
            return found[0]  # type: ignore[no-any-return]  # a Decided
        self._answered[id_] = None
        if len(self._answered) > MOST_EARLY_ANSWERS:
            self._answered.popitem(last=False)
        return None

    def may_expire(self, now: float) -> bool:
        """Whether a deadline is over; it can be asked without a lock."""
        return any(deadline <= now for deadline, _ in self._deadlines[:1])

    def expired(self, now: float) -> list[Decided]:
        """Return the decisions that have expired, which stay until their expiry is in the log."""
        found: dict[str, tuple[Decided, float]] = {}
        while self._deadlines and self._deadlines[0][0] <= now:
            deadline, id_ = heapq.heappop(self._deadlines)
            flight = self.own.get(id_) or self.foreign.get(id_)
            if flight is not None and flight[1] == deadline:  # not one that was answered since
                found[id_] = flight
        for id_, (_, deadline) in found.items():  # found again, unless their expiry is in the log
            heapq.heappush(self._deadlines, (deadline, id_))
        return [event for event, _ in found.values()]
