"""A policy, a law and a reward of a user's own, named in an experiment file."""

from __future__ import annotations

import sys

import pytest

from onepull import DCB, ProblemError
from onepull.experiments import read_experiment

CODE = '''
from onepull import DCB
from onepull.distributions import Continuous

class Bold(DCB):
    """DCB with another name."""

class Rising(Continuous):
    """A density that rises in a straight line from 0 to `high`."""

    def __init__(self, high):
        super().__init__(high=high)
        self.bulk, self.shape = (0.0, high), (high,)

    @staticmethod
    def quantile(u, high):
        return high * u**0.5

    def density(self, x):
        return x

def carried(bits, capacity):
    return min(bits, capacity)
'''
FILE = """
horizon = 300
replications = 2

[problem]
arms = ["near", "far"]
reward = {function = "code_of_a_test:carried", low = 0, high = 2}
context = {bits = [1, 2]}
state = {capacity = {low = 0, high = 3}}

[environment]
contexts = {bits = {law = "discrete", values = [1, 2], probabilities = [0.5, 0.5]}}
[environment.states]
near = {law = "code_of_a_test:Rising", high = 3}
far = {law = "code_of_a_test:Rising", high = 1}

[[policies]]
policy = "code_of_a_test:Bold"
epsilon = 0.5
name = "bold"

[[policies]]
policy = "DCB"
epsilon = 0.5
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "code_of_a_test", raising=False)
    (tmp_path / "code_of_a_test.py").write_text(CODE, encoding="utf-8")
    yield tmp_path
    sys.modules.pop("code_of_a_test", None)


def read(folder, text):
    file = folder / "own.toml"
    file.write_text(text, encoding="utf-8")
    return read_experiment(file)


def test_a_file_names_a_policy_a_law_and_a_reward(folder):
    simulation = read(folder, FILE).simulation
    bold, plain = simulation.policies.values()
    assert (type(bold).__name__, type(plain)) == ("Bold", DCB)
    assert bold.problem.payoff(bits=2, capacity=1.5) == 1.5
    mine, theirs = simulation.block(0, 2).regrets
    assert mine.tolist() == theirs.tolist()  # they are the same rule
    assert mine[:, -1].min() > 0


@pytest.mark.parametrize(
    ("name", "other", "said"),
    [
        ("code_of_a_test:Bold", "code_of_a_test:Bald", "has no 'Bald'"),
        ("code_of_a_test:Bold", "code_of_a_test:carried", "is not a Policy class"),
        ("code_of_a_test:Bold", "no_such_module:Bold", "cannot import 'no_such_module'"),
        (
            'near = {law = "code_of_a_test:Rising"',
            'near = {law = "math:sin"',
            "'math:sin' is not a",
        ),
        ("code_of_a_test:carried", "code_of_a_test:carry", "reward: module code_of_a_test has no"),
    ],
)
def test_a_name_that_does_not_fit_is_refused(folder, name, other, said):
    with pytest.raises(ProblemError, match=said):
        read(folder, FILE.replace(name, other))
