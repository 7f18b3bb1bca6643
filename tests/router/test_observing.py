"""What becomes of an observation: learned once, whatever happens."""

from __future__ import annotations

import asyncio

import pytest
from problems import channels, failing, worded
from router_workers import overdue, quiet

from onepull import (
    DCB,
    ConflictError,
    InputError,
    Interval,
    MemoryStore,
    MultiUCB,
    NotFound,
    Observation,
    ParameterError,
    Problem,
    Router,
    StateError,
    UnknownArm,
)
from onepull.store import Expired, GaveUp, Observed


@pytest.fixture
def router():
    with quiet(DCB, channels(3), None) as made:
        yield made


def test_an_observation_counts_once(router):
    decision = router.choose(bits=3)
    receipt = router.observe(decision, capacity=2.0)
    assert (receipt.learned, receipt.duplicate, receipt.late) == (True, False, False)
    state = router.state()
    for _ in range(3):
        again = router.observe(decision.id, capacity=2)
        assert (again.learned, again.duplicate, again.seq) == (False, True, receipt.seq)
    assert router.state() == state
    assert router.stats().policy.trials == 1


def test_a_different_observation_is_a_conflict(router):
    decision = router.choose(bits=3)
    router.observe(decision, capacity=2.0)
    state = router.state()
    for other in ({"capacity": 3.0}, {"reward": 2.0}, {"capacity": 2.0, "arm": "channel-2"}):
        with pytest.raises(ConflictError, match=r"capacity=2.0 of channel-1, and that stands"):
            router.observe(decision.id, **other)
    assert router.state() == state


def test_an_unknown_id_needs_its_arm(router):
    with pytest.raises(NotFound, match="pass arm="):
        router.observe("lost", capacity=2.0)
    assert router.observe("lost", arm="channel-2", capacity=2.0).learned
    assert router.observe("lost", arm="channel-2", capacity=2.0).duplicate
    assert router.stats().policy.arms[1].pulls == 1


def test_a_policy_of_rewards_needs_the_context_as_well():
    with quiet(MultiUCB, channels(3), None) as router:
        with pytest.raises(InputError):
            router.observe("lost", arm="channel-2", capacity=2.0)
        assert router.store.last_sequence == 1  # nothing was stored
        assert router.observe("lost", arm="channel-2", bits=3, capacity=2.0).learned
        with pytest.raises(InputError):
            router.observe("more", arm="channel-2", bits=1, reward=3.0)
        assert router.observe("more", arm="channel-2", bits=3, reward=3.0).learned


def test_another_arm_may_have_been_pulled(router):
    decision = router.choose(bits=3)
    assert decision.arm == "channel-1"
    router.observe(decision, arm="channel-3", capacity=2.0)
    arms = router.stats().policy.arms
    assert [arm.pulls for arm in arms] == [0, 0, 1]
    assert [arm.in_flight for arm in arms] == [0, 0, 0]


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ({"capacity": 99}, StateError),
        ({"capacity": float("nan")}, StateError),
        ({"capacity": "much"}, StateError),
        ({}, StateError),
        ({"capacity": 1, "size": 2}, InputError),
        ({"bits": 4, "capacity": 1}, InputError),
        ({"reward": 1, "capacity": 1}, InputError),
        ({"failed": True}, InputError),
        ({"failed": "yes", "capacity": 1}, InputError),
        ({"capacity": [1]}, InputError),
        ({"arm": "nobody", "capacity": 1}, UnknownArm),
    ],
)
def test_a_bad_observation_changes_nothing(router, told, error):
    decision = router.choose(bits=3)
    before, state = router.stats(), router.state()
    with pytest.raises(error):
        router.observe(decision.id, **told)
    assert (router.stats(), router.state()) == (before, state)
    assert router.observe(decision, capacity=1.0).learned


def test_a_late_answer_undoes_the_give_up(router):
    decision = router.choose(bits=3)
    assert router.stats().in_flight == 1
    assert not router.gave_up(decision).learned
    assert router.stats().in_flight == 0
    assert router.gave_up(decision).duplicate
    receipt = router.observe(decision, capacity=2.0)
    assert (receipt.learned, receipt.late) == (True, True)
    assert router.observe(decision, capacity=2.0).duplicate
    stats = router.stats()
    assert (stats.gave_up, stats.late, stats.policy.trials) == (1, 1, 1)
    assert router.gave_up(decision).duplicate  # it is answered


def test_decisions_expire(router):
    decision = router.choose(bits=3)
    overdue(router)
    assert router.expire() == 1
    assert router.expire() == 0
    stats = router.stats()
    assert (stats.expired, stats.in_flight, stats.policy.trials) == (1, 0, 0)
    assert isinstance(list(router.log())[-1], Expired)
    assert router.observe(decision, capacity=2.0).late
    assert router.stats().policy.trials == 1


@pytest.mark.parametrize(
    ("means", "seen"), [("fail", {"failed": 1}), ({"rate": 0.5}, {"rate": 0.5})]
)
def test_an_expiry_that_teaches_counts_in_place_of_the_answer(means, seen):
    with quiet("recommended", failing(), None, on_expiry=means) as router:
        decision = router.choose(size=4)
        overdue(router)
        router.expire()
        arm = router.stats().policy.arms[0]
        assert (arm.pulls, arm.failures) == (1, seen.get("failed", 0))
        state = router.policy().to_bytes()
        receipt = router.observe(decision, rate=3.0)
        assert (receipt.learned, receipt.late) == (False, True)
        again = router.observe(decision, rate=3.0)
        assert (again.learned, again.duplicate) == (False, True)
        with pytest.raises(ConflictError):
            router.observe(decision, rate=4.0)
        assert router.policy().to_bytes() == state
        kept = list(router.log())[-1]
        assert isinstance(kept, Observed)
        assert not kept.counts


def test_what_an_expiry_means_must_fit():
    for means, error in (
        ("fail", "needs to know the reward of a failure"),
        ("later", "give_up, fail or a state"),
        ({"speed": 3}, "on_expiry"),
        ({"capacity": 99}, "on_expiry"),
    ):
        with pytest.raises(ParameterError, match=error):
            Router(channels(3), on_expiry=means)


def test_a_decision_of_a_dead_worker_expires_once():
    store = MemoryStore()
    dead = quiet(DCB, channels(3), store)
    dead.choose(bits=3)
    workers = [quiet(DCB, channels(3), store) for _ in range(2)]
    for worker in workers:
        assert len(worker._fold.flights) == 1
        overdue(worker)
    for worker in workers:
        worker.expire()
    assert sum(isinstance(event, Expired) for event in workers[0].log()) == 1
    for worker in workers:
        worker.sync()
        assert (worker.stats().expired, worker.stats().in_flight) == (1, 0)


def test_batches(router):
    decisions = [router.choose(bits=2) for _ in range(4)]
    router.gave_up(decisions[3])
    receipt = router.observe_many(
        [
            {"id": decisions[0].id, "state": {"capacity": 1}},
            {"id": decisions[0].id, "state": {"capacity": 1.0}},
            {"id": decisions[0].id, "state": {"capacity": 2}},
            Observation(id=decisions[1].id, reward=2.0),
            {"id": decisions[2].id, "state": {"capacity": 99}},
            {"id": "lost", "state": {"capacity": 1}},
            {"id": decisions[3].id, "state": {"capacity": 3}},
            {"ids": "what"},
            7,
        ]
    )
    assert (receipt.learned, receipt.duplicates, receipt.late) == (2, 1, 1)
    kinds = [(i, type(error).__name__) for i, error in receipt.rejected]
    assert kinds == [
        (2, "ConflictError"),
        (3, "RewardError"),  # 2 bits do not tell a capacity above 2
        (4, "StateError"),
        (5, "NotFound"),
        (7, "InputError"),
        (8, "InputError"),
    ]
    assert router.stats().policy.trials == 2
    assert router.observe_many([]).learned == 0


def test_asyncio(router):
    async def main():
        decisions = [router.choose(bits=2) for _ in range(5)]
        one = await asyncio.gather(*(router.observe_async(d, capacity=1.0) for d in decisions))
        two = await asyncio.gather(*(router.observe_async(d, capacity=1.0) for d in decisions))
        more = await router.observe_many_async([{"id": decisions[0].id, "state": {"capacity": 1}}])
        return one, two, more

    one, two, more = asyncio.run(main())
    assert all(receipt.learned for receipt in one)
    assert all(receipt.duplicate for receipt in two)
    assert more.duplicates == 1


def test_a_give_up_of_an_unknown_id(router):
    router.gave_up("lost")
    assert isinstance(list(router.log())[-1], GaveUp)
    assert router.observe("lost", arm="channel-1", capacity=1.0).late


def test_clipped_values_are_counted_by_field():
    with quiet("recommended", worded(), None) as router:
        for i, rate in enumerate((2.0, 9.0, -1.0)):
            router.observe(f"{i}", arm="a", rate=rate, warm=1, region="eu", size=1)
        assert router.stats().clipped == {"rate": 2}


def test_an_answer_again_by_its_id_alone_after_the_decision_was_lost(router):
    assert router.observe("lost", arm="channel-2", bits=3, capacity=2.0).learned
    assert router.observe("lost", capacity=2.0).duplicate
    with pytest.raises(ConflictError, match="observed before with capacity=2"):
        router.observe("lost", capacity=3.0)


@pytest.mark.parametrize("path", [None, "router.db"])
def test_whole_numbers_beyond_64_bits(path, tmp_path):
    large, wide = 2**70, Interval(-1e30, 1e30)
    problem = Problem(arms=["a", "b"], context={"y": wide}, state={"x": wide}, reward="x")
    store = None if path is None else tmp_path / path
    with Router(problem, store=store, on_expiry={"x": large}) as router:
        decision = router.choose(y=large)
        assert router.choose(id=decision.id, y=large).replayed
        assert router.observe(decision, x=-large).learned
        assert router.observe(decision, x=-large).duplicate
        told = {"id": "other", "arm": "a", "state": {"x": large}, "context": {"y": -large}}
        assert router.observe_many([told]).learned == 1
        for huge in (10**400, -(10**400)):
            with pytest.raises(InputError, match="'y'"):
                router.choose(y=huge)
            with pytest.raises(InputError, match="'x'"):
                router.observe("next", arm="a", y=1, x=huge)
            with pytest.raises(InputError):
                router.observe("next", arm="a", y=1, reward=huge)
        decided, _, last = (event for event in router.log() if hasattr(event, "context"))
        assert (decided.context, last.state) == ({"y": float(large)}, {"x": float(large)})


def test_an_id_that_no_log_can_hold_among_others(router):
    told = [{"id": id_, "arm": "channel-1", "state": {"capacity": 1.0}} for id_ in ("a\0", "b")]
    receipt = router.observe_many(told)
    assert receipt.learned == 1
    assert [place for place, _ in receipt.rejected] == [0]
    assert "NUL" in str(receipt.rejected[0][1])


@pytest.fixture
def late(tmp_path):
    """A router whose 50 decisions have expired as failures, and the ways to its log."""
    with quiet("recommended", failing(), tmp_path / "router.db", on_expiry="fail") as made:
        decisions = [made.choose(size=4) for _ in range(50)]
        overdue(made)
        assert made.expire() == 50
        yield made, decisions


def commits(router, monkeypatch):
    """Return the sizes of what is handed to the log from now on."""
    sizes: list[int] = []
    submit = router.store.submit

    def counted(events):
        sizes.append(len(events))
        return submit(events)

    monkeypatch.setattr(router.store, "submit", counted)
    return sizes


@pytest.mark.parametrize("is_known", [True, False])
def test_answers_after_expiries_that_teach_are_stored_together(late, monkeypatch, is_known):
    router, decisions = late
    if not is_known:  # as if the expiries were stored just now
        monkeypatch.setattr(router, "_all_known", lambda ids: {id_: (None, {}) for id_ in ids})
    told = [{"id": d.id, "arm": d.arm, "state": {"rate": 3.0}} for d in decisions]
    sizes = commits(router, monkeypatch)

    def never(_):
        raise AssertionError("it waits for the disk on the event loop")

    with monkeypatch.context() as patched:
        patched.setattr(router.store, "append", never)
        receipt = asyncio.run(router.observe_many_async(told))
    assert (receipt.learned, receipt.late, receipt.rejected) == (0, 50, ())
    assert sizes == [50] * (1 if is_known else 2)
    assert router.observe_many(told).duplicates == 50


def test_give_ups_of_a_batch_are_stored_together(router, monkeypatch):
    decisions = [router.choose(bits=2) for _ in range(20)]
    router.observe(decisions[0], capacity=1.0)
    sizes = commits(router, monkeypatch)
    told = [{"id": decision.id, "gave_up": True} for decision in decisions]
    told[19] = {"id": decisions[19].id, "gave_up": True, "reward": 1.0}
    receipt = router.observe_many([*told, {"id": decisions[19].id, "state": {"capacity": 2.0}}])
    assert sizes == [19]
    assert (receipt.learned, receipt.duplicates) == (1, 1)
    assert [place for place, _ in receipt.rejected] == [19]
    assert receipt.seq == router.store.last_sequence
    stats = router.stats()
    assert (stats.gave_up, stats.in_flight) == (18, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        7, None, "x", [1], {"id": 7}, {1: 2}, {"id": "a", "state": 5}, Observation(id=7),  # type: ignore[arg-type]
        Observation(id="a", arm="channel-1", state=5),  # type: ignore[arg-type]
        Observation(id="a", arm="channel-1", context=[1]),  # type: ignore[arg-type]
        Observation(id="a", arm=["channel-1"], state={"capacity": 1}),  # type: ignore[arg-type]
        Observation(id="a", arm="channel-1", failed="no"),  # type: ignore[arg-type]
        Observation(id="a", arm="channel-1", reward=[1]),  # type: ignore[arg-type]
        Observation(id="a", arm="channel-1", state={3: 1}),  # type: ignore[dict-item]
    ],
    ids=repr,
)  # fmt: skip
def test_a_wrong_kind_of_value_is_refused_alone(router, wrong):
    good = {"id": "good", "arm": "channel-2", "state": {"capacity": 1.0}}
    receipt = router.observe_many([wrong, good])
    assert receipt.learned == 1
    assert [place for place, _ in receipt.rejected] == [0]
    assert isinstance(receipt.rejected[0][1], InputError)


@pytest.mark.parametrize("wrong", [7, None, "text", {"id": "a"}])
def test_many_takes_a_list(router, wrong):
    with pytest.raises(InputError, match="takes a list of observations"):
        router.observe_many(wrong)


def test_the_place_of_a_batch(router):
    assert router.observe_many([]).seq is None
    assert router.observe_many([{"id": "unknown"}]).seq is None
