"""Decisions and observations: most of the traffic."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from onepull.errors import InputError, NotFound, OnepullError
from onepull.router import BatchReceipt, Decision, Receipt, Router
from onepull.service.handlers.gathering import RECORDED
from onepull.service.http.bodies import Body
from onepull.service.http.exchange import JSON, Answer, Exchange
from onepull.service.http.messages import (
    Batch,
    DecisionRequest,
    ObservationRequest,
    ObservationsAnswer,
    Rejected,
)
from onepull.service.http.problem_details import Refused, refusal

if TYPE_CHECKING:
    from onepull.service.service import Service
    from onepull.service.views.hosted import Hosted

# Gives what to answer to a body, or the future of it if that takes a while.
Work: TypeAlias = Callable[["Service", Router, bytes], Any]

_decision = Body(DecisionRequest)
_observations = Body(ObservationRequest | Batch)
_encode = msgspec.json.Encoder().encode
_UNCOMPRESSED = ((b"accept-encoding", b"identity"),)  # what RFC 9110 lets a refusal name
_TAKEN = frozenset({"id", "eligible", "key"})  # arguments of `Router.choose`


class ShortCut(NamedTuple):
    """What answers the requests to a path that much of the traffic has.

    Attributes
    ----------
    measure
        The duration that it counts to, one of `metrics.HISTOGRAMS`.
    """

    work: Work
    router: Router
    measure: str


def short_cuts(path: str, router: Router) -> dict[bytes, ShortCut]:
    """Return the short cuts of a problem by their paths."""
    return {
        f"{path}/decisions".encode(): ShortCut(decided, router, "decide"),
        f"{path}/observations".encode(): ShortCut(observed, router, "commit"),
    }


def check_json(headers: dict[bytes, bytes]) -> None:
    """Refuse bodies that are not JSON; a page elsewhere can send others without being asked."""
    kind = headers.get(b"content-type", b"")
    if kind != JSON and kind.partition(b";")[0].strip().lower() != JSON:
        raise Refused(415, "send the body with `Content-Type: application/json`", kind="NotJSON")
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        detail = "send the body as it is: a compressed one (`Content-Encoding`) is not read"
        raise Refused(415, detail, kind="Compressed", headers=_UNCOMPRESSED)


async def decide(service: Service, exchange: Exchange) -> Answer:
    """Answer a request for a decision."""
    return await _answered(service, exchange, "decisions")


async def observe(service: Service, exchange: Exchange) -> Answer:
    """Learn from one observation or many; the answer comes when they are on disk."""
    return await _answered(service, exchange, "observations")


async def _answered(service: Service, exchange: Exchange, what: str) -> Answer:
    """Do what a short cut does, for a request that could not take it."""
    hosted = await known_problem(service, exchange)
    short = service.short_cuts[f"{hosted.path}/{what}".encode()]
    started = time.perf_counter()
    found = short.work(service, short.router, exchange.body)
    answer = answer_to(await found if isinstance(found, asyncio.Future) else found)
    service.measures.measured(short.measure, time.perf_counter() - started)
    return answer


def answer_to(found: Any) -> Answer:
    """Return the result of a short cut as an answer."""
    if isinstance(found, Receipt):
        found = ObservationsAnswer(
            learned=int(found.learned),
            duplicates=int(found.duplicate),
            late=int(found.late),
            seq=found.seq,
        )
    return Answer(_encode(found))


def decided(service: Service, router: Router, body: bytes) -> Decision | asyncio.Future[Decision]:
    """Choose an arm for a request."""
    asked = _decision.decode(body)
    context: dict[str, Any] = asked.context
    if not _TAKEN.isdisjoint(context):
        raise reserved(_TAKEN & context.keys(), "context")
    if asked.id is None or service.looks_up_quickly:
        return router.choose(id=asked.id, eligible=asked.eligible, key=asked.key, **context)
    return asyncio.ensure_future(  # asks a database elsewhere whether the id is known
        asyncio.to_thread(
            router.choose, id=asked.id, eligible=asked.eligible, key=asked.key, **context
        )
    )


def observed(
    service: Service, router: Router, body: bytes
) -> asyncio.Future[Receipt] | asyncio.Future[ObservationsAnswer]:
    """Learn from one observation or many."""
    told = _observations.decode(body)
    if isinstance(told, ObservationRequest):
        check_told(told)
        return service.gathering(router).observe(told)
    return asyncio.ensure_future(_observed_all(service, router, told))


def check_told(told: ObservationRequest) -> None:
    """Raise InputError if an observation tells nothing, or contradicts itself."""
    if told.state is None and told.reward is None and not told.failed and not told.gave_up:
        raise InputError(
            f"observation {told.id!r} tells nothing: give state, reward, failed or gave_up"
        )
    if told.gave_up and (told.state is not None or told.reward is not None or told.failed):
        raise InputError(f"observation {told.id!r} has gave_up and an outcome; give one")


async def _observed_all(
    service: Service, router: Router, told: list[ObservationRequest]
) -> ObservationsAnswer:
    rejected: dict[int, OnepullError] = {}
    places: list[int] = []
    given: list[ObservationRequest] = []
    for place, each in enumerate(told):
        try:
            check_told(each)
        except OnepullError as error:
            rejected[place] = error
            continue
        places.append(place)
        given.append(each)
    receipts = [await _observed_some(service, router, given)]
    errors = dict(receipts[0].rejected)
    unknown = [index for index, error in errors.items() if isinstance(error, NotFound)]
    if unknown:
        await asyncio.sleep(RECORDED)  # another process may have decided a moment ago
        again = await _observed_some(service, router, [given[index] for index in unknown])
        for index in unknown:
            del errors[index]
        errors |= {unknown[place]: error for place, error in again.rejected}
        receipts.append(again)
    rejected |= {places[index]: error for index, error in errors.items()}
    return ObservationsAnswer(
        learned=sum(each.learned for each in receipts),
        duplicates=sum(each.duplicates for each in receipts),
        late=sum(each.late for each in receipts),
        rejected=[
            Rejected(index, refused.details)
            for index, error in sorted(rejected.items())
            if (refused := refusal(error)) is not None
        ],
        seq=max((each.seq for each in receipts if each.seq is not None), default=None),
    )


async def _observed_some(
    service: Service, router: Router, told: list[ObservationRequest]
) -> BatchReceipt:
    if service.looks_up_quickly:
        return await router.observe_many_async(told)
    return await asyncio.to_thread(router.observe_many, told)


def reserved(names: Any, where: str) -> InputError:
    """Return the error of a field that no problem can have."""
    first = min(names)
    return InputError(f"unknown field {first!r} in {where}: no problem has such a field")


async def known_problem(service: Service, exchange: Exchange) -> Hosted:
    """Return the problem that a path names; raises Refused if there is none."""
    name = exchange.names["problem"]
    found = await service.find(name)
    if found is None:
        names = ", ".join(sorted(service.problems)) or "none"
        raise Refused(404, f"no problem {name[:100]!r}; the problems are: {names}", kind="NotFound")
    return found
