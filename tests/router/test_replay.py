"""Replay and what-if against values worked out by hand and against the truth."""

from __future__ import annotations

import numpy as np
import pytest
from problems import channels, failing
from router_workers import quiet

from onepull import DCB, EmpiricalKL, Finite, FormulaError, Interval, ParameterError, Problem

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
