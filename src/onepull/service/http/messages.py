"""What goes over the wire: the types that bodies are decoded to, and the schema that follows."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from onepull.checks import Share
from onepull.router.receipts import Observation
from onepull.router.state.plain_values import LONGEST_ID

LONGEST_ARM_NAME = 200
MOST_OBSERVATIONS = 10_000  # in one batch
MOST_ELIGIBLE = 10_000

Name: TypeAlias = Annotated[
    str, msgspec.Meta(min_length=1, max_length=LONGEST_ARM_NAME, description="The name of an arm.")
]
Id: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_ID)]
# A whole number stays one, so that errors show it as it was sent; larger ones are sent as 1e30.
SentValue: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)] | float | bool | str
Fields: TypeAlias = dict[str, SentValue]
Mode: TypeAlias = Literal["live", "shadow", "off"]
Status: TypeAlias = Literal["active", "paused", "draining"]


class _Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A request.  An unknown field is an error, so that a misspelt one is not overlooked."""


class DecisionRequest(_Body, frozen=True):
    """Ask for an arm.

    Attributes
    ----------
    context
        All context fields by name.
    id
        Makes a repeated request safe: the same id and body get the same answer.  The server makes
        an id if there is none.
    eligible
        The arms that may be chosen; all by default.
    key
        Requests with the same key get the same arm as far as possible, for example a session.

    Examples
    --------
    >>> msgspec.json.decode(b'{"context": {"tokens": 250}}', type=DecisionRequest).context
    {'tokens': 250}
    """

    context: Fields = {}
    id: Id | None = None
    eligible: Annotated[list[Name], msgspec.Meta(max_length=MOST_ELIGIBLE)] | None = None
    key: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_ID)] | None = None


class ObservationRequest(Observation, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Tell what became of a decision: its state, its reward, or that it failed.

    Attributes
    ----------
    id
        The decision.  An id counts once, however often it is sent.
    arm
        The arm that was pulled.  With it the observation is learned even if the decision is not
        known.
    state
        All state fields by name.
    reward
        The reward, if the state was not seen.
    failed
        Whether the pull failed and shows no state.
    gave_up
        Whether no answer will come.
    context
        The context fields, if the decision is not known and the policy needs them.

    Examples
    --------
    >>> msgspec.json.decode(b'{"id": "7", "state": {"ttft": 0.3}}', type=ObservationRequest).state
    {'ttft': 0.3}
    """

    id: Id
    arm: Name | None = None
    state: Fields | None = None
    reward: float | None = None
    failed: bool = False
    gave_up: bool = False
    context: Fields | None = None


Batch: TypeAlias = Annotated[
    list[ObservationRequest], msgspec.Meta(min_length=1, max_length=MOST_OBSERVATIONS)
]


class ProblemRequest(_Body, frozen=True):
    """Create a problem, or change it.

    In a change, what is left out stays as it is; only `problem` is always needed, as a whole.

    Attributes
    ----------
    problem
        The problem, as `Problem.to_json` writes it.
    policy
        The name of a policy, or an object with its `name` and parameters; "recommended" for a new
        problem.
    expires
        After how many seconds a decision without an observation expires; 60 for a new problem.
    on_expiry
        What an expired decision means: "give_up", as for a new problem, "fail", or the state that
        it stands for.
    fallback
        The arm of shadow and off mode; null for none.
    mode
        What decides: the policy ("live"), as for a new problem, or the fallback ("shadow", "off").
    sticky
        For how many seconds a key stays on its arm after its last decision; 300 for a new problem.
    snapshot_every
        After how many events a snapshot is kept; 50,000 for a new problem.
    keep
        How many events are kept at least; null, as for a new problem, keeps all.
    redefine
        Whether the problem may become another one, of which nothing learned can be kept.
    error
        Accept estimates that are off by up to this much for another reward or other attributes.

    Examples
    --------
    >>> ProblemRequest(problem={"arms": ["a"]}).policy is msgspec.UNSET
    True
    """

    problem: dict[str, Any]
    policy: str | dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    expires: Annotated[float, msgspec.Meta(gt=0.0)] | msgspec.UnsetType = msgspec.UNSET
    on_expiry: str | Fields | msgspec.UnsetType = msgspec.UNSET
    fallback: Name | msgspec.UnsetType | None = msgspec.UNSET
    mode: Mode | msgspec.UnsetType = msgspec.UNSET
    sticky: Annotated[float, msgspec.Meta(ge=0.0)] | msgspec.UnsetType = msgspec.UNSET
    snapshot_every: Annotated[int, msgspec.Meta(ge=1)] | msgspec.UnsetType = msgspec.UNSET
    keep: Annotated[int, msgspec.Meta(ge=0)] | msgspec.UnsetType | None = msgspec.UNSET
    redefine: bool = False
    error: Annotated[float, msgspec.Meta(ge=0)] | None = None


class ReplayRequest(_Body, frozen=True, rename={"since": "from", "until": "to"}):
    """Ask what would have been chosen and earned with another reward or another policy.

    Attributes
    ----------
    reward
        Another formula.
    policy
        Another policy, by name or as an object with its `name` and parameters.
    since
        The first second of the log to replay, since the epoch.
    until
        The last second.

    Examples
    --------
    >>> msgspec.json.decode(b'{"from": 10}', type=ReplayRequest).since
    10.0
    """

    reward: Annotated[str, msgspec.Meta(max_length=10_000)] | None = None
    policy: str | dict[str, Any] | None = None
    since: float | None = None
    until: float | None = None


class WhatIfRequest(_Body, frozen=True):
    """Ask how shares and payoff would change with another reward.

    Examples
    --------
    >>> WhatIfRequest("-seconds").reward
    '-seconds'
    """

    reward: Annotated[str, msgspec.Meta(min_length=1, max_length=10_000)]


class ControlsRequest(_Body, frozen=True):
    """Change what decides.  A field that is left out stays; null unsets `pin` and `fallback`.

    Attributes
    ----------
    mode
        Whether the policy's arm is returned.
    pin
        One arm for every request.
    fallback
        The arm that is returned where the policy's is not.
    reward
        Another formula; what was learned is revalued.
    failure
        Another reward of a failure, together with `reward`.
    error
        Accept estimates that are off by up to this much for another reward.
    relearn
        Whether to learn all outcomes of the log again with another reward, which is exact.

    Examples
    --------
    >>> ControlsRequest(mode="shadow").pin is msgspec.UNSET
    True
    """

    mode: Mode | msgspec.UnsetType = msgspec.UNSET
    pin: Name | msgspec.UnsetType | None = msgspec.UNSET
    fallback: Name | msgspec.UnsetType | None = msgspec.UNSET
    reward: Annotated[str, msgspec.Meta(max_length=10_000)] | msgspec.UnsetType = msgspec.UNSET
    failure: float | Annotated[str, msgspec.Meta(max_length=10_000)] | None = None
    error: Annotated[float, msgspec.Meta(ge=0)] | None = None
    relearn: bool = False


class ArmRequest(_Body, frozen=True):
    """Change an arm.  A field that is left out stays.

    Attributes
    ----------
    status
        A paused arm is not chosen.  A draining one is not chosen either, and its pulls in flight
        are still waited for.
    min_share
        The least share of the pulls.
    max_share
        The most.
    attributes
        What is known of the arm, such as its price.
    error
        Accept estimates that are off by up to this much for other attributes.

    Examples
    --------
    >>> ArmRequest(status="paused").status
    'paused'
    """

    status: Status | msgspec.UnsetType = msgspec.UNSET
    min_share: Share | msgspec.UnsetType = msgspec.UNSET
    max_share: Share | msgspec.UnsetType = msgspec.UNSET
    attributes: dict[str, float | str] | msgspec.UnsetType = msgspec.UNSET
    error: Annotated[float, msgspec.Meta(ge=0)] | None = None


class Rejected(msgspec.Struct, frozen=True):
    """One observation of a batch that was not learned."""

    index: int
    error: ProblemDetails


class ObservationsAnswer(msgspec.Struct, frozen=True):
    """How many observations were learned.  All of these are on disk.

    Attributes
    ----------
    learned
        The ones that are new, including late ones.
    duplicates
        The ones that had been counted before.
    late
        The ones that came after their decision had expired.
    rejected
        The ones with an error, by their position in the batch.
    seq
        The place in the log of the last one that was accepted; null if none was.

    Examples
    --------
    >>> ObservationsAnswer(learned=1).duplicates
    0
    """

    learned: int = 0
    duplicates: int = 0
    late: int = 0
    rejected: list[Rejected] = []
    seq: int | None = None


class ProblemDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error as RFC 9457 describes it: `application/problem+json`.

    Attributes
    ----------
    type
        Which kind of error: "urn:onepull:error:" and the name of the error.
    title
        The kind of error in words.
    status
        The status of the answer.
    detail
        What was given, what is allowed, and where.
    field
        The field of the request that it is about, if known.

    Examples
    --------
    >>> ProblemDetails("about:blank", "Not Found", 404).field
    ''
    """

    type: str
    title: str
    status: int
    detail: str = ""
    field: str = ""


class Health(msgspec.Struct, frozen=True):
    """Whether the service is up.  It tells nothing else, since anybody may ask."""

    status: Literal["live", "ready", "draining", "unready"]


class NewArmRequest(_Body, frozen=True):
    """Add an arm, with its attributes if the arms of the problem have some.

    Examples
    --------
    >>> NewArmRequest(attributes={"price": 1.0}).attributes
    {'price': 1.0}
    """

    attributes: dict[str, float | str] = {}
