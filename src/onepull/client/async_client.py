"""The verbs of a router, over HTTP, for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Collection, Iterable
from typing import Any, Never, Self

from onepull.checks import by_name
from onepull.client import calls
from onepull.client.async_pull import AsyncPull
from onepull.client.attempts import Call, Got, Reply, Result, Send, Steps, Wait, address
from onepull.client.client import DELIVERY_PAUSE, headers_for, httpx_or_error
from onepull.client.verbs import Verbs
from onepull.policies import Explanation
from onepull.router import BatchReceipt, Decision, Receipt, RouterStats


class AsyncClient(Verbs[Awaitable[None]]):
    """Like `Client`, with verbs to await; use it from one event loop.

    Examples
    --------
    >>> async def main():
    ...     async with AsyncClient("http://127.0.0.1:9", fallback="wifi", budget=0.1) as client:
    ...         return await client.choose(bits=3)
    >>> asyncio.run(main()).arm
    'wifi'
    """

    def _prepare(self) -> None:
        self._one_at_a_time = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def _opened(self, url: str, key: str | None) -> Any:
        return httpx_or_error().AsyncClient(base_url=address(url), headers=headers_for(key))

    # Deciding and learning

    async def choose(
        self,
        /,
        *nameless: Never,
        id: str | None = None,  # noqa: A002 - as the router calls it
        eligible: Collection[str] | None = None,
        key: str | None = None,
        **context: Any,
    ) -> Decision:
        """Return the arm to pull for a context; the fallback if the service cannot be reached."""
        return await self._do(self._choosing(nameless, id, eligible, key, context))

    async def observe(
        self,
        decision: Decision | str,
        /,
        *nameless: Never,
        arm: str | None = None,
        reward: float | None = None,
        failed: bool = False,
        **state: Any,
    ) -> Receipt:
        """Tell what became of a decision; on disk when this returns, unless it is queued."""
        told = {"arm": arm, "reward": reward, "failed": failed, "state": state}
        return await self._do(self._observing(decision, nameless, **told))

    async def failed(self, decision: Decision | str, /, *, arm: str | None = None) -> Receipt:
        """Tell that the pull failed."""
        return await self.observe(decision, arm=arm, failed=True)

    async def gave_up(self, decision: Decision | str, /, *, arm: str | None = None) -> Receipt:
        """Tell that no answer will come."""
        return await self._do(self._observing(decision, arm=arm, gave_up=True))

    async def observe_many(self, observations: Iterable[Any], /) -> BatchReceipt:
        """Tell what became of many decisions; what cannot be delivered is queued.

        The counts of the receipt leave out what is queued.
        """
        return await self._do(self._observing_many(observations))

    def pull(
        self,
        /,
        *nameless: Never,
        id: str | None = None,  # noqa: A002 - as the router calls it
        eligible: Collection[str] | None = None,
        key: str | None = None,
        **context: Any,
    ) -> AsyncPull:
        """Return a pull for `async with`, which chooses, and observes or gives up.

        It takes what `choose` takes.
        """
        if nameless:
            raise by_name("pull", nameless, None)
        return AsyncPull(self, {"id": id, "eligible": eligible, "key": key}, context)

    # What waits

    async def flush(self, seconds: float = 5.0) -> bool:
        """Deliver the observations that wait; return whether none is left."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while len(self._queue) and loop.time() < deadline:
            self._breaker.answered()
            if not await self._deliver():
                await asyncio.sleep(0.05)
        return not len(self._queue)

    async def _run(self) -> None:
        while len(self._queue):
            if not await self._deliver():
                await asyncio.sleep(DELIVERY_PAUSE)
        self._task = None

    async def _deliver(self) -> bool:
        async with self._one_at_a_time:
            return await self._do(self._delivering())

    # Looking

    async def stats(self) -> RouterStats:
        """Return what was counted and learned of each arm."""
        return await self._do(self._stats())

    async def explain(
        self, /, *nameless: Never, eligible: Collection[str] | None = None, **context: Any
    ) -> Explanation:
        """Return each arm's estimate, bonus, index and probability, the choice and the reason."""
        return await self._do(self._explaining(nameless, eligible, context))

    async def log(
        self, *, after: int = 0, limit: int | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the events of the log as plain values."""
        pages = calls.LogPages(after, limit)
        while (query := pages.query()) is not None:
            for event in await self._do(self._page(pages, query)):
                yield event

    async def replay(self, **asked: Any) -> dict[str, Any]:
        """Return what another `reward` or `policy` would have chosen and earned.

        `since` and `until` limit the time, in seconds since the epoch.
        """
        return await self._do(self._replaying(asked))

    # Doing

    def _control(self, steps: Steps[None]) -> Awaitable[None]:
        return self._do(steps)

    async def _do(self, steps: Steps[Result]) -> Result:
        """Do what a verb asks for, step by step."""
        got: Got = None
        try:
            while True:
                step = steps.send(got)
                got = None
                if isinstance(step, Send):
                    got = await self._try(step.call, step.seconds)
                elif isinstance(step, Wait):
                    await asyncio.sleep(step.seconds)
                else:
                    await asyncio.to_thread(self._queue.put, step.bodies)  # a file waits for a disk
                    if self._task is None and not self._is_closed:
                        self._task = asyncio.create_task(self._run())
        except StopIteration as ended:
            result: Result = ended.value
            return result

    async def _try(self, call: Call, seconds: float) -> Reply | Exception:
        try:
            async with asyncio.timeout(seconds):
                answer = await self._http.request(
                    call.method, call.path, content=call.body, params=call.query or None,
                    timeout=seconds,
                )  # fmt: skip
        except (httpx_or_error().HTTPError, TimeoutError) as error:
            failed: Exception = error
            return failed
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
        self._is_shut = True
        self._queue.close()
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        """Deliver the observations that an earlier process left, and return the client."""
        if len(self._queue) and self._task is None:
            self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close the client."""
        await self.close()
