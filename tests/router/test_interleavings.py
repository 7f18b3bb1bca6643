"""Any interleaving of workers, crashes, duplicates and late answers equals one policy."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from problems import channels
from router_workers import learn, overdue, quiet

from onepull import (
    ConflictError,
    DiscountedUCB,
    InputError,
    MemoryStore,
    NotFound,
    StoreError,
    UnknownArm,
)
from onepull.store import ArmAdded, ArmRemoved, Observed, Paused, Resumed, ShareSet

ARMS = ("channel-1", "channel-2", "channel-3")


def build(problem):
    return DiscountedUCB(problem, discount=0.7)  # for which the order matters


class Lossy(MemoryStore):
    """A worker's way to the log: recorded events are lost in a crash, and answers may be."""

    def __init__(self, log):
        self.log, self.waiting, self.fails = log, [], ""

    def record(self, event):
        self.waiting.append(event)

    def submit(self, events):
        if self.fails == "before":
            raise StoreError("the disk has failed")
        self.log.submit(self.waiting)
        self.waiting = []
        done = self.log.submit(events)
        if self.fails == "after":
            raise StoreError("the answer was lost")
        return done

    def __getattribute__(self, name):
        own = {"log", "waiting", "fails", "record", "submit", "append", "flush"}
        mine = name in own or name.startswith("__")
        return object.__getattribute__(self if mine else object.__getattribute__(self, "log"), name)


class Interleavings(RuleBasedStateMachine):
    @initialize()
    def begin(self):
        self.log = MemoryStore()
        self.workers: list[Any] = []
        self.decisions: list[tuple[Any, int]] = []  # with the context
        self.told: dict[str, tuple[str, float]] = {}  # acknowledged: the arm and the state
        self.perhaps: dict[str, tuple[str, float]] = {}  # reported, but not acknowledged
        self.start()

    @rule()
    def start(self):
        if len(self.workers) < 3:
            self.workers.append(quiet(build, channels(3), Lossy(self.log)))

    def worker(self, pick):
        return self.workers[pick % len(self.workers)]

    @rule(pick=st.integers(0, 2))
    def crash(self, pick):
        self.workers.remove(self.worker(pick))  # what it had recorded and not flushed is lost
        if not self.workers:
            self.start()

    @rule(pick=st.integers(0, 2), bits=st.integers(1, 4))
    def choose(self, pick, bits):
        worker = self.worker(pick)
        try:
            self.decisions.append((worker.choose(bits=bits), bits))
        except InputError:
            assert set(worker.stats().controls.paused) == set(worker.problem.arms)

    @precondition(lambda self: self.decisions)
    @rule(
        pick=st.integers(0, 2),
        which=st.integers(0, 30),
        capacity=st.integers(0, 7),
        by_id=st.booleans(),
        fails=st.sampled_from(["", "", "", "before", "after"]),
    )
    def observe(self, pick, which, capacity, by_id, fails):
        decision, bits = self.decisions[which % len(self.decisions)]
        worker, id_ = self.worker(pick), decision.id
        before = self.told.get(id_) or self.perhaps.get(id_)
        if before is not None:
            capacity = before[1] if which % 2 else capacity  # the same again, or another one
        worker.store.fails = fails
        try:
            receipt = worker.observe(id_ if by_id else decision, bits=bits, capacity=capacity)
        except NotFound:
            assert by_id
            assert id_ not in self.told
            assert self.log.decision("default", id_) is None  # it was lost in a crash
            return
        except StoreError:
            if fails == "after" and id_ not in self.told:
                stored = self.log.answer("default", id_)
                if stored is not None:
                    self.perhaps[id_] = (stored.arm, stored.state["capacity"])
            return
        except ConflictError:
            assert before is not None
            assert before[1] != capacity
            return
        except UnknownArm:
            assert decision.arm not in worker.problem.arms
            return
        finally:
            worker.store.fails = ""
        if before is None:
            assert receipt.learned
        else:
            assert receipt.duplicate
            assert before == (decision.arm, capacity)
        self.told[id_] = (decision.arm, capacity)
        self.perhaps.pop(id_, None)

    @precondition(lambda self: self.decisions)
    @rule(pick=st.integers(0, 2), which=st.integers(0, 30))
    def give_up(self, pick, which):
        self.worker(pick).gave_up(self.decisions[which % len(self.decisions)][0])

    @rule(pick=st.integers(0, 2))
    def expire(self, pick):
        overdue(self.worker(pick))
        self.worker(pick).expire()

    @rule(pick=st.integers(0, 2), arm=st.sampled_from(ARMS), what=st.integers(0, 4))
    def control(self, pick, arm, what):
        worker = self.worker(pick)
        try:
            if what == 0:
                worker.remove_arm(arm)
            elif what == 1:
                worker.add_arm(arm)
            elif what == 2:
                worker.share(arm, least=0.3)
            elif worker.stats().controls.paused:
                worker.resume(arm)
            else:
                worker.pause(arm)
        except InputError:
            return

    @rule(pick=st.integers(0, 2))
    def sync(self, pick):
        self.worker(pick).sync()

    @rule(pick=st.integers(0, 2))
    def snapshot(self, pick):
        self.worker(pick).snapshot()

    @invariant()
    def everything_acknowledged_is_stored_once(self):
        if not hasattr(self, "log"):
            return
        events: list[Any] = list(self.log.events("default"))
        stored = [event for event in events if isinstance(event, Observed) and event.state]
        found = {event.id: (event.arm, (event.state or {})["capacity"]) for event in stored}
        assert len(found) == len(stored)
        assert found == self.told | self.perhaps

    def teardown(self):
        if not hasattr(self, "log"):
            return
        self.workers.append(quiet(build, channels(3), Lossy(self.log)))
        for worker in self.workers:
            worker.sync()
        assert len({worker.state() for worker in self.workers}) == 1
        alone = build(channels(3))
        for event in self.log.events("default"):
            try:
                _apply(alone, event)
            except InputError:
                continue
        assert self.workers[0].policy().to_bytes() == alone.to_bytes()
        for worker in self.workers:
            stats = worker.stats()
            assert stats.in_flight == sum(arm.in_flight for arm in stats.policy.arms)


def _apply(policy, event):
    learn(policy, event)
    if isinstance(event, Paused):
        policy.pause(event.arm)
    elif isinstance(event, Resumed):
        policy.resume(event.arm)
    elif isinstance(event, ArmAdded):
        policy.add_arm(event.arm)
    elif isinstance(event, ArmRemoved):
        policy.remove_arm(event.arm)
    elif isinstance(event, ShareSet):
        policy.share(event.arm, least=event.least, most=event.most)


Interleavings.TestCase.settings = settings(
    max_examples=30, stateful_step_count=40, suppress_health_check=list(HealthCheck)
)
test_interleavings = Interleavings.TestCase
