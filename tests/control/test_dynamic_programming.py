"""Plans against brute force over every stationary rule of tiny buffers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from onepull import Discrete, Finite, Genie, Interval, Problem
from onepull.control import (
    Backlog,
    Battery,
    BatteryPlan,
    BufferEnvironment,
    LevelAction,
    SlotChoice,
    best_plan,
    harvesting_battery,
)
from onepull.distributions import Uniform
from onepull.errors import ParameterError

IDLE = LevelAction(SlotChoice(0.0, None), 0.0, (0.0,), (1.0,))


def long_run(buffer, rule, arrivals, holding, losing):
    """Return the long-run gain per slot of a rule that starts with an empty buffer."""
    count = round(buffer.capacity) + 1
    moves, gains = np.zeros((count, count)), np.zeros(count)
    for level, option in enumerate(rule):
        gains[level] = option.gain - holding * level
        for drained, chance in zip(option.drained, option.chances, strict=True):
            for (amount,), share in zip(*arrivals.atoms, strict=True):
                after, lost = buffer.refilled(level, drained, amount)
                moves[level, round(after)] += chance * share
                gains[level] -= losing * chance * share * lost
    half = (moves + np.eye(count)) / 2  # the same long-run average, and aperiodic
    return float((np.linalg.matrix_power(half, 4096) @ gains)[0])


def brute_force(buffer, options, arrivals, holding=0.0, losing=0.0):
    choices = [
        [IDLE, *(o for o in options if o.decision.amount in buffer.offers(level))]
        for level in range(round(buffer.capacity) + 1)
    ]
    return max(long_run(buffer, rule, arrivals, holding, losing) for rule in product(*choices))


@pytest.mark.parametrize("seed", range(6))
def test_a_battery_against_every_rule(seed):
    generator = np.random.default_rng(seed)
    battery = Battery(capacity=4, amounts=[1, 2, 3])
    gains = np.sort(generator.random(3)) * 2
    options = [
        LevelAction(SlotChoice(a, "x"), g, (a,), (1.0,))
        for a, g in zip((1.0, 2.0, 3.0), gains, strict=True)
    ]
    arrivals = Discrete([0, 1, 3], generator.dirichlet([1, 1, 1]))
    plan = best_plan(battery, options, arrivals)
    assert plan.value == pytest.approx(brute_force(battery, options, arrivals), abs=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_a_backlog_against_every_rule(seed):
    generator = np.random.default_rng(seed)
    backlog = Backlog(capacity=5, amounts=[1, 2], costs={"a": 0.2, "b": 0.7})
    options = []
    for arm, cost in backlog.costs.items():
        through = generator.random()
        options += [
            LevelAction(SlotChoice(a, arm), -cost, (0.0, a), (1 - through, through))
            for a in (1.0, 2.0)
        ]
    arrivals = Discrete([0, 2], [0.6, 0.4])
    plan = best_plan(backlog, options, arrivals, holding=0.05, losing=2.0)
    best = brute_force(backlog, options, arrivals, holding=0.05, losing=2.0)
    assert plan.value == pytest.approx(best, abs=1e-5)


def test_the_best_plan_of_an_environment_is_that_of_its_means():
    world = harvesting_battery(2.0)
    known = BatteryPlan(
        Genie(world.problem, states=world.states), world.buffer, arrivals=world.arrivals
    )
    plan = world.best_plan()
    levels = [i / 8 for i in range(17)]
    assert [known.decide(level) for level in levels] == [plan.at(level) for level in levels]


def test_a_larger_battery_is_never_worse_and_never_better_than_a_steady_supply():
    values = [harvesting_battery(capacity).best_plan().value for capacity in (1.0, 2.0, 4.0, 8.0)]
    assert values == sorted(values)
    world = harvesting_battery()
    powers = np.array([0.0, *world.buffer.amounts])
    worth = [
        max(
            law.expectation(lambda gain, p=p: np.log(1 + p * gain)) for law in world.states.values()
        )
        for p in powers
    ]
    # The worth is concave in the power, so no plan beats spending the mean arrival in each slot.
    assert values[-1] <= np.interp(0.2, powers, worth) < values[-1] * 1.01


def test_a_plan_holds_between_its_levels():
    plan = harvesting_battery(2.0).best_plan()
    assert plan.at(0.124) == SlotChoice(0.0, None)
    assert plan.at(0.3 - 0.1 - 0.075) == plan.at(0.125)  # rounding
    assert plan.at(99.0) == plan.decisions[-1]


@pytest.mark.parametrize(
    ("capacity", "arrivals", "told"),
    [
        (4.0, Uniform(0, 1), "arrivals with listed amounts"),
        (4.0, Discrete([0, np.pi], [0.5, 0.5]), "multiples of one step"),
        (1e6, Discrete([0, 1], [0.5, 0.5]), "at most 10,000 levels"),
    ],
)
def test_what_cannot_be_planned_is_refused(capacity, arrivals, told):
    battery = Battery(capacity=capacity, amounts=[1])
    with pytest.raises(ParameterError, match=told):
        best_plan(battery, [LevelAction(SlotChoice(1.0, "a"), 1.0, (1.0,), (1.0,))], arrivals)


def test_continuous_states_are_refused():
    world = BufferEnvironment(
        Problem(
            arms=["a"],
            context={"power": Finite([1])},
            state={"gain": Interval(0, 1)},
            reward="power * gain",
        ),
        states={"a": Uniform(0, 1)},
        buffer=Battery(capacity=2, amounts=[1]),
        arrivals=Discrete([0, 1], [0.5, 0.5]),
    )
    with pytest.raises(ParameterError, match="a plan needs listed states"):
        world.best_plan()
