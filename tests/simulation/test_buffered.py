"""Buffers in the simulator: conservation, hand-made runs, repeatability, and what is gained."""

from __future__ import annotations

import numpy as np
import pytest

from onepull import DCB, IMED, Discrete, Finite, Genie, Problem, UpperConfidence
from onepull.control import (
    Backlog,
    Battery,
    BatteryPlan,
    BufferEnvironment,
    DriftPlusPenalty,
    Myopic,
    Planned,
    SlotChoice,
    harvesting_battery,
    metered_backlog,
)
from onepull.distributions import InOrder
from onepull.errors import ParameterError
from onepull.simulation.buffered import MEASURES, simulate_buffer
from onepull.simulation.executors import open_executor


def learner(world):
    return UpperConfidence(world.problem, alpha=0.51)


def genie(world):
    return Genie(world.problem, states=world.states)


def test_a_backlog_slot_by_slot():
    world = BufferEnvironment(
        Problem(
            arms=["a"],
            context={"bits": Finite([1, 2])},
            state={"capacity": Finite([0, 1, 2])},
            reward="min(bits, capacity)",
        ),
        states={"a": InOrder([2, 1, 0, 2, 1])},
        buffer=Backlog(capacity=4, amounts=[1, 2], costs={"a": 0.5}),
        arrivals=InOrder([3, 0, 4, 0, 0]),
    )
    run = simulate_buffer(
        world, {"all": Myopic(DCB(world.problem), world.buffer)}, horizon=5, replications=1
    )
    # Level 0: idle, 3 arrive.  3: 1 of 2 bits gets through.  2: none, 4 arrive and 2 are lost.
    # 4: 2 get through.  2: 1 does.  1 is left.
    found = {name: values[0, 0] for name, values in run.measured.items()}
    assert found == pytest.approx(
        {
            "reward": 4 / 5,
            "cost": 2 / 5,
            "arrived": 7 / 5,
            "drained": 4 / 5,
            "lost": 2 / 5,
            "pulls": 4 / 5,
            "level": (0 + 3 + 2 + 4 + 2) / 5,
            "level_95": np.quantile([0, 3, 2, 4, 2], 0.95),
            "end": 1,
        }
    )


@pytest.mark.parametrize("make", [harvesting_battery, metered_backlog])
def test_what_arrives_is_used_lost_or_still_there(make):
    world = make(6.0)
    controllers = {
        "all": Myopic(learner(world), world.buffer),
        "drift": DriftPlusPenalty(learner(world), world.buffer, weight=20.0),
        "IMED": DriftPlusPenalty(IMED(world.problem), world.buffer, weight=20.0),
    }
    horizon = 300
    run = simulate_buffer(world, controllers, horizon=horizon, replications=2, seed=3)
    used = run.measured["drained"] + run.measured["lost"] + run.measured["end"] / horizon
    assert used == pytest.approx(run.measured["arrived"])
    assert np.all(run.measured["lost"][1] > 0)
    assert np.all(run.measured["end"] <= 6.0)
    # The same arrivals for every controller, others in another replication.
    assert len(np.unique(run.measured["arrived"])) == 2


def test_the_same_seed_gives_the_same_run_whoever_runs_beside_it():
    world = harvesting_battery()
    drift = DriftPlusPenalty(learner(world), world.buffer, weight=4.0)
    alone = simulate_buffer(world, {"drift": drift}, horizon=200, replications=3, seed=5)
    beside = {"all": Myopic(learner(world), world.buffer), "drift": drift}
    with open_executor("threads:2") as executor:
        together = simulate_buffer(
            world, beside, horizon=200, replications=3, seed=5, executor=executor
        )
    for measure in MEASURES:
        assert np.array_equal(alone.of("drift", measure), together.of("drift", measure))
    assert drift.policy.is_fresh


def test_rows_compare_pair_by_pair():
    world = harvesting_battery()
    run = simulate_buffer(
        world,
        {"all": Myopic(genie(world), world.buffer),
         "drift": DriftPlusPenalty(genie(world), world.buffer, weight=4.0)},
        horizon=500,
        replications=4,
    )  # fmt: skip
    base, better = run.rows("all")
    assert (base["reward"], base["reward_low"], base["reward_high"]) == (0.0, 0.0, 0.0)
    assert better["reward"] == pytest.approx((run.of("drift") - run.of("all")).mean())
    assert 0 < better["reward_low"] < better["reward"] < better["reward_high"]
    with pytest.raises(ParameterError, match="unknown baseline 'none'; there are all, drift"):
        run.rows("none")


def test_what_cannot_be_simulated_is_refused():
    world = harvesting_battery()
    control = Myopic(learner(world), world.buffer)
    with pytest.raises(ParameterError, match="at least one controller"):
        simulate_buffer(world, {}, horizon=5, replications=1)
    with pytest.raises(ParameterError, match="another problem"):
        simulate_buffer(metered_backlog(), {"x": control}, horizon=5, replications=1)
    control.observe("channel 1", gain=1)
    with pytest.raises(ParameterError, match="has learned already"):
        simulate_buffer(world, {"x": control}, horizon=5, replications=1)


# What follows is statistical.  Each limit is at least 5 standard deviations of such a mean of 4
# replications away, as measured over 16 others: another seed would fail by chance less often
# than once in 10^5.


def test_drift_plus_penalty_beats_spending_all_and_comes_near_the_best():
    world = harvesting_battery()
    run = simulate_buffer(
        world,
        {
            "all": Myopic(genie(world), world.buffer),
            "learned": DriftPlusPenalty(learner(world), world.buffer, weight=4.0),
            "known": DriftPlusPenalty(genie(world), world.buffer, weight=4.0),
            "plan": BatteryPlan(learner(world), world.buffer, arrivals=world.arrivals),
            "best": Planned(genie(world), world.buffer, world.best_plan()),
        },
        horizon=5000,
        replications=4,
        seed=1,
    )
    mean = {name: float(run.of(name).mean()) for name in run.controllers}
    assert mean["learned"] > 1.35 * mean["all"]  # though that one knows the arms
    assert mean["learned"] > 0.9 * mean["known"]
    assert mean["known"] > 0.95 * mean["best"]
    assert mean["plan"] > 0.91 * mean["best"]
    assert mean["best"] == pytest.approx(world.best_plan().value, rel=0.1)


def test_drift_plus_penalty_pays_less_for_the_same_waiting_and_keeps_a_queue_short():
    world = metered_backlog()
    run = simulate_buffer(
        world,
        {
            "send all": Myopic(genie(world), world.buffer),
            "cheapest": Myopic(genie(world), world.buffer, price=2.0),
            "learned": DriftPlusPenalty(learner(world), world.buffer, weight=20.0),
            "known": DriftPlusPenalty(genie(world), world.buffer, weight=20.0),
        },
        horizon=5000,
        replications=4,
        seed=1,
    )
    cost = {name: float(run.of(name, "cost").mean()) for name in run.controllers}
    waiting = {name: float(run.of(name, "level").mean()) for name in run.controllers}
    assert cost["learned"] < 0.85 * cost["send all"]
    assert waiting["learned"] < 0.4 * waiting["cheapest"]
    assert run.of("learned", "lost").max() == 0.0 < run.of("cheapest", "lost").min()
    assert cost["learned"] < 1.12 * cost["known"]


def test_more_weight_costs_less_and_waits_longer():
    world = metered_backlog(400.0)
    weights = (1.0, 30.0, 300.0)
    run = simulate_buffer(
        world,
        {str(w): DriftPlusPenalty(genie(world), world.buffer, weight=w) for w in weights},
        horizon=5000,
        replications=4,
        seed=1,
    )
    means = {measure: values.mean(axis=1) for measure, values in run.measured.items()}
    costs, levels = means["cost"], means["level"]
    assert np.all(np.diff(costs) < 0)
    assert np.all(np.diff(levels) > 0)
    # No control pays less than 0.25 for 0.7 of a bit in the long run, and this one comes near.
    assert 0.9 < costs[-1] / (means["drained"][-1] * 0.25 / 0.7) < 1.15


def test_the_plan_gains_in_the_long_run_what_it_promises():
    battery = Battery(capacity=2, amounts=[1, 2])
    world = BufferEnvironment(
        Problem(
            arms=["a"],
            context={"power": Finite([1, 2])},
            state={"gain": Finite([0, 1])},
            reward="sqrt(power) * gain",
        ),
        states={"a": Discrete([0, 1], [0.5, 0.5])},
        buffer=battery,
        arrivals=Discrete([0, 1, 2], [0.5, 0.3, 0.2]),
    )
    plan = world.best_plan()
    assert plan.decisions[2] in (SlotChoice(1.0, "a"), SlotChoice(2.0, "a"))
    run = simulate_buffer(
        world, {"plan": Planned(genie(world), battery, plan)}, horizon=20_000, replications=4
    )
    # The deviation of a mean of 80,000 slots is below 0.003, so this is beyond six of them.
    assert run.of("plan").mean() == pytest.approx(plan.value, abs=0.02)
