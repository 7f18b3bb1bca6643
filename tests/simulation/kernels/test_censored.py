"""Feedback that is a reward only: who may run on it, and what each policy makes of it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from beside import assert_identical, blocks

from onepull import (
    DCB,
    CensoredKL,
    Discrete,
    Finite,
    Interval,
    MultiUCB,
    Problem,
    simulate,
)
from onepull.distributions import Switching, Uniform
from onepull.environment import Environment, channel_selection
from onepull.errors import OnepullError, ParameterError, ProblemError
from onepull.experiments import Experiment
from onepull.simulation import Simulation
from onepull.simulation.prepare import Interpreted

EXAMPLE = Path(__file__).parents[3] / "examples" / "censored.toml"


def uneven(reward="min(y, x)", state=None):
    """Return contexts and states that never tie; the law of one arm changes."""
    problem = Problem(
        arms=["a", "b", "c"],
        context={"y": Finite([0.7, 1.9, 3.1])},
        state={"x": state or Finite([0, 0.3, 1.1, 2.3, 3.7])},
        reward=reward,
    )
    states = {
        "a": Discrete([0, 3.7], [0.55, 0.45]),
        "b": Discrete([0.3, 1.1, 2.3], [0.2, 0.5, 0.3]),
        "c": Switching({0: Discrete([1.1], [1.0]), 300: Discrete([0, 2.3], [0.31, 0.69])}),
    }
    contexts = Discrete([0.7, 1.9, 3.1], [0.5, 0.3, 0.2])
    return Environment(problem, states=states, contexts=contexts)


WORLDS = {
    "upper end": uneven,
    "lower end": lambda: uneven("max(0, x - y)"),
    "falling": lambda: uneven("-min(y, x)"),
    "interval": lambda: uneven(state=Interval(0, 4)),
}


@pytest.mark.parametrize("naive", [False, True])
@pytest.mark.parametrize("feedback", ["state", "reward"])
@pytest.mark.parametrize("world", WORLDS)
def test_the_kernel_does_what_the_library_does(world, feedback, naive):
    environment = WORLDS[world]()
    policy = CensoredKL(environment.problem, c=1, naive=naive)
    library = partial(Interpreted, sees_states=feedback == "state")
    assert_identical(*blocks(environment, policy, library, horizon=600, feedback=feedback))


def test_continuous_states_run_in_the_interpreter():
    problem = Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 2])},
        state={"x": Interval(0, 3)},
        reward="min(y, x)",
    )
    laws = {"a": Uniform(0, 3), "b": Uniform(1, 2)}
    environment = Environment(problem, states=laws, contexts=Discrete([1, 2], [0.5, 0.5]))
    policy = CensoredKL(problem, knots=9)
    simulation = Simulation(environment, {"ours": policy}, horizon=60, feedback="reward")
    assert not simulation._prepared[0].is_compiled
    assert simulation.block(0, 1).pulls[0, -1].sum() == 60


def test_who_learns_from_rewards_anyway_learns_the_same():
    channels = channel_selection(4)
    full, rewarded = (
        simulate(
            channels, [MultiUCB(channels.problem)], horizon=500, replications=2, feedback=feedback
        ).regret("MultiUCB")
        for feedback in ("state", "reward")
    )
    assert np.array_equal(full, rewarded)


def test_a_policy_that_cannot_learn_from_rewards_is_named_before_anything_runs():
    channels = channel_selection(4)
    with pytest.raises(ParameterError, match="policy 'mine' cannot learn from rewards alone"):
        Simulation(channels, {"mine": DCB(channels.problem)}, horizon=100, feedback="reward")


def test_feedback_goes_by_policy():
    channels = channel_selection(4)
    policies = {"ours": CensoredKL(channels.problem), "full": DCB(channels.problem)}
    result = simulate(channels, policies, horizon=100, replications=1, feedback={"ours": "reward"})
    assert "a pull shows nothing but its reward to ours" in result.notes


@pytest.mark.parametrize("feedback", ["rewards", {"nobody": "reward"}, {"ours": None}])
def test_feedback_that_cannot_be(feedback):
    channels = channel_selection(4)
    policies = {"ours": CensoredKL(channels.problem)}
    with pytest.raises(ParameterError, match="feedback"):
        Simulation(channels, policies, horizon=100, feedback=feedback)


def test_an_experiment_says_what_pulls_show():
    head = 'application = "channel-selection"\nhorizon = 100\nreplications = 2\n'
    ours = '[[policies]]\npolicy = "CensoredKL"\n'
    full = '[[policies]]\npolicy = "DCB"\n'
    experiment = Experiment.from_toml(head + 'feedback = "reward"\n' + ours)
    assert experiment.simulation.feedback == {"CensoredKL": "reward"}
    both = Experiment.from_toml(head + 'feedback = "reward"\n' + ours + full + 'feedback = "state"')
    assert both.simulation.feedback == {"CensoredKL": "reward", "DCB": "state"}
    assert experiment.fingerprint != Experiment.from_toml(head + ours).fingerprint
    with pytest.raises(OnepullError, match="policy 'DCB' cannot learn from rewards alone"):
        Experiment.from_toml(head + 'feedback = "reward"\n' + full)
    with pytest.raises((ParameterError, ProblemError), match="feedback must be state or reward"):
        Experiment.from_toml(head + ours + 'feedback = "nothing"')


def test_ours_pays_less_than_naive_and_than_learning_each_context_alone():
    """At this horizon ours loses about 150 and 250 at most, Multi-UCB 700 and naive thousands.

    So these would fail by chance less than once in 10,000 seeds.
    """
    simulation = Experiment.read(EXAMPLE).simulation
    names = ["CensoredKL", "naive", "MultiUCB"]
    result = simulate(
        simulation.environment,
        {name: simulation.policies[name] for name in names},
        horizon=20_000,
        replications=8,
        seed=4,
        feedback="reward",
    )
    ours, naive, alone = (result.regret(name) for name in names)
    assert ours.mean() < 0.5 * alone.mean()
    assert ours.max() < 0.5 * naive.max()
    assert ours.mean() < 0.2 * naive.mean()
