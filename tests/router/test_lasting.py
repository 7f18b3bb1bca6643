"""Restarts, snapshots, retention, forks, and files that have changed."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import msgspec
import pytest
from problems import channels, coded
from router_workers import learn, overdue, quiet

from onepull import (
    DCB,
    UCB1,
    ConflictError,
    EmpiricalKL,
    Finite,
    Interval,
    MemoryStore,
    ParameterError,
    Problem,
    ProblemError,
    Router,
    SQLiteStore,
    StoreError,
)
from onepull.router.state.fold import SnapshotBody
from onepull.store import Defined, Observed

TOML = """
policy = "DCB"
[problem]
arms = ["a", "b"]
reward = "x * y"
context = {y = [1, 2]}
state = {x = {low = 0, high = 1}}
[router]
store = "log.db"
expires = 30
on_expiry = {x = 0}
"""


def taught(store, *, name="default", count=30, **given):
    router = quiet(DCB, channels(3), store, name=name, **given)
    for i in range(count):
        router.observe(router.choose(bits=i % 4 + 1), capacity=i % 8)
    return router


def test_a_restart_continues(tmp_path):
    path = tmp_path / "router.db"
    with taught(path) as router:
        open_ = router.choose(id="open", bits=2)
        policy, stats = router.policy().to_bytes(), router.stats()
    with quiet(DCB, channels(3), path) as again:
        assert again.policy().to_bytes() == policy
        assert again.stats().decisions == {
            **stats.decisions,
            open_.arm: {"live": stats.decisions[open_.arm]["live"] + 1},
        }
        assert again.stats().in_flight == 1
        assert again.observe("open", capacity=1).learned


def test_several_problems_in_one_file(tmp_path):
    path = tmp_path / "router.db"
    with taught(path, name="one") as one, taught(path, name="two", count=10) as two:
        one.sync()
        two.sync()
        assert one.sequence == two.sequence
        assert (one.stats().policy.trials, two.stats().policy.trials) == (30, 10)
        assert one.store.problems() == ["one", "two"]
        one.observe("same id", arm="channel-1", capacity=1)
        assert two.observe("same id", arm="channel-1", capacity=2).learned


def test_a_log_of_others_is_not_given_a_second_problem_silently(tmp_path):
    path = tmp_path / "router.db"
    file = tmp_path / "llm.toml"
    file.write_text(TOML.replace("log.db", "router.db"))
    with Router.open(file) as router:
        problem = router.problem
    with pytest.raises(ParameterError) as caught:
        Router(problem, store=path)
    assert str(caught.value) == (
        "the log has no problem 'default', but 'llm'; pass name='llm' to go on with that, or "
        "name='default' to start another one"
    )
    with SQLiteStore(path) as store:
        assert store.problems() == ["llm"]
    for name in ("llm", "default", None):  # now there is one
        with Router(problem, store=path, name=name) as router:
            assert router.name == (name or "default")
    with SQLiteStore(path) as store:
        assert store.problems() == ["default", "llm"]


def test_a_start_from_a_snapshot_is_the_same(tmp_path):
    path = tmp_path / "router.db"
    with taught(path) as router:
        router.choose(id="open", bits=2)
        router.store.flush()
        router.sync()
        assert router.snapshot() == router.sequence
        for i in range(5):
            router.observe(router.choose(bits=1), capacity=i)
        state = router.state()
    with quiet(DCB, channels(3), path) as again:
        assert again._last_snapshot == 62
        assert again.state() == state
        assert again.stats().in_flight == 1


def test_a_snapshot_has_the_decisions_in_flight_of_one_moment():
    """They are written some at a time, and others are made and answered meanwhile."""
    store = MemoryStore()
    with quiet(DCB, channels(3), store) as router:
        made = [router.choose(bits=i % 4 + 1).id for i in range(1234)]
        router.store.flush()
        router.sync()
        moment = iter(router._fold.flights)
        for id_ in made[::2]:
            router.observe(id_, capacity=1)
        router.choose(bits=1)
        body = router._fold.snapshot(moment, {"user": ("a", 1.5)})
    found = msgspec.msgpack.decode(body, type=SnapshotBody)
    assert [flight.id for flight in found.flights] == made
    assert [flight.context["bits"] for flight in found.flights] == [i % 4 + 1 for i in range(1234)]
    assert found.keys == {"user": ("a", 1.5)}


def test_snapshots_are_made_in_the_background(tmp_path):
    with taught(tmp_path / "router.db", snapshot_every=20) as router:
        router.tend()
        assert len(router.store.snapshots("default")) == 1
        router.tend()
        assert len(router.store.snapshots("default")) == 1


def test_snapshots_of_many_decisions_in_flight_are_rare():
    """Each has all of them, so with one after 20 events each event would pay for 20 times more."""
    store = MemoryStore()
    with quiet(DCB, channels(3), store, snapshot_every=20) as router:
        kept = []
        for _ in range(60):
            for _ in range(10):
                router.choose(bits=1)
            router.sync()
            router.tend()
            kept += [shot.seq for shot in store.snapshots("default") if shot.seq not in kept]
        written = sum(kept)  # about as many decisions as events before it
        assert 4 <= len(kept) <= 8
        assert written <= 2.5 * router.sequence


def test_retention_keeps_the_state_and_what_is_settled(tmp_path):
    path = tmp_path / "router.db"
    with taught(path, keep=10) as router:
        first = next(event for event in router.log() if isinstance(event, Observed))
        router.snapshot()
        assert len(list(router.log())) == 10
        state = router.state()
        with pytest.raises(ConflictError, match="older than what the log keeps"):
            router.observe(first.id, arm=first.arm, capacity=7)
        assert router.state() == state
    with quiet(DCB, channels(3), path, keep=10) as again:
        assert again.state() == state
        assert again.observe(again.choose(bits=1), capacity=1).learned
    with pytest.raises(ParameterError, match="the policy has changed"):
        quiet(UCB1, channels(3), path)


def test_a_worker_that_lags_behind_deleted_events_begins_at_a_snapshot():
    store = MemoryStore()
    slow = quiet(DCB, channels(3), store)
    mine = slow.choose(bits=3)
    with taught(store, keep=0) as quick:
        quick.snapshot()
        quick.observe(quick.choose(bits=1), capacity=1)
        quick.snapshot()
        quick.sync()
        assert store.first_sequence("default") > slow.sequence
        slow.sync()
        assert slow.state() == quick.state()
        assert slow.stats().in_flight == quick.stats().in_flight == 1
        assert slow.observe(mine, capacity=2).learned


def test_a_definition_that_no_longer_fits_changes_nothing_anywhere():
    """Two files are rolled out at once, and the second one cannot be applied any more."""
    listed: dict[str, Any] = {"context": {"y": Finite([1, 2])}, "state": {"x": Finite([0, 1])}}
    problem = Problem(arms=["a", "b"], reward="x * y", **listed)
    store = MemoryStore()
    one = quiet(EmpiricalKL, problem, store)
    asked = {**one._fold.asked, "fallback": "b", "mode": "shadow"}
    one.remove_arm("b")
    before = one.policy().to_bytes()
    store.append([Defined(problem="default", id="2", policy=b"", asked=asked)])
    one.sync()
    assert (one.policy().to_bytes(), one.mode, one.stats().refused) == (before, "live", 1)
    assert one._fold.number == 2
    again = Problem(arms=["a"], reward="x * y", **listed)
    assert quiet(EmpiricalKL, again, store).problem.arms == ("a",)


def test_a_damaged_snapshot_is_not_used(tmp_path):
    path = tmp_path / "router.db"
    with taught(path) as router:
        router.snapshot()
        for i in range(5):
            router.observe(router.choose(bits=1), capacity=i)
        router.snapshot()
        state = router.state()
    for damage in ("substr(body, 1, length(body) / 2)", "zeroblob(length(body))"):
        statement = f"UPDATE snapshots SET body = {damage} WHERE seq = 71"  # noqa: S608 - fixed text
        with SQLiteStore(path) as store:
            store._change(partial(_execute, statement=statement))
            assert "snapshot of 'default' after event 71 is damaged" in store.integrity()[0]
        with quiet(DCB, channels(3), path) as again:  # from the one before
            assert again._last_snapshot == 61
            assert again.state() == state
            assert again.is_healthy


def _execute(cursor, *, statement):
    cursor.execute(statement)


def test_without_any_snapshot_a_shortened_log_is_refused(tmp_path):
    path = tmp_path / "router.db"
    with taught(path, keep=0) as router:
        router.snapshot()
    with SQLiteStore(path) as store:
        store._change(lambda c: c.execute("UPDATE snapshots SET checksum = 0"))
    with pytest.raises(StoreError, match="no snapshot"):
        quiet(DCB, channels(3), path)


def test_a_backup_can_be_taken_while_running_and_restored(tmp_path):
    with taught(tmp_path / "router.db") as router:
        stop = threading.Event()

        def load():
            while not stop.is_set():
                router.observe(router.choose(bits=1), capacity=1)

        with ThreadPoolExecutor(2) as pool:
            for _ in range(2):
                pool.submit(load)
            router.store.backup(tmp_path / "backup.db")
            stop.set()
        with quiet(DCB, channels(3), tmp_path / "backup.db") as restored:
            assert restored.store.integrity() == []
            seq, state = restored.sequence, restored.state()
        replayed = quiet(DCB, channels(3), None)
        for event in router.store.events("default", after=1, until=seq):
            replayed._fold.apply(event)
        assert replayed.state() == state
        with pytest.raises(StoreError, match="exists"):
            router.store.backup(tmp_path / "backup.db")


def test_a_forked_child_has_its_own_connection(tmp_path):
    with taught(tmp_path / "router.db") as router:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                receipt = router.observe(router.choose(bits=2), capacity=3)
                code = 0 if receipt.learned else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        router.sync()
        assert router.stats().policy.trials == 31
        assert router.observe(router.choose(bits=2), capacity=3).learned
        assert router.store.integrity() == []


def test_threads(tmp_path):
    with quiet(DCB, channels(3), tmp_path / "router.db") as router:

        def load(me):
            for i in range(40):
                decision = router.choose(bits=i % 4 + 1)
                router.observe(decision, capacity=(i + me) % 8)
                router.observe(decision, capacity=(i + me) % 8)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(load, range(8)))
        stats = router.stats()
        assert (stats.policy.trials, stats.in_flight) == (320, 0)
        with quiet(DCB, channels(3), tmp_path / "router.db") as again:
            assert again.state() == router.state()


# A file that has changed


def test_the_same_definition_is_written_once(tmp_path):
    for _ in range(3):
        with taught(tmp_path / "router.db", count=1) as router:
            assert sum(isinstance(event, Defined) for event in router.log()) == 1


def test_a_changed_file_changes_what_it_says_and_nothing_else():
    listed: dict[str, Any] = {"context": {"y": Finite([1, 2])}, "state": {"x": Finite([0, 1])}}
    old = Problem(arms=["a", "b"], reward="x * y", **listed)
    new = Problem(arms=["a", "c"], reward="x + y", **listed)
    store = MemoryStore()
    one = quiet(EmpiricalKL, old, store, fallback="a")
    one.observe("1", arm="a", x=1)
    one.add_arm("d")  # at run time
    two = quiet(EmpiricalKL, new, store, fallback="c")
    assert two.problem.arms == ("a", "d", "c")
    assert two.stats().fallback == "c"
    assert two.stats().reward == "x + y"
    assert two.stats().policy.trials == 1
    one.sync()
    assert one.state() == two.state()
    with pytest.raises(ParameterError):
        quiet(EmpiricalKL, new, store, fallback="b")  # which is gone
    assert quiet(EmpiricalKL, new, store, fallback="c").state() == two.state()


def test_a_changed_reward_may_mention_words_of_arms_to_come(tmp_path):
    stated: dict[str, Any] = {
        "arms": {"a": {"tier": "gold"}, "b": {"tier": "plain"}},
        "state": {"x": Interval(0, 1)},
    }
    problem = Problem(**stated, reward="x * (2 if tier == 'gold' else 1)")
    with Router(problem, store=tmp_path / "log.db") as router:
        for _ in range(4):
            router.observe(router.choose(), x=0.5)
    changed = Problem(
        **stated, reward="x * (3 if tier == 'silver' else 1)", words={"tier": ["silver"]}
    )
    for _ in range(2):
        with Router(changed, store=tmp_path / "log.db") as router:
            assert router.problem.words == {"tier": ("silver",)}
            assert router.problem.reward == changed.reward


def test_another_policy_learns_the_log_again():
    store = MemoryStore()
    one = taught(store)
    one.pause("channel-2")
    two = quiet(UCB1, channels(3), store)
    one.sync()
    assert one.state() == two.state()
    alone = UCB1(channels(3))
    for event in one.log():
        learn(alone, event)
    alone.pause("channel-2")
    assert two.policy().to_bytes() == alone.to_bytes()
    wider = channels(3)._with(state={"capacity": Interval(0, 9)})
    three = quiet(UCB1, wider, store)
    assert three.stats().policy.trials == 30
    one.sync()
    assert one.state() == three.state()


def test_a_reward_in_python():
    store = MemoryStore()
    one = quiet(EmpiricalKL, coded(), store)
    one.observe(one.choose(need=2), have=4)
    one.snapshot()
    two = quiet(EmpiricalKL, coded(), store)
    assert two.state() == one.state()
    assert two.observe(two.choose(need=2), have=0).learned


def test_a_router_from_a_file(tmp_path):
    path = tmp_path / "endpoints.toml"
    path.write_text(TOML)
    with Router.open(path) as router:
        assert (router.name, router.problem.arms) == ("endpoints", ("a", "b"))
        router.observe(router.choose(y=2), x=0.5)
    assert (tmp_path / "log.db").exists()
    with Router.open(path, store=None) as router:
        assert router.stats().policy.trials == 0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("expires = 30", "expire = 30"), "expire"),
        (('"DCB"', '"DBC"'), "unknown policy 'DBC', did you mean 'DCB'\\? The policies are"),
        (('"DCB"', '"recomended"'), "did you mean 'recommended'"),
        (
            ('"DCB"', '{name = "DCB", epsilo = 1}'),
            "'epsilo', did you mean 'epsilon'\\? The policy DCB",
        ),
        (("x * y", "x * z"), "unknown name 'z'"),
        (("{x = 0}", "{x = 5}"), "on_expiry"),
        (("expires = 30", "expires = -1"), "expires must be"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, change, told):
    path = tmp_path / "router.toml"
    path.write_text(TOML.replace(*change))
    with pytest.raises((ProblemError, ParameterError), match=told) as caught:
        Router.open(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_settings_are_checked():
    for given in (
        {"expires": 0},
        {"poll": -1},
        {"sticky": "long"},
        {"snapshot_every": 0},
        {"keep": -1},
        {"policy": 7},
        {"policy": {"gamma": 1}},
        {"policy": {"name": "DCB", "gamma": 1}},
        {"store": 7},
        {"store": ":memory:"},
        {"store": "mysql://host"},
    ):
        with pytest.raises(ParameterError):
            Router(channels(3), **given)


# Decisions in flight at a restart


@pytest.mark.parametrize("from_snapshot", [True, False])
def test_decisions_in_flight_at_a_restart_expire_by_their_own_time(monkeypatch, from_snapshot):
    store = MemoryStore()
    start = time.time()
    monkeypatch.setattr("time.time", lambda: start)
    with quiet(DCB, channels(3), store) as before:
        before.choose(bits=2)
        before.choose(bits=3)
        monkeypatch.setattr("time.time", lambda: start + 50.0)
        before.choose(bits=2)
        if from_snapshot:
            before.snapshot()
    monkeypatch.setattr("time.time", lambda: start + 40.0)
    clock = time.monotonic()
    with quiet(DCB, channels(3), store) as after:
        assert after.stats().in_flight == 3
        for seconds, left in ((19.0, 3), (26.0, 1), (76.0, 0)):
            monkeypatch.setattr("time.monotonic", lambda now=clock + seconds: now)
            after.expire()
            stats = after.stats()
            assert stats.in_flight == sum(arm.in_flight for arm in stats.policy.arms) == left


def test_removing_an_arm_by_its_file_lands_its_decisions():
    store = MemoryStore()
    with quiet(DCB, channels(3), store) as router:
        for _ in range(6):
            router.choose(bits=2)
        with quiet(DCB, channels(2), store) as fewer:
            for each in (router, fewer):
                each.sync()
                stats = each.stats()
                assert stats.in_flight == sum(arm.in_flight for arm in stats.policy.arms) == 4


def test_all_processes_follow_the_settings_of_the_newest_definition():
    store = MemoryStore()
    changed: dict[str, Any] = {
        "expires": 5.0, "on_expiry": {"capacity": 0.0}, "sticky": 0.0, "snapshot_every": 3,
        "keep": 2,
    }  # fmt: skip
    with quiet(DCB, channels(3), store) as one:
        one.choose(bits=1, key="session")
        with quiet(DCB, channels(3), store, **changed) as two:
            one.sync()
            for router in (one, two):
                assert {name: router.asked[name] for name in changed} == changed
                decision = router.choose(bits=2)
                assert decision.expires_at - time.time() == pytest.approx(5.0, abs=1.0)
                overdue(router)
                router.expire()
                assert list(router.log())[-1].state == {"capacity": 0.0}
            assert one._is_snapshot_due()
            one.snapshot()
            assert store.first_sequence("default") == one.sequence - 2


# Another problem

OTHER = Problem(arms=["x", "y"], state={"seconds": Interval(0, 30)}, reward="-seconds")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(OTHER, id="unrelated"),
        pytest.param(channels(3).with_arms(["p", "q"]), id="other arms"),
        pytest.param(
            Problem(
                arms=channels(3).arms, context=channels(3).context, state={"speed": Interval(0, 7)},
                reward="min(bits, speed)",
            ),
            id="other state",
        ),
    ],
)  # fmt: skip
def test_a_log_is_not_given_to_an_unrelated_problem_silently(tmp_path, other):
    path = tmp_path / "router.db"
    with taught(path) as router:
        before, last = router.state(), router.store.last_sequence
    with pytest.raises(ParameterError, match=r"another problem.*none of its 30 outcomes"):
        quiet(DCB, other, path)
    with quiet(DCB, channels(3), path) as again:
        assert (again.state(), again.store.last_sequence) == (before, last)
        assert again.redefinition is None
    with quiet(DCB, other, path, redefine=True) as new:
        assert new.problem.arms == other.arms
        assert new.redefinition is not None
        assert (new.redefinition.learned, new.redefinition.kept) == (30, 0)
        context: dict[str, Any] = {"bits": 1} if "bits" in other.context else {}
        assert new.choose(**context).arm in other.arms


def test_what_is_kept_of_a_changed_problem_is_told():
    store = MemoryStore()
    taught(store)
    with quiet(DCB, channels(2), store) as fewer:
        lost = taught(MemoryStore()).stats().policy.arms[2].pulls
        assert str(fewer.redefinition) == (
            f"changed: the arms; {30 - lost} of 30 outcomes were kept; removed: channel-3"
        )
    with quiet(UCB1, channels(2), store, expires=7) as other:
        assert str(other.redefinition) == (
            f"changed: the policy, expires; all {30 - lost} outcomes were kept"
        )


def test_a_log_without_outcomes_may_become_anything():
    store = MemoryStore()
    quiet(DCB, channels(3), store).choose(bits=1)
    with quiet(DCB, OTHER, store) as router:
        assert "nothing was learned before" in str(router.redefinition)


def test_after_deleted_events_another_policy_learns_what_is_left_if_asked(tmp_path):
    path = tmp_path / "router.db"
    with taught(path, keep=10) as router:
        router.snapshot()
    with pytest.raises(ParameterError, match="`redefine`"):
        quiet(UCB1, channels(3), path)
    with quiet(UCB1, channels(3), path, redefine=True) as router:
        assert router.redefinition is not None
        assert 0 < router.redefinition.kept < router.redefinition.learned == 30


def test_a_router_says_where_its_log_is(tmp_path):
    with quiet(DCB, channels(3), None) as router:
        assert "in memory; nothing is kept after the process ends" in repr(router)
        assert "in memory; nothing is kept after the process ends" in str(router.stats())
        assert not router.stats().lasts
    assert repr(router).endswith(", closed>")
    with quiet(DCB, channels(3), tmp_path / "router.db") as router:
        assert repr(router) == (
            f"<Router 'default': DCB, event 1, SQLiteStore('{tmp_path / 'router.db'}')>"
        )
        assert "in memory" not in str(router.stats())
        assert router.stats().lasts


def test_a_definition_that_cannot_be_read_is_told():
    """Such as one of a policy that this process does not have."""
    store = MemoryStore()
    taught(store)
    (first,) = store.read("default", limit=1)
    other = MemoryStore()
    other.append([msgspec.structs.replace(first, policy=first.policy.replace(b"DCB", b"DCX"))])
    with pytest.raises(StoreError, match="the definition in event 1"):
        quiet(DCB, channels(3), other)


@pytest.mark.parametrize("table", ["router", "problem"])
def test_a_policy_in_another_table_is_told_its_place(tmp_path, table):
    path = tmp_path / "router.toml"
    text = '[problem]\narms = ["a"]\nstate = {x = [0, 1]}\nreward = "x"\n[router]\nexpires = 9\n'
    path.write_text(text.replace(f"[{table}]", f'[{table}]\npolicy = "DCB"'))
    said = rf"the policy is in \[{table}\]; write it above all tables, such as policy = "
    with pytest.raises(ProblemError, match=said):
        Router.open(path)


@pytest.mark.parametrize(("name", "needs"), [("CCB", "delta"), ("FixedArm", "arm")])
def test_a_parameter_that_a_policy_needs_is_told(name, needs):
    said = rf"the policy {name} needs '{needs}', as in {{\"name\": \"{name}\", \"{needs}\": …}}"
    with pytest.raises(ParameterError, match=said):
        Router(channels(3), policy=name)
