"""Delays and losses in experiment files."""

from __future__ import annotations

import pytest

from onepull.errors import OnepullError
from onepull.experiments.experiment import Experiment

APPLICATION = """
application = {name = "channel-selection", channels = 4}
horizon = 400
replications = 2
[[policies]]
policy = "DCB"
announced = [false, true]
[environment]
delays = 12
losses = 0.2
"""
LAWS = """
horizon = 400
replications = 2
[problem]
arms = ["wifi", "lte"]
context = {bits = [1, 4]}
state = {capacity = {low = 0, high = 4}}
reward = "min(bits, capacity)"
[environment]
contexts = {bits = {law = "discrete", values = [1, 4], probabilities = [0.5, 0.5]}}
delays = {lte = {law = "exponential", mean = 20}}
losses = {wifi = 0.1}
[environment.states]
wifi = {capacity = {law = "uniform", low = 0, high = 2}}
lte = {capacity = {law = "uniform", low = 1, high = 4}}
[[policies]]
policy = "MultiUCB"
announced = true
"""


def read(text):
    return Experiment.from_toml(text)


def test_an_application_may_be_late():
    simulation = read(APPLICATION).simulation
    assert simulation.environment.losses["channel 4"] == 0.2
    assert list(simulation.policies) == ["DCB(announced=False)", "DCB(announced=True)"]
    assert simulation.announced == ["DCB(announced=True)"]


def test_by_arm():
    simulation = read(LAWS).simulation
    assert repr(simulation.environment.delays["lte"]) == "Exponential(mean=20)"
    assert simulation.environment.losses == {"wifi": 0.1, "lte": 0.0}
    assert simulation.announced == list(simulation.policies) == ["MultiUCB(announced=True)"]
    assert simulation.block(0, 1).regrets.shape[1] == 1


def test_all_of_it_is_in_the_fingerprint():
    prints = {
        read(text).fingerprint
        for text in (
            LAWS,
            LAWS.replace("mean = 20", "mean = 21"),
            LAWS.replace("wifi = 0.1", "wifi = 0.2"),
            LAWS.replace("announced = true", "announced = false"),
        )
    }
    assert len(prints) == 4


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("delays = 12", "delays = -1", "must be 0 or more"),
        ("delays = 12", "delays = [1, 2]", "a law or a number of trials"),
        ("delays = 12", 'delays = {law = "geometric"}', "delays: unknown law 'geometric'"),
        ("delays = 12", 'delays = {"channel 1" = {mean = 3}}', "delays of arm 'channel 1'"),
        ("delays = 12", 'delays = {"channel 8" = 3}', "unknown arm 'channel 8' among the delays"),
        ("losses = 0.2", "losses = 2", "must be a probability"),
        ("delays = 12", "budget = 3.0", "may add delays and losses"),
        ("announced = [false, true]", "announced = 1", "announced must be true or false, given 1"),
        ('"DCB"', '"LinUCB"', "does not count pulls in flight"),
    ],
)
def test_what_is_wrong_is_named(old, new, words):
    with pytest.raises(OnepullError, match=words):
        read(APPLICATION.replace(old, new))


def test_an_environment_needs_its_laws():
    with pytest.raises(OnepullError, match="needs contexts and states"):
        read(LAWS.replace("contexts = {bits", "#"))
