"""A simulation with a budget: who is cut off when, what regret is, and how policies fare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from budgets import metered
from problems import harvesting

from onepull import DCB, UCBALP, Discrete, Environment, FixedArm, Genie, Random, simulate
from onepull.distributions import Uniform
from onepull.environment import metered_channels
from onepull.simulation import Simulation
from onepull.simulation import simulation as simulation_module
from onepull.simulation.budget import Purse

HORIZON = 400


def world(budget=120.0):
    return metered(budget, contexts=2)


def planned(environment, horizon=HORIZON, **stated):
    assert environment.budget is not None
    return UCBALP(
        environment.problem,
        costs=environment.costs,
        budget=environment.budget,
        horizon=horizon,
        **stated,
    )


def policies(environment):
    problem = environment.problem
    return {
        "DCB": DCB(problem),
        "lte": FixedArm(problem, arm="lte"),
        "wifi": FixedArm(problem, arm="wifi"),
        "Random": Random(problem),
        "Genie": Genie(problem, states=environment.states),
        "DCB in the interpreter": DCB(problem, seed=1),
        "UCBALP": planned(environment),
    }


def without(environment):
    """Return the same world where nothing costs anything."""
    return Environment(
        environment.problem, states=environment.states, contexts=environment.contexts
    )


def test_arms_are_those_without_a_budget_until_it_cannot_pay():
    environment = world()
    limited = Simulation(environment, policies(environment), horizon=HORIZON, seed=3).trace(0)
    free = Simulation(without(environment), policies(environment), horizon=HORIZON, seed=3).trace(0)
    assert np.array_equal(limited.contexts, free.contexts)
    for name, arms, chosen in zip(limited.policies, limited.arms, free.arms, strict=True):
        left, expected = 120.0, []
        for arm in chosen:
            left -= float(arm)  # lte is arm 1 and costs 1
            expected.append(arm if left >= 0 and -1 not in expected else -1)
        assert arms.tolist() == expected, name
    ends = {
        name: (arms >= 0).sum() for name, arms in zip(limited.policies, limited.arms, strict=True)
    }
    assert ends["lte"] == 120
    assert ends["wifi"] == ends["UCBALP"] == HORIZON
    assert 120 < ends["DCB"] < HORIZON


def test_regret_is_the_best_mixtures_reward_less_the_arms():
    environment = world()
    best = environment.best_mix(HORIZON).value
    means = np.array([[0.3, 0.4, 0.0], [0.3, 0.8, 0.0]])  # the last is nothing, as arm -1
    simulation = Simulation(environment, policies(environment), horizon=HORIZON, seed=3)
    trace = simulation.trace(1)
    earned = means[trace.contexts[:, 0].astype(int) - 1, trace.arms]
    assert trace.regrets == pytest.approx(np.cumsum(best - earned, axis=1))
    assert trace.regrets.min() < 0  # who spends ahead gains on it for a while
    block = simulation.block(1, 2)
    assert block.regrets[:, 0, -1] == pytest.approx(trace.regrets[:, -1])


def test_pulls_are_counted_and_nothing_is_not():
    environment = world()
    result = simulate(
        environment, policies(environment), horizon=HORIZON, replications=2, seed=3,
        checkpoints=[100, 150],
    )  # fmt: skip
    pulls = result.pulls[result.find("lte")]
    assert pulls.tolist() == [[0, 100], [0, 120], [0, 120]]
    best = result.best_pulls[result.find("lte")]
    assert best.tolist() == pulls.tolist()  # it is best everywhere, whatever it costs
    spent = result.pulls[:, -1, 1]
    assert np.all(spent <= 120)
    assert result.pulls.sum(axis=2).max() == HORIZON


def test_stretches_do_not_matter(monkeypatch):
    environment = world()
    simulation = Simulation(environment, policies(environment), horizon=HORIZON, seed=3)
    whole = simulation.block(0, 2)
    monkeypatch.setattr(simulation_module, "STRETCH", 37)
    cut = simulation.block(0, 2)
    assert cut.regrets == pytest.approx(whole.regrets, abs=1e-9)
    assert np.array_equal(cut.pulls, whole.pulls)


def test_realised_regret_is_the_same_on_average():
    # The two differ by noise of mean zero: 40 runs of 400 trials with a standard deviation
    # below 0.5 a trial make one of 10 a run, and 1.6 of the mean; 5 of these fail one time
    # in a million.
    environment = world()
    told: dict[str, Any] = {"horizon": HORIZON, "replications": 40, "seed": 3}
    chosen = {name: policies(environment)[name] for name in ("DCB", "lte", "wifi")}
    expected = simulate(environment, chosen, **told)
    drawn = simulate(environment, chosen, **told, realised=True)
    difference = (drawn.regrets - expected.regrets)[:, :, -1]
    assert np.abs(difference.mean(axis=1)).max() < 5 * 1.6
    assert difference.std(axis=1).min() > 1


def test_notes_say_what_regret_is_against():
    environment = world()
    chosen = {"wifi": FixedArm(environment.problem, arm="wifi")}
    notes = Simulation(environment, chosen, horizon=HORIZON).notes
    assert notes == ["regret is against the best mixture for the budget, worth 0.45 per trial"]


def test_continuous_contexts():
    problem = harvesting(2)
    environment = Environment(
        problem,
        states={"channel-1": Discrete([0], [1.0]), "channel-2": Uniform(2, 4)},
        contexts=Uniform(0, 1),
        costs={"channel-2": 1.0},
        budget=200.0,
    )
    arms = {arm: FixedArm(problem, arm=arm) for arm in problem.arms}
    simulation = Simulation(environment, arms, horizon=HORIZON, seed=1)
    assert "computed at 256 contexts, to within about" in simulation.notes[1]
    trace = simulation.trace(0)
    best = environment.best_mix(HORIZON).value
    assert trace.regrets[0, -1] == pytest.approx(best * HORIZON)
    rewards = environment.expected_rewards(trace.contexts[:200])[:, 1].sum()
    assert trace.regrets[1, -1] == pytest.approx(best * HORIZON - rewards, abs=1e-6)


def test_a_purse_pays_to_the_last_tenth_and_never_again():
    purse = Purse(np.array([0.0, 0.1]), 0.3)
    first, second, third = (np.array(arms) for arms in ([1, 0, 1], [0, 1, 1, 0], [0, 0]))
    for arms in (first, second, third):
        purse.pay(arms)
    assert (first.tolist(), second.tolist()) == ([1, 0, 1], [0, 1, -1, -1])
    assert third.tolist() == [-1, -1]


# Known behaviour


def test_planning_is_sublinear_joint_learning_beats_per_context_and_dcb_runs_out():
    # Measured over the seeds 1 to 6: 1.6 ± 0.4 joint, 11.8 ± 0.6 per context, of which 4.6 ± 0.9
    # in the first eighth, and 87.8 ± 0.8 for DCB.  The second check is three of its spreads
    # off, the others more than six: it would fail for about one seed in 1000.
    horizon, budget = 800, 240.0
    environment = metered(budget, contexts=10)
    chosen = {
        "joint": planned(environment, horizon, sharing="joint"),
        "per-context": planned(environment, horizon),
        "DCB": DCB(environment.problem),
    }
    result = simulate(
        environment, chosen, horizon=horizon, replications=6, seed=1, checkpoints=[horizon // 8]
    )
    early, late = result.regrets.mean(axis=1).T
    joint, apart, unaware = range(3)
    assert late[joint] < 0.5 * late[apart]
    assert (late[apart] - early[apart]) / 7 < 0.8 * early[apart]
    assert late[unaware] > 5 * late[apart]
    assert np.all(result.pulls[:, -1, 1] <= budget)
    assert result.pulls[unaware, -1].sum() < horizon
    assert result.pulls[:unaware, -1].sum(axis=1).tolist() == [horizon, horizon]


def test_channels_on_a_budget_are_worth_planning():
    # Measured 20 ± 1.5 against 42 ± 1: more than ten spreads apart.
    horizon = 1000
    environment = metered_channels(0.35 * horizon, 2)
    chosen = {
        "UCBALP": planned(environment, horizon, sharing="joint"),
        "DCB": DCB(environment.problem),
    }
    result = simulate(environment, chosen, horizon=horizon, replications=6, seed=1)
    assert result.regret("UCBALP").mean() < result.regret("DCB").mean()
