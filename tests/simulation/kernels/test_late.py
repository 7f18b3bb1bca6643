"""Late and missing feedback in the simulator: when it comes, to whom, and what it costs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from onepull import (
    CCB,
    DCB,
    DSEE,
    IMED,
    KLUCB,
    UCB1,
    CoarseKL,
    Discrete,
    DoublingCCB,
    EmpiricalKL,
    Environment,
    EpsilonGreedy,
    Finite,
    Genie,
    Greedy,
    Interval,
    LinUCB,
    MultiUCB,
    Policy,
    Problem,
    Random,
    UpperConfidence,
    simulate,
)
from onepull.distributions import Exponential, Failing, InOrder, Switching, Uniform
from onepull.environment import channel_selection, energy_harvesting
from onepull.errors import ParameterError
from onepull.simulation import Simulation, prepare
from onepull.simulation.draws import keys
from onepull.simulation.feedback_queue import NEVER, comes_at, post_of
from onepull.simulation.prepare import Interpreted

HORIZON = 600


def late(environment, **stated):
    return environment.with_late_feedback(**stated)


def learners(problem):
    return {
        "DCB": DCB(problem),
        "UCB1": UCB1(problem),
        "MultiUCB": MultiUCB(problem),
        "Greedy": Greedy(problem),
        "DSEE": DSEE(problem, weight=3.0),
        "KLUCB": KLUCB(problem),
        "EmpiricalKL": EmpiricalKL(problem),
        "IMED": IMED(problem),
        "EpsilonGreedy": EpsilonGreedy(problem, gap=0.5),
    }


def traced(environment, policies, **stated):
    return Simulation(environment, policies, horizon=HORIZON, seed=3, **stated).trace(1)


def in_the_interpreter(monkeypatch):
    monkeypatch.setattr(prepare, "prepare_late", lambda *_, **__: None)


def generic():
    """Return continuous contexts and states, so that every reward is worked out."""
    problem = Problem(
        arms=["a", "b", "c"],
        context={"y": Interval(0, 1)},
        state={"x": Interval(0, 3)},
        reward="log(1 + y * x)",
    )
    laws = {"a": Uniform(0, 2), "b": Uniform(0.5, 1.7), "c": Uniform(0, 3)}
    return Environment(problem, states=laws, contexts=Uniform(0, 1))


def test_hand_computed_arrivals():
    # Delays 2, 0, 1, 3 in turn; the pull of trial t comes before trial t + 1 + delay.
    environment = late(channel_selection(2), delays=InOrder([2, 0, 1, 3]))
    post, (key, _), delay = post_of(environment), keys(0, 0, 0), np.zeros(1)
    assert [comes_at(post, key, t, 0, delay) for t in range(6)] == [3, 2, 4, 7, 7, 6]


def test_delays_are_rounded_down():
    environment = late(channel_selection(2), delays=2.9)
    post, (key, _) = post_of(environment), keys(0, 0, 0)
    assert comes_at(post, key, 10, 1, np.zeros(1)) == 13
    assert not late(channel_selection(2), delays=0.9).is_late


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("delay", [1, 7])
def test_each_arm_is_pulled_until_its_first_answer(delay, compiled, monkeypatch):
    if not compiled:
        in_the_interpreter(monkeypatch)
    environment = late(channel_selection(4), delays=delay)
    trace = traced(environment, {"DCB": DCB(environment.problem)})
    start = np.repeat(np.arange(4), delay + 1)
    assert trace.arms[0, : len(start)].tolist() == start.tolist()


@pytest.mark.parametrize("compiled", [True, False])
def test_announced_pulls_go_around_until_the_first_answer(compiled, monkeypatch):
    if not compiled:
        in_the_interpreter(monkeypatch)
    environment = late(channel_selection(4), delays=15)
    policies = {"DCB": DCB(environment.problem), "KL": EmpiricalKL(environment.problem)}
    trace = traced(environment, policies, announced=list(policies))
    for arms in trace.arms:
        assert arms[:16].tolist() == [0, 1, 2, 3] * 4


def test_what_comes_together_comes_in_the_order_of_the_pulls():
    # Delays 3, 2, 1, 0 in turn: four pulls come before every fourth trial.
    environment = late(channel_selection(2), delays=InOrder([3, 2, 1, 0]))
    problem = environment.problem
    seen = []

    class Diary(DCB):
        def observe(self, arm, *nameless, **fields):
            seen.append(fields["bits"])
            super().observe(arm, *nameless, **fields)

    simulation = Simulation(environment, {"Diary": Diary(problem)}, horizon=40, seed=3)
    trace = simulation.trace(0)
    assert seen == trace.contexts[:36, 0].tolist()


def served():
    """Return requests that two of the arms always serve, so that their bounds tie."""
    problem = Problem(
        arms=["a", "b", "c"],
        context={"bits": Finite([1, 3])},
        state={"capacity": Finite([0, 1, 2, 3])},
        reward="capacity >= bits",
    )
    laws = {
        "a": Discrete([0, 3], [0.3, 0.7]),
        "b": Discrete([1, 2, 3], [0.3, 0.3, 0.4]),
        "c": Discrete([1, 3], [0.5, 0.5]),
    }
    return Environment(problem, states=laws, contexts=Discrete([1, 3], [0.6, 0.4]))


@pytest.mark.parametrize("make", [lambda: channel_selection(4), generic, energy_harvesting, served])
@pytest.mark.parametrize("announced", [False, True])
def test_kernels_do_what_the_library_does(make, announced, monkeypatch):
    environment = late(make(), delays=Exponential(12), losses=0.15)
    problem = environment.problem
    policies: dict[str, Policy] = (
        {k: v for k, v in learners(problem).items() if k != "EpsilonGreedy"}
        if "bits" in problem.context
        else {
            "CCB": CCB(problem, delta=0.1),
            "many cells": CCB(problem, delta=0.01),
            "low rank": UpperConfidence(problem, sharing="low-rank"),
            "MultiUCB": MultiUCB(problem, delta=0.2),
            "UCB1": UCB1(problem),
            "sketch": EmpiricalKL(problem, knots=9),
        }
    )
    told = list(policies) if announced else []
    quick = traced(environment, policies, announced=told)
    in_the_interpreter(monkeypatch)
    slow = traced(environment, policies, announced=told)
    for name, one, two in zip(policies, quick.arms, slow.arms, strict=True):
        assert one.tolist() == two.tolist(), name


def priced(rates):
    """Return arms with a price, whose pulls may fail."""
    problem = Problem(
        arms={"a": {"price": 0.5}, "b": {"price": 0.25}, "c": {"price": 3.0}},
        context={"size": Finite([1, 2])},
        state={"rate": rates},
        reward="min(size, rate) * (1 + price) - price",
        failure="-1 - price * size",
    )
    some = Uniform(0, 2) if isinstance(rates, Interval) else Discrete([0, 1, 2], [0.3, 0.3, 0.4])
    laws = {"a": Failing(some, 0.2), "b": some, "c": Failing(some, 0.4)}
    return Environment(problem, states=laws, contexts=Discrete([1, 2], [0.5, 0.5]))


@pytest.mark.parametrize("rates", [Finite([0, 1, 2]), Interval(0, 2)])
@pytest.mark.parametrize("announced", [False, True])
def test_arms_with_attributes_are_compiled_too(rates, announced, monkeypatch):
    environment = late(priced(rates), delays=Exponential(12), losses=0.15)
    problem = environment.problem
    policies: dict[str, Policy] = {
        "DCB": DCB(problem),
        "UCB1": UCB1(problem),
        "MultiUCB": MultiUCB(problem),
        "EmpiricalKL": EmpiricalKL(problem, knots=9 if isinstance(rates, Interval) else None),
    }
    told = list(policies) if announced else []
    simulation = Simulation(environment, policies, horizon=HORIZON, announced=told)
    assert all(one.is_compiled for one in simulation._prepared)
    quick = traced(environment, policies, announced=told)
    in_the_interpreter(monkeypatch)
    slow = traced(environment, policies, announced=told)
    for name, one, two in zip(policies, quick.arms, slow.arms, strict=True):
        assert one.tolist() == two.tolist(), name


@pytest.mark.parametrize("announced", [False, True])
def test_without_delay_it_is_the_usual_simulation_bit_for_bit(announced, monkeypatch):
    prompt = channel_selection(4)
    policies = learners(prompt.problem)
    usual = traced(prompt, policies)
    # A delay of nothing that the simulator takes for one.
    monkeypatch.setattr(Environment, "is_late", property(lambda _: True))
    queued = traced(prompt, policies, announced=list(policies) if announced else [])
    assert queued.arms.tolist() == usual.arms.tolist()
    assert queued.regrets.tolist() == usual.regrets.tolist()
    assert queued.contexts.tolist() == usual.contexts.tolist()


def test_other_draws_do_not_move():
    prompt = channel_selection(4)
    policies = {
        "Random": Random(prompt.problem),
        "Genie": Genie(prompt.problem, states=prompt.states),
    }
    usual, other = (
        traced(environment, policies, realised=True)
        for environment in (prompt, late(prompt, delays=Exponential(30), losses=0.5))
    )
    assert other.arms.tolist() == usual.arms.tolist()
    assert other.regrets.tolist() == usual.regrets.tolist()


@pytest.mark.parametrize("compiled", [True, False])
def test_where_all_feedback_is_lost_nothing_is_learned(compiled, monkeypatch):
    if not compiled:
        in_the_interpreter(monkeypatch)
    environment = late(channel_selection(4), losses=1.0)
    problem = environment.problem
    policies: dict[str, Policy] = {"DCB": DCB(problem), "KL": EmpiricalKL(problem)}
    assert not traced(environment, policies).arms.any()
    counted = traced(environment, policies, announced=list(policies)).arms
    assert counted[0].tolist() == [t % 4 for t in range(HORIZON)]  # all are alike for ever
    assert counted[1].tolist() == counted[0].tolist()


def test_losses_and_delays_by_arm():
    environment = late(channel_selection(3), losses={"channel 2": 1.0}, delays={"channel 3": 4})
    post, (key, _), delay = post_of(environment), keys(0, 0, 0), np.zeros(1)
    assert [comes_at(post, key, 8, j, delay) for j in range(3)] == [9, NEVER, 13]


def test_a_share_is_lost_and_late_whoever_pulls():
    environment = late(channel_selection(2), losses=0.2, delays=Exponential(10))
    post, (key, _), delay = post_of(environment), keys(5, 0, 0), np.zeros(1)
    when = np.array([[comes_at(post, key, t, j, delay) for t in range(20_000)] for j in (0, 1)])
    lost = (when == NEVER).mean(axis=1)
    # Five standard deviations of a share of 20,000: fails by chance less than once in 10^6.
    assert np.abs(lost - 0.2).max() < 5 * np.sqrt(0.2 * 0.8 / 20_000)
    waits = (when - 1 - np.arange(20_000))[when != NEVER]
    # The whole part of an exponential is geometric: mean 1/(e^(1/10) - 1), sd about 10.
    assert abs(waits.mean() - 1 / np.expm1(0.1)) < 5 * 10 / np.sqrt(len(waits))


def test_beyond_the_horizon_or_belief_nothing_comes():
    environment = late(channel_selection(2), delays=1e300)
    post, (key, _) = post_of(environment), keys(0, 0, 0)
    assert comes_at(post, key, 0, 0, np.zeros(1)) == NEVER
    environment = late(channel_selection(2), delays=1e6)
    assert not traced(environment, {"DCB": DCB(environment.problem)}).arms.any()


def test_laws_that_switch_run_in_the_interpreter():
    free = channel_selection(2)
    states = {
        "channel 1": Switching({0: Discrete([0], [1]), 300: Discrete([1], [1])}),
        "channel 2": Discrete([0, 2], [0.5, 0.5]),
    }
    environment = Environment(free.problem, states=states, contexts=free.contexts, delays=5)
    simulation = Simulation(environment, {"DCB": DCB(free.problem)}, horizon=HORIZON)
    assert isinstance(simulation._prepared[0], Interpreted)
    assert simulation.trace(0).arms.shape == (1, HORIZON)


def test_policies_without_a_kernel_of_their_own_run_too():
    environment = late(energy_harvesting(), delays=20, losses=0.1)
    problem = environment.problem
    policies = {"LinUCB": LinUCB(problem), "doubling": DoublingCCB(problem)}
    simulation = Simulation(environment, policies, horizon=200, announced=["doubling"])
    assert "doubling has no compiled step" in " ".join(simulation.notes)
    assert "pulls in flight count for doubling" in " ".join(simulation.notes)
    assert simulation.trace(0).arms[:, :21].tolist()[0] == [0] * 21


def test_reward_feedback_is_late_too(monkeypatch):
    problem = Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 2])},
        state={"x": Interval(0, 1)},
        reward="x * y",
    )
    laws = {"a": Uniform(0, 0.6), "b": Uniform(0.2, 1)}
    environment = Environment(
        problem, states=laws, contexts=Discrete([1, 2], [0.5, 0.5]), delays=9, losses=0.1
    )
    shown = traced(environment, {"DCB": DCB(problem)})
    in_the_interpreter(monkeypatch)
    told = traced(environment, {"DCB": DCB(problem)}, feedback="reward")
    assert told.arms.tolist() == shown.arms.tolist()


def test_a_statement_travels_and_blocks_are_the_same_anywhere():
    environment = late(channel_selection(4), delays=Exponential(8), losses=0.2)
    policies = learners(environment.problem)
    simulation = Simulation(environment, policies, horizon=HORIZON, announced=["DCB", "IMED"])
    whole = simulation.block(0, 4)
    sent = pickle.loads(pickle.dumps(simulation))  # noqa: S301 - our own
    parts = [sent.block(2, 4), sent.block(0, 2)]
    assert np.array_equal(whole.regrets[:, 2:], parts[0].regrets)
    assert np.array_equal(whole.regrets[:, :2], parts[1].regrets)
    assert sent.announced == ["DCB", "IMED"]


@pytest.mark.parametrize(
    ("announced", "words"),
    [
        ("DCB", "takes a list of policies, given the text 'DCB'"),
        (["KL"], "'KL' is not one of DCB, Random"),
        (["Random"], "policy 'Random' does not count pulls in flight"),
    ],
)
def test_who_cannot_be_told_is_refused(announced, words):
    environment = channel_selection(4)
    policies = {"DCB": DCB(environment.problem), "Random": Random(environment.problem)}
    with pytest.raises(ParameterError, match=words):
        Simulation(environment, policies, horizon=100, announced=announced)


def test_delay_costs_no_more_than_the_pulls_in_flight():
    """The regret of UCB grows by at most the gaps of what is in flight (Joulani et al. 2013)."""
    prompt = channel_selection()
    problem, delay, runs = prompt.problem, 100, 60
    gaps = prompt.gaps(np.array([[1.0], [2.0], [3.0], [4.0]])).mean(axis=0)

    def regrets(environment, announced=()):
        result = simulate(
            environment,
            {"DCB": DCB(problem)},
            horizon=5000,
            replications=runs,
            seed=2,
            checkpoints=[5000],
            announced=announced,
        )
        return result.regrets[0, :, -1]

    usual = regrets(prompt)
    received = regrets(late(prompt, delays=delay)) - usual
    counted = regrets(late(prompt, delays=delay), ["DCB"]) - usual
    error = 4 / np.sqrt(runs)  # four standard errors: by chance less than once in 10^4
    assert received.mean() - error * received.std() < (delay + 1) * gaps.sum()
    # Counted, what is in flight is spread: the arms share the delay instead of each having it.
    assert counted.mean() - error * counted.std() < (delay + 1) * gaps.mean()
    assert counted.mean() + error * (counted - received).std() < received.mean()


def test_an_arm_that_never_answers_costs_everything_unless_it_counts():
    environment = late(channel_selection(), losses={"channel 1": 1.0})
    problem = environment.problem
    result = simulate(
        environment,
        {"received": DCB(problem), "counted": DCB(problem)},
        horizon=3000,
        replications=5,
        announced=["counted"],
        checkpoints=[3000],
    )
    received, counted = result.pulls[:, -1, 0] / 3000
    assert received == 1.0
    assert counted < 0.2


def test_rewards_that_hide_the_state_count_in_flight_too():
    """Told of its pulls, a policy goes around; else it waits for the first answer of each arm.

    The waits alone are 3 × 30 pulls, so pulls differ by design and not by chance.
    """
    problem = Problem(
        arms=["a", "b", "c"],
        context={"y": Finite([1, 2])},
        state={"x": Finite([0, 1, 2, 3])},
        reward="min(x, y)",
    )
    laws = {arm: Discrete([0, 1, 2, 3], [0.1, 0.2, 0.3, 0.4]) for arm in problem.arms}
    world = Environment(problem, states=laws, contexts=Discrete([1, 2], [0.5, 0.5]))
    simulation = Simulation(
        late(world, delays=29),
        {"told": CoarseKL(problem), "waiting": CoarseKL(problem)},
        horizon=60,
        seed=1,
        announced=["told"],
        feedback="reward",
    )
    told, waiting = (simulation.trace(0).arms[p].tolist() for p in range(2))
    assert waiting[:60] == [0] * 30 + [1] * 30
    assert told[:30] == [0, 1, 2] * 10
