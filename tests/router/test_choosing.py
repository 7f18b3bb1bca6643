"""What `choose` returns and records."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from problems import channels, failing
from router_workers import overdue, quiet

from onepull import (
    DCB,
    ConflictError,
    ContextError,
    EpsilonGreedy,
    InputError,
    Interval,
    MemoryStore,
    ParameterError,
    Problem,
    Router,
    StoreError,
    UnknownArm,
)
from onepull.store import Decided


@pytest.fixture
def router():
    with quiet(DCB, channels(3), None) as made:
        yield made


def test_a_decision_is_recorded(router):
    decision = router.choose(bits=3)
    event = list(router.log())[-1]
    assert isinstance(event, Decided)
    assert (event.id, event.arm, event.context) == (decision.id, decision.arm, {"bits": 3.0})
    assert decision.expires_at == event.expires_at == pytest.approx(event.time + 60)
    assert (decision.mode, decision.chance, decision.replayed) == ("live", 1.0, False)
    assert (decision.estimate, decision.reason) == (None, "never pulled")


def test_the_choice_is_that_of_the_policy(router):
    generator = np.random.default_rng(1)
    policy = DCB(channels(3))
    for _ in range(60):
        bits = int(generator.integers(1, 5))
        decision = router.choose(bits=bits)
        assert decision.arm == policy.choose(bits=bits)
        index = policy.problem.arms.index(decision.arm)
        estimate = policy.estimates(bits=bits)[index]
        assert decision.estimate == (None if estimate == float("inf") else estimate)
        state = float(generator.integers(0, 8))
        router.observe(decision, capacity=state)
        policy.observe(decision.arm, bits=bits, capacity=state)
    assert router.explain(bits=2) == policy.explain(bits=2)


def test_pulls_in_flight_spread_over_the_arms(router):
    arms = [router.choose(bits=4).arm for _ in range(3)]
    assert sorted(arms) == sorted(channels(3).arms)


def test_the_same_id_gets_the_same_answer(router):
    first = router.choose(id="mine", bits=2, eligible=["channel-2", "channel-3"])
    again = router.choose(id="mine", bits=2.0, eligible=["channel-2", "channel-3"])
    assert again.replayed
    assert not first.replayed
    assert (again.arm, again.expires_at) == (first.arm, first.expires_at)
    router.observe("mine", capacity=1)
    assert router.choose(id="mine", bits=2, eligible=["channel-2", "channel-3"]).replayed
    assert sum(isinstance(event, Decided) for event in router.log()) == 1


@pytest.mark.parametrize(
    "other",
    [{"bits": 3}, {"bits": 2, "eligible": ["channel-1"]}, {"bits": 2, "key": "k"}],
    ids=["context", "eligible", "key"],
)
def test_the_same_id_for_another_request_is_a_conflict(router, other):
    router.choose(id="mine", bits=2)
    before = router.stats()
    with pytest.raises(ConflictError, match="'mine' was used before"):
        router.choose(id="mine", **other)
    assert router.stats() == before


def test_another_worker_answers_with_the_stored_decision():
    store = MemoryStore()
    with quiet(DCB, channels(3), store) as one, quiet(DCB, channels(3), store) as two:
        first = one.choose(id="mine", bits=2)
        again = two.choose(id="mine", bits=2)
        assert again.replayed
        assert again.arm == first.arm


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"bits": 9}, ContextError),
        ({}, ContextError),
        ({"bits": 2, "size": 1}, ContextError),
        ({"bits": object()}, InputError),
        ({"bits": 2, "eligible": ["nobody"]}, UnknownArm),
        ({"bits": 2, "eligible": []}, InputError),
        ({"bits": 2, "eligible": "channel-1"}, InputError),
        ({"bits": 2, "id": ""}, InputError),
        ({"bits": 2, "id": "x" * 300}, InputError),
        ({"bits": 2, "key": 7}, InputError),
    ],
)
def test_a_bad_request_changes_nothing(router, given, error):
    router.choose(bits=1)
    before, state = router.stats(), router.state()
    with pytest.raises(error):
        router.choose(**given)
    assert (router.stats(), router.state()) == (before, state)


def test_numbers_of_numpy(router):
    decision = router.choose(bits=np.int64(3))
    router.observe(decision, capacity=np.float32(2.0))
    assert router.stats().policy.trials == 1


def test_draws_depend_on_the_id_alone():
    def build(problem):
        return EpsilonGreedy(problem, c=50, seed=1)

    with quiet(build, channels(3), None) as one, quiet(build, channels(3), None) as two:
        for router in (one, two):
            router.observe_many(
                [{"id": f"{i}", "arm": f"channel-{i % 3 + 1}", "state": {"capacity": i}}
                 for i in range(6)]
            )  # fmt: skip
        ids = [f"id {i}" for i in range(100)]
        drawn: list[dict[str, str]] = [{}, {}]
        for router, order, found in ((one, ids, drawn[0]), (two, ids[::-1], drawn[1])):
            for id_ in order:
                decision = router.choose(id=id_, bits=2)
                assert decision.chance is not None
                assert 0 < decision.chance < 1
                found[id_] = decision.arm
                router.gave_up(decision)
        assert drawn[0] == drawn[1]
        assert len(set(drawn[0].values())) == 3


def test_a_key_stays_on_its_arm(router):
    first = router.choose(bits=1, key="session")
    assert [router.choose(bits=b, key="session").arm for b in (1, 2, 3)] == [first.arm] * 3
    assert router.choose(bits=1, key="other").arm != first.arm
    router.drain(first.arm)
    assert router.choose(bits=1, key="session").arm == first.arm  # it may finish there
    assert router.choose(bits=1, key="third").arm != first.arm
    router.pause(first.arm)
    assert router.choose(bits=1, key="session").arm != first.arm


def test_a_key_is_known_to_other_workers():
    store = MemoryStore()
    with quiet(DCB, channels(3), store) as one, quiet(DCB, channels(3), store) as two:
        arm = one.choose(bits=1, key="session").arm
        two.sync()
        assert two.choose(bits=1, key="session").arm == arm


def test_a_key_ends_by_the_time_of_its_decision_not_by_when_it_is_read():
    store = MemoryStore()
    with quiet(DCB, channels(3), store) as router:
        router.choose(bits=1, id="first")
        now = time.time()
        for key, age in (("recent", 100.0), ("old", 400.0)):
            store.append([
                Decided(
                    problem="default", time=now - age, id=key, arm="channel-3",
                    context={"bits": 1.0}, key=key, expires_at=now - age + 60,
                )
            ])  # fmt: skip
    with quiet(DCB, channels(3), store, sticky=300.0) as later:
        assert later.choose(bits=1, key="recent").arm == "channel-3"
        assert later.choose(bits=1, key="old").arm != "channel-3"


def test_a_key_stays_on_its_arm_over_a_snapshot_and_a_restart():
    store = MemoryStore()
    with quiet(DCB, channels(3), store, keep=0) as router:
        arms = {key: router.choose(bits=1, key=key).arm for key in "abc"}
        router.sync()
        router.snapshot()
        router.snapshot()
    with quiet(DCB, channels(3), store, keep=0) as again:
        assert {key: again.choose(bits=1, key=key).arm for key in "cba"} == arms
        assert len(set(arms.values())) == 3


def test_shadow_returns_the_fallback_and_records_the_choice():
    with quiet(DCB, channels(3), None, fallback="channel-3", mode="shadow") as router:
        decision = router.choose(bits=2)
        assert (decision.arm, decision.mode) == ("channel-3", "shadow")
        event = list(router.log())[-1]
        assert (event.arm, event.choice) == ("channel-3", "channel-1")
        router.observe(decision, capacity=1.0)
        assert router.stats().decisions == {"channel-3": {"shadow": 1}}
        router.set_mode("live")
        assert router.choose(bits=2).arm == "channel-1"


def test_off_records_nothing_but_the_observation():
    with quiet(DCB, channels(3), None, fallback="channel-2", mode="off") as router:
        before = router.store.last_sequence
        decision = router.choose(bits=2)
        assert (decision.arm, decision.mode) == ("channel-2", "off")
        assert router.store.last_sequence == before
        assert router.observe(decision, capacity=1.0).learned
        assert router.stats().policy.arms[1].pulls == 1
        with pytest.raises(InputError, match="not among the eligible"):
            router.choose(bits=2, eligible=["channel-1"])


def test_a_mode_needs_a_fallback(router):
    with pytest.raises(ParameterError, match="needs a fallback"):
        router.set_mode("shadow")
    with pytest.raises(ParameterError, match="live, shadow, off"):
        router.set_mode("on")
    with pytest.raises(ParameterError, match="not an arm"):
        router.set_fallback("nobody")
    with pytest.raises(ParameterError, match="needs a fallback"):
        Router(channels(3), mode="off")
    assert router.mode == "live"


def test_the_fallback_steps_in_if_all_arms_are_paused(router):
    for arm in ("channel-1", "channel-2"):
        router.pause(arm)
    assert router.choose(bits=1).arm == "channel-3"
    router.pause("channel-3")
    with pytest.raises(InputError, match="paused"):
        router.choose(bits=1)
    router.set_fallback("channel-2")
    decision = router.choose(bits=1)
    assert (decision.arm, decision.reason) == ("channel-2", "fallback, since all arms are paused")
    with pytest.raises(UnknownArm):
        router.choose(bits=1, eligible=["nobody"])


def test_attributes_and_failures():
    with quiet("recommended", failing(), None) as router:
        decision = router.choose(size=4)
        assert router.failed(decision).learned
        assert router.stats().outcomes == {"a": {"failed": 1}}


def test_a_closed_router_says_so(router):
    router.close()
    router.close()
    for call in (lambda: router.choose(bits=1), lambda: router.observe("x", capacity=1)):
        with pytest.raises(StoreError, match="closed"):
            call()


def test_one_id_in_many_threads_is_one_decision(router):
    with ThreadPoolExecutor(8) as pool:
        decisions = list(pool.map(lambda _: router.choose(id="mine", bits=2), range(40)))
    assert len({decision.arm for decision in decisions}) == 1
    assert sum(not decision.replayed for decision in decisions) == 1
    assert sum(arm.in_flight for arm in router.stats().policy.arms) == 1
    router.observe("mine", capacity=1.0)
    assert sum(arm.in_flight for arm in router.stats().policy.arms) == 0


def test_what_is_decided_while_off_is_not_in_the_log_nor_is_its_expiry():
    with quiet(DCB, channels(3), None, fallback="channel-2", mode="off") as router:
        router.choose(bits=2)
        overdue(router)
        assert router.expire() == 0
        assert router.stats().in_flight == 0
        assert router.store.last_sequence == 1  # the definition


def test_a_key_does_not_stay_on_the_fallback():
    with quiet(DCB, channels(3), None, fallback="channel-3", mode="shadow") as router:
        assert router.choose(bits=1, key="session").arm == "channel-3"
        router.set_mode("live")
        assert router.choose(bits=1, key="session").arm == "channel-1"


@pytest.mark.parametrize("name", ["\ud800", "a\0b", 7, None])
def test_ids_that_no_log_can_hold(router, name):
    if name is not None:
        with pytest.raises(InputError, match="must be text"):
            router.choose(id=name, bits=1)
    with pytest.raises(InputError, match="must be text"):
        router.observe(name, capacity=1)


def test_the_clock_may_jump(monkeypatch):
    """States and expiries do not depend on the time of day."""
    luck = np.random.default_rng(3)
    times = iter(luck.uniform(0, 4e9, 10_000).tolist())
    with quiet(DCB, channels(3), None) as steady, quiet(DCB, channels(3), None) as jumping:
        for i in range(40):
            for router in (steady, jumping):
                if router is jumping:
                    monkeypatch.setattr("time.time", lambda: next(times))
                router.observe(router.choose(bits=i % 4 + 1), capacity=i % 8)
                assert router.expire() == 0
                monkeypatch.undo()
        assert jumping.policy().to_bytes() == steady.policy().to_bytes()
        assert jumping.stats().policy == steady.stats().policy


@pytest.mark.parametrize("field", ["id", "key"])
def test_a_context_field_that_choose_could_not_take_is_refused(field):
    problem = Problem(
        arms=["a"], context={field: Interval(0, 1)}, state={"x": Interval(0, 1)}, reward="x"
    )
    with pytest.raises(ParameterError, match=f"call the context field '{field}' something else"):
        Router(problem)
