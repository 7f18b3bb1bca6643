"""Replay and what-if against values worked out by hand and against the truth."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from problems import channels, failing
from router_workers import quiet

from onepull import (
    DCB,
    EmpiricalKL,
    Finite,
    FixedArm,
    FormulaError,
    Interval,
    ParameterError,
    Problem,
)
from onepull.router.replay.replay import replayed

LISTED = Problem(
    arms=["near", "far"],
    context={"bits": Finite([1, 4])},
    state={"capacity": Finite([0, 2, 4])},
    reward="min(bits, capacity)",
)


def routed(problem, build, draw, count, seed=0):
    generator = np.random.default_rng(seed)
    router = quiet(build, problem, None)
    for _ in range(count):
        decision = router.choose(bits=int(generator.choice([1, 4])))
        router.observe(decision, capacity=draw(decision.arm, generator))
    return router


def draw(arm, generator):
    return 2.0 if arm == "near" else 4.0 * (generator.random() < 0.4)


def test_the_same_policy_chooses_the_same_arms():
    router = routed(LISTED, EmpiricalKL, draw, 200)
    replay = router.replay()
    assert (replay.decisions, replay.outcomes, replay.left_out) == (200, 200, 0)
    assert replay.agreement == 1.0
    assert replay.logged == replay.replayed
    rewards = [
        min(event.context["bits"], event.state["capacity"])
        for event in router.log()
        if hasattr(event, "counts")
    ]
    assert replay.earned == pytest.approx(np.mean(rewards))


def test_the_same_policy_chooses_the_same_arms_with_late_and_lost_answers():
    generator = np.random.default_rng(3)
    with quiet(EmpiricalKL, LISTED, None) as router:
        waiting = []
        for i in range(150):
            waiting.append(router.choose(bits=int(generator.choice([1, 4]))))
            router.store.flush()  # so that the log has events in the order in which they happened
            if i % 7 == 6:
                for decision in generator.permutation(len(waiting)).tolist():
                    if generator.random() < 0.1:
                        router.gave_up(waiting[decision])
                    else:
                        shown = draw(waiting[decision].arm, generator)
                        router.observe(waiting[decision], capacity=shown)
                waiting.clear()
        replay = router.replay()
    assert (replay.decisions, replay.agreement) == (150, 1.0)
    assert len(replay.notes) == 1


def test_another_policy_learns_from_the_arms_that_it_chooses():
    """A log in which near is chosen 19 times of 20 tells how DCB would have explored.

    If it learned the outcomes as they came, it would know little of far for ever, and choose it for
    more than half of the requests instead of 5 %.
    """
    generator = np.random.default_rng(4)

    def seldom(arm):
        return 2.0 if arm == "near" else 4.0 * (generator.random() < 0.2)

    with quiet(EmpiricalKL, LISTED, None) as router:
        for i in range(2000):
            arm = "far" if i % 20 == 0 else "near"
            decision = router.choose(bits=4, eligible=[arm])
            router.observe(decision, capacity=seldom(arm))
        log = [event for event in router.log() if not hasattr(event, "asked")]
    free = [replace(event, eligible=None) if hasattr(event, "eligible") else event for event in log]
    replay = replayed(DCB(LISTED), LISTED, free)
    shares = []
    for _ in range(20):
        policy, chosen = DCB(LISTED), 0
        for _ in range(2000):
            arm = policy.choose(bits=4)
            chosen += arm == "far"
            policy.observe(arm, capacity=seldom(arm))
        shares.append(chosen / 2000)
    mean, spread = np.mean(shares), np.std(shares, ddof=1)
    # Five standard deviations of a run: fails by chance once in millions of seeds.
    assert abs(replay.replayed.shares["far"] - mean) < 5 * spread
    assert mean + 5 * spread < 0.2


def test_what_limits_a_replay_is_told():
    with quiet(EmpiricalKL, LISTED, None) as router:
        for _ in range(5):
            router.observe(router.choose(bits=4, eligible=["near"]), capacity=2)
        router.observe(router.choose(bits=4, eligible=["far"]), capacity=4)
        router.observe("unknown", arm="far", bits=4, capacity=0)
        events = [replace(e, eligible=None) if hasattr(e, "eligible") else e for e in router.log()]
    replay = replayed(FixedArm(LISTED, arm="far"), LISTED, events)
    assert (replay.decisions, replay.replayed.shares) == (6, {"far": 1.0})
    again, loose = replay.notes[1:]
    assert again.startswith("5 of 6 decisions were shown an outcome again")
    assert "fewer outcomes of far than the policy asked for" in again
    assert loose == "1 outcomes of none of these decisions were learned as they came"
    only = [event for event in events if getattr(event, "arm", "near") == "near"]
    replay = replayed(EmpiricalKL(LISTED), LISTED, only)
    assert replay.replayed.shares == {"near": 1.0}
    assert replay.notes[-1] == "the log has no decision for far, so the policy could not choose it"


def test_rewards_are_shown_as_states_in_another_context():
    problem = Problem(
        arms=["a", "b"], context={"y": Finite([1, 2])}, state={"x": Interval(0, 4)}, reward="x * y"
    )
    with quiet(DCB, problem, None) as router:
        for y in (2, 1, 1):
            router.observe(router.choose(y=y, eligible=["a"]), reward=1.5 * y)
        policy = DCB(problem)
        replayed(policy, problem, router.log())
        assert policy.estimates(y=1)[0] == pytest.approx(1.5)
        other = DCB(problem.with_reward("10 * x"))
        replayed(other, problem, router.log())
        assert other.estimates(y=1)[0] == pytest.approx(15)


HIDDEN = Problem(
    arms=["a", "b"],
    context={"t": Interval(1, 100)},
    state={"f": Interval(0, 1), "e": Interval(0, 1)},
    reward="-f-t*e",
)


def test_rewards_that_hide_the_state_are_shown_under_the_same_formula_only():
    generator = np.random.default_rng(0)
    with quiet("RegressionUCB", HIDDEN, None) as router:
        for _ in range(60):
            t = float(generator.uniform(1, 100))
            f, e = generator.random(2)
            router.observe(router.choose(t=t), reward=-f - t * e)
        router.observe("unknown", arm="a", t=2.0, reward=-1.0)
        same = router.replay()
        assert same.agreement == 1.0
        assert same.notes[1:] == ["1 outcomes of none of these decisions were learned as they came"]
        for text in ("-f - t*e", "(-f) - (t * e)"):
            spaced = router.replay(reward=text)
            assert (spaced.replayed.shares, spaced.notes) == (same.replayed.shares, same.notes)
        other = router.replay(reward="-f - 2*t*e")
    assert other.notes[-1].startswith("61 times there was an outcome that the policy could not")
    assert not any("learned as they came" in note for note in other.notes)


def test_the_share_of_the_only_arm_is_one():
    problem = Problem(
        arms=["a"], context={"y": Interval(0, 1)}, state={"x": Interval(0, 1)}, reward="x * y"
    )
    with quiet("recommended", problem, None) as router:
        for i in range(100):  # a hundredth, added a hundred times, is more than one
            router.observe(router.choose(y=i / 100), x=0.5)
        replay = router.replay()
    assert replay.logged.shares == replay.replayed.shares == {"a": 1.0}


def test_values_by_hand():
    with quiet(EmpiricalKL, LISTED, None) as router:
        for i, (arm, bits, shown) in enumerate(
            [("near", 4, 2), ("far", 4, 4), ("far", 1, 0), ("near", 1, 2)]
        ):
            router.choose(id=f"{i}", bits=bits, eligible=[arm])
            router.observe(f"{i}", capacity=shown)
        replay = router.replay(reward="capacity >= bits")
        # Pulled: 2 >= 4, 4 >= 4, 0 >= 1, 2 >= 1.
        assert replay.earned == pytest.approx(0.5)
        # near shows 2, 2: 0 with 4 bits and 1 with 1 bit.  far shows 4, 0: 1/2 in both.
        assert replay.logged.value == pytest.approx((0 + 0.5 + 0.5 + 1) / 4)
        # The sums of far over its two contexts are 2 for state 4 and 0 for state 0.
        assert replay.logged.error == pytest.approx(np.sqrt(np.var([2, 0], ddof=1) / 2) / 4)
        what = router.what_if(reward="capacity >= bits")
        assert what.contexts[0][0] == {"bits": 4.0}
        assert [each.value for each in what.contexts[0][2]] == [0.0, 0.5]
        assert what.other.shares == {"far": 0.5, "near": 0.5}
        assert what.other.value == pytest.approx((0.5 + 1.0) / 2)
        assert what.now.shares == {"near": 1.0}  # min(4, 2) = 2, as (4 + 0) / 2; the first
        given = router.what_if(reward="capacity >= bits", contexts=[{"bits": 4}])
        assert given.other.shares == {"far": 1.0}


def test_a_value_without_propensities_is_near_the_truth():
    """A policy that hardly ever pulls far still tells what always pulling it would be worth."""
    router = routed(LISTED, EmpiricalKL, draw, 600, seed=1)
    replay = router.replay(policy={"name": "FixedArm", "arm": "far"})
    truth = 0.4 * (1 + 4) / 2
    assert replay.replayed.shares == {"far": 1.0}
    assert replay.replayed.value is not None
    assert replay.replayed.error is not None
    # Four standard errors: fails by chance once in 15,000 seeds.
    assert abs(replay.replayed.value - truth) < 4 * replay.replayed.error
    assert 0 < replay.replayed.error < 0.3


def test_nothing_changes():
    router = routed(LISTED, EmpiricalKL, draw, 30)
    before, state = router.stats(), router.state()
    router.replay(reward="capacity >= bits", policy="IMED")
    router.what_if(reward="capacity")
    assert (router.stats(), router.state()) == (before, state)


def test_times_and_empty_logs():
    with quiet(DCB, channels(3), None) as router:
        replay = router.replay()
        assert (replay.decisions, replay.agreement, replay.earned) == (0, None, None)
        assert replay.logged.value is None
        assert router.what_if().contexts == []
        for i in range(4):
            router.observe(router.choose(bits=1), capacity=i)
        middle = list(router.log())[4].time
        assert 0 < router.replay(since=middle).decisions < 4
        assert router.replay(until=0).decisions == 0
        with pytest.raises(ParameterError):
            router.replay(since=float("nan"))


def test_failures_attributes_and_rewards():
    with quiet("recommended", failing(), None) as router:
        router.failed(router.choose(size=4))
        router.observe(router.choose(size=4), rate=3.0)
        replay = router.replay()
        assert (replay.outcomes, replay.left_out) == (2, 0)
        # a failed: -2 - 0.5 * 4.  b showed 3: min(4, 3) - 0.25.
        assert replay.earned == pytest.approx((-4 + 2.75) / 2)
    problem = Problem(
        arms=["a", "b"], context={"y": Finite([1, 2])}, state={"x": Interval(0, 4)}, reward="x * y"
    )
    with quiet(DCB, problem, None) as router:
        router.observe(router.choose(y=2), reward=6.0)  # so x was 3
        assert router.replay(reward="x").earned == pytest.approx(3.0)


def test_wrong_formulas_and_policies():
    router = routed(LISTED, EmpiricalKL, draw, 3)
    with pytest.raises(FormulaError):
        router.replay(reward="capacity >")
    with pytest.raises(ParameterError):
        router.replay(policy="nobody")
    with pytest.raises(ParameterError):
        router.what_if(contexts=[7])


def test_a_policy_of_your_own():
    class ReplayedDCB(DCB):
        pass

    with quiet(ReplayedDCB, channels(3), None) as router:
        for i in range(10):
            router.observe(router.choose(bits=i % 4 + 1), capacity=i % 8)
        replay = router.replay()
        assert (replay.policy, replay.agreement) == ("ReplayedDCB", 1.0)
