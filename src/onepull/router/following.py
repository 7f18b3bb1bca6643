"""How a router follows its log: the state that comes from it, expiries, snapshots, locks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import groupby, takewhile
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from onepull.errors import OnepullError, ParameterError, StoreError
from onepull.policies.policy import Policy
from onepull.problem import Problem
from onepull.router.background import Background
from onepull.router.definition import RouterSettings, needs_relearning, with_changes
from onepull.router.expiry import Expiry
from onepull.router.fold import REVISIONS, Fold
from onepull.router.redefinition import Redefinition, outcomes_of, redefined
from onepull.router.sticky import Sticky
from onepull.store import Store
from onepull.store import events as e
from onepull.store.forks import Forkable
from onepull.store.ids import Ids
from onepull.store.store import Snapshot, Stored

CHUNK = 200  # outcomes folded at once, so that decisions do not wait long
DECISIONS = 2000  # decisions folded at once
REVISION = 0  # says that a change of the problem is folded alone
SHORT = 0.02  # seconds that the thread that writes waits for one that reads
ATTEMPTS = 100  # to define a router, while others do so, too


class Following(Forkable):
    """Follows the log: folds new events, writes expiries, keeps snapshots.

    `_lock` guards the fold, and is held for microseconds.  `_sync_lock` is held by the one thread
    that reads the log.
    """

    def __init__(  # noqa: PLR0913 - handed over by the router
        self,
        name: str,
        store: Store,
        fold: Fold,
        settings: RouterSettings,
        *,
        poll: float,
        owns_store: bool,
    ) -> None:
        self.name = name
        self._store, self._fold, self._settings = store, fold, settings
        self._sticky = Sticky(settings.sticky)
        self._lock = threading.RLock()
        self._sync_lock = threading.RLock()
        self._ids = Ids()
        self._background: Background | None = None
        self._poll, self._owns_store = poll, owns_store
        self._followers: tuple[Callable[[list[Any]], None], ...] = ()
        self._is_open = True
        self._error: Exception | None = None  # of the last attempt to follow the log
        self._last_snapshot = self._last_flights = 0  # its number, and decisions in flight then
        self._followed = 0.0  # when a commit of this process was folded last
        self._is_revising = False  # whether a change of the problem is being learned
        self.redefinition: Redefinition | None = None

    # Starting

    def _start(
        self,
        problem: Problem,
        build: Callable[[Problem], Policy],
        asked: dict[str, Any],
        *,
        redefine: bool,
        error: float | None,
    ) -> None:
        """Continue from the log, write to it what it is about, and begin to follow it."""
        self._continue()
        self._define(problem, build, asked, redefine=redefine, accepted=error)
        self._store.follow(self.name, self._after_commit)
        self._background = Background(self, self._poll)
        self._follow_forks()

    def _continue(self) -> None:
        """Fold what the log says."""
        self._restore(self._fold)
        self._note_snapshot(self._fold.sequence)
        self._follow_settings()
        self.sync()

    def _restore(self, fold: Fold) -> None:
        """Begin at the newest snapshot that can be read; raises if the log begins later."""
        first = self._store.first_sequence(self.name)
        for snapshot in self._store.snapshots(self.name):
            with suppress(OnepullError):
                self._sticky.restore(fold.restore(snapshot.body, snapshot.seq))
                break
        if fold.sequence < first:
            raise StoreError(
                f"the log of {self.name!r} begins after event {first}, and no snapshot from there "
                "on can be read; restore a backup"
            )

    def _define(
        self,
        problem: Problem,
        build: Callable[[Problem], Policy],
        asked: dict[str, Any],
        *,
        redefine: bool,
        accepted: float | None,
    ) -> None:
        """Write to the log what it is about, if it does not say so or says something else."""
        for _ in range(ATTEMPTS):
            if self._fold.asked == asked:
                return
            event, change = self._planned(
                problem, build, asked, redefine=redefine, accepted=accepted
            )
            if self._store.append([event])[0].before is None:  # else another process was faster
                self.redefinition = change if change and change.changed else None
            self.sync()
        if self._fold.asked != asked:
            why = self._fold.last_error or "are there two policies of that name?"
            raise StoreError(
                f"the log of {self.name!r} does not take the definition of "
                f"{asked['policy']['name']}: {why}"
            )

    def _planned(
        self,
        problem: Problem,
        build: Callable[[Problem], Policy],
        asked: dict[str, Any],
        *,
        redefine: bool,
        accepted: float | None,
    ) -> tuple[e.Defined, Redefinition | None]:
        """Return the definition to write, and what it changes; raises if that is not allowed."""
        text, base = build(problem).to_bytes(), 0
        id_ = str(self._fold.number + 1)
        change = None
        if self._fold.is_defined and (what := needs_relearning(self._fold.asked, asked)):
            present = self._with_changes(problem, asked, redefine=redefine)
            if not redefine:
                self._refuse_incomplete(what)
            base = self._fold.sequence
            twin = self._relearned(problem, build(present), base)
            change = redefined(self._fold, twin, asked)
            text = twin.policy.to_bytes()
        elif self._fold.is_defined:
            twin = self._at_present()
            trial = e.Defined(id=id_, policy=b"", asked=asked, error=accepted)
            if (error := twin.apply(trial)) is not None:
                raise error
            change = redefined(self._fold, twin, asked)
        if change is not None and not redefine:
            change.refuse_loss(self.name)
        event = e.Defined(
            id=id_, policy=text, asked=asked, base=base, error=accepted, problem=self.name,
            time=time.time(),
        )  # fmt: skip
        return event, change

    def _with_changes(self, problem: Problem, asked: dict[str, Any], *, redefine: bool) -> Problem:
        """Return a problem with its changes at run time; `redefine` drops what does not fit."""
        try:
            return with_changes(problem, self._fold.asked, asked, self._fold.policy.problem)
        except OnepullError as error:
            if redefine:
                return problem
            raise ParameterError(
                f"what was changed at run time in the log of {self.name!r} does not fit the new "
                f"problem: {error}; undo that change first, or `redefine` to drop all of them"
            ) from error

    def _refuse_incomplete(self, what: str) -> None:
        """Raise ParameterError if events are deleted that would have to be learned again."""
        if self._store.first_sequence(self.name):
            raise ParameterError(
                f"{what} has changed since the log of {self.name!r} began, and its first events "
                "are deleted, so it cannot be learned again; use another name or another store, or "
                "`redefine` to learn from the events that are left"
            )

    def _relearn(self, problem: Problem, policy: Policy, reward: str, by: str) -> None:
        """Learn all outcomes again with another reward, and write that to the log."""
        if self._store.first_sequence(self.name):
            raise ParameterError(
                f"the first events of the log of {self.name!r} are deleted, so its outcomes cannot "
                "be learned again; pass `error` to revalue what was learned"
            )
        with self._lock:
            base, number, asked = self._fold.sequence, self._fold.number, self._fold.asked
            learned = outcomes_of(self._fold)
        twin = self._relearned(problem, policy, base, with_rewards=False)
        if (kept := outcomes_of(twin)) < learned:
            raise ParameterError(
                f"only {kept:,} of {learned:,} outcomes can be learned again with this reward; one "
                "that was observed as a reward, without its state, tells nothing about another"
            )
        event = e.Defined(
            id=str(number + 1), policy=twin.policy.to_bytes(), asked=asked, base=base,
            reward=reward, by=by, problem=self.name, time=time.time(),
        )  # fmt: skip
        if self._store.append([event])[0].before is not None:
            raise StoreError("another process has changed the problem meanwhile; try again")

    def _relearned(
        self, problem: Problem, policy: Policy, until: int, *, with_rewards: bool = True
    ) -> Fold:
        """Return a new policy after the events up to a number.

        Its reward and its attributes are the present ones from the beginning, so those of the
        past are left out, and so are rewards without a state unless `with_rewards`.
        """
        fold = Fold(problem, self._fold.flights.expires, self._fold.reader)
        fold.policy, known = policy, policy.problem.attributes
        for event in self._store.events(self.name, until=until):
            if isinstance(event, e.ArmAdded):
                fold.apply(replace(event, attributes=known.get(event.arm, event.attributes)))
            elif isinstance(event, e.Observed) and event.state is None and not with_rewards:
                continue
            elif not isinstance(event, (e.Defined, e.Decided, e.AttributesSet, e.RewardSet)):
                fold.apply(event)
        return fold

    def _check(self) -> None:
        if not self._is_open:
            raise StoreError(f"the router {self.name!r} is closed")

    # Following the log

    def sync(self) -> int:
        """Fold what others have written; return the number of the last event."""
        with self._sync_lock:
            return self._fold_new()

    def _after_commit(self, stored: Stored) -> None:
        """Fold what was just stored, on the thread that writes to the log for all problems.

        It leaves to other threads what takes long: a change of the problem.
        """
        if not self._is_revising and self._sync_lock.acquire(timeout=SHORT):
            try:
                if self._fold.sequence < stored.before:  # others have written, too
                    self._fold_new(revises=False)
                else:
                    self._fold_stored(stored)
                if self._fold.sequence >= stored.last:  # else a change of the problem waits
                    self._followed = time.monotonic()
            finally:
                self._sync_lock.release()

    def _fold_stored(self, stored: Stored) -> None:
        """Fold the newest events, which need not be read from the log."""
        done = self._fold.sequence
        new = [event for event in stored.events if event.seq > done]
        quick = _before_revision(new)
        self._take(quick)
        if len(quick) == len(new):
            with self._lock:
                self._fold.sequence = max(self._fold.sequence, stored.last)

    def _fold_new(self, *, revises: bool = True) -> int:
        last = self._store.last_sequence
        while (done := self._fold.sequence) < last:
            batch = self._store.read(self.name, after=done, until=last)
            if self._store.first_sequence(self.name) > done:
                self._begin_later()  # events that are not read yet were deleted
                continue
            if not batch:
                with self._lock:
                    self._fold.sequence = last  # the rest is of other problems
                break
            if not revises:
                batch = _before_revision(batch)
            if not batch:
                break
            self._take(batch)
        return self._fold.sequence

    def _take(self, batch: list[Any]) -> None:
        self._apply(batch)
        for follower in self._followers:
            follower(batch)

    def follow(self, follower: Callable[[list[Any]], None]) -> None:
        """Hand every event of this problem to a function after it was folded, in order.

        It is called by the threads that read the log, so it must be quick and must not raise.
        """
        with self._sync_lock:
            self._followers = (*self._followers, follower)

    def _apply(self, batch: list[Any]) -> None:
        for at_once, events in groupby(batch, _at_once):
            if at_once == REVISION:
                for event in events:
                    self._revise(event)
            else:
                self._apply_all([*events], at_once)

    def _apply_all(self, events: list[Any], at_once: int) -> None:
        for start in range(0, len(events), at_once):
            some = events[start : start + at_once]
            with self._lock:
                if at_once == DECISIONS:
                    self._fold.apply_decisions(some)
                    self._stick(some)
                else:
                    for event in some:
                        self._fold.apply(event)

    def _stick(self, decisions: list[e.Decided]) -> None:
        """Remember the arms of keys."""
        for event in decisions:
            if event.key and event.mode == "live":
                self._sticky.put(event.key, event.arm, event.time)

    def _revise(self, event: Any) -> None:
        """Apply an event that changes the problem beside the fold, while decisions go on.

        Only this thread folds events, so all that changes meanwhile are the decisions in flight.
        """
        self._is_revising = True
        try:
            twin = self._twin()
            twin.apply(event)
            with self._lock:
                self._fold.replace(twin)
                if isinstance(event, e.Defined):
                    self._follow_settings()
        finally:
            self._is_revising = False

    def _follow_settings(self) -> None:
        """Run as the log says, where it says so."""
        stated = RouterSettings.stated(self._fold.asked or {})
        self._settings = msgspec.structs.replace(self._settings, **stated)
        self._fold.flights.expires = self._settings.expires
        self._sticky.seconds = self._settings.sticky

    def _twin(self) -> Fold:
        """Return a copy of the fold as a restart would make it; others hardly wait."""
        return self._at_present().copy()

    def _at_present(self) -> Fold:
        with self._lock:
            return self._fold.at_present()

    def _begin_later(self) -> None:
        """Continue from a snapshot, with the decisions in flight of this process."""
        fold = self._fold.empty()
        self._restore(fold)
        with self._lock:
            fold.take_flights(self._fold)
            self._fold = fold
            self._follow_settings()

    def _catch_up(self, seq: int) -> None:
        """Fold up to an event that was just written, unless a change of the problem is learned."""
        if self._fold.sequence < seq and not self._is_revising:
            with suppress(StoreError):  # it is in the log, and will be folded later
                self.sync()

    def tend(self) -> None:
        """Read what others wrote, let decisions expire, and keep a snapshot if one is due.

        A thread of the router calls this; there is no need to call it.
        """
        try:
            if not self._store.is_healthy:
                self._store.flush()  # tries to open it anew
            if time.monotonic() - self._followed > self._poll:  # else a commit told what is new
                self.sync()
            self.expire()
            if self._is_snapshot_due():
                self.snapshot()
            self._error = None
        except Exception as error:  # noqa: BLE001 - the thread must go on, and the router says so
            self._error = error

    def _is_snapshot_due(self) -> bool:
        """Whether neither this process nor another has kept one for a while.

        A snapshot has all decisions in flight.  After one with many of them the next waits for as
        many events, so that no event pays for more than one of them.
        """
        if self._is_overdue():
            for newest in self._store.snapshots(self.name)[:1]:
                if newest.seq > self._last_snapshot:  # another process has kept it
                    self._note_snapshot(newest.seq)
        return self._is_overdue()

    def _is_overdue(self) -> bool:
        every = max(self._settings.snapshot_every, self._last_flights)
        return self._fold.sequence >= self._last_snapshot + every

    def _note_snapshot(self, seq: int) -> None:
        self._last_snapshot, self._last_flights = seq, len(self._fold.flights)

    def expire(self) -> int:
        """Write to the log which decisions have expired; return how many."""
        if not self._fold.flights.may_expire(time.monotonic()):
            return 0
        with self._lock:
            overdue = self._fold.flights.expired(time.monotonic())
            if not overdue:
                return 0
            now = time.time()
            # What was decided while the router was off is not in the log, nor is its expiry.
            recorded = [flight for flight in overdue if flight.mode != "off"]
            expiry = Expiry.read(self._settings.on_expiry, self._fold.policy.problem)
            events = [expiry.event(flight, self.name, now) for flight in recorded]
        if events:
            done = self._store.append(events)
            self._catch_up(max(each.seq for each in done))
        with self._lock:
            for flight in overdue:  # also where another process or an answer was faster
                if self._fold.flights.get(flight.id) is not None:
                    self._fold.land(flight.id)
        return len(events)

    def snapshot(self) -> int:
        """Keep a snapshot, delete events as `keep` allows, and return its sequence number."""
        self._check()
        with self._lock:
            keys = self._sticky.kept(time.time())
            kept, flights = self._fold.at_present(), list(self._fold.flights)
        seq = kept.sequence
        # There may be many arms and decisions in flight, so others need not wait for the writing.
        self._store.put_snapshot(self.name, Snapshot(seq, kept.snapshot(flights, keys)))
        self._note_snapshot(seq)
        if (keep := self._settings.keep) is not None:
            oldest = self._store.snapshots(self.name)[-1].seq
            self._store.forget(self.name, until=min(oldest, seq - keep))
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

    def __exit__(self, *error: object) -> None:
        """Close the router."""
        self.close()

    # Forks

    def _before_fork(self) -> None:
        self._sync_lock.acquire()
        self._lock.acquire()

    def _after_fork_in_parent(self) -> None:
        self._lock.release()
        self._sync_lock.release()

    def _after_fork_in_child(self) -> None:
        self._lock, self._sync_lock = threading.RLock(), threading.RLock()
        self._ids = Ids()
        if self._is_open:
            self._background = Background(self, self._poll)


# How many events of a kind are folded at once, if not CHUNK.  Decisions are quick to fold, and they
# come while others are made.  A thread that asks often for a lock that others need all the time
# waits for it most of the time.
_AT_ONCE: dict[type[Any], int] = {e.Decided: DECISIONS, **dict.fromkeys(REVISIONS, REVISION)}


def _at_once(event: Any) -> int:
    return _AT_ONCE.get(type(event), CHUNK)


def _before_revision(events: list[Any]) -> list[Any]:
    """Return the first events, up to one that changes the problem."""
    return list(takewhile(_at_once, events))
