"""For operators: live messages, metrics, health, and the description of the API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TYPE_CHECKING

from onepull.router import RouterStats
from onepull.service.http.exchange import Answer, Exchange, Stream
from onepull.service.http.messages import Health
from onepull.service.http.problem_details import Refused
from onepull.service.running.metrics import KIND, Page

if TYPE_CHECKING:
    from onepull.service.service import Service


async def live(service: Service, exchange: Exchange) -> Answer:
    """Tell that the process runs."""
    del service, exchange
    return Answer.of(Health("live"))


async def ready(service: Service, exchange: Exchange) -> Answer:
    """Tell whether requests can be answered."""
    del exchange
    if service.is_draining:
        return Answer.of(Health("draining"), 503)
    return Answer.of(Health("ready")) if service.can_answer else Answer.of(Health("unready"), 503)


async def openapi(service: Service, exchange: Exchange) -> Answer:
    """Describe the API."""
    from onepull.service.http.openapi import openapi_document  # noqa: PLC0415 - needs the routes

    del service, exchange
    return Answer.of(openapi_document())


async def events(service: Service, exchange: Exchange) -> Stream:
    """Follow one problem or all of them live."""
    name = exchange.query.get("problem", [None])[-1]
    if name is not None and await service.find(name) is None:
        raise Refused(404, f"no problem {name[:100]!r}", kind="NotFound", field="problem")
    subscription = service.subscribers.subscribe(name)
    if subscription is None:
        detail = "too many event streams; try again later"
        raise Refused(503, detail, kind="Busy", headers=((b"retry-after", b"5"),))

    async def messages() -> AsyncGenerator[bytes, None]:
        try:
            async for message in subscription.messages():
                yield message
        finally:
            service.subscribers.leave(subscription)

    return Stream(messages(), b"text/event-stream", ((b"x-accel-buffering", b"no"),))


async def metrics(service: Service, exchange: Exchange) -> Answer:
    """Return all metrics."""
    del exchange
    text = await asyncio.to_thread(_page, service)
    return Answer(text.encode(), kind=KIND)


def _page(service: Service) -> str:
    page = Page()
    stats = {name: hosted.router.stats() for name, hosted in sorted(service.problems.items())}
    page.add("decisions_total", "counter", "Decisions.",
             _by_arm(stats, "mode", lambda told: told.decisions))  # fmt: skip
    page.add("observations_total", "counter", "Observations that were learned.",
             _by_arm(stats, "outcome", lambda told: told.outcomes))  # fmt: skip
    page.add("pulls_in_flight", "gauge", "Decisions whose outcome has not arrived.", [
        ({"problem": name, "arm": row.arm}, row.in_flight)
        for name, told in stats.items()
        for row in told.policy.arms
    ])  # fmt: skip
    page.add("clipped_total", "counter", "Values outside their bounds.", [
        ({"problem": name, "field": field}, count)
        for name, told in stats.items()
        for field, count in told.clipped.items()
    ])  # fmt: skip
    numbers: tuple[tuple[str, str, str, Callable[[RouterStats], float]], ...] = (
        ("expired_total", "counter", "Decisions that expired.", lambda told: told.expired),
        ("gave_up_total", "counter", "Decisions that were given up.", lambda told: told.gave_up),
        ("late_total", "counter", "Observations after their decision had expired.",
         lambda told: told.late),
        ("refused_total", "counter", "Events that could not be applied.",
         lambda told: told.refused),
        ("unrecorded_total", "counter", "Decisions that could not be stored.",
         lambda told: told.unrecorded),
        ("worker_lag_events", "gauge", "Events that this worker has not read yet.",
         lambda told: told.lag),
        ("last_observation_timestamp_seconds", "gauge", "When something was last learned.",
         lambda told: told.last_observation or 0.0),
    )  # fmt: skip
    for metric, kind, words, number in numbers:
        page.add(metric, kind, words, [({"problem": n}, number(t)) for n, t in stats.items()])
    healthy = all(told.healthy for told in stats.values())
    page.add("store_healthy", "gauge", "Whether the log can be written.", [({}, int(healthy))])
    page.add("requests_total", "counter", "Requests.", [
        ({"status": status}, service.measures.count(f"requests_{status}"))
        for status in ("2xx", "3xx", "4xx", "5xx")
    ])  # fmt: skip
    page.add(
        "event_streams", "gauge", "Event streams of this worker.", [({}, len(service.subscribers))]
    )
    told = {"decide": "Seconds to decide.", "commit": "Seconds until observations are on disk."}
    for name, words in told.items():
        page.add_histogram(f"{name}_duration_seconds", words, *service.measures.buckets(name))
    return page.text()


def _by_arm(
    stats: Mapping[str, RouterStats],
    label: str,
    counts: Callable[[RouterStats], Mapping[str, Mapping[str, int]]],
) -> list[tuple[dict[str, str], float]]:
    """Return how often each arm of each problem had each value of a label."""
    return [
        ({"problem": name, "arm": arm, label: value}, count)
        for name, told in stats.items()
        for arm, values in counts(told).items()
        for value, count in values.items()
    ]
