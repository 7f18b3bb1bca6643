"""Turn what a caller reports into an event, or find that it was reported before."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from onepull.checks import shown
from onepull.errors import ConflictError, InputError, NotFound
from onepull.policies.policy import Policy
from onepull.router.receipts import Receipt
from onepull.store.events import Expired, Failed, GaveUp, Observed, Slot
from onepull.store.store import FORGOTTEN


class Outcome(NamedTuple):
    """The event to store; with a receipt if the same was stored before."""

    event: Any
    receipt: Receipt | None = None


def receipt_for(event: Any, done: Any) -> Receipt:
    """Return the receipt of an event that was stored, or that was there before.

    Raises ConflictError if another outcome was there.
    """
    if isinstance(event, GaveUp):
        repeats = done.before is not None
        return Receipt(event.id, learned=False, duplicate=repeats, seq=done.seq)
    if done.before is None:
        return Receipt(event.id, learned=event.counts, late=event.late, seq=done.seq)
    return repeated(event, done.before, done.seq)


def repeated(event: Any, before: Any, seq: int) -> Receipt:
    """Return the receipt of a duplicate; raises ConflictError if it was another outcome."""
    if before is FORGOTTEN:
        raise ConflictError(
            f"id {shown(event.id)} is older than what the log keeps; it may have been "
            "observed before"
        )
    if _body(before) != _body(event):
        raise ConflictError(
            f"id {shown(event.id)} was observed before with {_told(before)}, and that "
            f"stands; given {_told(event)}"
        )
    return Receipt(event.id, learned=False, duplicate=True, late=before.late, seq=seq)


def prepared(  # noqa: PLR0913, PLR0917 - what was told, and what is known about it
    problem: str,
    policy: Policy,
    id_: str,
    arm: str | None,
    decided: Any,
    slots: Mapping[Slot, Any],
    reward: Any,
    failed: Any,
    fields: dict[str, Any],
) -> Outcome:
    """Return the event of an outcome; raises an error if it does not fit the problem.

    Parameters
    ----------
    decided
        The decision, if the log or the memory has it.
    slots
        The events of the id in the log, if the decision is not in flight here.
    """
    before = slots.get(Slot.OUTCOME)
    if arm is None:
        known = before if decided is None else decided  # the decision may be lost, but answered
        if known is None:
            raise NotFound(
                f"no decision has the id {shown(id_)}; pass arm=… and the context fields to report "
                "its outcome all the same"
            )
        arm = getattr(known, "arm", "")  # a forgotten answer has none
    context, state = _split(policy, decided, fields)
    has_failed = failed is not False and _truth(failed)
    late = Slot.GIVE_UP in slots
    now = time.time()
    event: Any
    if has_failed:
        if state or reward is not None:
            raise InputError("a failed pull shows no state and no reward; leave them out")
        event = Failed(problem=problem, time=now, id=id_, arm=arm, context=context, late=late)
    else:
        event = Observed(
            problem=problem,
            time=now,
            id=id_,
            arm=arm,
            context=context,
            state=state or None,
            reward=reward,
            late=late,
        )
    if isinstance(before, Expired):  # which was learned, so the answer is kept beside it
        before = slots.get(Slot.LATE)
        event = msgspec.structs.replace(event, counts=False, late=True)
    if before is not None:
        return Outcome(event, repeated(event, before, getattr(before, "seq", 0)))
    whole = fields if decided is None else {**context, **state}
    policy.check_observation(arm, whole, reward=reward, failed=has_failed)
    return Outcome(event)


def receipt_if_answered(slots: Mapping[Slot, Any], id_: str) -> Receipt | None:
    """Return the receipt of a give-up for a decision that was answered, None if it was not."""
    before = slots.get(Slot.OUTCOME)
    if before is None:
        return None
    return Receipt(id_, learned=False, duplicate=True, seq=getattr(before, "seq", 0))


def _split(
    policy: Policy, decided: Any, fields: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the context and the state; raises InputError if the context is another one."""
    names = policy.problem.context.names
    given: dict[str, Any] = {}
    state: dict[str, Any] = {}
    for name, value in fields.items():
        (given if name in names else state)[name] = value
    if decided is None:
        return given, state
    for name, value in given.items():
        if decided.context.get(name) != value:
            raise InputError(
                f"decision {shown(decided.id)} is for {name}={shown(decided.context.get(name))}, "
                f"given {name}={shown(value)}"
            )
    return decided.context, state


def _truth(failed: Any) -> bool:
    if failed in (True, False):
        return bool(failed)
    raise InputError(f"failed must be True or False, given {shown(failed)}")


def _body(event: Any) -> tuple[Any, ...]:
    """Return what makes two outcomes of an id the same."""
    if isinstance(event, Failed):
        return ("failed", event.arm)
    return ("observed", event.arm, event.state, event.reward)


def _told(event: Any) -> str:
    if isinstance(event, Failed):
        return f"a failure of {event.arm}"
    seen = event.state if event.reward is None else {"reward": event.reward}
    fields = ", ".join(f"{name}={shown(value)}" for name, value in (seen or {}).items())
    return f"{fields} of {event.arm}"
