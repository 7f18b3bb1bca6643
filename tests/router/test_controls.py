"""Controls are events: all workers and restarts see them, and a wrong one changes nothing."""

from __future__ import annotations

import threading
import time

import pytest
from problems import channels, endless, failing
from router_workers import quiet

from onepull import (
    DCB,
    EmpiricalKL,
    Finite,
    FormulaError,
    InputError,
    Interval,
    MemoryStore,
    ParameterError,
    Problem,
    Router,
    SQLiteStore,
    UnknownArm,
)
from onepull.router.state.fold import REVISIONS as REVISED
from onepull.router.state.fold import Fold
from onepull.store import Control, FallbackSet, ModeSet, Observed, Paused, Pinned

LISTED = Problem(
    arms=["near", "far"],
    context={"bits": Finite([1, 4])},
    state={"capacity": Finite([0, 2, 4])},
    reward="min(bits, capacity)",
)


@pytest.fixture
def pair():
    store = MemoryStore()
    with quiet(DCB, channels(3), store) as one, quiet(DCB, channels(3), store) as two:
        yield one, two


def test_everyone_sees_a_control(pair):
    one, two = pair
    one.pause("channel-1", by="ada")
    one.share("channel-2", least=0.5)
    one.set_fallback("channel-3")
    one.set_mode("shadow", by="ada")
    two.sync()
    assert two.mode == "shadow"
    assert two.stats().controls == one.stats().controls
    assert two.state() == one.state()
    event = next(event for event in two.log() if isinstance(event, Paused))
    assert (event.arm, event.by) == ("channel-1", "ada")
    again = quiet(DCB, channels(3), one.store)
    assert again.state() == one.state()


def test_pin_pause_and_resume(pair):
    one, _ = pair
    one.pin("channel-2")
    assert [one.choose(bits=b).arm for b in (1, 2, 3)] == ["channel-2"] * 3
    one.pin(None)
    one.pause("channel-1")
    one.drain("channel-3")
    assert one.stats().drained == ["channel-3"]
    assert one.choose(bits=1).arm == "channel-2"
    one.resume("channel-3")
    assert one.stats().drained == []
    one.resume("channel-1")
    assert one.stats().controls.paused == ()


def test_arms_come_and_go(pair):
    one, two = pair
    decision = one.choose(bits=1)
    one.add_arm("channel-9")
    two.sync()
    assert two.problem.arms[-1] == "channel-9"
    one.remove_arm(decision.arm)
    assert one.stats().in_flight == 0
    with pytest.raises(UnknownArm):
        one.observe(decision, capacity=1.0)
    two.sync()
    assert two.state() == one.state()
    one.set_fallback("channel-9")
    with pytest.raises(InputError, match="is the fallback"):
        one.remove_arm("channel-9")


def test_an_observation_that_crosses_a_removal_is_refused_everywhere(pair):
    one, two = pair
    decision = two.choose(bits=1)
    two.sync()
    one.remove_arm(decision.arm)
    two.observe(decision, capacity=1.0)  # it does not know yet
    one.sync()
    assert one.state() == two.state()
    assert one.stats().refused == two.stats().refused == 1


def test_the_reward_changes_without_forgetting():
    with quiet(EmpiricalKL, LISTED, None) as router:
        for i in range(60):
            state = {"near": 2, "far": (4, 0, 0)[i % 3]}
            for arm in LISTED.arms:
                router.observe(f"{arm} {i}", arm=arm, capacity=state[arm])
        assert router.choose(bits=4).arm == "near"
        before = [router.choose(bits=4) for _ in range(3)]
        router.set_reward("capacity >= bits")
        assert router.stats().reward == "capacity >= bits"
        assert router.choose(bits=4).arm == "far"
        assert sum(arm.in_flight for arm in router.stats().policy.arms) == 5
        router.observe(before[0], capacity=2)
        assert sum(arm.in_flight for arm in router.stats().policy.arms) == 4
        alone = EmpiricalKL(LISTED)
        for event in router.log():
            if hasattr(event, "state"):
                alone.observe(event.arm, **event.state)
        assert router.policy().to_bytes() == alone.with_reward("capacity >= bits").to_bytes()


def test_attributes_change(pair):
    del pair
    with quiet("recommended", failing(), None) as router:
        decision = router.choose(size=4)
        router.observe(decision, rate=3.0)
        before = router.explain(size=4).arms[0].estimate
        assert before is not None
        router.set_attributes("a", price=1.5)
        assert router.explain(size=4).arms[0].estimate == pytest.approx(before - 1.0)
        router.add_arm("d", price=0.1, tier="plain")
        assert router.problem.arms == ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda r: r.pause("nobody"), UnknownArm),
        (lambda r: r.pin("nobody"), UnknownArm),
        (lambda r: r.share("channel-1", least=2), ParameterError),
        (lambda r: r.add_arm("channel-1"), InputError),
        (lambda r: r.remove_arm("nobody"), UnknownArm),
        (lambda r: r.set_attributes("channel-1", price=1), InputError),
        (lambda r: r.set_reward("min(bits, "), ParameterError),
        (lambda r: r.set_reward("min(bits, capacity) + 1"), ParameterError),
    ],
)
def test_a_wrong_control_changes_nothing(pair, call, error):
    one, _ = pair
    before, state = one.stats(), one.state()
    with pytest.raises((error, FormulaError)):
        call(one)
    assert (one.stats(), one.state()) == (before, state)
    assert not [event for event in one.log() if isinstance(event, Control)]


def test_a_reward_that_fits_no_more():
    with quiet("recommended", endless(), None) as router:
        with pytest.raises((ParameterError, FormulaError)):
            router.set_reward("latency")
        router.set_reward("-first")
        assert router.stats().reward == "-first"


REVISIONS = {
    "attributes": lambda router: router.set_attributes("a", price=0.3),
    "reward": lambda router: router.set_reward("2 * x - price"),
    "new arm": lambda router: router.add_arm("d", price=0.1),
    "no arm": lambda router: router.remove_arm("c"),
}


def held(monkeypatch):
    """Let a change wait while it is learned; return its begin, when it may go on, and the calls."""
    begun, go_on = threading.Event(), threading.Event()
    apply, calls = Fold.apply, []

    def slowly(fold, event):
        if isinstance(event, REVISED):
            calls.append(event)
            if len(calls) == 2:  # the first is the trial before it is in the log
                begun.set()
                go_on.wait(10)
        return apply(fold, event)

    monkeypatch.setattr(Fold, "apply", slowly)
    return begun, go_on, calls


@pytest.mark.parametrize("name", REVISIONS)
def test_decisions_go_on_while_a_change_is_learned(name, monkeypatch):
    """Nobody needs to wait: what was decided meanwhile is in flight afterwards."""
    problem = Problem(
        arms={arm: {"price": 0.1 * i} for i, arm in enumerate("abc")},
        state={"x": Interval(0, 1)},
        reward="x - price",
    )
    with Router(problem, poll=3000.0) as router:
        for i in range(30):
            router.observe(router.choose(), x=i % 7 / 7)
        for _ in range(3):
            router.choose()
        begun, go_on, calls = held(monkeypatch)
        changing = threading.Thread(target=REVISIONS[name], args=(router,))
        changing.start()
        assert begun.wait(10)
        chosen: list[str] = []
        for _ in range(2):
            caller = threading.Thread(target=lambda: chosen.append(router.choose().arm))
            caller.start()
            caller.join(10)
        assert len(chosen) == 2
        assert router.sequence < calls[1].seq
        go_on.set()
        changing.join(10)
        router.sync()
        stats = router.stats()
        assert stats.in_flight == sum(arm.in_flight for arm in stats.policy.arms) > 0
        with Router(problem, store=router.store, poll=3000.0) as later:
            assert later.policy().to_bytes() == router.policy().to_bytes()


def test_outcomes_are_stored_while_a_change_is_learned(tmp_path, monkeypatch):
    """Neither those of the problem nor those of others in the same log wait for it."""
    path = tmp_path / "router.db"
    problem = Problem(arms=["a", "b"], state={"x": Interval(0, 1)}, reward="x")
    with SQLiteStore(path) as store:
        router = quiet("AdaptiveKL", problem, store)
        other = quiet("AdaptiveKL", problem, store, name="other")
        begun, go_on, _ = held(monkeypatch)
        changing = threading.Thread(target=router.set_reward, args=("1 - x",))
        changing.start()
        assert begun.wait(10)
        learned: list[bool] = []

        def observe():
            learned.extend(each.observe(each.choose(), x=0.25).learned for each in (router, other))

        observing = threading.Thread(target=observe)
        observing.start()
        observing.join(5)
        assert learned == [True, True]
        go_on.set()
        changing.join(10)
        router.sync()
        assert router.stats().reward == "1 - x"
        assert router.stats().policy.trials == other.stats().policy.trials == 1
        assert router.estimates()[0] == 0.75
        for each in (router, other):
            each.close()
    with quiet("AdaptiveKL", problem, path) as again:
        assert again.state() == router.state()


def test_a_router_that_only_decides_sees_what_others_change(tmp_path):
    """Its own commits come more often than it looks for those of others."""
    path = tmp_path / "log.db"
    with (
        Router(LISTED, policy="DCB", store=path, poll=0.2) as one,
        Router(LISTED, policy="DCB", store=path, poll=0.2) as two,
    ):
        one.choose(bits=1)
        two.remove_arm("far")
        two.observe(two.choose(bits=4), capacity=4)
        until = time.monotonic() + 20
        while time.monotonic() < until and list(one.problem.arms) != ["near"]:
            one.choose(bits=1)
            time.sleep(0.005)
        assert list(one.problem.arms) == ["near"]


@pytest.fixture
def decides_while_written(monkeypatch):
    """Let a decision be made by another thread whenever a policy is written; it must not wait."""
    made: list[str] = []

    def watch(router):
        write = type(router.policy()).to_bytes

        def written(policy):
            if threading.current_thread() is not other:
                other.start()
                other.join(timeout=20)
            return write(policy)

        other = threading.Thread(target=lambda: made.append(router.choose(bits=1).arm))
        monkeypatch.setattr(DCB, "to_bytes", written)
        return made

    return watch


@pytest.mark.parametrize(
    "work",
    [
        lambda router: router.snapshot(),
        lambda router: router.policy(),
    ],
)
def test_decisions_do_not_wait_while_a_policy_is_written(decides_while_written, work):
    with quiet(DCB, channels(3), MemoryStore()) as router:
        made = decides_while_written(router)
        work(router)
        assert made == ["channel-1"]


def test_changes_are_made_together_or_not_at_all(pair):
    one, two = pair
    before = one.state()
    with pytest.raises(UnknownArm):
        one.control([Paused(arm="channel-1"), Pinned(arm="nobody")])
    with pytest.raises(ParameterError, match="control takes changes such as Paused"):
        one.control([Paused(arm="channel-1"), Observed(id="x", arm="channel-1", reward=1.0)])
    assert one.state() == before
    one.control([FallbackSet(arm="channel-3"), ModeSet(mode="shadow"), Paused(arm="channel-1")])
    two.sync()
    assert two.state() == one.state()
    assert (two.mode, two.stats().controls.paused) == ("shadow", ("channel-1",))
    assert len({event.time for event in two.log() if isinstance(event, Control)}) == 1


def test_a_control_does_not_write_the_policy(monkeypatch, pair):
    one, two = pair
    with monkeypatch.context() as patched:
        patched.setattr(DCB, "to_bytes", lambda _: pytest.fail("the policy was written"))
        one.pause("channel-1")
        one.share("channel-2", least=0.5)
        one.pin("channel-2")
        one.drain("channel-3")
        one.set_fallback("channel-3")
        one.set_mode("shadow")
        with pytest.raises(ParameterError, match="least shares must sum to at most 1"):
            one.share("channel-3", least=0.6)
    two.sync()
    assert two.state() == one.state()
