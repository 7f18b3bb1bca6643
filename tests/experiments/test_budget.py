"""Experiments with a budget: what is written of it, who is told, and what is refused."""

from __future__ import annotations

import pytest

from onepull.errors import OnepullError
from onepull.experiments import Experiment

HEAD = "horizon = 200\nreplications = 2\n"
WORLD = """
[problem]
arms = ["wifi", "lte"]
reward = "min(bits, capacity)"
context = {bits = [1, 4]}
state = {capacity = {low = 0, high = 4}}
[environment]
costs = {lte = 1.0}
budget = 50.0
contexts = {bits = {law = "discrete", values = [1, 4], probabilities = [0.5, 0.5]}}
[environment.states]
wifi = {capacity = {law = "uniform", low = 0, high = 2}}
lte = {capacity = {law = "uniform", low = 2, high = 4}}
"""
PLANNED = '[[policies]]\npolicy = "UCBALP"\n'
GOOD = HEAD + WORLD + PLANNED


def read(text):
    return Experiment.from_toml(text).simulation


def changed(old, new):
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


def test_costs_and_budget_are_the_environments():
    environment = read(GOOD).environment
    assert environment.costs == {"wifi": 0.0, "lte": 1.0}
    assert environment.budget == 50.0


@pytest.mark.parametrize("kind", ["UCBALP", "MixtureElimination"])
def test_a_policy_is_told_of_them_and_of_the_horizon(kind):
    simulation = read(changed("UCBALP", kind))
    (policy,) = simulation.policies.values()
    told = {name: policy.parameters[name] for name in ("costs", "budget", "horizon")}
    assert told == {"costs": {"lte": 1.0}, "budget": 50.0, "horizon": 200}
    assert list(simulation.policies) == [kind]


def test_a_policy_may_be_told_otherwise():
    (policy,) = read(GOOD + "budget = 20.0\nhorizon = 100\ncosts = {lte = 0.5}\n").policies.values()
    assert (policy.parameters["budget"], policy.parameters["horizon"]) == (20.0, 100)
    assert policy.parameters["costs"] == {"lte": 0.5}


def test_known_contexts_are_a_list_in_a_list():
    (policy,) = read(GOOD + "contexts = [[0.5, 0.5]]\n").policies.values()
    assert policy.parameters["contexts"] == [0.5, 0.5]


def test_an_application_has_its_budget_as_a_parameter():
    head = 'application = {name = "metered-channels", budget = 60.0, channels = 2}\n'
    environment = read(head + HEAD + PLANNED).environment
    assert environment.budget == 60.0
    assert environment.costs == {"channel 1": 0.25, "channel 2": 0.5, "idle": 0.0}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (changed("budget = 50.0\n", ""), "costs and a budget go together"),
        (changed("costs = {lte = 1.0}\n", ""), "costs and a budget go together"),
        (changed("lte = 1.0", "umts = 1.0"), "unknown arm 'umts' among the costs"),
        (changed("lte = 1.0", "lte = -1.0"), "the cost of 'lte' must be a number >= 0"),
        (changed("budget = 50.0", "budget = 0.0"), "budget must be a number > 0"),
        (changed("budget = 50.0", 'budget = "much"'), "'environment.budget' must be a number"),
        (
            changed("costs = {lte = 1.0}\nbudget = 50.0\n", ""),
            "policy UCBALP: needs budget",
        ),
        (changed("lte = 1.0", "lte = 1.0, wifi = 1.0"), "policy UCBALP: at least one arm must"),
        ('application = "metered-channels"\n' + HEAD + PLANNED, "'metered-channels' needs budget"),
    ],
)
def test_what_is_wrong_is_named(text, words):
    with pytest.raises(OnepullError) as caught:
        Experiment.from_toml(text)
    assert words in str(caught.value)


@pytest.mark.parametrize(("old", "new"), [("lte = 1.0", "lte = 1.1"), ("50.0", "50.1")])
def test_the_fingerprint_covers_them(old, new):
    dcb = '[[policies]]\npolicy = "DCB"\n'
    before = Experiment.from_toml(HEAD + WORLD + dcb).fingerprint
    assert Experiment.from_toml(HEAD + WORLD.replace(old, new) + dcb).fingerprint != before
