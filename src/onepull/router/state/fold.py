"""The state that follows from a log, event by event."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any, ClassVar

import msgspec

from onepull.checks import LARGEST, shown, some
from onepull.errors import InputError, OnepullError, ParameterError, StoreError
from onepull.policies.policy import Policy
from onepull.problem import Problem
from onepull.router.definition.definition import apply_changes, mode_after
from onepull.router.state.flights import Flights
from onepull.router.state.log_counts import LogCounts
from onepull.store import events as e
from onepull.store.store import Snapshot

FORMAT = 1
WRITTEN_AT_ONCE = 500  # decisions in flight of a snapshot
PAUSE = 0.0005  # seconds after that, in which other threads run
LIST = b"\xdd"  # begins a list in MessagePack; its length follows in four bytes
# Events that change the problem, after which what was learned may have to be learned again.
REVISIONS = (e.Defined, e.AttributesSet, e.ArmAdded, e.ArmRemoved, e.RewardSet)
MODES = ("live", "shadow", "off")
Reader = Callable[[int, int], Iterable[Any]]


class FoldState(msgspec.Struct, forbid_unknown_fields=True):
    """A folded log as plain values."""

    policy: bytes
    mode: str
    fallback: str | None
    drained: list[str]
    counts: LogCounts
    asked: Any
    number: int


class SnapshotBody(msgspec.Struct, forbid_unknown_fields=True):
    """What a snapshot holds: the state, the decisions in flight, and the arms of keys."""

    format: int
    state: FoldState
    flights: list[e.Decided]
    keys: dict[str, tuple[str, float]] = {}


def asked_of(snapshot: Snapshot) -> tuple[Any, int]:
    """Return how a problem was last defined before a snapshot, and the number of that definition.

    It raises StoreError if the snapshot cannot be read.
    """
    state = _read(snapshot.body, snapshot.seq).state
    return state.asked, state.number


def _read(body: bytes, seq: int) -> SnapshotBody:
    try:
        return msgspec.msgpack.decode(body, type=SnapshotBody)
    except msgspec.DecodeError as error:
        raise StoreError(f"the snapshot after event {seq} cannot be read: {error}") from None


def check_mode(arms: Sequence[str], mode: Any, fallback: Any) -> None:
    """Raise ParameterError if a mode is unknown, or needs another fallback.

    >>> check_mode(["a"], "shadow", None)
    Traceback (most recent call last):
    onepull.errors.ParameterError: mode 'shadow' needs a fallback arm; set the fallback first
    """
    if not isinstance(mode, str) or mode not in MODES:
        raise ParameterError(f"mode must be {some(MODES)}, given {shown(mode)}")
    if fallback is None and mode != "live":
        raise ParameterError(f"mode {mode!r} needs a fallback arm; set the fallback first")
    if fallback is not None and fallback not in arms:
        raise ParameterError(
            f"the fallback {shown(fallback)} is not an arm; the arms are {some(arms)}"
        )


class Fold:
    """What a log says up to an event.

    Every process folds the same events in the same order, so all of them have the same state
    after the same event, bit for bit.  An event that cannot be applied, such as the observation
    of an arm that another process has just removed, changes nothing anywhere.

    Attributes
    ----------
    policy
        The policy with all that it has learned.
    mode, fallback, drained
        The controls that the policy does not know of.
    counts
        How often what happened.
    flights
        The decisions in flight, which are not part of the state.
    sequence
        The number of the last event that was folded.
    """

    def __init__(self, problem: Problem | None, expires: float, reader: Reader) -> None:
        self._problem = problem  # for a reward in Python, which no log can hold
        self.reader = reader
        self.flights = Flights(expires)
        self.sequence = 0
        self.policy: Policy  # from the definition on
        self.mode = "live"
        self.fallback: str | None = None
        self.drained: set[str] = set()
        self.counts = LogCounts()
        self.asked: Any = None
        self.number = 0
        self.last_error: OnepullError | None = None

    @property
    def is_defined(self) -> bool:
        """Whether the log has a definition."""
        return self.number > 0

    def apply(self, event: Any) -> OnepullError | None:
        """Apply the next event; return why it changed nothing, if so.

        Apply one of `REVISIONS` to a `copy`, and `replace` this fold by it: that may take long, and
        only `replace` counts the decisions in flight again.
        """
        try:
            self._HANDLERS[type(event)](self, event)
        except OnepullError as error:
            if isinstance(error, StoreError):
                raise
            self.counts.refused += 1
            self.last_error = error
            return error
        finally:
            self.sequence = event.seq
        return None

    def policy_from(self, text: bytes) -> Policy:
        """Return a policy from the contents of a save file."""
        if self._problem is None or self._problem.reward.is_formula:
            return Policy.from_bytes(text)
        arms = msgspec.json.decode(text)["saved"]["problem"]["arms"]
        return Policy.from_bytes(text, problem=self._problem.with_arms(arms))

    # Definitions

    def _defined(self, event: e.Defined) -> None:
        if not self.is_defined or event.base:
            try:
                self.policy = self.policy_from(event.policy)
            except OnepullError as error:
                if self.is_defined:
                    raise
                raise StoreError(f"the definition in event {event.seq}: {error}") from error
            if self.number:  # what was set at run time stays
                self.mode, self.fallback = mode_after(self, self.asked, event.asked)
            else:
                self.mode, self.fallback = event.asked["mode"], event.asked["fallback"]
            for earlier in self.reader(event.base, event.seq - 1) if event.base else ():
                if isinstance(earlier, (e.Observed, e.Failed, e.Expired, e.Control)):
                    self.apply_quietly(earlier)
        else:
            before, self.asked, self.number = self.asked, event.asked, int(event.id)
            twin = self.at_present()
            # Raises before anything changes.
            apply_changes(twin, before, event.asked, _accepted(event))
            self.replace(twin)
        self.asked, self.number = event.asked, int(event.id)

    def apply_quietly(self, event: Any) -> None:
        """Learn an event again that was counted before."""
        counts, self.counts = self.counts, LogCounts()
        self.apply(event)
        self.counts = counts

    # Decisions and outcomes

    def _decided(self, event: e.Decided) -> None:
        self.apply_decisions([event])

    def apply_decisions(self, events: Sequence[e.Decided]) -> None:
        """Apply the next events, all of them decisions, which cannot be refused."""
        now = time.monotonic()
        for event in events:
            self.sequence = event.seq  # first, so that none is applied twice, whatever happens
            self.counts.decide(event)
            self._sum_up(event.arm)
            if self.flights.read(event, now):
                self._expect(event)

    def _sum_up(self, arm: str) -> None:
        """Move the counts of an arm if it was removed; another process may have used it since."""
        if not self.policy.has_arm(arm):
            self.counts.remove(arm)

    def _expect(self, event: e.Decided) -> None:
        # It may be of an arm or a context that the problem does not have any more.
        if not self._expect_pull(event.arm, event.context):
            self.flights.pop(event.id)

    def land(self, id_: str) -> None:
        """Stop waiting for a decision."""
        flight = self.flights.pop(id_)
        if flight is not None:
            self._unexpect(flight.arm, flight.context)

    def _unexpect(self, arm: str, context: dict[str, Any]) -> None:
        try:
            self.policy.withdraw(arm, **context)
        except InputError:  # the same
            return

    def _observed(self, event: e.Observed) -> None:
        self._learn(event, event.state or {}, reward=event.reward, failed=False)

    def _failed(self, event: e.Failed) -> None:
        self._learn(event, {}, reward=None, failed=True)

    def _learn(self, event: Any, state: dict[str, Any], *, reward: Any, failed: bool) -> None:
        arm, context = event.arm, event.context
        flight = self.flights.pop(event.id)
        answers = flight is not None and flight.arm == arm and flight.context == context
        if flight is not None and not answers:
            self._unexpect(flight.arm, flight.context)
        if not getattr(event, "counts", True):
            if answers:
                self._unexpect(arm, context)
            self.counts.learn(event)
            self._sum_up(arm)
            return
        if not answers and self.policy.is_in_flight(arm):
            # Observing answers a pull in flight, and must not answer that of another decision.
            answers = self._expect_pull(arm, context)
        try:
            self.policy.observe(arm, reward=reward, failed=failed, **context, **state)
        except OnepullError:
            if answers:
                self._unexpect(arm, context)
            raise
        self.counts.learn(event)
        for name in self.policy.clipped_fields(state):
            self.counts.clip(name)

    def _expect_pull(self, arm: str, context: dict[str, Any]) -> bool:
        try:
            self.policy.pulled(arm, **context)
        except InputError:
            return False
        return True

    def _gave_up(self, event: e.GaveUp) -> None:
        self.land(event.id)
        # By the event alone, since not every process knows the decision.
        self.policy.note_given_up(event.arm)
        self.counts.gave_up += 1

    def _expired(self, event: e.Expired) -> None:
        if event.teaches:
            self._learn(event, event.state or {}, reward=None, failed=event.failed)
        else:
            self.land(event.id)
            self.policy.note_given_up(event.arm)
            self.counts.learn(event)
            self._sum_up(event.arm)
        self.counts.expired += 1

    # Controls

    def _mode_set(self, event: e.ModeSet) -> None:
        self.set_mode(event.mode, self.fallback)

    def _fallback_set(self, event: e.FallbackSet) -> None:
        self.set_mode(self.mode, event.arm)

    def set_mode(self, mode: str, fallback: str | None) -> None:
        """Use another mode and fallback; raises ParameterError if they do not fit."""
        check_mode(self.policy.problem.arms, mode, fallback)
        self.mode, self.fallback = mode, fallback

    def _pinned(self, event: e.Pinned) -> None:
        self.policy.pin(event.arm)

    def _paused(self, event: e.Paused) -> None:
        self.policy.pause(event.arm)
        self.drained.discard(event.arm)

    def _drained(self, event: e.Drained) -> None:
        self.policy.pause(event.arm)
        self.drained.add(event.arm)

    def _resumed(self, event: e.Resumed) -> None:
        self.policy.resume(event.arm)
        self.drained.discard(event.arm)

    def _share_set(self, event: e.ShareSet) -> None:
        self.policy.share(event.arm, least=event.least, most=event.most)

    def _attributes_set(self, event: e.AttributesSet) -> None:
        self.policy.set_attributes(event.arm, error=_accepted(event), **event.attributes)

    def _arm_added(self, event: e.ArmAdded) -> None:
        self.policy.add_arm(event.arm, **event.attributes)

    def _arm_removed(self, event: e.ArmRemoved) -> None:
        if event.arm == self.fallback:
            raise InputError(f"arm {event.arm!r} is the fallback; set another one first")
        self.remove_arms([event.arm])

    def remove_arms(self, arms: Collection[str]) -> None:
        """Remove arms and all that is kept of them."""
        self.policy.remove_arms(arms)
        self.drained -= set(arms)
        for arm in arms:
            self.counts.remove(arm)

    def _reward_set(self, event: e.RewardSet) -> None:
        self.set_reward(event.reward, failure=event.failure, error=_accepted(event))

    def set_reward(self, reward: Any, **stated: Any) -> None:
        """Use another reward without forgetting; raises ParameterError where that cannot be."""
        change = getattr(self.policy, "with_reward", None)
        if change is None:
            raise ParameterError(
                f"{type(self.policy).__name__} keeps no states, so what it learned does not tell "
                "what another reward would have been; use a policy that does, such as recommended"
            )
        self.policy = change(reward, **{k: v for k, v in stated.items() if v is not None})

    # Saving

    def state(self) -> bytes:
        """Return the state as bytes, without the decisions in flight."""
        return msgspec.msgpack.encode(self._state())

    def _state(self) -> FoldState:
        return FoldState(
            policy=self.policy.to_bytes() if self.is_defined else b"",
            mode=self.mode,
            fallback=self.fallback,
            drained=sorted(self.drained),
            counts=self.counts,
            asked=self.asked,
            number=self.number,
        )

    def snapshot(self, flights: Iterable[e.Decided], keys: dict[str, tuple[str, float]]) -> bytes:
        """Return the state, decisions in flight and the arms of keys, as bytes.

        There may be hundreds of thousands of decisions.  They are written some at a time, with
        pauses, so that other threads do not wait for the interpreter.
        """
        encode, left = msgspec.msgpack.Encoder().encode, iter(flights)
        count, written = 0, []
        while together := [encode(flight) for flight in islice(left, WRITTEN_AT_ONCE)]:
            count += len(together)
            written.append(b"".join(together))
            time.sleep(PAUSE)
        listed = msgspec.Raw(b"".join([LIST, count.to_bytes(4), *written]))
        return encode({
            "format": FORMAT, "state": self._state(), "flights": listed, "keys": keys,
        })  # fmt: skip

    def restore(self, body: bytes, seq: int) -> dict[str, tuple[str, float]]:
        """Continue from a snapshot, and return the arms of keys; StoreError if unreadable."""
        saved = _read(body, seq)
        self._take(saved.state)
        self.sequence = seq
        now = time.monotonic()
        for flight in saved.flights:
            if self.flights.read(flight, now):
                self._expect(flight)
        return saved.keys

    def _take(self, state: FoldState) -> None:
        if state.number:  # else there is no policy yet
            self.policy = self.policy_from(state.policy)
        self.mode, self.fallback, self.drained = state.mode, state.fallback, set(state.drained)
        self.counts, self.asked, self.number = state.counts, state.asked, state.number

    def empty(self) -> Fold:
        """Return a fold of no events."""
        return Fold(self._problem, self.flights.expires, self.reader)

    def take_flights(self, other: Fold) -> None:
        """Wait for the decisions of this process that another fold waits for."""
        for id_, (event, deadline) in other.flights.own.items():
            self.land(id_)
            self.flights.add(event, deadline)
            self._expect(event)

    def at_present(self) -> Fold:
        """Return a copy, made quickly, that counts the decisions in flight and does not list them.

        Others may use this fold while the copy is written or tried.
        """
        twin = self.empty()
        if self.is_defined:
            twin.policy = self.policy.copy()
        twin.mode, twin.fallback, twin.drained = self.mode, self.fallback, set(self.drained)
        twin.counts, twin.asked, twin.number = deepcopy(self.counts), self.asked, self.number
        twin.sequence = self.sequence
        return twin

    def copy(self) -> Fold:
        """Return the copy that a process would restore from a snapshot."""
        twin = self.empty()
        twin._take(msgspec.structs.replace(self._state(), counts=deepcopy(self.counts)))  # noqa: SLF001 - of the same class
        twin.sequence = self.sequence
        return twin

    def replace(self, other: Fold) -> None:
        """Take over the state of another fold, and count the decisions in flight again."""
        self.policy, self.counts, self.last_error = other.policy, other.counts, other.last_error
        self.mode, self.fallback, self.drained = other.mode, other.fallback, other.drained
        self.asked, self.number, self.sequence = other.asked, other.number, other.sequence
        for flight in self.flights:
            self._expect(flight)

    _HANDLERS: ClassVar[dict[type[Any], Callable[[Fold, Any], None]]] = {
        e.Defined: _defined,
        e.Decided: _decided,
        e.Observed: _observed,
        e.Failed: _failed,
        e.GaveUp: _gave_up,
        e.Expired: _expired,
        e.ModeSet: _mode_set,
        e.FallbackSet: _fallback_set,
        e.Pinned: _pinned,
        e.Paused: _paused,
        e.Drained: _drained,
        e.Resumed: _resumed,
        e.ShareSet: _share_set,
        e.AttributesSet: _attributes_set,
        e.ArmAdded: _arm_added,
        e.ArmRemoved: _arm_removed,
        e.RewardSet: _reward_set,
    }


def _accepted(event: e.Event) -> float | None:
    """Return which error of estimates is accepted; an event in the log is not judged again."""
    return LARGEST if event.seq else getattr(event, "error", None)
