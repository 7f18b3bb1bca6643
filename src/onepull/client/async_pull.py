"""One decision, from the choice to its outcome, for asyncio."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from onepull.errors import InputError, OnepullError
from onepull.policies.pull import is_failure
from onepull.router.pull import BegunPull
from onepull.router.receipts import Receipt

if TYPE_CHECKING:
    from onepull.client.async_client import AsyncClient


class AsyncPull(BegunPull):
    """A decision like `DecisionPull`, for `async with client.pull(…) as pull:`; await its methods.

    Examples
    --------
    >>> import asyncio
    >>> from onepull import AsyncClient
    >>> async def main():
    ...     async with AsyncClient("http://127.0.0.1:9", fallback="wifi", budget=0.1) as client:
    ...         async with client.pull(bits=3) as pull:
    ...             pass  # so the pull is given up
    ...         return pull.arm, client.queued
    >>> asyncio.run(main())
    ('wifi', 1)
    """

    def __init__(
        self, client: AsyncClient, options: Mapping[str, Any], context: Mapping[str, Any]
    ) -> None:
        super().__init__(options, context)
        self._client = client

    async def observe(
        self, *, reward: float | None = None, failed: bool = False, **state: Any
    ) -> Receipt:
        """Report the outcome: the state by name, the `reward`, or that the pull `failed`.

        It may come after the end of the block.
        """
        with self._reporting() as decision:
            return await self._client.observe(decision, reward=reward, failed=failed, **state)

    async def fail(self) -> Receipt:
        """Report that the pull failed; an exception in the block does this by itself."""
        return await self.observe(failed=True)

    async def give_up(self) -> Receipt:
        """Report that no outcome will come; the end of the block does this by itself."""
        told = await self._client.gave_up(self._made())
        self._waits = False
        return told

    async def _end(self, error: BaseException | None) -> None:
        if not self._waits:
            return
        if is_failure(error):
            with suppress(InputError):  # the problem does not tell the reward of a failure
                await self.fail()
                return
        await self.give_up()
        self._note(error)

    async def __aenter__(self) -> Self:
        """Choose the arm."""
        return self._begun(await self._client.choose(**self._begin()))

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Report a failure, or give the decision up, if it was not observed."""
        # An error of the block is not replaced by another one; the decision expires then.
        with nullcontext() if error is None else suppress(OnepullError):
            await self._end(error)
