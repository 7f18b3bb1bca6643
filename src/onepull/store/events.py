"""What a log records: one frozen value for each kind of event.

An event is what happened, with all that is needed to learn it again.  An observation carries its
arm and its context, so it can be learned even if the record of the decision is lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum
from typing import Any, ClassVar, TypeAlias

import msgspec

from onepull.checks import shown
from onepull.errors import InputError, StoreError

FieldValue: TypeAlias = float | str | bool


class Slot(IntEnum):
    """A place of an id in the log that only its first event takes."""

    DECISION = 0
    OUTCOME = 1
    GIVE_UP = 2
    LATE = 3  # an answer after an expiry that was learned in its place
    DEFINITION = 4

    __hash__ = int.__hash__  # that of an Enum takes longer than the rest of looking one up


class Event(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="event",
    omit_defaults=True,
    tag=str.lower,
    gc=False,  # no cycle can begin at one, and many are in flight
):
    """What all events have.

    Attributes
    ----------
    seq
        The place in the log, given by the store: 1, 2, 3 and so on over all problems.
    time
        When it happened, in seconds since the epoch by the clock of the process that wrote it.
    problem
        The name of the problem.

    Examples
    --------
    >>> paused = Paused(arm="wifi", time=12.0, problem="default")
    >>> decode(encode(paused), seq=7, problem="default")
    Paused(seq=7, time=12.0, problem='default', by='', arm='wifi')
    """

    slot: ClassVar[Slot | None] = None
    seq: int = 0
    time: float = 0.0
    problem: str = ""


class Identified(Event, frozen=True, kw_only=True):
    """An event of one decision."""

    id: str


class Defined(Identified, frozen=True, kw_only=True):
    """What a log is about: the problem and the policy, with what it knows at the start.

    Attributes
    ----------
    policy
        The policy as the contents of a save file.
    asked
        What the caller asked for, to tell whether it has changed.
    base
        The events up to this one are in `policy`; later ones before this event are learned again.
    error
        By how much estimates may be off after what has changed; None accepts nothing.
    reward, by
        Where an operator changed the reward alone: the formula with which all outcomes were learned
        again, and who asked for it.
    """

    slot = Slot.DEFINITION
    policy: bytes
    asked: Any = None
    base: int = 0
    error: float | None = None
    reward: str | None = None
    by: str = ""


class Decided(Identified, frozen=True, kw_only=True):
    """An arm was chosen.

    Attributes
    ----------
    arm
        The arm that was returned.
    context, eligible, key
        The request.
    choice
        The policy's own choice, where another arm was returned.
    """

    slot = Slot.DECISION
    arm: str
    context: dict[str, FieldValue] = {}
    mode: str = "live"
    chance: float | None = None
    estimate: float | None = None
    reason: str = ""
    expires_at: float = 0.0
    eligible: tuple[str, ...] | None = None
    key: str | None = None
    choice: str | None = None


class Observed(Identified, frozen=True, kw_only=True):
    """A pull showed its state, or its reward.

    Attributes
    ----------
    late
        Whether the pull had been given up before.
    counts
        False if an expiry was learned in its place, so that it is kept but not learned.
    """

    arm: str
    context: dict[str, FieldValue] = {}
    state: dict[str, FieldValue] | None = None
    reward: float | None = None
    late: bool = False
    counts: bool = True

    @property
    def slot(self) -> Slot:  # type: ignore[override]  # depends on the event
        """Its place among the events of its id."""
        return Slot.OUTCOME if self.counts else Slot.LATE


class Failed(Identified, frozen=True, kw_only=True):
    """A pull failed and showed no state."""

    arm: str
    context: dict[str, FieldValue] = {}
    late: bool = False
    counts: bool = True

    @property
    def slot(self) -> Slot:  # type: ignore[override]  # depends on the event
        """Its place among the events of its id."""
        return Slot.OUTCOME if self.counts else Slot.LATE


class GaveUp(Identified, frozen=True, kw_only=True):
    """The caller does not expect an answer any more."""

    slot = Slot.GIVE_UP
    arm: str
    context: dict[str, FieldValue] = {}


class Expired(Identified, frozen=True, kw_only=True):
    """No answer came in time.

    Attributes
    ----------
    failed, state
        What is learned from that; nothing if neither is given.
    """

    arm: str
    context: dict[str, FieldValue] = {}
    failed: bool = False
    state: dict[str, FieldValue] | None = None

    @property
    def teaches(self) -> bool:
        """Whether something is learned."""
        return self.failed or self.state is not None

    @property
    def slot(self) -> Slot:  # type: ignore[override]  # depends on the event
        """Its place among the events of its id."""
        return Slot.OUTCOME if self.teaches else Slot.GIVE_UP


class Control(Event, frozen=True, kw_only=True):
    """Something that an operator asked for; `by` says who."""

    by: str = ""


class ModeSet(Control, frozen=True, kw_only=True):
    """Whether the policy's arm is returned: live, shadow or off."""

    mode: str


class FallbackSet(Control, frozen=True, kw_only=True):
    """The arm that is returned where the policy's is not."""

    arm: str | None


class Pinned(Control, frozen=True, kw_only=True):
    """One arm for every request, or None for the policy's choice."""

    arm: str | None


class Paused(Control, frozen=True, kw_only=True):
    """An arm is not chosen any more."""

    arm: str


class Drained(Control, frozen=True, kw_only=True):
    """An arm is chosen only for keys that are on it already."""

    arm: str


class Resumed(Control, frozen=True, kw_only=True):
    """A paused or drained arm is chosen again."""

    arm: str


class ShareSet(Control, frozen=True, kw_only=True):
    """The least and the most share of the pulls of an arm."""

    arm: str
    least: float = 0.0
    most: float = 1.0


class AttributesSet(Control, frozen=True, kw_only=True):
    """Known attributes of an arm have changed; `error` of estimates was accepted for it."""

    arm: str
    attributes: dict[str, FieldValue]
    error: float | None = None


class ArmAdded(Control, frozen=True, kw_only=True):
    """There is a new arm."""

    arm: str
    attributes: dict[str, FieldValue] = {}


class ArmRemoved(Control, frozen=True, kw_only=True):
    """An arm and what was learned of it are gone."""

    arm: str


class RewardSet(Control, frozen=True, kw_only=True):
    """The reward is another formula, and maybe that of a failure; `error` was accepted for it."""

    reward: str
    failure: float | str | None = None
    error: float | None = None


AnyEvent: TypeAlias = (
    Defined
    | Decided
    | Observed
    | Failed
    | GaveUp
    | Expired
    | ModeSet
    | FallbackSet
    | Pinned
    | Paused
    | Drained
    | Resumed
    | ShareSet
    | AttributesSet
    | ArmAdded
    | ArmRemoved
    | RewardSet
)

KINDS: dict[str, type[Event]] = {kind.__name__.lower(): kind for kind in AnyEvent.__args__}

HALVES = re.compile("[\ud800-\udfff]")  # of surrogate pairs, which no file can hold

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(AnyEvent)
_json = msgspec.json.Decoder(AnyEvent)
_set = msgspec.structs.force_setattr


def encode(event: Event) -> bytes:
    """Return an event as bytes; its place in the log and its problem are stored beside them.

    Raises InputError if no store can hold it: it has half of a surrogate pair, a whole number
    beyond 64 bits, or a NUL in its id or in the name of its problem.

    >>> encode(Observed(id="a", arm="b", state={"x": 2**70}))
    Traceback (most recent call last):
    onepull.errors.InputError: the event 'a' cannot be stored: can't serialize ints < -2**63 or > \
2**64 - 1
    """
    id_ = getattr(event, "id", "")
    if not storable(event.problem) or not storable(id_):
        raise InputError(
            f"the event {shown(id_)} of {shown(event.problem)} cannot be stored: an id and the "
            "name of a problem must not contain NUL or half of a surrogate pair"
        )
    try:
        return _encoder.encode(event)
    except (OverflowError, UnicodeEncodeError) as error:
        raise InputError(f"the event {shown(id_)} cannot be stored: {error}") from None


def encode_all(events: Sequence[Event]) -> list[bytes]:
    """Return events as bytes like `encode`, in less time than one by one.

    >>> encode_all([Paused(arm="wifi")]) == [encode(Paused(arm="wifi"))]
    True
    """
    ids = "".join([getattr(event, "id", "") for event in events])
    if storable(ids) and all(map(storable, {event.problem for event in events})):
        with suppress(OverflowError, UnicodeEncodeError):
            return [*map(_encoder.encode, events)]
    return [encode(event) for event in events]  # which tells what is wrong with one


def set_place(event: Event, seq: int) -> None:
    """Give an event its place in the log."""
    _set(event, "seq", seq)


def storable(name: str) -> bool:
    r"""Return whether a store can hold a name; one that it cannot hold, it does not have.

    >>> storable("order 66"), storable("order\0"), storable("\ud800")
    (True, False, False)
    """
    return "\0" not in name and (name.isascii() or not HALVES.search(name))


def decode(body: bytes, *, seq: int, problem: str) -> Any:
    """Return a stored event; raises StoreError if this version does not know its kind."""
    try:
        event = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreError(
            f"event {seq} cannot be read: {error}; it is damaged, or written by a newer onepull"
        ) from None
    set_place(event, seq)
    _set(event, "problem", problem)
    return event


def from_json(line: bytes | str) -> Any:
    """Return an event from a line of JSON; raises StoreError if it is not one.

    >>> from_json('{"event": "pinned", "arm": "lte"}').arm
    'lte'
    """
    try:
        return _json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(f"not an event: {error}") from None
