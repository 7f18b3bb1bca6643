"""Observations that arrive at the same time are stored together, each with its own receipt.

The log shares one write among all who wait anyway.  Gathered, they also share one look into the
log for their ids, one hand-over to the thread that writes, and one turn of the fold.

Another process may have made the decision a moment ago, and records it in the background.  So an
observation whose decision is not known is tried a second time, a little later.  Even a service with
one worker is not alone: another one, or a program with a router, may have the same log.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from onepull.errors import NotFound, OnepullError
from onepull.router import Observation, Receipt, Router

LARGEST_LOT = 500  # observations that are stored together, so that none waits long
RECORDED = 0.15  # seconds after which other processes have recorded a decision


class Gathering:
    """The observations of one router that wait for the next lot.

    Examples
    --------
    >>> from onepull import Interval, Problem
    >>> async def main():
    ...     problem = Problem(arms=["a"], state={"x": Interval(0, 1)}, reward="x")
    ...     with Router(problem) as router:
    ...         gathering = Gathering(router)
    ...         told = [Observation(id=str(i), arm="a", state={"x": 0.5}) for i in range(3)]
    ...         receipts = await asyncio.gather(*map(gathering.observe, told))
    ...         return [receipt.learned for receipt in receipts]
    >>> asyncio.run(main())
    [True, True, True]
    """

    def __init__(self, router: Router, *, is_near: bool = True) -> None:
        self.router = router
        self._is_near = is_near  # whether the log is in a file; a database elsewhere may be slow
        self._waiting: list[tuple[Observation, asyncio.Future[Receipt], bool]] = []
        self._running: asyncio.Task[None] | None = None

    def observe(self, observation: Observation) -> asyncio.Future[Receipt]:
        """Return the future receipt of an observation, which is there when it is on disk."""
        future: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self._add(observation, future, is_last=False)
        return future

    def _add(
        self, observation: Observation, future: asyncio.Future[Receipt], *, is_last: bool
    ) -> None:
        """Add an observation to the next lot; a failure is tried again unless this is the last."""
        self._waiting.append((observation, future, is_last))
        if self._running is None or self._running.done():
            self._running = asyncio.ensure_future(self._store())

    async def _store(self) -> None:
        """Store what waits, until nothing does; while the disk is busy, the next lot grows."""
        while self._waiting:
            lot, self._waiting = self._waiting[:LARGEST_LOT], self._waiting[LARGEST_LOT:]
            found: list[Any]
            try:
                found = await self._observed([told for told, _, _ in lot])
            except Exception as error:  # noqa: BLE001 - each of them is told
                found = [error] * len(lot)
            for (told, future, is_last), result in zip(lot, found, strict=True):
                if future.done():
                    continue
                if isinstance(result, Receipt):
                    future.set_result(result)
                elif isinstance(result, NotFound) and not is_last:
                    again = partial(self._add, told, future, is_last=True)
                    asyncio.get_running_loop().call_later(RECORDED, again)
                else:
                    future.set_exception(_own(result))

    async def _observed(self, lot: list[Observation]) -> list[Any]:
        if self._is_near:
            return [*await self.router.observe_each_async(lot)]
        # Looking ids up waits for the database, and must not stop other requests.
        return await asyncio.to_thread(lambda: asyncio.run(self.router.observe_each_async(lot)))


def _own(error: Exception) -> Exception:
    """Return an error for one of several callers, who must not share its traceback."""
    return type(error)(*error.args) if type(error).__init__ is OnepullError.__init__ else error
