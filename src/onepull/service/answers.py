"""The types of answers, from which the OpenAPI document is made."""

from __future__ import annotations

from typing import Any

import msgspec

from onepull.policies import Controls
from onepull.router import Decision, RouterStats
from onepull.router.replay import Replay

DecisionAnswer = Decision
StatsAnswer = RouterStats


class ProblemSummary(msgspec.Struct, frozen=True):
    """A problem in a list."""

    name: str
    policy: str
    mode: str
    arms: int
    sequence: int


class ProblemsAnswer(msgspec.Struct, frozen=True):
    """All problems of a service."""

    problems: list[ProblemSummary]


class ProblemAnswer(msgspec.Struct, frozen=True):
    """A problem as it is now.

    Attributes
    ----------
    version
        Changes whenever anything of this answer does; also sent as the ETag.
    problem
        As `Problem.to_json` writes it.
    policy
        Its class.
    asked
        What was asked for: a name, or a name and parameters.
    """

    name: str
    version: str
    problem: dict[str, Any]
    policy: str
    asked: Any
    mode: str
    fallback: str | None
    expires: float
    on_expiry: Any
    controls: Controls
    drained: list[str]


class ArmExplained(msgspec.Struct, frozen=True):
    """One arm in a decision; an infinite index is null."""

    arm: str
    pulls: float
    estimate: float | None
    bonus: float | None
    index: float | None
    eligible: bool
    chance: float | None
    in_flight: int
    control: str


class ExplanationAnswer(msgspec.Struct, frozen=True):
    """A decision and its parts."""

    policy: str
    context: dict[str, float | str]
    trial: int
    arms: list[ArmExplained]
    arm: str | None
    reason: str


class Curve(msgspec.Struct, frozen=True):
    """An arm along one field of the context.

    Attributes
    ----------
    estimate
        The policy's estimate at each point; null where it has none.
    error
        Half of the width of a 95 % interval of the mean reward, from the newest states; null
        where there are too few.
    states
        How many states that is from.
    """

    arm: str
    estimate: list[float | None]
    error: list[float | None]
    states: int


class CurvesAnswer(msgspec.Struct, frozen=True):
    """The arms along one field of the context.

    Attributes
    ----------
    points
        The values of the field.
    best
        The arm with the highest estimate at each point.
    context
        The values of the other fields.
    """

    field: str
    points: list[float | str]
    best: list[str | None]
    context: dict[str, float | str]
    curves: list[Curve]


class ArmTimeline(msgspec.Struct, frozen=True):
    """What happened to an arm in each bucket of time; `reward` is the mean, null if none."""

    decisions: list[int]
    observations: list[int]
    failures: list[int]
    expired: list[int]
    reward: list[float | None]


class TimelineAnswer(msgspec.Struct, frozen=True):
    """Decisions, observations and rewards over time.

    Attributes
    ----------
    start
        The beginning of the first bucket, in seconds since the epoch.
    width
        The width of a bucket in seconds.
    arms
        The counts of each arm, one number for each bucket.
    """

    start: float
    width: float
    arms: dict[str, ArmTimeline]


class ReplayAnswer(Replay, frozen=True, kw_only=True):
    """What another reward or policy would have chosen and earned; `notes` tell what limits it."""

    notes: list[str]
