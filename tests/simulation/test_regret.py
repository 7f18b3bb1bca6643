"""What is counted as regret, on average and realised, and traces of single runs."""

from __future__ import annotations

import numpy as np
import pytest

from onepull import CCB, DCB, UCB1, DoublingCCB, FixedArm, Genie, Greedy, MultiUCB, Random
from onepull.environment import channel_selection, energy_harvesting, offloading
from onepull.simulation import Simulation
from onepull.simulation.draws import keys, show
from onepull.simulation.law_tables import tabulate

HORIZON = 20_000  # more than one stretch


def simulation(environment, policies, **keywords):
    keywords = {"horizon": HORIZON, "seed": 5, **keywords}
    return Simulation(environment, policies, **keywords)


def channels():
    environment = channel_selection(7)
    problem = environment.problem
    return environment, {"DCB": DCB(problem), "UCB1": UCB1(problem), "Random": Random(problem)}


def harvesting():
    environment = energy_harvesting()
    problem = environment.problem
    return environment, {
        "CCB": CCB(problem, delta=0.01),
        "doubling": DoublingCCB(problem),
        "Multi-UCB": MultiUCB(problem, delta=0.1),
    }


@pytest.mark.parametrize("make", [channels, harvesting])
@pytest.mark.parametrize("realised", [False, True])
def test_a_trace_adds_up_to_what_the_checkpoints_say(make, realised):
    environment, policies = make()
    stated = simulation(environment, policies, realised=realised)
    block, trace = stated.block(3, 4), stated.trace(3)
    at = stated.checkpoints - 1
    np.testing.assert_allclose(trace.regrets[:, at], block.regrets[:, 0], rtol=1e-12, atol=1e-9)
    arms = len(environment.problem.arms)
    for p in range(len(policies)):
        pulls = [np.bincount(trace.arms[p, : n + 1], minlength=arms) for n in at]
        np.testing.assert_array_equal(pulls, block.pulls[p])


@pytest.mark.parametrize("make", [channels, harvesting])
def test_realised_regret_is_reward_foregone_at_the_same_draws(make):
    environment, policies = make()
    stated = simulation(environment, policies, realised=True, horizon=300)
    trace = stated.trace(2)
    key, _ = keys(5, 0, 2)
    laws = tabulate(list(environment.states.values()))
    best = environment.gaps(trace.contexts).argmin(axis=1)
    count, shown = len(environment.states), np.zeros(1)
    for p in range(len(policies)):
        total = 0.0
        for trial, context in enumerate(trace.contexts):
            rewards = []
            for arm in (best[trial], trace.arms[p, trial]):
                show(laws, arm, key, trial * (count + 1) + 1 + arm, trial, shown)
                rewards.append(environment.problem.payoff.scalar(*context, *shown))
            total += rewards[0] - rewards[1]
            assert trace.regrets[p, trial] == pytest.approx(total, abs=1e-9)


def test_choices_do_not_depend_on_what_is_counted():
    environment, policies = channels()
    average = simulation(environment, policies).trace(0)
    realised = simulation(environment, policies, realised=True).trace(0)
    np.testing.assert_array_equal(average.arms, realised.arms)
    assert not np.array_equal(average.regrets, realised.regrets)


def test_realised_regret_is_right_on_average():
    environment = channel_selection(7)
    policies = {"fixed": FixedArm(environment.problem, arm="channel 6")}
    results = [
        stated.result([stated.block(0, 40)]).regret("fixed")
        for stated in (
            simulation(environment, policies, realised=flag, horizon=2000) for flag in (False, True)
        )
    ]
    # Paired runs of 2000 trials with differences of at most 6: the mean of 40 has a standard
    # error below 6·√2000/√40 ≈ 42; six of them, 2e-9.
    assert abs(results[0].mean() - results[1].mean()) < 6 * 42


def test_the_genie_loses_nothing_either_way():
    environment = offloading()
    policies = {
        "genie": Genie(environment.problem, states=environment.states),
        "greedy": Greedy(environment.problem),
    }
    for realised in (False, True):
        stated = simulation(environment, policies, realised=realised, horizon=500)
        assert stated.trace(0).regrets[0, -1] == 0


def test_realised_regret_is_said_to_be_so():
    environment, policies = channels()
    stated = simulation(environment, policies, realised=True, horizon=50)
    assert any("realised" in note for note in stated.notes)
    assert not simulation(environment, policies, horizon=50).notes
