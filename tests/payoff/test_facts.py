"""Derived, declared and estimated properties of rewards hold."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from problems import channels

from onepull import Finite, Interval, Problem, Reward
from onepull.errors import DeclarationError, ProblemError, RewardError
from onepull.formula import Formula
from onepull.payoff import Fact


def payoff(reward, context, state):
    spaces = ({"y": context}, {"x": state})
    return Problem(arms=["a"], context=spaces[0], state=spaces[1], reward=reward).payoff


def at(values):
    column = np.array(values, float)
    return {"y": (column, column)}


UNIT, WIDE, FEW = Interval(0, 1), Interval(-2, 3), Finite([1, 2, 3])


def test_the_range_of_the_papers_example_is_the_bits():
    column = np.array([1.0, 2.0, 3.0, 4.0])
    low, high = channels().payoff.range({"bits": (column, column)})
    assert low.tolist() == [0.0] * 4
    assert high.tolist() == column.tolist()
    assert channels().payoff.whole_range == (0.0, 4.0)


@pytest.mark.parametrize(
    "text",
    [
        "x * y",
        "x ** y",
        "log(1 + x * y)",
        "min(x, y)",
        "y if x >= y else 0",
        "x * (1 - x) * y",
        "x * exp(-x * y)",
        "abs(x - y / 4)",
        "x % 0.3 * y",
        "x // 0.3 - y",
        "sqrt(x) / y - x",
        "clip(x * y, 0.2, 1) - max(x, 0.5)",
        "(x > 0.2) + (x > 0.7) - 3 * (x > 0.9)",
        "1 / x if x > 0.25 else y",
    ],
)
def test_the_range_encloses_and_is_within_a_hundredth(text):
    known = payoff(text, FEW, UNIT)
    lows, highs = known.range(at(FEW.values))
    states = np.linspace(0, 1, 20001)
    for low, high, y in zip(lows, highs, FEW.values, strict=True):
        rewards = known.vector(y, states)
        spread = rewards.max() - rewards.min()
        assert low <= rewards.min() + 1e-12
        assert rewards.max() <= high + 1e-12
        assert high - low <= 1.01 * spread + 1e-3


@pytest.mark.parametrize("text", ["x % y", "x ** y", "y if x >= y else 0", "(x - y) ** 3 % 0.7"])
def test_finite_states_are_enumerated(text):
    state = Finite([0.3, 1, 2, 7])
    known = payoff(text, FEW, state)
    lows, highs = known.range(at(FEW.values))
    rewards = [[known(x=x, y=y) for x in state.values] for y in FEW.values]
    assert lows.tolist() == pytest.approx([min(row) for row in rewards], rel=1e-14)
    assert highs.tolist() == pytest.approx([max(row) for row in rewards], rel=1e-14)


@pytest.mark.parametrize(
    ("text", "state", "direction"),
    [
        ("x * y", UNIT, "increasing"),
        ("-x * y", UNIT, "decreasing"),
        ("min(x, y)", WIDE, "nondecreasing"),
        ("-min(x, y)", WIDE, "nonincreasing"),
        ("y if x >= y else 0", WIDE, "nondecreasing"),
        ("floor(x)", WIDE, "nondecreasing"),
        ("x * x", WIDE, None),
        ("x == y", WIDE, None),
        ("x * x", FEW, "increasing"),
        ("1 / (1 + x)", UNIT, "decreasing"),
    ],
)
def test_monotone_is_derived(text, state, direction):
    how = "derived" if direction else "unknown"
    assert payoff(text, FEW, state).monotone == {"x": Fact(direction, how)}


@pytest.mark.parametrize(
    ("text", "constant"),
    [
        ("x * y", 3.0),
        ("min(x, y)", 1.0),
        ("x", 0.0),
        ("abs(x - 2 * y)", 2.0),
        ("y if x >= y else 0", math.inf),
        ("log(1 + x * y) if x > 0 else 0", 3.0),
    ],
)
def test_lipschitz_is_derived(text, constant):
    fact = payoff(text, UNIT, WIDE).lipschitz["y"]
    assert fact.how == "derived"
    assert fact.value == pytest.approx(constant)


def product(y, x):
    return x * y


def test_a_callable_is_estimated_declared_or_unknown():
    known = payoff(Reward(product, low="-2 * y", high="3 * y"), UNIT, WIDE)
    assert known.monotone["x"] == Fact(None, "unknown")
    assert known.lipschitz["y"].how == "estimated"
    assert known.lipschitz["y"].value == pytest.approx(3.0)
    assert known.whole_range == (-2.0, 3.0)
    stated = Reward(product, monotone={"x": "nondecreasing"}, lipschitz={"y": 3})
    known = payoff(stated, Finite([0, 1]), WIDE)
    assert known.monotone["x"] == Fact("nondecreasing", "declared")
    assert known.lipschitz["y"] == Fact(3.0, "declared")
    assert payoff(product, Finite([1]), FEW).lipschitz["y"] == Fact(0.0, "enumerated")
    endless = Reward(lambda y, x: min(y, x, 1), low=0, high=1)
    assert payoff(endless, Interval(0, math.inf), UNIT).lipschitz["y"] == Fact(math.inf, "unknown")


TRUE: list[dict[str, Any]] = [
    {"low": 0, "high": 3},
    {"low": "0 * y", "high": "y"},
    {"monotone": {"x": "increasing"}},
    {"monotone": {"x": "nondecreasing"}},
    {"lipschitz": {"y": 1}},
]
FALSE: list[tuple[dict[str, Any], str]] = [
    ({"low": 0.1}, "low=0.1 is contradicted"),
    ({"high": 2.9}, "high=2.9 is contradicted"),
    ({"high": "y - 0.1"}, "is contradicted"),
    ({"monotone": {"x": "decreasing"}}, "monotone 'x' 'decreasing' is contradicted"),
    ({"monotone": {"x": "nonincreasing"}}, "is contradicted"),
    ({"lipschitz": {"y": 0.9}}, "lipschitz 'y'=0.9 is contradicted"),
]
PAIRS = list(itertools.product([Interval(1, 3), FEW], [UNIT, Finite([0, 1])]))


@pytest.mark.parametrize(("context", "state"), PAIRS)
def test_declarations_are_held_against_examples(context, state):
    sources: list[tuple[Any, dict[str, Any]]] = [("x * y", {}), (product, {"low": 0, "high": "y"})]
    for source, bounds in sources:
        for true in TRUE:
            payoff(Reward(source, **{**bounds, **true}), context, state)
        for false, words in FALSE:
            with pytest.raises(DeclarationError, match=words) as caught:
                payoff(Reward(source, **{**bounds, **false}), context, state)
            assert "x=" in str(caught.value)


def test_rounding_does_not_contradict_a_direction():
    payoff(Reward("(x + y) * 3 - x * 3", monotone={"x": "nonincreasing"}), FEW, UNIT)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"monotone": {"y": "increasing"}}, "'y' is not a state field"),
        ({"lipschitz": {"x": 1}}, "'x' is not a context field"),
        ({"monotone": {"x": "up"}}, "must be one of increasing"),
        ({"lipschitz": {"y": -1}}, "0 or more"),
        ({"low": math.nan}, "finite"),
        ({"high": [1]}, "number or a formula"),
        ({"high": "x"}, "unknown name 'x'"),
    ],
)
def test_declarations_that_make_no_sense_are_refused(changes, words):
    with pytest.raises(ProblemError, match=words):
        payoff(Reward("x * y", **changes), FEW, UNIT)


def test_rewards_without_a_highest_value_are_refused_and_others_not():
    endless = Interval(0, math.inf)
    with pytest.raises(ProblemError, match=r"no highest value.*clip the reward, or declare high"):
        payoff("x * y", FEW, endless)
    assert payoff("-x * y", FEW, endless).whole_range == (-math.inf, 0.0)
    assert payoff("min(x, y)", FEW, endless).whole_range == (0.0, 3.0)


def test_a_reward_that_cannot_be_told_from_nan_is_no_state():
    with pytest.raises(RewardError):
        payoff("x * y", FEW, FEW).invert(math.nan, (1.0,))


NAMES = [f"x{i}" for i in range(16)]
LARGE: dict[str, tuple[str, list[str], Any, tuple[float, float]]] = {
    "20 remainders": (f"max({', '.join(['x0 % y'] * 20)})", NAMES[:1], UNIT, (0, 1)),
    "16 state fields": (f"clip({' + '.join(NAMES)}, 0, 1) * y", NAMES, UNIT, (0, 1)),
    "16 endless ones": (
        f"clip({' + '.join(NAMES)}, -1, y)",
        NAMES,
        Interval(-math.inf, math.inf),
        (-1, 1),
    ),
    "16 finite ones": (f"({' + '.join(NAMES)}) * y", NAMES, FEW, (0, 48)),
    "long lists": ("x0 % (1 + y)", NAMES[:1], Finite(range(4096)), (0, 4095)),
}


@pytest.mark.parametrize("case", LARGE)
def test_a_large_formula_is_made_with_bounded_work(case, monkeypatch):
    text, names, space, limits = LARGE[case]
    work = []
    enclose, vector = Formula.enclose, Formula.vector

    def boxes(formula, columns, *args, **more):
        shape = np.broadcast_shapes(*(np.shape(low) for low, _ in columns.values()))
        work.append(formula.cost * math.prod(shape))
        return enclose(formula, columns, *args, **more)

    def elements(formula, *columns):
        values = vector(formula, *columns)
        work.append(formula.cost * values.size)
        return values

    monkeypatch.setattr(Formula, "enclose", boxes)
    monkeypatch.setattr(Formula, "vector", elements)
    contexts: dict[str, Any] = {"long lists": Finite(range(4096)), "20 remainders": Interval(1, 2)}
    known = Problem(
        arms=["a"],
        context={"y": contexts.get(case, UNIT)},
        state=dict.fromkeys(names, space),
        reward=text,
    ).payoff
    assert sum(work) < 4e7
    assert known.whole_range[0] <= limits[0]
    assert known.whole_range[1] >= limits[1]
    assert known.whole_range[1] - known.whole_range[0] <= 2 * (limits[1] - limits[0])


def test_a_monotone_callable_of_many_fields_is_tried_at_two_ends():
    reward = Reward(
        lambda y, **fields: y * (fields["x1"] - fields["x0"] + 0 * sum(fields.values())),
        monotone={name: "nonincreasing" if name == "x0" else "nondecreasing" for name in NAMES},
    )
    state = dict.fromkeys(NAMES, UNIT)
    known = Problem(arms=["a"], context={"y": FEW}, state=state, reward=reward).payoff
    assert known.whole_range == (-3.0, 3.0)
