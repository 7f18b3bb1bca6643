"""Feedback that is a reward only: who may run on it, and what each policy makes of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onepull import DCB, CoarseKL, MultiUCB, simulate
from onepull.environment import channel_selection
from onepull.errors import OnepullError, ParameterError, ProblemError
from onepull.experiments import Experiment
from onepull.simulation import Simulation

EXAMPLE = Path(__file__).parents[2] / "examples" / "censored.toml"


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
    policies = {"ours": CoarseKL(channels.problem), "full": DCB(channels.problem)}
    result = simulate(channels, policies, horizon=100, replications=1, feedback={"ours": "reward"})
    assert "a pull shows only its reward to ours" in result.notes


@pytest.mark.parametrize("feedback", ["rewards", {"nobody": "reward"}, {"ours": None}])
def test_feedback_that_cannot_be(feedback):
    channels = channel_selection(4)
    policies = {"ours": CoarseKL(channels.problem)}
    with pytest.raises(ParameterError, match="feedback"):
        Simulation(channels, policies, horizon=100, feedback=feedback)


def test_an_experiment_says_what_pulls_show():
    head = 'application = "channel-selection"\nhorizon = 100\nreplications = 2\n'
    ours = '[[policies]]\npolicy = "CoarseKL"\n'
    full = '[[policies]]\npolicy = "DCB"\n'
    experiment = Experiment.from_toml(head + 'feedback = "reward"\n' + ours)
    assert experiment.simulation.feedback == {"CoarseKL": "reward"}
    both = Experiment.from_toml(head + 'feedback = "reward"\n' + ours + full + 'feedback = "state"')
    assert both.simulation.feedback == {"CoarseKL": "reward", "DCB": "state"}
    assert experiment.fingerprint != Experiment.from_toml(head + ours).fingerprint
    with pytest.raises(OnepullError, match="policy 'DCB' cannot learn from rewards alone"):
        Experiment.from_toml(head + 'feedback = "reward"\n' + full)
    with pytest.raises((ParameterError, ProblemError), match="feedback must be state or reward"):
        Experiment.from_toml(head + ours + 'feedback = "nothing"')


def test_sharing_what_rewards_tell_pays():
    """A run of CoarseKL loses 49 with standard deviation 27 here, one of Multi-UCB 256 with 20.

    The means of eight runs are 8 standard errors away from what is refused.
    """
    simulation = Experiment.read(EXAMPLE).simulation
    names = ["CoarseKL", "MultiUCB"]
    result = simulate(
        simulation.environment,
        {name: simulation.policies[name] for name in names},
        horizon=2_000,
        replications=8,
        seed=4,
        feedback="reward",
    )
    ours, alone = (result.regret(name) for name in names)
    assert ours.mean() < 0.5 * alone.mean()
