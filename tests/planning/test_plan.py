"""Plans, from the problem to the proposal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from problems import channels, harvesting, mixed

import onepull
from onepull import DCB, Finite, Interval, ParameterError, Problem, simulate
from onepull.environment import channel_selection, energy_harvesting
from onepull.planning import plan
from onepull.planning.plan_tables import picture, plan_tables
from onepull.planning.random_instances import instance
from onepull.report import svg
from onepull.simulation.result import AT_ZERO

HARVESTING = energy_harvesting()
QUICK: dict[str, Any] = {"horizon": 1000, "replications": 4, "timing": False}


def test_regret_is_what_simulate_says():
    env = channel_selection()
    made = plan(env.problem, environment=env, seed=5, **QUICK)
    result = simulate(env, {"DCB": DCB(env.problem)}, horizon=1000, replications=4, seed=5)
    dcb = next(option for option in made.options if option.name == "DCB")
    assert dcb.regrets is not None
    assert dcb.regrets.tolist() == result.regret("DCB").tolist()
    assert dcb.bytes == 8 * DCB(env.problem).storage
    assert dcb.microseconds is None


def test_the_same_seed_makes_the_same_plan():
    for environment in (None, HARVESTING):
        plans = [
            plan(HARVESTING.problem, environment=environment, seed=seed, **QUICK).to_dict()
            for seed in (1, 1, 2)
        ]
        assert plans[0] == plans[1]
        assert plans[0] != plans[2]


def test_an_interval_that_would_go_below_zero_is_announced():
    env = channel_selection(4)
    given: dict[str, Any] = {"environment": env, "horizon": 1000, "timing": False}
    few = plan(env.problem, replications=2, **given)
    assert min(option.interval[0] for option in few.options if option.interval) == 0
    assert AT_ZERO in few.notes
    assert AT_ZERO in str(few)
    many = plan(env.problem, replications=20, **given)
    assert min(option.interval[0] for option in many.options if option.interval) > 0
    assert AT_ZERO not in many.notes


def test_a_proposal_can_be_built_as_it_is_written():
    made = plan(HARVESTING.problem, environment=HARVESTING, **QUICK)
    assert made.proposed is not None
    names = {name: getattr(onepull, name) for name in onepull.__all__}
    built = eval(made.proposed.call, {**names, "problem": made.problem})  # noqa: S307 - our own
    assert built.parameters == made.proposed.parameters
    assert 8 * built.storage_after(made.proposed.trial) == made.proposed.bytes


def test_a_finer_grid_pays_where_the_reward_is_steep():
    problem = Problem(
        arms=["small", "large"],
        context={"size": Interval(0, 1)},
        state={"capacity": Interval(0, 1)},
        reward="size * clip(200 * (capacity - size), 0, 1)",
    )
    made = plan(problem, horizon=20_000, replications=6, timing=False)
    regrets = {
        option.label: option.regret or 0.0 for option in made.options if option.kind == "CCB"
    }
    assert regrets["T^-2/3"] < regrets["T^-1/2"] < regrets["T^-1/3"] < regrets["1 cell"]


def test_unknown_arms_are_drawn_and_the_plan_says_so():
    made = plan(channels(), **QUICK)
    assert any("No environment was given" in note for note in made.notes)
    assert all(option.regrets is not None and len(option.regrets) == 4 for option in made.options)
    known = plan(HARVESTING.problem, environment=HARVESTING, **QUICK)
    assert not any("No environment was given" in note for note in known.notes)


def test_an_instance_keeps_to_the_problem():
    problem = Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 2]), "z": Interval(0, 1)},
        state={"x": Finite([0, 3]), "w": Interval(-1, 1)},
        reward="x * y + w * z",
    )
    made = instance(problem, np.random.default_rng(1))
    points = made.contexts.sample(np.random.default_rng(2), 100)
    assert set(points[:, 0]) == {1.0, 2.0}
    for law in made.states.values():
        states = law.sample(np.random.default_rng(2), 100)
        assert set(states[:, 0]) <= {0.0, 3.0}
        assert np.all(np.abs(states[:, 1]) <= 1)
    assert repr(made.states["a"]) != repr(made.states["b"])


def test_arms_cannot_be_drawn_from_an_unbounded_space():
    with pytest.raises(
        ParameterError, match=r"'rate' is .*inf.*describe the environment, or bound"
    ):
        plan(mixed(), **QUICK)


def test_without_a_horizon_there_are_several():
    made = plan(HARVESTING.problem, environment=HARVESTING, replications=2)
    assert made.judged == 100_000
    assert {option.trial for option in made.options} == {10_000, 100_000, 1_000_000}
    for option in made.options:
        assert (option.regret is None) == (option.trial > 100_000)
        assert (option.microseconds is None) == (option.trial != 100_000)
    doubling = [o for o in made.options if o.name == "DoublingCCB T^-1/2"]
    assert doubling[0].bytes < doubling[1].bytes < doubling[2].bytes
    assert all(option.trial == 100_000 for option in made.compared)
    assert any("horizon is unknown" in note for note in made.notes)
    assert made.proposed in made.compared


def test_what_is_too_long_to_simulate_is_simulated_in_part(monkeypatch):
    monkeypatch.setattr("onepull.planning.planner.SIMULATED_TRIALS", 500)
    made = plan(channels(), **QUICK)
    assert made.judged == 500
    assert [o.trial for o in made.options if o.name == "DCB"] == [500, 1000]
    assert any("compared at trial 500; simulations end there" in note for note in made.notes)
    with pytest.raises(ParameterError, match="needs a horizon of at most 500"):
        plan(channels(), regret=10, **QUICK)


def test_progress_comes_to_its_end():
    seen = []
    plan(channels(), horizon=100, replications=3, progress=lambda *told: seen.append(told))
    assert [told[2:] for told in seen if told[0] == "simulating"] == [(1, 3), (2, 3), (3, 3)]
    assert seen[-1] == ("timing decisions", 0, 5, 5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"horizon": 0},
        {"horizon": 2.5},
        {"horizon": 3},  # fewer than arms
        {"storage": 0},
        {"storage": 1.5},
        {"regret": 0},
        {"regret": math.nan},
        {"replications": 1},
        {"seed": -1},
        {"environment": HARVESTING},  # of another problem
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(ParameterError):
        plan(channels(), **{**QUICK, **wrong})


def test_tables_have_a_row_for_each_option():
    made = plan(harvesting(), storage=100, **QUICK)
    (table,) = plan_tables(made)
    assert [row["policy"] for row in table.records()] == [o.name for o in made.options]
    assert "µs" not in table.columns
    assert table.notes == made.notes
    html = made._repr_html_()
    assert html.count("background:rgba") == 1  # the proposed row
    assert all(f">{option.name}</td>" in html for option in made.options)


def test_the_sentence_under_the_table():
    assert plan(channels(), storage=1, **QUICK).proposal().startswith("No option fits in 1 bytes")
    told = plan(channels(), storage=112, **QUICK).proposal()
    assert told.startswith("Proposed: UCB1(problem")
    assert told.endswith("it ignores the context, so its regret keeps growing linearly.")


def test_a_picture_names_every_option():
    made = plan(HARVESTING.problem, environment=HARVESTING, **{**QUICK, "timing": True})
    drawn = svg(picture(made, "harvesting"))
    for text in ("harvesting", "CCB, bound", "UCB1", "4 cells", "T^-1/3", "T^-2/3", "proposed",
                 "bytes kept", "regret by trial 1,000", "µs a decision"):  # fmt: skip
        assert f">{text}<" in drawn
    assert "µs a decision" not in svg(
        picture(plan(HARVESTING.problem, environment=HARVESTING, **QUICK))
    )
    assert drawn == svg(picture(made, "harvesting"))


def test_a_picture_of_what_loses_nothing():
    alone = channels().with_arms(["only"])
    made = plan(alone, **QUICK)
    assert all(option.regret == 0 for option in made.options)
    assert made.proposed is not None
    assert made.proposed.name == "UCB1"
    assert ">proposed<" in svg(picture(made))


def test_what_is_cut_too_finely_is_left_out_and_the_plan_says_so(monkeypatch):
    monkeypatch.setattr("onepull.planning.grid_sizes.MOST_GRID_CELLS", 50)
    made = plan(harvesting(), **QUICK)
    assert "CCB T^-2/3" not in {option.name for option in made.options}
    assert any("Left out: δ = T^-2/3 of the width" in note for note in made.notes)


def test_what_is_no_problem_is_refused():
    with pytest.raises(ParameterError, match="problem must be a Problem, given"):
        plan(channel_selection())  # type: ignore[arg-type]  # an environment
