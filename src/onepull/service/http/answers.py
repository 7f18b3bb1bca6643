"""The types of answers, from which the OpenAPI document is made."""

from __future__ import annotations

from typing import Any

import msgspec

from onepull.policies import Controls
from onepull.router import Decision, RouterStats
from onepull.router.replay.replay import Replay

DecisionAnswer = Decision
StatsAnswer = RouterStats
ReplayAnswer = Replay


class ProblemSummary(msgspec.Struct, frozen=True):
    """A problem in a list."""

    name: str
    policy: str
    mode: str
    arms: int
    sequence: int


class ProblemsAnswer(msgspec.Struct, frozen=True):
    """All problems of a service, and what the asking key may do: reader, writer or admin."""

    problems: list[ProblemSummary]
    role: str


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
    expires, on_expiry, sticky, snapshot_every, keep
        As `PUT` takes them.
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
    sticky: float
    snapshot_every: int
    keep: int | None
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
    note: str


class Curve(msgspec.Struct, frozen=True):
    """An arm along one field of the context.

    Attributes
    ----------
    estimate
        The policy's estimate at each point; null where it has none.
    error
        Half of the width of a 95 % interval of the mean reward, from the newest outcomes, of which
        older ones count for less if arms change; null where there are too few.
    states
        How many outcomes that is from.
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


class WhatIfArm(msgspec.Struct, frozen=True):
    """An arm with another reward.

    Attributes
    ----------
    share
        The share of the requests for which it would be the best.
    was_share
        The same with the present reward.
    earned
        Its mean reward in these requests, by the other formula.
    outcomes
        From how many outcomes that is.
    """

    share: float | None
    was_share: float | None
    earned: float | None
    outcomes: int


class WhatIfAnswer(msgspec.Struct, frozen=True):
    """How traffic and payoff would change with another reward.

    Attributes
    ----------
    requests
        How many of the newest requests were valued.
    earned
        The mean reward of the arms that would be best, by the other formula.
    was_earned
        The mean reward of the arms that are best now, by the other formula.
    points, best, was_best
        The best arm along the first field of the context, then and now.
    notes
        What limits the comparison.
    """

    requests: int
    reward: str
    earned: float | None
    was_earned: float | None
    arms: dict[str, WhatIfArm]
    field: str
    points: list[float | str]
    best: list[str | None]
    was_best: list[str | None]
    notes: list[str]


class Dependence(msgspec.Struct, frozen=True):
    """A field of an arm's state that seems to depend on a field of the context.

    Attributes
    ----------
    state
        The field of the state; "failed" for whether the pull failed.
    correlation
        The rank correlation of their changes between neighbours in time.
    pairs
        From how many pairs of outcomes that is.
    """

    arm: str
    state: str
    context: str
    correlation: float
    pairs: int


class WarningsAnswer(msgspec.Struct, frozen=True):
    """What a policy relies on and may not hold.

    Attributes
    ----------
    knows_drift
        Whether the policy learns how fast arms change.
    half_life
        After how many observations half of a change is believed to be gone; null if it believes
        in no change, or does not know.
    dependent
        States that seem to depend on the context.
    """

    knows_drift: bool
    half_life: float | None
    dependent: list[Dependence]


class ChangesAnswer(msgspec.Struct, frozen=True):
    """The newest changes that operators made, the newest last."""

    changes: list[dict[str, Any]]
