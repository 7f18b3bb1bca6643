"""The verbs of a router, over HTTP, for asyncio."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Collection, Iterable
from types import TracebackType
from typing import Any, Self

from onepull.checks import number
from onepull.client import calls
from onepull.client.attempts import Breaker, Call, Reply, Send, address, attempts, raise_for
from onepull.client.client import BATCH, LOGGER, LOOK, URL, headers_for, httpx_or_error
from onepull.client.queue import ObservationQueue, open_queue
from onepull.errors import OnepullError, ServiceError
from onepull.policies import Explanation
from onepull.router import BatchReceipt, Decision, Receipt, RouterStats


class AsyncClient:
    """Like `Client`, with verbs to await; use it from one event loop.

    Examples
    --------
    >>> async def main():
    ...     async with AsyncClient("http://127.0.0.1:9", fallback="wifi", budget=0.1) as client:
    ...         return await client.choose(bits=3)
    >>> asyncio.run(main()).arm
    'wifi'
    """

    def __init__(  # noqa: PLR0913 - one for each thing that may be configured
        self,
        url: str = URL,
        *,
        problem: str = "default",
        key: str | None = None,
        fallback: str | Iterable[str] | None = None,
        budget: float = 1.0,
        queue: str | os.PathLike[str] | ObservationQueue | None = None,
        background: bool = False,
        expires: float = 60.0,
        http: Any = None,
    ) -> None:
        self.problem = problem
        self._fallback = calls.checked_fallback(fallback)
        self._budget = number("budget", budget, above=0.0, most=3600.0)
        self._expires = expires
        self._background = background
        self._httpx = httpx_or_error()
        self._http = http or self._httpx.AsyncClient(
            base_url=address(url), headers=headers_for(key)
        )
        self._breaker = Breaker()
        self._made = calls.Made()
        self._is_away = False  # whether the last decision was the fallback
        self._queue = open_queue(queue)
        self._delivering = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    # Deciding and learning

    async def choose(
        self,
        /,
        *,
        id: str | None = None,  # noqa: A002 - as the router calls it
        eligible: Collection[str] | None = None,
        key: str | None = None,
        **context: Any,
    ) -> Decision:
        """Return the arm to pull for a context; the fallback if the service cannot be reached."""
        body = calls.decision_body(id, eligible, key, context)
        try:
            decision = calls.decision_of(await self._call("POST", "decisions", body=body))
        except ServiceError as error:
            if not self._fallback:
                raise
            decision = calls.fallback_decision(body, self._fallback, self._expires, str(error))
            if not self._is_away:
                LOGGER.warning("using the fallback: %s", error)
            self._is_away = True
        else:
            self._is_away = False
        self._made.add(decision, body["context"])
        return decision

    async def observe(
        self,
        decision: Decision | str,
        /,
        *,
        arm: str | None = None,
        reward: float | None = None,
        failed: bool = False,
        **state: Any,
    ) -> Receipt:
        """Tell what became of a decision; on disk when this returns, unless it is queued."""
        body = calls.observation_body(
            self._made, decision, arm=arm, reward=reward, failed=failed, state=state
        )
        return await self._observe(body)

    async def failed(self, decision: Decision | str, /, *, arm: str | None = None) -> Receipt:
        """Tell that the pull failed."""
        return await self.observe(decision, arm=arm, failed=True)

    async def gave_up(self, decision: Decision | str, /, *, arm: str | None = None) -> Receipt:
        """Tell that no answer will come."""
        body = calls.observation_body(self._made, decision, arm=arm)
        return await self._observe({**body, "gave_up": True})

    async def _observe(self, body: dict[str, Any]) -> Receipt:
        if not self._background and not len(self._queue):
            try:
                reply = await self._call("POST", "observations", body=body)
                return calls.receipt_of(reply, body["id"])
            except ServiceError as error:
                LOGGER.info("queued an observation: %s", error)
        await self._keep([body])
        return calls.QueuedReceipt(body["id"], learned=False)

    async def observe_many(self, observations: Iterable[Any], /) -> BatchReceipt:
        """Tell what became of many decisions; what cannot be delivered is queued.

        The counts of the receipt leave out what is queued.
        """
        bodies = calls.many_bodies(self._made, observations)
        told = []
        for start in range(0, len(bodies), BATCH):
            batch = bodies[start : start + BATCH]
            try:
                reply = await self._call("POST", "observations", body=batch)
            except ServiceError:
                await self._keep(batch)
            else:
                told.append((start, calls.batch_receipt_of(reply)))
        return calls.joined(told)

    # What waits

    @property
    def queued(self) -> int:
        """How many observations wait to be delivered."""
        return len(self._queue)

    async def flush(self, seconds: float = 5.0) -> bool:
        """Deliver what waits; return whether nothing is left."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while len(self._queue) and loop.time() < deadline:
            self._breaker.answered()
            if not await self._deliver():
                await asyncio.sleep(0.05)
        return not len(self._queue)

    async def _keep(self, bodies: list[dict[str, Any]]) -> None:
        await asyncio.to_thread(self._queue.put, bodies)  # a file waits for the disk
        if self._task is None and not self._is_closed:
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while len(self._queue):
            if not await self._deliver():
                await asyncio.sleep(LOOK)
        self._task = None

    async def _deliver(self) -> bool:
        """Deliver one batch; return whether that was possible."""
        async with self._delivering:
            batch = self._queue.first(BATCH)
            if not batch:
                return True
            try:
                reply = await self._call("POST", "observations", body=batch)
                calls.warn_of_refused(calls.batch_receipt_of(reply), batch, LOGGER)
            except ServiceError:
                return False
            except OnepullError as error:
                # The service does not accept the batch as a whole, and would not later.
                LOGGER.error("dropped %d observations: %s", len(batch), error)
            self._queue.delivered(len(batch))
            return True

    # Looking

    async def stats(self) -> RouterStats:
        """Return what was counted and learned of each arm."""
        return calls.stats_of(await self._call("GET", "stats"))

    async def explain(
        self, /, *, eligible: Collection[str] | None = None, **context: Any
    ) -> Explanation:
        """Return each arm's estimate, bonus, index and probability, the choice and the reason."""
        call = calls.explain_call(self.problem, eligible, context)
        return calls.explanation_of(await self._send(call))

    async def log(
        self, *, after: int = 0, limit: int | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the events of the log as plain values."""
        pages = calls.LogPages(after, limit)
        while (query := pages.query()) is not None:
            reply = await self._call("GET", "log", query=query)
            for event in pages.read(raise_for(reply)):
                yield event

    async def replay(self, **asked: Any) -> dict[str, Any]:
        """Return what another `reward` or `policy` would have chosen and earned.

        `since` and `until` limit the time, in seconds since the epoch.
        """
        reply = await self._call("POST", "replay", body=calls.replay_body(asked))
        told: dict[str, Any] = calls.read(dict[str, Any], raise_for(reply))
        return told

    # Controls

    async def set_mode(self, mode: str) -> None:
        """Let the policy decide ("live"), or the fallback ("shadow", "off")."""
        await self._change("controls", mode=mode)

    async def set_fallback(self, arm: str | None) -> None:
        """Set the arm of shadow and off mode."""
        await self._change("controls", fallback=arm)

    async def set_reward(self, reward: str) -> None:
        """Change the formula without forgetting."""
        await self._change("controls", reward=reward)

    async def pin(self, arm: str | None) -> None:
        """Choose one arm for every request, until `pin(None)`."""
        await self._change("controls", pin=arm)

    async def pause(self, arm: str) -> None:
        """Stop choosing an arm."""
        await self._change("arms", arm, status="paused")

    async def drain(self, arm: str) -> None:
        """Stop choosing an arm, except for keys that are on it."""
        await self._change("arms", arm, status="draining")

    async def resume(self, arm: str) -> None:
        """Choose an arm again."""
        await self._change("arms", arm, status="active")

    async def share(self, arm: str, *, least: float = 0.0, most: float = 1.0) -> None:
        """Set the least and the most share of the pulls of an arm."""
        await self._change("arms", arm, min_share=least, max_share=most)

    async def set_attributes(self, arm: str, **attributes: float | str) -> None:
        """Change what is known of an arm."""
        await self._change("arms", arm, attributes=calls.plain(attributes))

    async def add_arm(self, arm: str, **attributes: float | str) -> None:
        """Add an arm."""
        body = {"attributes": calls.plain(attributes)}
        raise_for(await self._call("PUT", "arms", arm, body=body))

    async def remove_arm(self, arm: str) -> None:
        """Remove an arm and what was learned of it."""
        raise_for(await self._call("DELETE", "arms", arm))

    async def _change(self, *parts: str, **body: Any) -> None:
        raise_for(await self._call("PATCH", *parts, body=body))

    # Sending

    async def _call(self, method: str, *parts: str, body: Any = None, query: Any = ()) -> Reply:
        return await self._send(Call.to(self.problem, method, *parts, body=body, query=query))

    async def _send(self, call: Call) -> Reply:
        tries = attempts(self._budget, self._breaker)
        got: Reply | Exception | None = None
        try:
            while True:
                step = tries.send(got)
                got = None
                if isinstance(step, Send):
                    got = await self._try(call, step.seconds)
                else:
                    await asyncio.sleep(step.seconds)
        except StopIteration as ended:
            reply: Reply = ended.value
            return reply

    async def _try(self, call: Call, seconds: float) -> Reply | Exception:
        try:
            async with asyncio.timeout(seconds):
                answer = await self._http.request(
                    call.method, call.path, content=call.body, params=call.query or None,
                    timeout=seconds,
                )  # fmt: skip
        except (self._httpx.HTTPError, TimeoutError) as error:
            return error
        return Reply(answer.status_code, answer.content, answer.headers.get("retry-after"))

    async def close(self) -> None:
        """Try once more to deliver what waits, and close; a queue in a file keeps the rest."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if len(self._queue) and not self._breaker.is_open:
            await self.flush(self._budget)
        self._queue.close()
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        """Deliver what an earlier process has left, and return the client."""
        if len(self._queue) and self._task is None:
            self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the client."""
        await self.close()
