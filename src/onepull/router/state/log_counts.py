"""Counts of decisions, outcomes and clipped values, as the log tells them."""

from __future__ import annotations

from typing import Any

import msgspec

from onepull.store.events import Decided, Expired

REMOVED = "(removed)"  # stands for all arms that were removed, of which there may be ever more


class LogCounts(msgspec.Struct, forbid_unknown_fields=True):
    """Counts of the events of a log.

    Attributes
    ----------
    decisions
        The decisions by arm and mode; those of arms that were removed are counted together.
    answers
        The outcomes by arm and kind: observed, failed, or expired, whether that teaches or not;
        those of arms that were removed are counted together.
    gave_up, expired, late
        Decisions that were given up or expired, and answers that came afterwards.
    clipped
        The values outside their bounds that were clipped, by field.
    refused
        Events that could not be applied.
    last_time
        The time of the newest outcome, 0 if there is none.

    Examples
    --------
    >>> counts = LogCounts()
    >>> counts.decide(Decided(id="one", arm="a"))
    >>> counts.decisions
    {'a': {'live': 1}}
    """

    decisions: dict[str, dict[str, int]] = {}
    answers: dict[str, dict[str, int]] = {}
    gave_up: int = 0
    expired: int = 0
    late: int = 0
    clipped: dict[str, int] = {}
    refused: int = 0
    last_time: float = 0.0

    def decide(self, event: Decided) -> None:
        """Count a decision."""
        modes = self.decisions.setdefault(event.arm, {})
        modes[event.mode] = modes.get(event.mode, 0) + 1

    def remove(self, arm: str) -> None:
        """Move the counts of an arm to those of removed arms.

        >>> counts = LogCounts(decisions={"a": {"live": 2}, REMOVED: {"live": 1}})
        >>> counts.remove("a")
        >>> counts.decisions
        {'(removed)': {'live': 3}}
        """
        for by_arm in (self.decisions, self.answers):
            for kind, count in by_arm.pop(arm, {}).items():
                removed = by_arm.setdefault(REMOVED, {})
                removed[kind] = removed.get(kind, 0) + count

    def learn(self, event: Any) -> None:
        """Count an outcome."""
        kind = event.__struct_config__.tag
        kinds = self.answers.setdefault(event.arm, {})
        kinds[kind] = kinds.get(kind, 0) + 1
        if not isinstance(event, Expired):
            self.late += event.late
            self.last_time = max(self.last_time, event.time)

    def clip(self, field: str) -> None:
        """Count a value that was clipped."""
        self.clipped[field] = self.clipped.get(field, 0) + 1
