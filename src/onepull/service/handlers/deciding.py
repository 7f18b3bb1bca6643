"""Decisions and observations: most of the traffic."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from onepull.errors import InputError, OnepullError
from onepull.router import Decision, Observation, Receipt, Router
from onepull.service.http.bodies import Body
from onepull.service.http.exchange import JSON, PLAIN, Answer, Exchange, Receive, Send, read_body
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

Work: TypeAlias = Callable[["Service", Router, bytes], Awaitable[Any]]

_decision = Body(DecisionRequest)
_observations = Body(ObservationRequest | Batch)
_encode = msgspec.json.Encoder().encode
_TAKEN = frozenset({"id", "eligible", "key"})  # arguments of `Router.choose`
_HEADERS = [(b"content-type", JSON), *PLAIN]


def check_json(headers: dict[bytes, bytes]) -> None:
    """Refuse bodies that are not JSON; a page elsewhere can send others without being asked."""
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != JSON:
        raise Refused(415, "send the body with `Content-Type: application/json`", kind="NotJSON")


async def quickly(  # noqa: PLR0913, PLR0917 - all of it is at hand where it is called
    service: Service,
    work: Work,
    router: Router,
    headers: dict[bytes, bytes],
    receive: Receive,
    send: Send,
) -> int:
    """Answer a request for a decision, or an observation, past the table of routes."""
    if headers.get(b"content-type") != JSON:
        check_json(headers)
    body = await read_body(receive, headers, service.settings.body)
    answer = _encode(await work(service, router, body))
    length = (b"content-length", str(len(answer)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length, *_HEADERS]})
    await send({"type": "http.response.body", "body": answer})
    return 200


async def decide(service: Service, exchange: Exchange) -> Answer:
    """Answer a request for a decision."""
    router = (await known_problem(service, exchange)).router
    return Answer(_encode(await decided(service, router, exchange.body)))


async def observe(service: Service, exchange: Exchange) -> Answer:
    """Learn from one observation or many; the answer comes when they are on disk."""
    router = (await known_problem(service, exchange)).router
    return Answer(_encode(await observed(service, router, exchange.body)))


async def decided(service: Service, router: Router, body: bytes) -> Decision:
    """Choose an arm for a request."""
    asked = _decision.decode(body)
    context: dict[str, Any] = asked.context
    if not _TAKEN.isdisjoint(context):
        raise reserved(_TAKEN & context.keys(), "context")
    started = time.perf_counter()
    if asked.id is None or service.looks_up_quickly:
        decision = router.choose(id=asked.id, eligible=asked.eligible, key=asked.key, **context)
    else:  # asks a database elsewhere whether the id is known
        decision = await asyncio.to_thread(
            router.choose, id=asked.id, eligible=asked.eligible, key=asked.key, **context
        )
    service.measures.measured("decide", time.perf_counter() - started)
    return decision


async def observed(service: Service, router: Router, body: bytes) -> ObservationsAnswer:
    """Learn from one observation or many."""
    told = _observations.decode(body)
    started = time.perf_counter()
    if isinstance(told, ObservationRequest):
        receipt = await _observed(service, router, told)
        answer = ObservationsAnswer(
            learned=int(receipt.learned),
            duplicates=int(receipt.duplicate),
            late=int(receipt.late),
            seq=receipt.seq,
        )
    else:
        answer = await _observed_all(service, router, told)
    service.measures.measured("commit", time.perf_counter() - started)
    return answer


async def _observed(service: Service, router: Router, told: ObservationRequest) -> Receipt:
    _checked(told)
    return await service.gathering(router).observe(_observation(told))


def _observation(told: ObservationRequest) -> Observation:
    return Observation(
        id=told.id,
        arm=told.arm,
        state=told.state,
        reward=told.reward,
        failed=told.failed,
        context=told.context,
        gave_up=told.gave_up,
    )


def _checked(told: ObservationRequest) -> None:
    """Raise InputError if an observation tells nothing, or contradicts itself."""
    if told.state is None and told.reward is None and not told.failed and not told.gave_up:
        raise InputError(
            f"observation {told.id!r} tells nothing: give state, reward, failed or gave_up"
        )
    if told.gave_up and (told.state is not None or told.reward is not None or told.failed):
        raise InputError(f"observation {told.id!r} has gave_up beside an outcome; give one of them")


async def _observed_all(
    service: Service, router: Router, told: list[ObservationRequest]
) -> ObservationsAnswer:
    rejected: dict[int, OnepullError] = {}
    places: list[int] = []
    given: list[Observation] = []
    for place, each in enumerate(told):
        try:
            _checked(each)
        except OnepullError as error:
            rejected[place] = error
            continue
        places.append(place)
        given.append(_observation(each))
    if service.looks_up_quickly:
        receipt = await router.observe_many_async(given)
    else:
        receipt = await asyncio.to_thread(router.observe_many, given)
    rejected |= {places[index]: error for index, error in receipt.rejected}
    return ObservationsAnswer(
        learned=receipt.learned,
        duplicates=receipt.duplicates,
        late=receipt.late,
        rejected=[
            Rejected(index, refused.details)
            for index, error in sorted(rejected.items())
            if (refused := refusal(error)) is not None
        ],
        seq=receipt.seq,
    )


def reserved(names: Any, where: str) -> InputError:
    """Return the error of a field that no problem can have."""
    first = min(names)
    return InputError(f"unknown field {first!r} in {where}: no problem has such a field")


async def known_problem(service: Service, exchange: Exchange) -> Any:
    """Return the problem that a path names; raises Refused if there is none."""
    name = exchange.names["problem"]
    found = await service.find(name)
    if found is None:
        names = ", ".join(sorted(service.problems)) or "none"
        raise Refused(404, f"no problem {name[:100]!r}; the problems are: {names}", kind="NotFound")
    return found
