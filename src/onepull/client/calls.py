"""The verbs as requests, and replies as values; what both clients share."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from logging import Logger
from typing import Any

import msgspec

from onepull.checks import shown, some
from onepull.client.attempts import Reply, error_of, raise_for
from onepull.errors import InputError, ParameterError, ServiceError
from onepull.policies import Explanation
from onepull.router import BatchReceipt, Decision, Observation, Receipt, RouterStats
from onepull.router.state.plain_values import LONGEST_ID
from onepull.store import new_id

EVENTS_PER_REPLY = 1000  # events of a log in one reply
REMEMBERED_DECISIONS = 100_000  # decisions, to name the arm of an observation
UNSURE = "the service could not be reached"


class QueuedReceipt(Receipt, frozen=True):
    """An observation that waits to be delivered.

    Examples
    --------
    >>> QueuedReceipt("order 66", learned=False).is_queued
    True
    """

    is_queued: bool = True


class Made:
    """The decisions that a client has got or made; the oldest are forgotten.

    An observation then names its arm, so that it is learned even if the service has never heard
    of the decision.  For a fallback it has the context, too.
    """

    def __init__(self, most: int = REMEMBERED_DECISIONS) -> None:
        self._most = most
        self._known: OrderedDict[str, tuple[str, dict[str, Any]]] = OrderedDict()

    def add(self, decision: Decision, context: Mapping[str, Any]) -> None:
        """Remember a decision."""
        is_ours = decision.mode == "fallback"
        self._known[decision.id] = decision.arm, dict(context) if is_ours else {}
        if len(self._known) > self._most:
            self._known.popitem(last=False)

    def find(self, id_: str) -> tuple[str, dict[str, Any]] | None:
        """Return the arm and the context of a decision."""
        return self._known.get(id_)


def decision_body(
    id_: str | None, eligible: Collection[str] | None, key: str | None, context: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the body of a request for a decision; it has an id, so that it can be repeated."""
    if isinstance(eligible, str):
        raise InputError(f"eligible takes a list of arms, given the text {shown(eligible)}")
    body: dict[str, Any] = {"id": checked_id(id_), "context": json_fields(context)}
    if eligible is not None:
        body["eligible"] = [str(arm) for arm in eligible]
    if key is not None:
        body["key"] = key
    return body


def checked_id(id_: str | None) -> str:
    """Return an id, a new one for None.

    >>> checked_id("")
    Traceback (most recent call last):
    onepull.errors.InputError: an id is text of 1 to 200 characters, given ''
    """
    if id_ is None:
        return new_id()
    given: Any = id_
    if not isinstance(given, str) or not 0 < len(given) <= LONGEST_ID:
        raise InputError(f"an id is text of 1 to {LONGEST_ID} characters, given {shown(id_)}")
    return id_


def json_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields as JSON holds them; raises InputError for what it cannot hold.

    >>> import numpy as np
    >>> json_fields({"bits": np.int64(3), "warm": np.True_, "region": "eu"})
    {'bits': 3, 'warm': True, 'region': 'eu'}
    >>> json_fields({"bits": float("nan")})
    Traceback (most recent call last):
    onepull.errors.InputError: field 'bits' must be a finite number or text, given nan
    """
    found = {}
    for name, value in fields.items():
        # Numbers of numpy know what they are in Python.
        given = value.item() if hasattr(value, "item") and not hasattr(value, "__len__") else value
        is_number = isinstance(given, (int, float)) and math.isfinite(given)
        if not is_number and not isinstance(given, str):
            raise InputError(
                f"field {name!r} must be a finite number or text, given {shown(value)}"
            )
        found[name] = given
    return found


def observation_body(  # noqa: PLR0913 - one for each thing that may be told
    made: Made,
    decision: Decision | str,
    *,
    arm: str | None = None,
    reward: float | None = None,
    failed: bool = False,
    state: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
    gave_up: bool = False,
) -> dict[str, Any]:
    """Return the body of an observation."""
    id_ = checked_id(decision.id if isinstance(decision, Decision) else decision)
    known = made.find(id_)
    body: dict[str, Any] = {"id": id_}
    if arm is None:
        arm = decision.arm if isinstance(decision, Decision) else known[0] if known else None
    if arm is not None:
        body["arm"] = arm
    if context is None and known is not None:
        context = known[1]
    if context:
        body["context"] = json_fields(context)
    if reward is not None:
        body["reward"] = json_fields({"reward": reward})["reward"]
    if failed:
        body["failed"] = True
    if state:
        body["state"] = json_fields(state)
    if gave_up:
        body["gave_up"] = True
    return body


def many_bodies(made: Made, given: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the bodies of many observations, given as values or as plain objects."""
    found = []
    for entry in given:
        try:
            each = entry if isinstance(entry, Observation) else Observation(**entry)
        except TypeError as error:
            raise InputError(f"not an observation: {shown(entry)} ({error})") from None
        found.append(observation_body(
            made, each.id, arm=each.arm, reward=each.reward, failed=each.failed,
            state=each.state, context=each.context, gave_up=each.gave_up,
        ))  # fmt: skip
    return found


def decision_of(reply: Reply) -> Decision:
    """Return the decision of a reply."""
    found: Decision = read(Decision, raise_for(reply))
    return found


def receipt_of(reply: Reply, id_: str) -> Receipt:
    """Return the receipt of a single observation."""
    counts = read(dict[str, Any], raise_for(reply))
    return Receipt(
        id_,
        learned=bool(counts["learned"]),
        duplicate=bool(counts["duplicates"]),
        late=bool(counts["late"]),
        seq=counts.get("seq") or 0,
    )


def stats_in_reply(reply: Reply) -> RouterStats:
    """Return the counts of a reply."""
    found: RouterStats = read(RouterStats, raise_for(reply))
    return found


def batch_receipt_of(reply: Reply) -> BatchReceipt:
    """Return the receipt of a batch."""
    counts = read(dict[str, Any], raise_for(reply))
    rejected = tuple(
        (entry["index"], error_of(entry["error"], entry["error"]["status"]))
        for entry in counts["rejected"]
    )
    return BatchReceipt(
        counts["learned"], counts["duplicates"], counts["late"], rejected, counts.get("seq")
    )


def joined_receipts(receipts: Iterable[tuple[int, BatchReceipt]]) -> BatchReceipt:
    """Return the receipts of parts of a batch as one; each part has the position of its first.

    >>> joined_receipts([(0, BatchReceipt(1, 0, 0)), (500, BatchReceipt(2, 1, 0))])
    BatchReceipt(learned=3, duplicates=1, late=0, rejected=(), seq=None)
    """
    parts = list(receipts)
    return BatchReceipt(
        sum(each.learned for _, each in parts),
        sum(each.duplicates for _, each in parts),
        sum(each.late for _, each in parts),
        tuple((start + i, error) for start, each in parts for i, error in each.rejected),
        max((each.seq for _, each in parts if each.seq is not None), default=None),
    )


def warn_of_refused(told: BatchReceipt, batch: list[dict[str, Any]], logger: Logger) -> None:
    """Tell which of the observations that waited were refused."""
    for index, error in told.rejected:
        logger.warning("observation %s was refused: %s", batch[index]["id"], error)


class LogPages:
    """Reads a log page by page.

    Examples
    --------
    >>> pages = LogPages(after=7, limit=None)
    >>> pages.query()
    (('after', '7'), ('limit', '1000'))
    >>> [event["seq"] for event in pages.read(b'{"seq": 8}')], pages.query() is None
    ([8], True)
    """

    def __init__(self, after: int, limit: int | None) -> None:
        self._after = after
        self._left = math.inf if limit is None else limit
        self._is_done = False

    def query(self) -> tuple[tuple[str, str], ...] | None:
        """Return the query of the next page; None after the last."""
        if self._is_done or self._left <= 0:
            return None
        return ("after", str(self._after)), ("limit", str(min(self._left, EVENTS_PER_REPLY)))

    def read(self, body: bytes) -> list[dict[str, Any]]:
        """Return the events of a page."""
        found: list[dict[str, Any]] = [read(dict[str, Any], line) for line in body.splitlines()]
        self._is_done = len(found) < min(self._left, EVENTS_PER_REPLY)
        self._left -= len(found)
        if found:
            self._after = found[-1]["seq"]
        return found


def explanation_of(reply: Reply) -> Explanation:
    """Return an explanation, with infinite numbers where JSON has null."""
    told = read(dict[str, Any], raise_for(reply))
    for row in told["arms"]:
        if row["index"] is None:
            row["index"] = math.inf
            if row["bonus"] is None and row["estimate"] is None:
                row["bonus"] = math.inf
    return msgspec.convert(told, Explanation)


def explain_query(
    eligible: Collection[str] | None, context: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Return the query of an explanation."""
    query = [(name, _text(value)) for name, value in json_fields(context).items()]
    return query + [("eligible", arm) for arm in eligible or ()]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(float(value))


def replay_body(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a replay.

    >>> replay_body({"reward": "x", "since": 10.0, "until": None})
    {'reward': 'x', 'from': 10.0}
    """
    names = {"reward": "reward", "policy": "policy", "since": "from", "until": "to"}
    for name in asked:
        if name not in names:
            raise ParameterError(f"unknown argument {name!r}; allowed: {', '.join(names)}")
    return {names[name]: value for name, value in asked.items() if value is not None}


def read(kind: Any, body: bytes) -> Any:
    """Return a reply as a value; raises ServiceError if it is something else."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ServiceError(f"the reply is not from onepull: {error}") from None


def fallback_decision(
    body: Mapping[str, Any], fallback: Sequence[str], expires: float, why: str
) -> Decision:
    """Return the declared fallback for a request: the first one that is eligible.

    >>> body = {"id": "1", "eligible": ["b", "c"]}
    >>> fallback_decision(body, ["a", "b"], 60.0, "no route").arm
    'b'
    """
    eligible = body.get("eligible")
    allowed = [arm for arm in fallback if eligible is None or arm in eligible]
    if not allowed:
        raise InputError(
            f"none of the fallback arms {some(fallback)} is eligible, and {UNSURE}: {why}"
        )
    return Decision(
        body["id"], allowed[0], "fallback", None, None, f"{UNSURE}: {why}", time.time() + expires
    )


def checked_fallback(given: Any) -> tuple[str, ...]:
    """Return the fallback arms in their order.

    >>> checked_fallback("a"), checked_fallback(["a", "b"]), checked_fallback(None)
    (('a',), ('a', 'b'), ())
    """
    if given is None:
        return ()
    if isinstance(given, str):
        return (given,)
    try:
        arms = tuple(given)
    except TypeError:
        arms = ()
    if not arms or not all(isinstance(arm, str) for arm in arms):
        raise ParameterError(f"fallback takes an arm or a list of arms, given {shown(given)}")
    return arms
