"""The arms that keys stay on."""

from __future__ import annotations

from collections import OrderedDict

MOST_STICKY_KEYS = 100_000  # keys that are remembered


class Sticky:
    """The arm of each key, for some time after its last decision.

    Times are those of the decisions, so a key ends at the same moment in every process, also in one
    that reads the log much later.

    >>> sticky = Sticky(60.0)
    >>> sticky.put("session 1", "wifi", now=0.0)
    >>> sticky.get("session 1", now=59.0), sticky.get("session 1", now=61.0)
    ('wifi', None)
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        # Ordered, since a plain dict takes long to find its first key after many deletions.
        self._arms: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def kept(self, now: float) -> dict[str, tuple[str, float]]:
        """Return the arm of each key and when that ends, without those that have ended."""
        return {key: entry for key, entry in self._arms.items() if now < entry[1]}

    def restore(self, kept: dict[str, tuple[str, float]]) -> None:
        """Put keys on the arms that they had, unless they have come again since."""
        self._arms = OrderedDict({**kept, **self._arms})

    def get(self, key: str, now: float) -> str | None:
        """Return the arm of a key, None if it has none."""
        arm, until = self._arms.get(key, (None, 0.0))
        return arm if now < until else None

    def put(self, key: str, arm: str, now: float) -> None:
        """Put a key on an arm; the key that was used least recently gives way."""
        self._arms[key] = arm, now + self.seconds
        self._arms.move_to_end(key)
        if len(self._arms) > MOST_STICKY_KEYS:
            self._arms.popitem(last=False)
