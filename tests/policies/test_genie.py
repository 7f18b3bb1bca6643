"""A genie knows the means of the arms, and works them out once for each context."""

from __future__ import annotations

import pytest

from onepull import Genie, Interval, Problem
from onepull.distributions import Uniform
from onepull.policies import reference


@pytest.fixture
def genie():
    problem = Problem(
        arms={"a": {"price": 1}, "b": {"price": 2}},
        context={"y": Interval(0, 9)},
        state={"x": Interval(0, 9)},
        reward="x * y - price",
    )
    laws = {"a": Uniform(0, 2), "b": Uniform(0, 6), "c": Uniform(0, 8)}
    return Genie(problem, states=laws)


def test_a_context_that_comes_again_is_not_integrated_again(genie, monkeypatch):
    monkeypatch.setattr(reference, "REMEMBERED_CONTEXTS", 2)
    worked_out: list[float] = []
    for law in genie._outcomes.values():

        def counted(reward, plain=law.expectation):
            worked_out.append(plain(reward))
            return worked_out[-1]

        monkeypatch.setattr(law, "expectation", counted)
    for y in (1, 2, 1, 2, 2, 1):
        assert genie.estimates(y=y) == pytest.approx([y - 1, 3 * y - 2])
    assert len(worked_out) == 2 * 2
    genie.estimates(y=3)  # one more than are remembered
    assert len(genie._means) == 1


def test_what_is_remembered_changes_with_the_arms(genie):
    assert genie.estimates(y=1) == pytest.approx([0, 1])
    genie.set_attributes("b", price=5)
    assert genie.estimates(y=1) == pytest.approx([0, -2])
    genie.add_arm("c", price=0)
    assert genie.estimates(y=1) == pytest.approx([0, -2, 4])
    genie.remove_arm("a")
    assert genie.estimates(y=1) == pytest.approx([-2, 4])


def test_who_is_told_the_means_cannot_change_them(genie):
    genie.estimates(y=1).clear()
    assert genie.choose(y=1) == "b"
