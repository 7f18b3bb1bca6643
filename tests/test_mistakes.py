"""Typical mistakes: an error says what was given, what is allowed, and where."""

from __future__ import annotations

import re
from math import inf
from typing import Any

import pytest

import onepull
from onepull import DCB, UCB1, EmpiricalKL, Finite, Interval, MeanRule, OnepullError, Problem
from onepull.experiments import read_experiment

PARTS: dict[str, Any] = {
    "arms": {"a": {"price": 1, "tier": "gold"}, "b": {"price": 2, "tier": "plain"}},
    "context": {"size": Finite([1, 2]), "region": Finite(["eu", "us"])},
    "state": {"rate": Interval(0, 1)},
    "reward": "rate * size - price",
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reward": "rate - prise"}, "unknown name 'prise', did you mean 'price'? The fields are"),
        ({"reward": "Rate"}, "unknown name 'Rate', did you mean 'rate'?"),
        ({"reward": "rate * (region == eu)"}, "unknown name 'eu'; a word is written in quotes"),
        ({"reward": "rate * (region == 'EU')"}, "one of the words 'eu', 'us'; did you mean 'eu'?"),
        ({"reward": "rate ^ 2"}, "given '^'; a power is written x**2"),
        ({"reward": "rate = 1"}, "given '='; equality is written =="),
        ({"reward": "rate > 0 && size > 1"}, "given '&'; conditions are joined by 'and'"),
        ({"reward": "rate > 0 || size > 1"}, "given '|'; conditions are joined by 'or'"),
        ({"reward": "rate > 0.5 ? 1 : 0"}, "a choice is written 'a if condition else b'"),
        ({"reward": "if rate > 0.5 then 1 else 0"}, "a choice is written 'a if condition else b'"),
        ({"reward": "ln(rate + 1)"}, "use abs, ceil, clip, exp, floor, log,"),
        ({"reward": "ln(rate + 1)"}, "write log(x)"),
        ({"failure": "-rate"}, "failure (a failed pull shows no state): unknown name 'rate'; the"),
        ({"reward": "1 if rate = 1 else 0"}, "equality is written =="),
        ({"state": {"rate": Interval(0, inf)}}, "a time or a cost needs a minus, since higher is"),
        ({"failure": 3}, "failure is the reward of a failed pull, and 3 is more than the highest"),
        ({"state": {"rate": (0, 1)}}, "as in Interval(0, 1) for all numbers between or Finite([0,"),
        ({"context": [1]}, "context: fields are given with their spaces, as in {'x': Interval(0,"),
        ({"context": {"my size": Finite([1])}}, "context: field 'my size': a name is a letter"),
    ],
)
def test_of_a_problem(changes, said):
    with pytest.raises(OnepullError, match=re.escape(said)):
        Problem(**{**PARTS, **changes})


def test_of_a_call():
    problem = Problem(**PARTS)
    with pytest.raises(OnepullError, match=r"^context field 'size' is missing: it must be one of"):
        UCB1(problem).observe("a", rate=0.5)
    with pytest.raises(OnepullError, match=r"^state field 'rate' is missing: it must be a finite"):
        DCB(problem).observe("a", size=1)
    with pytest.raises(OnepullError, match=r"must be a Problem, given 'a.toml'; read a file with"):
        DCB("a.toml")  # type: ignore[arg-type]  # the mistake
    with pytest.raises(OnepullError, match=r"the text of a file: Path\('a.toml'\).read_text\(\)"):
        Problem.from_toml("a.toml")
    with pytest.raises(AttributeError) as caught:
        onepull.recomended  # noqa: B018 - the mistake
    assert (caught.value.name, caught.value.obj) == ("recomended", onepull)
    with pytest.raises(OnepullError, match="EmpiricalKL cannot be merged into DCB"):
        DCB(problem).merge(EmpiricalKL(problem))  # type: ignore[arg-type]  # the mistake
    mistakes: list[dict[str, Any]] = [{"size": 1, "region": "eu"}, {}]
    for wrong in mistakes:
        with pytest.raises(
            OnepullError, match=r"decide takes a context as a dictionary: decide\(\{'size': …, 'reg"
        ):
            DCB(problem).decide(**wrong)


def test_of_a_policy_of_my_own():
    problem = Problem(**PARTS)
    with pytest.raises(OnepullError, match=r"parameters takes a tuple of numbers, .* given 0.25"):
        MeanRule(exploration=max, aim=max, index=max, parameters=0.25)  # type: ignore[arg-type]

    class Short(UCB1):
        def _indices(self, request):
            return super()._indices(request)[:1]

    with pytest.raises(OnepullError, match=r"must return an index for each arm, given 1 for at l"):
        Short(problem).choose(size=1, region="eu")


def test_a_failure_may_be_worth_as_much_as_the_best_answer():
    for failure in (-99, 1, "-price"):
        assert Problem(**{**PARTS, "failure": failure}).failure == failure


FILE = """
horizon = 100
replications = 2
[problem]
arms = ["a"]
reward = "rate * size"
[problem.context]
size = [1, 2]
[problem.state]
rate = {low = 0, high = 1}
[environment.contexts]
size = {law = "discrete", values = [1, 2], probabilities = [0.5, 0.5]}
[environment.states.a]
law = "uniform"
low = 0
high = 1
[[policies]]
policy = "DCB"
"""


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("horizon =", "horizn =", "unknown field 'horizn', did you mean 'horizon'? The fields are"),
        ('"rate * size"', "rate * size", "or text in quotes (at line 6, column 10)"),
        ("replications = 2", "horizon = 2", "a key is given twice (at line 3"),
        ("[1, 2]\n[pr", "{low = 2, high = 1}\n[pr", "context, field 'size': Interval takes low <"),
        ("high = 1}", "high = 1, scale = 'log'}", "state, field 'rate': scale='log' takes ends"),
        ("[[policies]]", "[policies]", "'policies' must be a list, given {'policy': 'DCB'}; write"),
        ('"DCB"', '"dcb"', "policy 1: unknown policy 'dcb', did you mean 'DCB'? The policies are"),
        (
            '"DCB"',
            '"mine.Wide"',
            "own is written \"module:Class\", given 'mine.Wide'; did you mean 'mi",
        ),
        ('"uniform"', '"unifrom"', "unknown law 'unifrom', did you mean 'uniform'? The laws are"),
        ('arms = ["a"]', "arms = {a = 1, b = 2}", "'arms.a' must be a table, given 1"),
    ],
)
def test_of_a_file(tmp_path, before, after, said):
    path = tmp_path / "file.toml"
    path.write_text(FILE, encoding="utf-8")
    read_experiment(path)
    assert before in FILE
    path.write_text(FILE.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(OnepullError, match=rf"file\.toml: .*{re.escape(said)}"):
        read_experiment(path)
