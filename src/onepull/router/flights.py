"""The decisions whose outcome has not arrived."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from onepull.store.events import Decided

GRACE = 5.0  # seconds after which a decision of another worker, which may be dead, expires too
RECENT = 10_000  # answers that are remembered, should their decision be read after them


class Flights:
    """Decisions in flight, each with the time at which it expires by this process's own clock.

    All decisions of a router wait equally long.  So they expire in the order in which they were
    added, and finding the expired ones takes no search.

    Examples
    --------
    >>> flights = Flights(60.0)
    >>> flights.add(Decided(id="one", arm="a"), now=100.0)
    >>> [event.id for event in flights.expired(now=161.0)], len(flights)
    (['one'], 1)
    >>> flights.pop("one").arm
    'a'
    """

    def __init__(self, expires: float) -> None:
        self.expires = expires
        self.own: dict[str, tuple[Decided, float]] = {}
        self.foreign: dict[str, tuple[Decided, float]] = {}
        # Ordered, since a plain dict takes long to find its first key after many deletions.
        self._answered: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        """Return how many decisions are in flight."""
        return len(self.own) + len(self.foreign)

    def __iter__(self) -> Iterator[Decided]:
        """Yield the decisions in flight."""
        for event, _ in (*self.own.values(), *self.foreign.values()):
            yield event

    def get(self, id_: str) -> Decided | None:
        """Return a decision in flight."""
        found: Any = self.own.get(id_) or self.foreign.get(id_)
        return found[0] if found else None

    def add(self, event: Decided, now: float) -> None:
        """Add a decision of this process."""
        self.own[event.id] = event, now + self.expires

    def read(self, event: Decided, now: float) -> bool:
        """Add a decision that was read from the log; return whether it is new."""
        id_ = event.id
        if id_ in self.own or id_ in self.foreign:
            return False
        if id_ in self._answered:
            del self._answered[id_]
            return False
        self.foreign[id_] = event, now + self.expires + GRACE
        return True

    def pop(self, id_: str) -> Decided | None:
        """Remove a decision that is answered; return it if it was in flight."""
        found: Any = self.own.pop(id_, None) or self.foreign.pop(id_, None)
        if found:
            return found[0]  # type: ignore[no-any-return]  # a Decided
        self._answered[id_] = None
        if len(self._answered) > RECENT:
            self._answered.popitem(last=False)
        return None

    def expired(self, now: float) -> list[Decided]:
        """Return the decisions that have expired, which stay until their expiry is in the log."""
        found = []
        for flights in (self.own, self.foreign):
            for event, deadline in flights.values():
                if deadline > now:
                    break
                found.append(event)
        return found
