"""How a router learns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, Never, TypeAlias

import msgspec

from onepull.checks import shown, state_by_name
from onepull.decoding import complaint
from onepull.errors import ConflictError, InputError, OnepullError
from onepull.router.decision import Decision
from onepull.router.following.following import CHUNK, Following
from onepull.router.outcomes import Outcome, prepared, receipt_for, receipt_if_answered
from onepull.router.receipts import BatchReceipt, Observation, Receipt
from onepull.router.state.plain_values import python_number, text
from onepull.store import events as e

Told: TypeAlias = Outcome | OnepullError  # what an observation says, or why it is refused


class Observing(Following):
    """The part of a router that takes in outcomes."""

    def observe(
        self,
        decision: Decision | str,
        /,
        *nameless: Never,
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
        if nameless:
            raise state_by_name("decision", nameless, self._fold.policy.problem.state)
        outcome = self._outcome(decision, arm, reward, failed, state)
        return _receipt(self._store_all([outcome])[0])

    async def observe_async(
        self,
        decision: Decision | str,
        /,
        *nameless: Never,
        arm: str | None = None,
        reward: float | None = None,
        failed: bool = False,
        **state: Any,
    ) -> Receipt:
        """Report the outcome of a decision like `observe`, without blocking the event loop."""
        if nameless:
            raise state_by_name("decision", nameless, self._fold.policy.problem.state)
        outcome = self._outcome(decision, arm, reward, failed, state)
        return _receipt((await self._store_all_async([outcome]))[0])

    def observe_many(self, observations: Iterable[Observation | Mapping[str, Any]]) -> BatchReceipt:
        """Report many outcomes, and return when they are on disk.

        One that is refused does not affect the others; `rejected` has its position and the error.
        """
        return _summed(self._store_all(self._outcomes(observations)))

    async def observe_many_async(
        self, observations: Iterable[Observation | Mapping[str, Any]]
    ) -> BatchReceipt:
        """Report many outcomes like `observe_many`, without blocking the event loop."""
        return _summed(await self._store_all_async(self._outcomes(observations)))

    async def observe_each_async(
        self, observations: Iterable[Observation | Mapping[str, Any]]
    ) -> list[Receipt | OnepullError]:
        """Report many outcomes of many callers; return for each its receipt or its error."""
        return await self._store_all_async(self._outcomes(observations))

    def failed(
        self, decision: Decision | str, /, *, arm: str | None = None, **context: Any
    ) -> Receipt:
        """Report that a pull failed; the problem must tell the reward of a failure."""
        return self.observe(decision, arm=arm, failed=True, **context)

    def gave_up(self, decision: Decision | str, /, *, arm: str | None = None) -> Receipt:
        """Report that no outcome will come; if one comes all the same, it is learned."""
        self._check()
        id_, given = _reference(decision, arm)
        return _receipt(self._store_all([self._given_up(id_, given, self._known(id_))])[0])

    def _given_up(self, id_: str, arm: str | None, known: tuple[Any, dict[Any, Any]]) -> Outcome:
        """Return the event of a give-up, or the receipt if there is an answer."""
        flight, slots = known
        event = e.GaveUp(
            problem=self.name,
            time=time.time(),
            id=id_,
            arm=arm or (flight.arm if flight else ""),
            context=flight.context if flight else {},
        )
        return Outcome(event, receipt_if_answered(slots, id_))

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
        told = {
            name: value if type(value) is float else python_number(value)
            for name, value in fields.items()
        }
        if reward is not None:
            reward = python_number(reward)
        with self._lock:
            policy = self._fold.policy
            return prepared(self.name, policy, id_, arm, *known, reward, failed, told)

    def _known(self, id_: str) -> tuple[Any, dict[Any, Any]]:
        """Return the decision of an id, and its other events if it is not in flight here."""
        with self._lock:
            flight = self._fold.flights.get(id_)
        if flight is not None:
            return flight, {}
        slots = self._store.of_id(self.name, id_)
        return slots.get(e.Slot.DECISION), slots

    # Storing

    def _store_all(self, outcomes: Sequence[Told]) -> list[Receipt | OnepullError]:
        """Store outcomes together; return for each its receipt or its error."""
        steps = _stored(outcomes)
        try:
            events = next(steps)
            while True:
                events = steps.send(self._store.append(events))
        except StopIteration as ended:
            receipts: list[Receipt | OnepullError] = ended.value
        self._catch_up(_last(receipts))
        return receipts

    async def _store_all_async(self, outcomes: Sequence[Told]) -> list[Receipt | OnepullError]:
        """Store outcomes like `_store_all`; the event loop goes on meanwhile."""
        steps = _stored(outcomes)
        try:
            events = next(steps)
            while True:
                events = steps.send(await asyncio.wrap_future(self._store.submit(events)))
        except StopIteration as ended:
            receipts: list[Receipt | OnepullError] = ended.value
        if self._store.lasts and self._fold.sequence < _last(receipts):
            await asyncio.to_thread(self._catch_up, _last(receipts))
        else:
            self._catch_up(_last(receipts))
        return receipts

    def _outcomes(self, observations: Iterable[Observation | Mapping[str, Any]]) -> list[Told]:
        """Return the events of observations, each checked, or its error."""
        self._check()
        found: list[Told | Observation] = []
        for each in _listed(observations):
            try:
                one = _observation(each)
                text("the id of a decision", one.id)  # before all ids are looked up at once
                found.append(one)
            except InputError as error:
                found.append(error)
        known = self._all_known([one.id for one in found if isinstance(one, Observation)])
        told: list[Told] = []
        for start in range(0, len(found), CHUNK):
            with self._lock:  # once for many
                told += [
                    self._told(one, known[one.id]) if isinstance(one, Observation) else one
                    for one in found[start : start + CHUNK]
                ]
        return told

    def _told(self, one: Observation, known: tuple[Any, dict[Any, Any]]) -> Told:
        try:
            if one.gave_up:
                _check_alone(one)
                return self._given_up(one.id, one.arm, known)
            fields = {**one.context, **(one.state or {})} if one.context else one.state or {}
            return self._prepared(one.id, one.arm, known, one.reward, one.failed, fields)
        except OnepullError as error:
            return error

    def _all_known(self, ids: list[str]) -> dict[str, tuple[Any, dict[Any, Any]]]:
        """Return what `_known` returns for each id, reading the log once."""
        flights = self._fold.flights
        with self._lock:
            known: dict[str, Any] = {id_: (flights.get(id_), {}) for id_ in ids}
        others = [id_ for id_, (flight, _) in known.items() if flight is None]
        stored = self._store.of_ids(self.name, others) if others else {}
        for id_, slots in stored.items():
            known[id_] = slots.get(e.Slot.DECISION), slots
        return known


def _stored(
    outcomes: Sequence[Told],
) -> Generator[list[Any], list[Any], list[Receipt | OnepullError]]:
    """Yield the events to store together, get what became of them, and return the receipts.

    An answer after an expiry that was learned is stored a second time, to be kept beside it.
    """
    found: dict[int, Receipt | OnepullError] = {}
    events: dict[int, Any] = {}
    for i, told in enumerate(outcomes):
        if isinstance(told, OnepullError):
            found[i] = told
        elif told.receipt is not None:
            found[i] = told.receipt
        else:
            events[i] = told.event
    while events:
        again: dict[int, Any] = {}
        for (i, event), done in zip(events.items(), (yield [*events.values()]), strict=True):
            if isinstance(done.before, e.Expired) and not isinstance(event, e.GaveUp):
                again[i] = msgspec.structs.replace(event, counts=False, late=True)
                continue
            try:
                found[i] = receipt_for(event, done)
            except ConflictError as error:
                found[i] = error
        events = again
    return [found[i] for i in range(len(outcomes))]


def _receipt(found: Receipt | OnepullError) -> Receipt:
    if isinstance(found, OnepullError):
        raise found
    return found


def _last(receipts: Iterable[Receipt | OnepullError]) -> int:
    """Return the place in the log of the last one that was accepted, 0 if none was."""
    return max((each.seq for each in receipts if isinstance(each, Receipt)), default=0)


def _summed(found: Sequence[Receipt | OnepullError]) -> BatchReceipt:
    receipts = [each for each in found if isinstance(each, Receipt)]
    return BatchReceipt(
        learned=sum(receipt.learned for receipt in receipts),
        duplicates=sum(receipt.duplicate for receipt in receipts),
        late=sum(receipt.late for receipt in receipts),
        rejected=tuple((i, each) for i, each in enumerate(found) if isinstance(each, OnepullError)),
        seq=_last(receipts) or None,
    )


def _reference(decision: Any, arm: str | None) -> tuple[str, str | None]:
    """Return the id of a decision, and the arm that was pulled if it is known."""
    if isinstance(decision, Decision):
        return decision.id, arm or decision.arm
    return text("the id of a decision", decision), arm


def _listed(observations: Any) -> list[Any]:
    if isinstance(observations, (str, bytes, Mapping)):
        raise InputError(f"observe_many takes a list of observations, given {shown(observations)}")
    try:
        return list(observations)
    except TypeError:
        raise InputError(
            f"observe_many takes a list of observations, given {shown(observations)}"
        ) from None


def _observation(given: Any) -> Observation:
    """Return an observation; raises InputError if a part of it is of a wrong kind."""
    if isinstance(given, Observation):
        for name in ("state", "context"):
            fields: Any = getattr(given, name)
            # A dict first: asking for a mapping takes a while.
            if not (fields is None or type(fields) is dict or isinstance(fields, Mapping)):
                raise InputError(f"{name} takes a table of fields by name, given {shown(fields)}")
        return given
    try:
        return msgspec.convert(given, Observation)
    except msgspec.ValidationError as error:
        words = complaint(error, Observation, given).words
        raise InputError(f"not an observation: {words}") from None


def _check_alone(one: Observation) -> None:
    if one.state is not None or one.reward is not None or one.failed:
        raise InputError(f"observation {shown(one.id)} has gave_up and an outcome; give one")
