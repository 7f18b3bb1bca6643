"""What a router has done and how it is, for operators."""

from __future__ import annotations

from typing import Any

import msgspec

from onepull.policies.controls import Controls
from onepull.policies.stats import Stats

IN_MEMORY = "in memory; nothing is kept after the process ends"


class RouterStats(msgspec.Struct, frozen=True):
    """Counts of decisions and outcomes, the controls, and the health of the log.

    All counts come from the log, so a restart does not reset them.

    Attributes
    ----------
    name
        The name of the problem.
    sequence
        The last event of the log that is counted here.
    mode, fallback, controls, drained
        The controls that are set.
    policy
        The counts of each arm and its mean state.
    decisions
        The decisions by arm and mode.
    outcomes
        The outcomes by arm and kind: observed, failed, or expired, whether that teaches or not.
    in_flight
        Decisions whose outcome has not arrived.
    gave_up, expired, late
        Decisions that were given up or expired, and answers that came afterwards.
    clipped
        Values outside their bounds that were clipped, by field of the state.
    refused
        Events that could not be applied, such as observations of a removed arm.
    lag
        How many events other processes have stored that are not counted here yet.
    unrecorded
        Decisions that could not be stored; their observations are learned all the same.
    last_observation
        The time of the newest outcome in seconds since the epoch, None if there is none.
    healthy
        Whether the log can be written.
    reward
        The formula of the reward, None if it is a Python callable.
    lasts
        Whether the log is kept after the process ends; one in memory is not.

    Examples
    --------
    >>> from onepull import Interval, Problem
    >>> from onepull.router import Router
    >>> problem = Problem(arms=["a", "b"], state={"x": Interval(0, 1)}, reward="x")
    >>> with Router(problem) as router:
    ...     decision = router.choose()
    ...     router.observe(decision, x=0.5).learned, router.stats().outcomes
    (True, {'a': {'observed': 1}})
    """

    name: str
    sequence: int
    mode: str
    fallback: str | None
    controls: Controls
    drained: list[str]
    policy: Stats
    decisions: dict[str, dict[str, int]]
    outcomes: dict[str, dict[str, int]]
    in_flight: int
    gave_up: int
    expired: int
    late: int
    clipped: dict[str, int]
    refused: int
    lag: int
    unrecorded: int
    last_observation: float | None
    healthy: bool
    reward: str | None
    lasts: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain

    def __str__(self) -> str:
        """Return the counts as a table in plain text."""
        state = f"{self.name}: {self.mode}, event {self.sequence:,}"
        flight = f"{self.in_flight:,} in flight, {self.expired:,} expired, {self.late:,} late"
        kept = "" if self.lasts else f"{IN_MEMORY}\n"
        return f"{state}, {flight}\n{kept}{self.policy}"
