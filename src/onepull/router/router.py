"""A router: a problem, a policy and a log."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import msgspec

from onepull.checks import number, shown, whole_number
from onepull.errors import ConflictError, InputError, OnepullError, ParameterError, StoreError
from onepull.policies.choice import Choice, chosen
from onepull.policies.explanation import Explanation
from onepull.policies.policy import Policy
from onepull.problem import Problem, given_problem
from onepull.router.background import Background
from onepull.router.decision import Decision
from onepull.router.definition import asked_for, needs_relearning, policy_for
from onepull.router.draws import Draws
from onepull.router.expiry import Expiry
from onepull.router.fold import Fold
from onepull.router.receipts import BatchReceipt, Observation, Receipt
from onepull.router.reports import Outcome, answered, prepared
from onepull.router.router_file import read_router_file
from onepull.router.router_stats import RouterStats
from onepull.router.sticky import Sticky
from onepull.store import FORGOTTEN, Store, new_id, open_store
from onepull.store import events as e
from onepull.store.store import Snapshot

CHUNK = 200  # events folded at once, so that decisions do not wait long
LONGEST = 200  # characters of an id, a key or a name
PLAIN = frozenset({int, float, str, bool})


class Router:
    """Chooses arms and learns from outcomes, with a log that survives crashes.

    A router can be used by any number of threads, and in asyncio: `choose` never waits for the
    disk, and `observe_async` does not block the loop.  Any number of processes can open the same
    log, and learn together: after the same event all of them are in the same state, bit for bit.

    - **An acknowledged observation counts once.** When `observe` returns, the observation is on
      disk.  Report it again if you are not sure: it is not learned twice.
    - **Decisions are recorded in the background.** A crash may lose the last few milliseconds of
      them.  Their observations can be learned all the same, if they name the arm.
    - **State is what the log says.** A restart, or another process, folds the log and continues.

    Parameters
    ----------
    problem
        The problem.
    policy
        "recommended", the name of a policy, a table such as `{"name": "DCB", "epsilon": 0.01}`,
        or a function that makes a policy for a problem.
    store
        The log: a path of a SQLite file, `postgresql://…`, a `Store`, or None for memory.
    name
        The name of the problem in the log, which may hold several.
    expires
        After how many seconds a decision without an outcome expires.
    on_expiry
        What that means: "give_up" teaches nothing, "fail" counts as a failure, and a state such
        as `{"seconds": 30}` is learned.  Giving up slow answers biases estimates towards arms that
        are slow, so prefer one of the others where time-outs matter.
    fallback
        The arm to return in the modes "shadow" and "off", and if all eligible arms are paused.
    mode
        "live" returns the policy's arm.  "shadow" returns the fallback and records what the policy
        would have chosen.  "off" returns the fallback and records nothing but observations.
    sticky
        For how many seconds a `key` stays on its arm after its last decision.
    poll
        How often to read what other processes wrote, in seconds.
    snapshot_every
        After how many events to keep a snapshot, so that a start is quick.
    keep
        How many events to keep at least; None keeps all.  Older ones are deleted after a snapshot.

    Examples
    --------
    >>> from onepull import Finite, Interval
    >>> problem = Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 4])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... )
    >>> with Router(problem, policy="DCB") as router:
    ...     decision = router.choose(bits=4)
    ...     receipt = router.observe(decision, capacity=3.0)
    ...     again = router.observe(decision, capacity=3.0)
    >>> decision.arm, receipt.learned, again.duplicate
    ('wifi', True, True)
    """

    def __init__(  # noqa: PLR0913 - one for each thing that may be configured
        self,
        problem: Problem,
        *,
        policy: str | Mapping[str, Any] | Callable[[Problem], Policy] = "recommended",
        store: str | os.PathLike[str] | Store | None = None,
        name: str = "default",
        expires: float = 60.0,
        on_expiry: str | Mapping[str, Any] = "give_up",
        fallback: str | None = None,
        mode: str = "live",
        sticky: float = 300.0,
        poll: float = 0.05,
        snapshot_every: int = 50_000,
        keep: int | None = None,
    ) -> None:
        self.name = _text("name", name)
        self._expires = number("expires", expires, above=0.0, most=1e9)
        self._poll = number("poll", poll, above=0.0, most=3600.0)
        self._sticky = Sticky(number("sticky", sticky, above=0.0, at_least=True, most=1e9))
        self._snapshot_every = whole_number("snapshot_every", snapshot_every)
        self._keep = None if keep is None else whole_number("keep", keep, least=0)
        made, stated = policy_for(given_problem(problem), policy)
        asked = asked_for(problem, stated, mode, fallback)
        self._expiry = Expiry.read(on_expiry, problem)
        self._lock = threading.RLock()
        self._sync_lock = threading.RLock()
        self._draws = Draws()
        self._fold = self._new_fold(problem, made, mode, fallback)
        self._background: Background | None = None
        self._is_open = True
        self._error: OnepullError | None = None
        self._owns_store = not isinstance(store, Store)
        self._store = open_store(store)
        try:
            self._last_snapshot = self._start()
            self._define(problem, made, asked)
        except BaseException:
            if self._owns_store:
                self._store.close()
            raise
        self._background = Background(self, self._poll)
        _everyone.add(self)

    def _new_fold(self, problem: Problem, made: Policy, mode: str, fallback: str | None) -> Fold:
        """Return an empty fold, after trying the mode and the fallback."""
        trial = Fold(problem, self._expires, self._events_between)
        trial.policy = made
        trial.set_mode(mode, fallback)
        return Fold(problem, self._expires, self._events_between)

    @classmethod
    def open(cls, path: str | os.PathLike[str], **changed: Any) -> Self:
        """Open the router that a file describes; `changed` are arguments that replace its own.

        The file has the tables `problem`, as `Problem.to_toml` writes it, `policy` with its name and
        parameters, and `router` with the other arguments.  A path of a store is relative to the
        folder of the file.
        """
        return cls(**{**read_router_file(path), **changed})

    # Starting

    def _events_between(self, after: int, until: int) -> Iterator[Any]:
        return self._store.events(self.name, after=after, until=until)

    def _start(self) -> int:
        """Restore the newest snapshot that can be read, and fold what follows."""
        first = self._store.first_sequence(self.name)
        for snapshot in self._store.snapshots(self.name):
            with suppress(OnepullError):
                self._fold.restore(snapshot.body, snapshot.seq)
                break
        if self._fold.sequence < first:
            raise StoreError(
                f"the log of {self.name!r} begins after event {first}, and no snapshot from there "
                "on can be read; restore a backup"
            )
        before = self._fold.sequence
        self.sync()
        return before

    def _define(self, problem: Problem, made: Policy, asked: dict[str, Any]) -> None:
        """Write to the log what it is about, if it does not say so or says something else."""
        while self._fold.asked != asked:
            text, base = made.to_bytes(), 0
            if self._fold.is_defined and (what := needs_relearning(self._fold.asked, asked)):
                text, base = self._relearned(problem, text, what), self._fold.sequence
            elif self._fold.is_defined:
                twin = self._fold.copy()
                if (error := twin.apply(e.Defined(id="0", policy=b"", asked=asked))) is not None:
                    raise error
            id_ = str(self._fold.number + 1)
            event = e.Defined(
                id=id_, policy=text, asked=asked, base=base, problem=self.name, time=time.time()
            )
            self._store.append([event])  # another process may have been faster
            self.sync()

    def _relearned(self, problem: Problem, text: bytes, what: str) -> bytes:
        """Return a new policy after all events of the log."""
        if self._store.first_sequence(self.name):
            raise ParameterError(
                f"{what} has changed since the log of {self.name!r} began, and its first events are "
                "deleted, so it cannot be learned again; use another name or another store"
            )
        fold = Fold(problem, self._expires, self._events_between)
        fold.policy = fold.policy_from(text)
        for event in self._events_between(0, self._fold.sequence):
            if not isinstance(event, (e.Defined, e.Decided)):
                fold.apply(event)
        return fold.policy.to_bytes()

    def _check(self) -> None:
        if not self._is_open:
            raise StoreError(f"the router {self.name!r} is closed")

    # Choosing

    def choose(
        self,
        /,
        *,
        id: str | None = None,  # noqa: A002 - the word that callers know
        eligible: Collection[str] | None = None,
        key: str | None = None,
        **context: Any,
    ) -> Decision:
        """Return the arm to pull for a context.

        Parameters
        ----------
        id
            An id of your own for this decision.  If it was used before for the same request, the
            same decision is returned, with `replayed`; for another request, ConflictError is
            raised.
        eligible
            The arms that may be pulled for this request; all arms by default.
        key
            Requests with the same key stay on the same arm, for the sake of its caches.
        context
            All context fields by name.
        """
        self._check()
        for value in context.values():
            if type(value) not in PLAIN:
                context = {name: _plain(value) for name, value in context.items()}
                break
        if eligible is not None:
            eligible = _arms(eligible)
        if id is None:
            id = new_id()  # noqa: A001 - the same
        elif (before := self._decided_before(id, context, eligible, key)) is not None:
            return before
        now = time.time()
        with self._lock:
            fold = self._fold
            choice, arm, mode = self._chosen(id, context, eligible, key)
            event = e.Decided(
                problem=self.name,
                time=now,
                id=id,
                arm=arm,
                context=context,
                mode=mode,
                chance=choice.chance,
                estimate=choice.estimate,
                reason=choice.reason,
                expires_at=now + self._expires,
                eligible=eligible,
                key=key,
                choice=None if choice.arm == arm else choice.arm,
            )
            fold.policy.pulled(arm, **context)
            fold.flights.add(event, time.monotonic())
        if mode != "off":
            self._store.record(event)
        return Decision(
            id, arm, mode, choice.chance, choice.estimate, choice.reason, event.expires_at
        )

    def _chosen(
        self,
        id_: str,
        context: dict[str, Any],
        eligible: tuple[str, ...] | None,
        key: str | None,
    ) -> tuple[Choice, str, str]:
        """Return the policy's choice, the arm to return, and the mode."""
        fold = self._fold
        policy = fold.policy
        if fold.mode != "live":
            return self._beside(id_, context, eligible)
        if key is not None and (arm := self._kept(key, eligible)) is not None:
            policy.problem.context.exactly(context)
            return Choice(arm, 1.0, None, "the arm of this key"), arm, "live"
        generator = self._draws.of(id_) if policy.draws else None
        try:
            choice = chosen(policy, context, eligible, generator)
        except InputError:
            if not self._are_all_paused(eligible):
                raise
            arm = self._fallback(eligible)
            return Choice(arm, 1.0, None, "fallback, since all arms are paused"), arm, "live"
        if key is not None:
            self._sticky.put(key, choice.arm, time.monotonic())
        return choice, choice.arm, "live"

    def _beside(
        self, id_: str, context: dict[str, Any], eligible: tuple[str, ...] | None
    ) -> tuple[Choice, str, str]:
        """Return the fallback, and in shadow mode what the policy would have chosen."""
        fold = self._fold
        arm = self._fallback(eligible)
        if fold.mode == "shadow" and not self._are_all_paused(eligible):
            generator = self._draws.of(id_) if fold.policy.draws else None
            return chosen(fold.policy, context, eligible, generator), arm, "shadow"
        fold.policy.problem.context.exactly(context)
        return Choice(arm, 1.0, None, "fallback"), arm, fold.mode

    def _fallback(self, eligible: tuple[str, ...] | None) -> str:
        """Return the fallback; raises InputError if there is none, or if it is not eligible."""
        arm = self._fold.fallback
        if arm is None:
            raise InputError("all arms that may be chosen are paused, and there is no fallback")
        if eligible is not None and arm not in eligible:
            raise InputError(f"the fallback {arm!r} is not among the eligible arms")
        return arm

    def _are_all_paused(self, eligible: tuple[str, ...] | None) -> bool:
        policy = self._fold.policy
        arms = policy.problem.arms if eligible is None else eligible
        paused = policy.controls.paused
        return all(arm in paused for arm in arms) and all(a in policy.problem.arms for a in arms)

    def _kept(self, key: str, eligible: tuple[str, ...] | None) -> str | None:
        """Return the arm of a key, if it may still be chosen."""
        _text("key", key)
        arm = self._sticky.get(key, time.monotonic())
        if arm is None or (eligible is not None and arm not in eligible):
            return None
        policy = self._fold.policy
        controls = policy.controls
        is_open = arm not in controls.paused or arm in self._fold.drained
        is_pinned_elsewhere = controls.pinned not in (None, arm)
        return arm if arm in policy.problem.arms and is_open and not is_pinned_elsewhere else None

    def _decided_before(
        self,
        id_: str,
        context: dict[str, Any],
        eligible: tuple[str, ...] | None,
        key: str | None,
    ) -> Decision | None:
        """Return the decision that an id had before; raises ConflictError for another request."""
        _text("id", id_)
        with self._lock:
            before = self._fold.flights.get(id_)
        if before is None:
            before = self._store.decision(self.name, id_)
        if before is None:
            return None
        if (before.context, before.eligible, before.key) != (context, eligible, key):
            raise ConflictError(
                f"id {shown(id_)} was used before for another request: {_told(before)}; use a new id"
            )
        return Decision(
            id_,
            before.arm,
            before.mode,
            before.chance,
            before.estimate,
            before.reason,
            before.expires_at,
            replayed=True,
        )

    # Observing

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
        flight, slots = self._known(id_)
        told = {name: _plain(value) for name, value in fields.items()}
        with self._lock:
            return prepared(
                self._fold.policy,
                id_,
                given,
                flight,
                slots,
                reward=None if reward is None else _plain(reward),
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
        outcomes: list[tuple[int, Outcome]] = []
        rejected: list[tuple[int, OnepullError]] = []
        for i, given in enumerate(observations):
            try:
                one = _observation(given)
                fields = {**(one.context or {}), **(one.state or {})}
                outcomes.append((i, self._outcome(one.id, one.arm, one.reward, one.failed, fields)))
            except StoreError:
                raise
            except OnepullError as error:
                rejected.append((i, error))
        return outcomes, rejected

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

    # Controls

    def _control(self, event: e.Control) -> None:
        """Try a control, write it to the log, and apply it."""
        self._check()
        with self._lock:
            twin = self._fold.copy()
        if (error := twin.apply(event)) is not None:
            raise error
        event = msgspec.structs.replace(event, problem=self.name, time=time.time())
        self._catch_up(self._store.append([event])[0].seq)

    @property
    def mode(self) -> str:
        """Whether the policy's arm is returned: "live", "shadow" or "off"."""
        return self._fold.mode

    def set_mode(self, mode: str, *, by: str = "") -> None:
        """Change the mode to "live", "shadow" or "off"; `by` says in the log who asked for it."""
        self._control(e.ModeSet(mode=mode, by=by))

    def set_fallback(self, arm: str | None, *, by: str = "") -> None:
        """Return this arm where the policy's is not returned."""
        self._control(e.FallbackSet(arm=arm, by=by))

    def pin(self, arm: str | None, *, by: str = "") -> None:
        """Choose this arm for every request, until `pin(None)`."""
        self._control(e.Pinned(arm=arm, by=by))

    def pause(self, arm: str, *, by: str = "") -> None:
        """Do not choose an arm until `resume`."""
        self._control(e.Paused(arm=arm, by=by))

    def drain(self, arm: str, *, by: str = "") -> None:
        """Choose an arm only for keys that are on it already, until `resume`."""
        self._control(e.Drained(arm=arm, by=by))

    def resume(self, arm: str, *, by: str = "") -> None:
        """Choose a paused or drained arm again."""
        self._control(e.Resumed(arm=arm, by=by))

    def share(self, arm: str, *, least: float = 0.0, most: float = 1.0, by: str = "") -> None:
        """Give an arm at least and at most these shares of the pulls."""
        self._control(e.ShareSet(arm=arm, least=least, most=most, by=by))

    def set_attributes(self, arm: str, /, *, by: str = "", **known: float | str) -> None:
        """Change known attributes of an arm, such as its price; what was learned is revalued."""
        self._control(e.AttributesSet(arm=arm, attributes=known, by=by))

    def add_arm(self, arm: str, /, *, by: str = "", **known: float | str) -> None:
        """Add an arm, with its attributes if arms have any."""
        self._control(e.ArmAdded(arm=arm, attributes=known, by=by))

    def remove_arm(self, arm: str, /, *, by: str = "") -> None:
        """Remove an arm and what was learned about it; the log keeps its events."""
        self._control(e.ArmRemoved(arm=arm, by=by))

    def set_reward(self, reward: str, *, by: str = "") -> None:
        """Use another formula from now on, without forgetting what was learned."""
        self._control(e.RewardSet(reward=reward, by=by))

    # Reading

    @property
    def problem(self) -> Problem:
        """The problem, as the log says it is now."""
        return self._fold.policy.problem

    @property
    def store(self) -> Store:
        """The log."""
        return self._store

    @property
    def sequence(self) -> int:
        """The number of the last event that this router has folded."""
        return self._fold.sequence

    def state(self) -> bytes:
        """Return what the log says up to `sequence`; it is the same bytes in every process."""
        with self._lock:
            return self._fold.state()

    def policy(self) -> Policy:
        """Return a copy of the policy with what it has learned, without pulls in flight."""
        with self._lock:
            return self._fold.copy().policy

    def explain(self, /, *, eligible: Collection[str] | None = None, **context: Any) -> Explanation:
        """Return each arm's estimate, bonus, index and probability, the choice and the reason."""
        self._check()
        with self._lock:
            return self._fold.policy.explain(eligible=eligible, **context)

    def stats(self) -> RouterStats:
        """Return what was decided and learned, the controls, and the health of the log."""
        self._check()
        try:
            last = self._store.last_sequence
        except StoreError:
            last = 0
        with self._lock:
            fold = self._fold
            counts, policy = fold.counts, fold.policy
            source = policy.problem.reward.source
            return RouterStats(
                name=self.name,
                sequence=fold.sequence,
                mode=fold.mode,
                fallback=fold.fallback,
                controls=policy.controls,
                drained=sorted(fold.drained),
                policy=policy.stats(),
                decisions={arm: dict(modes) for arm, modes in counts.decisions.items()},
                outcomes={arm: dict(kinds) for arm, kinds in counts.answers.items()},
                in_flight=len(fold.flights),
                gave_up=counts.gave_up,
                expired=counts.expired,
                late=counts.late,
                refused=counts.refused,
                lag=max(last - fold.sequence, 0),
                unrecorded=self._store.unrecorded,
                last_observation=counts.last_time or None,
                healthy=self.is_healthy,
                reward=source if isinstance(source, str) else None,
            )

    @property
    def is_healthy(self) -> bool:
        """Whether the log can be written and read."""
        return self._is_open and self._store.is_healthy and self._error is None

    def log(self, after: int = 0, limit: int | None = None) -> Iterator[Any]:
        """Yield the events of this problem in order, after a sequence number."""
        self._check()
        left = limit
        while left is None or left > 0:
            batch = self._store.read(self.name, after=after, limit=min(left or 2000, 2000))
            if not batch:
                return
            yield from batch
            after = batch[-1].seq
            left = None if left is None else left - len(batch)

    # Following the log

    def sync(self) -> int:
        """Fold what others have written; return the number of the last event."""
        with self._sync_lock:
            last = self._store.last_sequence
            while self._fold.sequence < last:
                batch = self._store.read(self.name, after=self._fold.sequence, until=last)
                for start in range(0, len(batch), CHUNK):
                    with self._lock:
                        for event in batch[start : start + CHUNK]:
                            self._fold.apply(event)
                            if isinstance(event, e.Decided) and event.key is not None:
                                self._sticky.put(event.key, event.arm, time.monotonic())
                if not batch:
                    with self._lock:
                        self._fold.sequence = last  # the rest is of other problems
            return self._fold.sequence

    def _catch_up(self, seq: int) -> None:
        """Fold up to an event that was just written."""
        if self._fold.sequence < seq:
            with suppress(StoreError):  # it is in the log, and will be folded later
                self.sync()

    def tend(self) -> None:
        """Read what others wrote, let decisions expire, and keep a snapshot if one is due.

        A thread of the router calls this; there is no need to call it.
        """
        try:
            if not self._store.is_healthy:
                self._store.flush()  # tries to open it anew
            self.sync()
            self.expire()
            if self._fold.sequence - self._last_snapshot >= self._snapshot_every:
                self.snapshot()
            self._error = None
        except OnepullError as error:
            self._error = error

    def expire(self) -> int:
        """Write to the log which decisions have expired; return how many."""
        with self._lock:
            overdue = self._fold.flights.expired(time.monotonic())
            now = time.time()
            events = [self._expiry.event(flight, self.name, now) for flight in overdue]
        if events:
            done = self._store.append(events)
            self._catch_up(done[-1].seq)
            with self._lock:
                for event in events:
                    self._fold.land(event.id)  # where another process was faster, or an answer
        return len(events)

    def snapshot(self) -> int:
        """Keep a snapshot, delete events as `keep` allows, and return its sequence number."""
        self._check()
        with self._lock:
            seq, body = self._fold.sequence, self._fold.snapshot()
        self._store.put_snapshot(self.name, Snapshot(seq, body))
        self._last_snapshot = seq
        if self._keep is not None:
            oldest = self._store.snapshots(self.name)[-1].seq
            self._store.forget(self.name, until=min(oldest, seq - self._keep))
        return seq

    def close(self) -> None:
        """Store what was recorded, and end the router's thread."""
        if not self._is_open:
            return
        if self._background is not None:
            self._background.close()
        self._is_open = False
        with suppress(StoreError):
            self._store.flush()
        if self._owns_store:
            self._store.close()

    def __enter__(self) -> Self:
        """Return the router."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the router."""
        self.close()


def _text(what: str, value: Any) -> str:
    if isinstance(value, str) and 0 < len(value) <= LONGEST and "\0" not in value:
        return value
    raise InputError(f"{what} must be text of 1 to {LONGEST} characters, given {shown(value)}")


def _plain(value: Any) -> Any:
    """Return a number of numpy as Python's; the problem's spaces check everything else."""
    if type(value) in PLAIN:
        return value
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "ndim", 1) == 0:
        value = item()
    if isinstance(value, (bool, int, float, str)):
        return value
    raise InputError(f"a field takes a number, a word or a truth value, given {shown(value)}")


def _arms(eligible: Any) -> tuple[str, ...]:
    if isinstance(eligible, str):
        raise InputError(f"eligible takes a list of arms, given the text {shown(eligible)}")
    try:
        return tuple(eligible)
    except TypeError:
        raise InputError(f"eligible takes a list of arms, given {shown(eligible)}") from None


def _reference(decision: Any, arm: str | None) -> tuple[str, str | None]:
    """Return the id of a decision, and the arm that was pulled if it is known."""
    if isinstance(decision, Decision):
        return decision.id, arm or decision.arm
    return _text("the id of a decision", decision), arm


def _observation(given: Any) -> Observation:
    if isinstance(given, Observation):
        return given
    try:
        return msgspec.convert(given, Observation)
    except msgspec.ValidationError as error:
        raise InputError(f"not an observation: {error}") from None


def _told(before: e.Decided) -> str:
    fields = ", ".join(f"{name}={shown(value)}" for name, value in before.context.items())
    return fields or "no context"


_everyone: weakref.WeakSet[Router] = weakref.WeakSet()


def _before_fork() -> None:
    # So that no other thread is in the midst of a change that the child would inherit.
    for router in list(_everyone):
        router._sync_lock.acquire()  # noqa: SLF001 - of this module
        router._lock.acquire()  # noqa: SLF001 - of this module


def _after_fork_in_parent() -> None:
    for router in list(_everyone):
        router._lock.release()  # noqa: SLF001 - of this module
        router._sync_lock.release()  # noqa: SLF001 - of this module


def _after_fork_in_child() -> None:
    for router in list(_everyone):
        router._lock, router._sync_lock = threading.RLock(), threading.RLock()  # noqa: SLF001 - of this module
        if router._is_open:  # noqa: SLF001 - of this module
            router._background = Background(router, router._poll)  # noqa: SLF001 - of this module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
