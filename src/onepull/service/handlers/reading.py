"""Looking at a problem: nothing here changes anything."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from onepull.problem import Problem
from onepull.service.handlers.deciding import known_problem
from onepull.service.handlers.replaying import replay_within_limits
from onepull.service.http.answers import Curve, CurvesAnswer, ProblemsAnswer, ProblemSummary
from onepull.service.http.bodies import Body
from onepull.service.http.exchange import Answer, Exchange, Stream
from onepull.service.http.messages import ReplayRequest, WhatIfRequest
from onepull.service.http.problem_details import Refused
from onepull.service.views.assumptions import warnings_of
from onepull.service.views.axes import others, points_of
from onepull.service.views.hosted import Hosted, without_policy
from onepull.service.views.intervals import half_widths
from onepull.service.views.what_if import what_if as compared

if TYPE_CHECKING:
    from onepull.service.service import Service

PAGE = 1000  # events that are read at once
MOST_CURVE_REWARDS = 4_000_000  # rewards that are computed for a picture
_replay = Body(ReplayRequest)
_what_if = Body(WhatIfRequest)


async def problems(service: Service, exchange: Exchange) -> Answer:
    """List the problems."""
    found = await asyncio.to_thread(_summaries, service)
    return Answer.of(ProblemsAnswer(found, exchange.known.role.name.lower()))


def _summaries(service: Service) -> list[ProblemSummary]:
    service.find_others(waits=False)
    return [
        ProblemSummary(
            name=name,
            policy=hosted.router.stats().policy.policy,
            mode=hosted.router.mode,
            arms=len(hosted.router.problem.arms),
            sequence=hosted.router.sequence,
        )
        for name, hosted in sorted(service.problems.items())
    ]


async def problem(service: Service, exchange: Exchange) -> Answer:
    """Show a problem with its version."""
    found = await asyncio.to_thread((await known_problem(service, exchange)).described)
    return Answer.of(found, etag=f'"{found.version}"')


async def stats(service: Service, exchange: Exchange) -> Answer:
    """Show what was counted and learned."""
    return Answer.of(await asyncio.to_thread((await known_problem(service, exchange)).router.stats))


async def explain(service: Service, exchange: Exchange) -> Answer:
    """Explain the choice for the context of the query."""
    router = (await known_problem(service, exchange)).router
    query = exchange.query
    eligible = query.pop("eligible", None)
    context = _context(router.problem, query)
    told = await asyncio.to_thread(lambda: router.explain(eligible=eligible, **context))
    return Answer.of(told)


def _context(problem: Problem, query: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return the context of a query, in which everything is text."""
    found: dict[str, Any] = {}
    for name, values in query.items():
        text = values[-1]
        found[name] = text
        if name in ("self", "eligible"):
            raise Refused(422, f"unknown field {name!r}", kind="ContextError", field=name)
        if name in problem.context and name not in problem.context.words:
            try:
                found[name] = float(text)
            except ValueError:
                continue  # the problem says what is wrong
    return found


async def curves(service: Service, exchange: Exchange) -> Answer:
    """Show each arm's estimate along one field of the context."""
    hosted = await known_problem(service, exchange)
    count = exchange.whole("points", 40, 2, 200)
    query = exchange.query
    query.pop("points", None)
    asked = query.pop("field", [""])[-1]
    problem: Problem = hosted.router.problem
    names = [name for name in problem.context if problem.context.has_fields]
    field = asked or (names[0] if names else "")
    if field and field not in names:
        detail = f"unknown field {field[:100]!r}; the context has {', '.join(names) or 'none'}"
        raise Refused(422, detail, kind="InvalidQuery", field="field")
    fixed = _context(problem, {name: values for name, values in query.items() if name != field})
    return Answer.of(await service.heavily(_curves, hosted, field, fixed, count))


def _curves(hosted: Hosted, field: str, fixed: dict[str, Any], count: int) -> CurvesAnswer:
    problem = hosted.router.problem
    rest = others(problem, field, fixed)
    points = points_of(problem.context[field], count) if field else [0.0]
    contexts = [{**rest, **({field: point} if field else {})} for point in points]
    numbers = [
        problem.context.read(context) if problem.context.has_fields else (0.0,)
        for context in contexts
    ]
    told = [
        [value if value is not None and math.isfinite(value) else None for value in row]
        for row in (hosted.router.estimates(**context) for context in contexts)
    ]
    best: list[str | None] = []
    for row in told:
        known = [(value, -j) for j, value in enumerate(row) if value is not None]
        best.append(problem.arms[-max(known)[1]] if known else None)
    found = []
    most = max(MOST_CURVE_REWARDS // (len(problem.arms) * len(points)), 1)
    half_life = hosted.router.half_life
    for j, arm in enumerate(problem.arms):
        outcomes = hosted.newest_outcomes(problem, arm).newest(most)
        errors = half_widths(problem, outcomes, numbers, half_life=half_life)
        found.append(Curve(arm, [row[j] for row in told], errors, len(outcomes.rows)))
    return CurvesAnswer(field, points, best, rest, found)


async def timeline(service: Service, exchange: Exchange) -> Answer:
    """Show decisions, observations and rewards over time."""
    seconds = exchange.number("seconds", 600.0, 1.0, 2_592_000.0)
    most = exchange.whole("buckets", 5000, 1, 5000)
    hosted = await known_problem(service, exchange)
    return Answer.of(await asyncio.to_thread(hosted.span, seconds, most))


async def changes(service: Service, exchange: Exchange) -> Answer:
    """Show the newest changes that operators made."""
    hosted = await known_problem(service, exchange)
    return Answer.of({"changes": await asyncio.to_thread(hosted.newest_changes)})


async def warnings(service: Service, exchange: Exchange) -> Answer:
    """Show what is believed of drift, and states that depend on the context."""
    hosted = await known_problem(service, exchange)
    return Answer.of(await service.heavily(warnings_of, hosted))


async def what_if(service: Service, exchange: Exchange) -> Answer:
    """Compute at once how shares and payoff would change with another reward."""
    hosted = await known_problem(service, exchange)
    asked = _what_if.decode(exchange.body)
    return Answer.of(await service.heavily(compared, hosted, asked))


async def log(service: Service, exchange: Exchange) -> Stream:
    """Read the log, an event a line."""
    router = (await known_problem(service, exchange)).router
    after = exchange.whole("after", 0, 0, 2**62)
    limit = exchange.whole("limit", 1000, 1, 10_000)

    async def lines() -> AsyncGenerator[bytes, None]:
        last, left = after, limit
        while left > 0:
            events = await asyncio.to_thread(
                router.store.read, router.name, after=last, limit=min(left, PAGE)
            )
            if not events:
                return
            yield b"".join(msgspec.json.encode(without_policy(event)) + b"\n" for event in events)
            last, left = events[-1].seq, left - len(events)

    return Stream(lines(), b"application/x-ndjson")


async def replay(service: Service, exchange: Exchange) -> Answer:
    """Compute what another reward or policy would have chosen and earned."""
    router = (await known_problem(service, exchange)).router
    asked = _replay.decode(exchange.body)
    return Answer.of(await service.heavily(replay_within_limits, router, asked))
