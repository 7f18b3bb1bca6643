"""One decision, from the choice to its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from types import TracebackType
from typing import Any, Protocol, Self

from onepull.errors import InputError, OnepullError
from onepull.policies.pull import is_failure, note_given_up
from onepull.router.decision import Decision
from onepull.router.receipts import Receipt


class Target(Protocol):
    """What a pull needs of a router or a client."""

    def choose(self, **asked: Any) -> Decision:
        """Return the arm to pull."""

    def observe(self, decision: Decision, /, **told: Any) -> Receipt:
        """Report the outcome."""

    def gave_up(self, decision: Decision, /) -> Receipt:
        """Report that no outcome will come."""


class BegunPull:
    """What pulls of routers and clients have in common.

    Attributes
    ----------
    decision
        The decision; None before the block begins.
    context
        The context that it is for.
    """

    def __init__(self, options: Mapping[str, Any], context: Mapping[str, Any]) -> None:
        self.context = dict(context)
        self._asked = {**options, **context}
        self.decision: Decision | None = None
        self._waits = False  # for its outcome
        self._refusal: OnepullError | None = None

    @property
    def arm(self) -> str:
        """The arm to pull; empty before the block begins."""
        return "" if self.decision is None else self.decision.arm

    @property
    def id(self) -> str:
        """The id of the decision; empty before the block begins."""
        return "" if self.decision is None else self.decision.id

    def _begin(self) -> dict[str, Any]:
        """Return what to choose for."""
        if self.decision is not None:
            raise InputError(f"this pull of {self.arm!r} was begun before; call pull again")
        return self._asked

    def _begun(self, decision: Decision) -> Self:
        self.decision, self._waits = decision, True
        return self

    def _made(self) -> Decision:
        if self.decision is None:
            raise InputError("this pull has no arm yet; use 'with router.pull(…) as pull:'")
        return self.decision

    @contextmanager
    def _reporting(self) -> Iterator[Decision]:
        """Yield the decision to observe, and wait for no outcome then unless it is refused."""
        try:
            yield self._made()
        except OnepullError as error:
            self._refusal = error
            raise
        self._waits = False

    def _note(self, error: BaseException | None) -> None:
        """Say in the error of a refused observation that the pull was given up."""
        if self._refusal is not None and error is self._refusal:
            note_given_up(self._refusal, self.arm)


class DecisionPull(BegunPull):
    """A decision that reports by itself what becomes of it.

    `with router.pull(…) as pull:` chooses an arm.  At the end of the block the decision is given
    up if it was not observed.  If the problem tells the reward of a failure, an exception in the
    block counts as one.  A cancelled task does not.  Nor does an observation that is refused: the
    decision is given up, the error says so in a note, and `observe` still learns its outcome after
    the block.

    Examples
    --------
    >>> from onepull import Interval, Problem, Router
    >>> problem = Problem(arms=["a", "b"], state={"x": Interval(0, 1)}, reward="x", failure=0)
    >>> with Router(problem) as router:
    ...     with router.pull() as pull:
    ...         receipt = pull.observe(x=0.5)
    ...     with suppress(TimeoutError), router.pull():
    ...         raise TimeoutError
    ...     [(row.arm, row.pulls, row.failures) for row in router.stats().policy.arms]
    [('a', 1, 0), ('b', 1, 1)]
    """

    def __init__(
        self, target: Target, options: Mapping[str, Any], context: Mapping[str, Any]
    ) -> None:
        super().__init__(options, context)
        self._target = target

    def observe(
        self, *, reward: float | None = None, failed: bool = False, **state: Any
    ) -> Receipt:
        """Report the outcome: the state by name, the `reward`, or that the pull `failed`.

        It may come after the end of the block.
        """
        with self._reporting() as decision:
            return self._target.observe(decision, reward=reward, failed=failed, **state)

    def fail(self) -> Receipt:
        """Report that the pull failed; an exception in the block does this by itself."""
        return self.observe(failed=True)

    def give_up(self) -> Receipt:
        """Report that no outcome will come; the end of the block does this by itself."""
        told = self._target.gave_up(self._made())
        self._waits = False
        return told

    def _end(self, error: BaseException | None) -> None:
        if not self._waits:
            return
        if is_failure(error):
            with suppress(InputError):  # the problem does not tell the reward of a failure
                self.fail()
                return
        self.give_up()
        self._note(error)

    def __enter__(self) -> Self:
        """Choose the arm."""
        return self._begun(self._target.choose(**self._begin()))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Report a failure, or give the decision up, if it was not observed."""
        # An error of the block is not replaced by another one; the decision expires then.
        with nullcontext() if error is None else suppress(OnepullError):
            self._end(error)


class RouterPull(DecisionPull):
    """A `DecisionPull` of a router, also for `async with`.

    Examples
    --------
    >>> from onepull import Interval, Problem, Router
    >>> problem = Problem(arms=["a", "b"], state={"x": Interval(0, 1)}, reward="x")
    >>> async def main(router):
    ...     async with router.pull() as pull:
    ...         await pull.observe_async(x=0.5)
    ...     return pull.arm
    >>> with Router(problem) as router:
    ...     asyncio.run(main(router))
    'a'
    """

    _target: Any

    async def observe_async(
        self, *, reward: float | None = None, failed: bool = False, **state: Any
    ) -> Receipt:
        """Report the outcome like `observe`, without blocking the event loop."""
        with self._reporting() as decision:
            told: Receipt = await self._target.observe_async(
                decision, reward=reward, failed=failed, **state
            )
        return told

    async def __aenter__(self) -> Self:
        """Choose the arm; that never waits for the disk."""
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Report a failure, or give the decision up, if it was not observed."""
        if self._waits:
            await asyncio.to_thread(self.__exit__, kind, error, trace)
