"""The ladder of weights fits the buffer, and what is proposed follows from the runs."""

from __future__ import annotations

import numpy as np
import pytest

import onepull
from onepull import Discrete, Finite, Genie, Problem, simulate_buffer
from onepull.control import (
    Backlog,
    Battery,
    BufferEnvironment,
    DriftPlusPenalty,
    Myopic,
    harvesting_battery,
    metered_backlog,
)
from onepull.distributions import Uniform
from onepull.errors import ParameterError
from onepull.planning import buffer_planner as stored
from onepull.planning.buffer_planner import attainable, plan_buffer
from onepull.planning.buffer_proposal import propose_controller
from onepull.planning.buffer_weights import weights
from onepull.simulation.buffered import BufferResult

POWERS = [0.5, 1.0, 1.5, 2.0]


def battery(generator, *, scale=1.0, capacity=8.0, arrivals=None):
    """Return a world with random gains, where a unit arrives in most slots."""
    gains = sorted(generator.choice(np.arange(1, 20), size=3, replace=False).tolist())
    laws = {
        arm: Discrete([0, *gains], generator.dirichlet(np.ones(4)).tolist()) for arm in ("a", "b")
    }
    problem = Problem(
        arms=["a", "b"],
        context={"power": Finite(POWERS)},
        state={"gain": Finite([0, *gains])},
        reward=f"{scale} * log(1 + power * gain)",
    )
    return BufferEnvironment(
        problem,
        states=laws,
        buffer=Battery(capacity=capacity, amounts=POWERS),
        arrivals=arrivals or Discrete([0, 2], [0.4, 0.6]),
    )


@pytest.mark.parametrize("seed", range(10))
def test_each_weight_draws_what_arrives_at_its_level(seed):
    # 1.2 arrive on average, between the powers 1 and 1.5: at the level that a weight stands for,
    # the rule goes from one to the other.
    world = battery(np.random.default_rng(seed))
    genie, capacity = Genie(world.problem, states=world.states), world.buffer.capacity
    ladder = weights(world)
    for weight in ladder:
        level = capacity * weight / ladder[-1]
        if not 1.6 <= level <= 7.5:  # the powers around must be there, and so must the level
            continue
        control = DriftPlusPenalty(genie, world.buffer, weight=weight)
        assert control.decide(0.97 * level).amount <= 1.0
        assert control.decide(1.03 * level).amount >= 1.5


@pytest.mark.parametrize("seed", range(5))
def test_the_ladder_follows_the_units(seed):
    ladder = weights(battery(np.random.default_rng(seed)))
    assert ladder == sorted(ladder)
    thrice = weights(battery(np.random.default_rng(seed), scale=3.0))
    assert thrice == pytest.approx([weight / 3 for weight in ladder], rel=0.01)
    larger = weights(battery(np.random.default_rng(seed), capacity=80.0))
    assert larger[-1] == pytest.approx(10 * ladder[-1], rel=0.01)
    assert len(larger) == 8


def test_the_ladder_of_the_two_worlds_has_what_was_found_best_by_hand():
    low, *_, high = weights(harvesting_battery())
    assert low < 4 < high  # of 1, 2, 4, 8 and 16, on docs/queues.md
    # Channels 1 and 2 carry 0.7 and 1.2 bits at 0.25 and 0.5, and 0.8 arrive: the first bit
    # costs 0.25/0.7, one at the margin 0.25/0.5.
    high = weights(metered_backlog())[-1]
    assert high == pytest.approx(100 / (0.25 / 0.5 - 0.25 / 0.7), rel=0.01)


def test_a_ladder_where_nothing_is_to_be_weighed():
    problem = Problem(
        arms=["a"], context={"bits": Finite([1])}, state={"x": Finite([0, 1])},
        reward="min(bits, x)",
    )  # fmt: skip
    coin = Discrete([0, 1], [0.5, 0.5])
    for costs in ({}, {"a": 2.0}):
        queue = Backlog(capacity=8, amounts=[1], costs=costs)
        ladder = weights(
            BufferEnvironment(problem, states={"a": coin}, buffer=queue, arrivals=coin)
        )
        assert all(np.isfinite(weight) and weight > 0 for weight in ladder)
    dead = {"a": Discrete([0], [1.0])}
    with pytest.raises(ParameterError, match="no arm ever drains the buffer"):
        weights(BufferEnvironment(problem, states=dead, buffer=queue, arrivals=coin))


def test_what_is_called_is_what_was_run():
    world = battery(np.random.default_rng(3))
    made = plan_buffer(world, horizon=150, replications=2, seed=4)
    here = {
        **vars(onepull.control), "recommended": onepull.recommended, "problem": world.problem,
        "buffer": world.buffer, "arrivals": world.arrivals,
    }  # fmt: skip
    called = {name: eval(call, here) for name, call in made.calls.items()}  # noqa: S307 - our own
    again = simulate_buffer(world, called, horizon=150, replications=2, seed=4)
    for measure, values in again.measured.items():
        assert np.array_equal(made.result.measured[measure], values)
    assert list(made.calls) == made.result.controllers
    assert {"Myopic", "BatteryPlan"} <= set(made.calls)
    assert made.best == world.best_plan().value
    assert made.proposal().startswith(f"Proposed: {made.call}\nIt has the highest reward, ")
    assert made._repr_html_().count("background:rgba") == 1  # the proposed row
    shown = made.table().records()
    assert [row["controller"] for row in shown] == [*made.calls, "the best there is"]


def test_where_no_plan_can_be_made_the_notes_say_why():
    world = battery(np.random.default_rng(3), arrivals=Uniform(0, 2))
    made = plan_buffer(world, horizon=60, replications=2)
    assert "BatteryPlan" not in made.calls
    assert made.best is None
    assert any("BatteryPlan was left out: a plan needs arrivals" in note for note in made.notes)
    assert "listed amounts" in attainable(world)[1][0]
    large = battery(np.random.default_rng(3), capacity=3000.0)
    assert "6,001 levels would take too long" in attainable(large)[1][0]


def test_horizons(monkeypatch):
    world = metered_backlog()
    made = plan_buffer(world, horizon=40, replications=2)
    assert (made.result.horizon, made.result.replications) == (40, 2)
    assert not any("imulated" in note for note in made.notes)
    monkeypatch.setattr(stored, "SIMULATED_SLOTS_UNKNOWN", 30)
    made = plan_buffer(world, replications=2)
    assert made.result.horizon == 30
    assert "No horizon was given; the simulations end at slot 30." in made.notes
    monkeypatch.setattr(stored, "SIMULATED_SLOTS", 20)
    made = plan_buffer(world, horizon=40, replications=2)
    assert made.result.horizon == 20
    assert "The simulations end at slot 20." in made.notes
    assert attainable(world) == (None, [])


def test_what_is_asked_is_checked():
    with pytest.raises(ParameterError, match="a battery is judged by its reward"):
        plan_buffer(harvesting_battery(), level=3)
    with pytest.raises(ParameterError, match="level must be a number > 0, given -1"):
        plan_buffer(metered_backlog(), level=-1)
    with pytest.raises(ParameterError, match="lost must be a share from 0 to 1, given 5"):
        plan_buffer(metered_backlog(), lost=5)
    with pytest.raises(ParameterError, match="replications must be a whole number from 2"):
        plan_buffer(metered_backlog(), replications=1)


# The rule, on runs made up


def made_up(**columns):
    """Return a result with the given runs of each controller; nothing lost, one unit arriving."""
    names = list(next(iter(columns.values())))
    measured = {m: np.array([runs[n] for n in names], float) for m, runs in columns.items()}
    shape = next(iter(measured.values())).shape
    zeros, ones = np.zeros(shape), np.ones(shape)
    return BufferResult(names, 10, {"lost": zeros, "level": ones, "arrived": ones, **measured})


def test_the_highest_reward_wins():
    result = made_up(reward={"Myopic": [1, 1.1, 1], "V": [2, 2.1, 2], "plan": [1.5, 1.6, 1.5]})
    chosen, why = propose_controller(result, "reward", {})
    assert chosen == "V"
    assert why.startswith("it has the highest reward, 2.033")


def test_of_what_differs_by_noise_the_first_is_taken():
    result = made_up(reward={"Myopic": [1, 1, 1], "V": [1.99, 2.02, 2], "plan": [2.01, 2, 2.02]})
    chosen, why = propose_controller(result, "reward", {})
    assert chosen == "V"
    assert "is within noise of the highest" in why
    # What is clearly worse run by run is not excused, however little it is.
    result = made_up(reward={"V": [1.99, 2.09, 1.89], "plan": [2.0, 2.1, 1.9]})
    assert propose_controller(result, "reward", {})[0] == "plan"
    # And noise does not excuse everything.
    result = made_up(reward={"V": [1, 3, 1.5], "plan": [3, 1, 2.5]})
    assert propose_controller(result, "reward", {})[0] == "plan"


def test_the_lowest_cost_within_the_limits_wins():
    columns = {
        "cost per bit": {
            "Myopic": [3, 3.1],
            "V=1": [2, 2.01],
            "V=2": [1, 1.01],
            "V=3": [0.5, 0.51],
        },
        "lost": {"Myopic": [0, 0], "V=1": [0, 0], "V=2": [0, 0], "V=3": [0.1, 0.1]},
        "level": {"Myopic": [1, 1], "V=1": [2, 2], "V=2": [9, 9], "V=3": [20, 20]},
    }
    result = made_up(**columns)
    assert propose_controller(result, "cost per bit", {"lost": 0.001})[0] == "V=2"
    assert propose_controller(result, "cost per bit", {"lost": 0.2})[0] == "V=3"
    chosen, why = propose_controller(result, "cost per bit", {"lost": 0.001, "level": 5.0})
    assert chosen == "V=1"
    assert "that lose at most 0.1 % of the arrivals and hold at most 5 with 95 %" in why
    assert why.endswith("; 2 wait on average")
    chosen, why = propose_controller(result, "cost per bit", {"lost": 0.001, "level": 0.5})
    assert chosen is None
    assert why.endswith("Myopic comes closest: it loses 0 % and holds 1 on average")


def test_a_limit_is_kept_with_confidence_or_not_at_all():
    columns = {
        "cost per bit": {"Myopic": [3, 3], "V=1": [1, 1]},
        "level": {"Myopic": [1, 1], "V=1": [4, 5.9]},  # 4.95 on average, and maybe 17
    }
    assert (
        propose_controller(made_up(**columns), "cost per bit", {"lost": 0, "level": 5.0})[0]
        == "Myopic"
    )


def test_what_never_sends_is_not_proposed():
    result = made_up(**{"cost per bit": {"Myopic": [3, 3.1], "V": [np.nan, np.nan]}})
    assert propose_controller(result, "cost per bit", {"lost": 0.001})[0] == "Myopic"


def test_myopic_is_proposed_where_weighing_gains_nothing():
    problem = Problem(
        arms=["a"], context={"power": Finite([1])}, state={"x": Finite([0, 1])},
        reward="power * x",
    )  # fmt: skip
    world = BufferEnvironment(
        problem,
        states={"a": Discrete([0, 1], [0.5, 0.5])},
        buffer=Battery(capacity=4, amounts=[1]),
        arrivals=Discrete([0, 1], [0.5, 0.5]),
    )
    made = plan_buffer(world, horizon=200, replications=3)
    assert made.call == "Myopic(recommended(problem), buffer)"
    assert isinstance(eval(made.call, {  # noqa: S307 - our own
        "Myopic": Myopic, "recommended": onepull.recommended, "problem": problem,
        "buffer": world.buffer,
    }), Myopic)  # fmt: skip
