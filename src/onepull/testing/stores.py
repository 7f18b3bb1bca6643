"""The checks for stores: the contract of `Store`, one promise after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import time
from typing import Any, TypeAlias

import msgspec

from onepull.errors import InputError, StoreError
from onepull.store import (
    ArmAdded,
    ArmRemoved,
    AttributesSet,
    Decided,
    Defined,
    Drained,
    Event,
    Expired,
    Failed,
    FallbackSet,
    GaveUp,
    ModeSet,
    Observed,
    Paused,
    Pinned,
    Resumed,
    RewardSet,
    ShareSet,
    Slot,
    Snapshot,
    Store,
    new_id,
)
from onepull.store.store import FORGOTTEN

# Opens a log that is empty at first; every call opens the same log.
Open: TypeAlias = Callable[[], Store]

ONE_OF_EACH: tuple[Event, ...] = (
    Defined(problem="p", time=1.5, id="1", policy=b"\x00{}", asked={"policy": {"name": "DCB"}}),
    Decided(
        problem="p",
        time=2.0,
        id="first",
        arm="ä",
        context={"bits": 3.0, "region": "eu", "warm": True},
        mode="shadow",
        chance=0.25,
        estimate=-1e300,
        reason="highest index",
        expires_at=62.0,
        eligible=("ä", "b"),
        key="session",
        choice="b",
    ),
    Observed(problem="p", time=2.5, id="first", arm="ä", state={"x": 0.1 + 0.2}, late=True),
    Observed(problem="p", time=2.6, id="first", arm="ä", reward=5e-324, counts=False),
    Failed(problem="p", time=3.0, id="second", arm="b", context={"bits": 1.0}),
    GaveUp(problem="p", time=3.5, id="third", arm="b"),
    Expired(problem="p", time=4.0, id="fourth", arm="b", state={"x": 30.0}),
    Expired(problem="p", time=4.0, id="fifth", arm="b"),
    ModeSet(problem="p", mode="off", by="someone"),
    FallbackSet(problem="p", arm=None),
    Pinned(problem="p", arm="b"),
    Paused(problem="p", arm="b"),
    Drained(problem="p", arm="b"),
    Resumed(problem="p", arm="b"),
    ShareSet(problem="p", arm="b", least=0.1, most=0.9),
    AttributesSet(problem="p", arm="b", attributes={"price": 2.0, "tier": "gold"}),
    ArmAdded(problem="p", arm="c", attributes={"price": 1.0}),
    ArmRemoved(problem="p", arm="c"),
    RewardSet(problem="p", reward="x ** 2"),
)


def events_come_back_as_they_were(opened: Open) -> None:
    """Every kind of event is read as it was written, with its place in the log."""
    with opened() as store:
        done = store.append(ONE_OF_EACH)
        assert [each.seq for each in done] == list(range(1, len(ONE_OF_EACH) + 1)), done
        assert all(each.before is None for each in done), done
        read = store.read("p")
        assert len(read) == len(ONE_OF_EACH)
        for i, (event, given) in enumerate(zip(read, ONE_OF_EACH, strict=True), start=1):
            assert event == _placed(given, i), f"{given} came back as {event}"
        assert store.last_sequence == len(ONE_OF_EACH)
        assert store.problems() == ["p"]


def numbers_run_over_all_problems(opened: Open) -> None:
    """Sequence numbers have no gaps, over all problems, and each problem reads its own events."""
    with opened() as store:
        assert store.last_sequence == 0
        assert store.read("one") == []
        for i in range(1, 8):
            name = "one" if i % 3 else "two"
            assert store.append([_decided(f"{i}", problem=name)])[0].seq == i
        assert [event.seq for event in store.read("two")] == [3, 6]
        assert [event.seq for event in store.read("one", after=2)] == [4, 5, 7]
        assert [event.seq for event in store.read("one", after=1, until=5)] == [2, 4, 5]
        assert [event.seq for event in store.read("one", limit=2)] == [1, 2]
        assert [event.seq for event in store.events("one", after=1, until=5)] == [2, 4, 5]
        assert store.problems() == ["one", "two"]


def the_first_of_a_slot_stands(opened: Open) -> None:
    """A second event of a slot is not stored, and gets the first as its answer."""
    with opened() as store:
        store.append([_decided("a"), _observed("a", 1.0)])
        again, other, new = store.append([_observed("a", 1.0), _observed("a", 2.0), _decided("b")])
        assert again.seq == other.seq == 2
        assert again.before.state == other.before.state == {"x": 1.0}
        assert (new.seq, new.before) == (3, None)
        within = store.append([_observed("c", 5.0), _observed("c", 6.0)])
        assert within[0].before is None, "the first of one call is stored"
        assert within[1].before is not None, "two of one call took the same slot"
        assert within[1].before.state == {"x": 5.0}
        elsewhere = store.append([_observed("a", 9.0, problem="another")])
        assert elsewhere[0].before is None, "ids of different problems are different"
        slots = store.of_id("p", "a")
        assert set(slots) == {Slot.DECISION, Slot.OUTCOME}
        assert store.decision("p", "a").arm == "a"
        assert store.answer("p", "a").state == {"x": 1.0}
        several = store.of_ids("p", ["a", "nobody", "c", "a"])
        assert set(several) == {"a", "c"}
        assert several["a"] == slots
        assert store.decision("p", "nobody") is store.answer("p", "nobody") is None


def a_call_is_stored_as_a_whole(opened: Open) -> None:
    """If one event cannot be stored, none of its call is, and other calls are not affected."""
    with opened() as store:
        bad: Any = _decided("bad", context={"x": object()})
        try:
            store.append([_decided("good"), bad])
        except (TypeError, StoreError):
            pass
        else:
            raise AssertionError("an event that cannot be written must raise")
        assert store.read("p") == [], "part of a call was stored"
        store.append([_decided("next")])
        assert [event.id for event in store.read("p")] == ["next"]


def names_that_no_store_can_hold_are_refused(opened: Open) -> None:
    """A NUL or half of a surrogate pair in an id is refused, and other calls are not affected."""
    with opened() as store:
        waiting = store.submit([_decided("before")])
        for name in ("a\0b", "\0", "\ud800"):
            for bad in (_decided(name), _decided("good", problem=name)):
                try:
                    store.submit([_decided("together"), bad]).result()
                except InputError:
                    pass
                else:
                    raise AssertionError(f"{bad} was stored")
            assert store.of_id("p", name) == {}
            assert set(store.of_ids("p", ["before", name])) <= {"before"}
        waiting.result()
        store.append([_decided("after")])
        assert [event.id for event in store.read("p")] == ["before", "after"]


def recorded_events_keep_their_order(opened: Open) -> None:
    """What a thread records is stored before what it appends afterwards."""
    with opened() as store:
        for i in range(50):
            store.record(_decided(f"{i}"))
            if i % 7 == 0:
                store.append([_observed(f"{i}", 1.0)])
        store.flush()
        events = store.read("p")
        ids = [event.id for event in events if isinstance(event, Decided)]
        assert ids == [f"{i}" for i in range(50)]
        for event in events:
            if isinstance(event, Observed):
                assert store.decision("p", event.id).seq < event.seq


def threads_store_each_event_once(opened: Open) -> None:
    """Threads that report the same ids at the same time store each once, and all agree."""
    threads, ids = 8, [new_id() for _ in range(40)]
    with opened() as store:

        def report(me: int) -> list[tuple[int, bool]]:
            found = []
            for id_ in ids:
                done = store.append([_observed(id_, float(me))])[0]
                found.append((done.seq, done.before is None))
            return found

        with ThreadPoolExecutor(threads) as pool:
            told = list(pool.map(report, range(threads)))
        for column in zip(*told, strict=True):
            assert len({seq for seq, _ in column}) == 1, "two events of one slot were stored"
            assert sum(is_new for _, is_new in column) == 1, "several were told to be the first"
        assert len(store.read("p")) == len(ids)


def readers_never_miss_an_event(opened: Open) -> None:
    """Who has read up to a number has read everything up to it, while others write."""
    writers, each = 4, 60
    with opened() as store:
        stores = [store if not store.lasts else opened() for _ in range(writers)]
        seen: list[int] = []
        done = threading.Event()

        def follow() -> None:
            while True:
                is_last = done.is_set()
                last = store.last_sequence
                after = seen[-1] if seen else 0
                seen.extend(event.seq for event in store.read("p", after=after, until=last))
                if is_last:
                    return

        def write(me: int) -> None:
            for i in range(each):
                stores[me].append([_decided(f"{me}-{i}"), Paused(problem="p", arm=f"{me}")])

        reader = threading.Thread(target=follow)
        reader.start()
        with ThreadPoolExecutor(writers) as pool:
            list(pool.map(write, range(writers)))
        done.set()
        reader.join()
        for other in stores:
            if other is not store:
                other.close()
        assert seen == list(range(1, 2 * writers * each + 1)), "an event came later than its number"


def what_is_stored_survives(opened: Open) -> None:
    """What was appended or recorded is there when the log is opened again."""
    with opened() as store:
        if not store.lasts:
            return
        store.append([_decided("a")])
        store.record(_decided("b"))
    with opened() as store:
        assert [event.id for event in store.read("p")] == ["a", "b"]
        assert store.append([_decided("a")])[0].before is not None
        assert store.append([_decided("c")])[0].seq == 3
        assert store.integrity() == []


def two_who_open_it_share_it(opened: Open) -> None:
    """Two who have opened the same log see each other's events and slots."""
    with opened() as one:
        if not one.lasts:
            return
        with opened() as two:
            one.append([_decided("a")])
            assert two.last_sequence == 1
            assert two.append([_decided("a")])[0].before.arm == "a"
            assert two.append([_decided("b")])[0].seq == 2
            assert [event.id for event in one.read("p")] == ["a", "b"]


def snapshots_come_back(opened: Open) -> None:
    """The newest snapshot comes first, and the one before is kept."""
    with opened() as store:
        assert store.snapshots("p") == []
        for seq in (10, 30, 20):
            store.put_snapshot("p", Snapshot(seq, b"\x00" * seq))
        store.put_snapshot("other", Snapshot(5, b"x"))
        kept = store.snapshots("p")
        assert kept[0] == Snapshot(30, b"\x00" * 30)
        assert kept[1] == Snapshot(20, b"\x00" * 20)
        store.put_snapshot("p", Snapshot(30, b"new"))
        assert store.snapshots("p")[0] == Snapshot(30, b"new")
        assert store.snapshots("other") == [Snapshot(5, b"x")]


def forgotten_events_stay_settled(opened: Open) -> None:
    """Deleted events are gone, their outcomes cannot be stored again, and numbers go on."""
    ids = [new_id(), "own name", new_id(), "another name"]
    with opened() as store:
        for id_ in ids:
            store.append([_decided(id_, time=time()), _observed(id_, 1.0, time=time())])
        store.append([_decided("kept", problem="other")])
        assert store.first_sequence("p") == 0
        assert store.forget("p", until=4) == 4
        assert store.first_sequence("p") == 4
        assert [event.seq for event in store.read("p")] == [5, 6, 7, 8]
        assert [event.seq for event in store.read("other")] == [9]
        for id_ in ids[:2]:
            done = store.append([_observed(id_, 2.0, time=time())])[0]
            assert done.before is FORGOTTEN, f"{id_} was stored again: {done}"
        assert store.append([_observed(ids[2], 1.0)])[0].before.state == {"x": 1.0}
        assert store.append([_observed(new_id(), 1.0, time=time())])[0].seq == 10
        assert store.append([_observed("new name", 1.0, time=time())])[0].seq == 11
        assert store.forget("p", until=4) == 0
        store.forget("p", until=100)
        assert store.problems() == ["other", "p"], "a problem is there without its events"
        assert store.append([_decided("later")])[0].seq == 12, "a number was given twice"


def a_closed_store_says_so(opened: Open) -> None:
    """After `close` every call raises StoreError, and closing again does nothing."""
    store = opened()
    assert store.is_healthy
    store.close()
    store.close()
    assert not store.is_healthy
    calls: list[Callable[[], Any]] = [
        lambda: store.append([_decided("a")]),
        lambda: store.record(_decided("a")),
        lambda: store.read("p"),
        lambda: store.last_sequence,
        lambda: store.of_id("p", "a"),
    ]
    for call in calls:
        try:
            call()
        except StoreError:
            continue
        raise AssertionError("a closed store must raise StoreError")


def _decided(id_: str, *, problem: str = "p", **given: Any) -> Decided:
    return Decided(problem=problem, id=id_, arm="a", **given)


def _observed(id_: str, x: float, *, problem: str = "p", **given: Any) -> Observed:
    return Observed(problem=problem, id=id_, arm="a", state={"x": x}, **given)


def _placed(event: Any, seq: int) -> Any:
    return msgspec.structs.replace(event, seq=seq)


STORE_CHECKS: tuple[Callable[[Open], None], ...] = (
    events_come_back_as_they_were,
    numbers_run_over_all_problems,
    the_first_of_a_slot_stands,
    a_call_is_stored_as_a_whole,
    names_that_no_store_can_hold_are_refused,
    recorded_events_keep_their_order,
    threads_store_each_event_once,
    readers_never_miss_an_event,
    what_is_stored_survives,
    two_who_open_it_share_it,
    snapshots_come_back,
    forgotten_events_stay_settled,
    a_closed_store_says_so,
)
