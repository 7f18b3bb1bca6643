"""How a router learns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from onepull.errors import ConflictError, InputError, OnepullError
from onepull.router.core import Core
from onepull.router.decision import Decision
from onepull.router.plain_values import plain, text
from onepull.router.receipts import BatchReceipt, Observation, Receipt
from onepull.router.reports import Outcome, answered, prepared
from onepull.store import events as e


class Observing(Core):
    """The part of a router that takes in outcomes."""

    def observe(
        self,
        decision: Decision | str,
        /,
        *,
        arm: str | None = None,
        reward: float | None = None,
        failed: bool = False,
        **state: Any,
    ) -> Receipt:
        """Report the outcome of a decision, and return when it is on disk.

        Pass the state by field, or the `reward`, or `failed=True`.  Pass `arm` if another arm was
        pulled, or if the router may not know the id: then pass the context fields as well.  The
        same outcome again is a duplicate and counts once; a different one raises ConflictError.
        """
        outcome = self._outcome(decision, arm, reward, failed, state)
        if outcome.receipt is not None:
            return outcome.receipt
        return self._finished(outcome, self._store.append([outcome.event])[0])

    async def observe_async(
        self,
        decision: Decision | str,
        /,
        *,
        arm: str | None = None,
        reward: float | None = None,
        failed: bool = False,
        **state: Any,
    ) -> Receipt:
        """Report the outcome of a decision like `observe`, without blocking the event loop."""
        outcome = self._outcome(decision, arm, reward, failed, state)
        if outcome.receipt is not None:
            return outcome.receipt
        done = await asyncio.wrap_future(self._store.submit([outcome.event]))
        return self._finished(outcome, done[0])

    def observe_many(self, observations: Iterable[Observation | Mapping[str, Any]]) -> BatchReceipt:
        """Report many outcomes, and return when they are on disk.

        One that is refused does not affect the others; `rejected` has its position and the error.
        """
        outcomes, rejected = self._outcomes(observations)
        waiting = [(i, each) for i, each in outcomes if each.receipt is None]
        done = self._store.append([each.event for _, each in waiting]) if waiting else []
        return self._summed(outcomes, waiting, done, rejected)

    async def observe_many_async(
        self, observations: Iterable[Observation | Mapping[str, Any]]
    ) -> BatchReceipt:
        """Report many outcomes like `observe_many`, without blocking the event loop."""
        outcomes, rejected = self._outcomes(observations)
        waiting = [(i, each) for i, each in outcomes if each.receipt is None]
        events = [each.event for _, each in waiting]
        done = await asyncio.wrap_future(self._store.submit(events)) if waiting else []
        return self._summed(outcomes, waiting, done, rejected)

    async def observe_each_async(
        self, observations: Iterable[Observation | Mapping[str, Any]]
    ) -> list[Receipt | OnepullError]:
        """Report many outcomes of many callers; return for each its receipt or its error."""
        outcomes, rejected = self._outcomes(observations)
        waiting = [(i, each) for i, each in outcomes if each.receipt is None]
        events = [each.event for _, each in waiting]
        done = await asyncio.wrap_future(self._store.submit(events)) if waiting else []
        found: dict[int, Receipt | OnepullError] = dict(rejected)
        found |= {i: each.receipt for i, each in outcomes if each.receipt is not None}
        for (i, outcome), result in zip(waiting, done, strict=True):
            try:
                found[i] = self._finished(outcome, result)
            except ConflictError as error:
                found[i] = error
        return [found[i] for i in range(len(found))]

    def failed(
        self, decision: Decision | str, /, *, arm: str | None = None, **context: Any
    ) -> Receipt:
        """Report that a pull failed; the problem must tell the reward of a failure."""
        return self.observe(decision, arm=arm, failed=True, **context)

    def gave_up(self, decision: Decision | str, /, *, arm: str | None = None) -> Receipt:
        """Report that no outcome will come; if one comes all the same, it is learned."""
        self._check()
        id_, given = _reference(decision, arm)
        flight, slots = self._known(id_)
        if (done := answered(slots, id_)) is not None:
            return done
        event = e.GaveUp(
            problem=self.name,
            time=time.time(),
            id=id_,
            arm=given or (flight.arm if flight else ""),
            context=flight.context if flight else {},
        )
        result = self._store.append([event])[0]
        self._catch_up(result.seq)
        return Receipt(id_, learned=False, duplicate=result.before is not None, seq=result.seq)

    def _outcome(
        self, decision: Any, arm: str | None, reward: Any, failed: Any, fields: dict[str, Any]
    ) -> Outcome:
        """Return the event of an observation, checked, or the receipt of one that came before."""
        self._check()
        id_, given = _reference(decision, arm)
        return self._prepared(id_, given, self._known(id_), reward, failed, fields)

    def _prepared(  # noqa: PLR0913, PLR0917 - one for each thing that is told
        self,
        id_: str,
        arm: str | None,
        known: tuple[Any, dict[Any, Any]],
        reward: Any,
        failed: Any,
        fields: dict[str, Any],
    ) -> Outcome:
        told = {name: plain(value) for name, value in fields.items()}
        with self._lock:
            return prepared(
                self._fold.policy,
                id_,
                arm,
                *known,
                reward=None if reward is None else plain(reward),
                failed=failed,
                fields=told,
                problem=self.name,
            )

    def _known(self, id_: str) -> tuple[Any, dict[Any, Any]]:
        """Return the decision of an id, and its other events if it is not in flight here."""
        with self._lock:
            flight = self._fold.flights.get(id_)
        if flight is not None:
            return flight, {}
        slots = self._store.of_id(self.name, id_)
        return slots.get(e.Slot.DECISION), slots

    def _finished(self, outcome: Outcome, done: Any) -> Receipt:
        """Return the receipt of an observation that is in the log, or was there before."""
        event = outcome.event
        if done.before is None:
            self._catch_up(done.seq)
            return Receipt(event.id, learned=True, late=event.late, seq=done.seq)
        if isinstance(done.before, e.Expired):
            # The expiry was learned; the answer is kept beside it.
            event = msgspec.structs.replace(event, counts=False, late=True)
            later = self._store.append([event])[0]
            self._catch_up(later.seq)
            if later.before is None:
                return Receipt(event.id, learned=False, late=True, seq=later.seq)
            done = later
        return outcome.repeated(done.before, done.seq)

    def _outcomes(
        self, observations: Iterable[Observation | Mapping[str, Any]]
    ) -> tuple[list[tuple[int, Outcome]], list[tuple[int, OnepullError]]]:
        self._check()
        outcomes: list[tuple[int, Outcome]] = []
        rejected: list[tuple[int, OnepullError]] = []
        given: list[tuple[int, Observation]] = []
        for i, each in enumerate(observations):
            try:
                one = _observation(each)
                text("the id of a decision", one.id)  # before all ids are looked up at once
                given.append((i, one))
            except InputError as error:
                rejected.append((i, error))
        known = self._all_known([one.id for _, one in given])
        for i, one in given:
            fields = {**(one.context or {}), **(one.state or {})}
            try:
                outcome = self._prepared(
                    one.id,
                    one.arm,
                    known[one.id],
                    one.reward,
                    one.failed,
                    fields,
                )
                outcomes.append((i, outcome))
            except OnepullError as error:
                rejected.append((i, error))
        return outcomes, rejected

    def _all_known(self, ids: list[str]) -> dict[str, tuple[Any, dict[Any, Any]]]:
        """Return of each id what `_known` returns, with one look into the log."""
        flights = self._fold.flights
        with self._lock:
            known: dict[str, Any] = {id_: (flights.get(id_), {}) for id_ in ids}
        others = [id_ for id_, (flight, _) in known.items() if flight is None]
        stored = self._store.of_ids(self.name, others) if others else {}
        for id_, slots in stored.items():
            known[id_] = slots.get(e.Slot.DECISION), slots
        return known

    def _summed(
        self,
        outcomes: list[tuple[int, Outcome]],
        waiting: list[tuple[int, Outcome]],
        done: list[Any],
        rejected: list[tuple[int, OnepullError]],
    ) -> BatchReceipt:
        receipts = [each.receipt for _, each in outcomes if each.receipt is not None]
        for (i, outcome), result in zip(waiting, done, strict=True):
            try:
                receipts.append(self._finished(outcome, result))
            except ConflictError as error:
                rejected.append((i, error))
        return BatchReceipt(
            learned=sum(receipt.learned for receipt in receipts),
            duplicates=sum(receipt.duplicate for receipt in receipts),
            late=sum(receipt.late for receipt in receipts),
            rejected=tuple(sorted(rejected, key=lambda pair: pair[0])),
        )


def _reference(decision: Any, arm: str | None) -> tuple[str, str | None]:
    """Return the id of a decision, and the arm that was pulled if it is known."""
    if isinstance(decision, Decision):
        return decision.id, arm or decision.arm
    return text("the id of a decision", decision), arm


def _observation(given: Any) -> Observation:
    if isinstance(given, Observation):
        return given
    try:
        return msgspec.convert(given, Observation)
    except msgspec.ValidationError as error:
        raise InputError(f"not an observation: {error}") from None
