"""What a notebook shows: escaped, self-contained, and the same as the text."""

from __future__ import annotations

import re

import pytest
from problems import channels

from onepull import (
    DCB,
    EmpiricalKL,
    Finite,
    Genie,
    Interval,
    Problem,
    Random,
    Reward,
    UCB1Epsilon,
    html,
)
from onepull.environment import channel_selection

ODD = ["<script>", "a & b"]


def odd_problem():
    return Problem(
        arms=ODD, context={"y": Finite([1, 2])}, state={"x": Interval(0, 1)}, reward="x * (y < 2)"
    )


def cells(text):
    return re.findall(r"<td[^>]*>(.*?)</td>", text)


def check(text):
    """Check that HTML needs nothing else, and that tags are closed."""
    assert "<script" not in text
    assert "http" not in text
    assert not re.search(r"(?<![-\w])color:(?!inherit)", text)  # readable on any background
    for tag in ("div", "table", "tr", "td", "th", "p", "pre"):
        assert len(re.findall(f"<{tag}[ >]", text)) == text.count(f"</{tag}>")


def test_a_problem():
    text = odd_problem()._repr_html_()
    check(text)
    assert cells(text) == [
        "arms", "&lt;script&gt;, a &amp; b",
        "context", "y: one of 1, 2",
        "state", "x: a finite number in [0, 1]",
        "reward", "x * (y &lt; 2)",
    ]  # fmt: skip


def test_a_problem_with_a_reward_in_python():
    def half(y, x):
        return x * y / 2

    problem = odd_problem().with_reward(Reward(half, low=0, high=1))
    assert cells(problem._repr_html_())[-1] == "half"


def test_many_arms_stay_short():
    text = channels().with_arms(f"server {i}" for i in range(500))._repr_html_()
    assert "(500 in all)" in text
    assert len(text) < 3000


@pytest.mark.parametrize("kind", [DCB, EmpiricalKL, UCB1Epsilon])
def test_a_policy(kind):
    policy = kind(odd_problem())
    policy.observe("a & b", y=2, x=0.5)
    text = policy._repr_html_()
    check(text)
    assert "after 1 trial" in text
    assert f"{policy.storage} numbers" in cells(text)


def test_policies_that_cannot_be_saved_show_themselves_too():
    world = channel_selection(4)
    check(Genie(world.problem, states=world.states)._repr_html_())


def test_an_explanation_shows_what_it_prints():
    policy = DCB(odd_problem())
    for arm, x in zip(ODD, (0.25, 0.75), strict=True):
        policy.observe(arm, x=x)
    shown = policy.explain(y=1)
    text = shown._repr_html_()
    check(text)
    assert text.count("background:rgba") == 1  # the chosen arm
    for word in str(shown).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").split():
        assert word in text


def test_an_explanation_of_a_draw_shows_the_chances():
    text = Random(channels(), seed=1).explain(bits=1)._repr_html_()
    check(text)
    assert ">chance</th>" in text
    assert "background:rgba" not in text


def test_marks_and_headings():
    text = html.table("T", ["a", "b"], [["x", "1"], ["y", "2"]], marked=[1])
    assert text.index("background:rgba") > text.index(">x<")
    assert "<thead>" not in html.table("", (), [["x", "1"]])
    assert "<caption" not in html.table("", (), [["x", "1"]])
