"""Machine code gives the same floats as the formula on numbers, for every operation."""

from __future__ import annotations

import math
import random
import struct

import numba
import numpy as np
import pytest
from formula.random_formulas import random_formula
from formula.used_operations import all_operations, used_operations

from onepull import Box, Finite, FormulaError, Interval, Reward
from onepull.payoff.formula_payoff import FormulaPayoff
from onepull.simulation.compiled_formula import machine_code

WIDE = Interval(-1e30, 1e30)
TEXTS = [
    "x + y",
    "x - y",
    "x * y",
    "x / (abs(y) + 1)",
    "x // (abs(y) + 0.5)",
    "x // -(abs(y) + 0.5)",
    "x % (abs(y) + 0.5)",
    "x % -(abs(y) + 0.5)",
    "x ** 2",
    "x ** 3",
    "x ** 4",
    "(x + y) ** 2 - (x - y) ** 3",
    "x ** 5",
    "abs(x) ** (1 / 3)",
    "(abs(x) + 0.1) ** -1",
    "2 ** clip(x, -9, 9)",
    "abs(x) ** 0.5",
    "(abs(x) + 0.1) ** clip(y, -3, 3)",
    "-x",
    "x < y",
    "x <= y",
    "x > y",
    "x >= y",
    "x == y",
    "x != y",
    "-1 < x < y",
    "x < y or y < 0 or x == 1",
    "not x < y",
    "x if y < 0 else y",
    "where(x < y, x, -y)",
    "min(x, y)",
    "max(x, y)",
    "min(x, y, 1)",
    "max(x + 1, y * 2, 3)",
    "clip(x, -1, y)",
    "abs(x)",
    "exp(clip(x, -700, 700))",
    "log(abs(x) + 1)",
    "log2(abs(x) + 1)",
    "log10(abs(x) + 1)",
    "log1p(abs(x))",
    "sqrt(abs(x))",
    "floor(x)",
    "ceil(x)",
    "min(1, floor(x * y) / 1e19)",
]


def columns():
    generator = np.random.default_rng(0)
    large = generator.uniform(-1, 1, (2, 200)) * 10.0 ** generator.integers(-5, 31, (2, 200))
    edges = [-1e30, -(2.0**63), -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, 2.0**63, 1e19, 1e30]
    pairs = np.array(np.meshgrid(edges, edges)).reshape(2, -1)
    small, whole = generator.uniform(-4, 4, (2, 200)), generator.integers(-9, 10, (2, 200))
    return np.ascontiguousarray(np.concatenate([large, pairs, small, whole], axis=1))


@numba.njit
def run(g, points, rewards):
    g(points, rewards)  # as a kernel does


def bits(values):
    return [struct.pack("d", value) for value in values]


@pytest.mark.parametrize("text", TEXTS)
def test_machine_code_equals_the_scalar_form_bit_for_bit(text):
    payoff = FormulaPayoff(Reward(text), Box(y=WIDE), Box(x=WIDE))
    points = columns()
    rewards = np.empty(points.shape[1])
    run(machine_code(payoff), points, rewards)
    wanted = [payoff.scalar(*point) for point in points.T.tolist()]
    assert all(map(math.isfinite, wanted))
    assert bits(rewards) == bits(wanted)


JUMPS = [
    "floor(abs(x) ** (1 / 3)) + ceil(log2(abs(x) + 1)) - abs(y) ** 1.5 // 1",
    "(log10(abs(x) + 1) >= 1) + (exp(clip(y, -9, 9)) > 1) * (x // 0.1) - x % 0.1",
    "x if x ** 5 == y ** 5 else -1 if abs(x) ** -0.5 < 1 and x != 0 else 7 % (y * y + 1)",
]


def random_texts():
    rng = random.Random(7)  # noqa: S311
    return [random_formula(rng, ["y", "x"]) for _ in range(12)]


@pytest.mark.parametrize("text", [*JUMPS, *random_texts()])
def test_machine_code_lies_in_the_derived_range_at_jumps(text):
    try:
        payoff = FormulaPayoff(Reward(text), Box(y=Interval(-30, 30)), Box(x=Interval(-30, 30)))
    except FormulaError:
        return
    whole = np.array([*range(-27, 28), 0.1, 0.3, 0.7, math.e])
    near = np.concatenate([np.nextafter(whole, -99), whole, np.nextafter(whole, 99)])
    pairs = np.array(np.meshgrid(near[::3], near)).reshape(2, -1)
    points = np.ascontiguousarray(np.concatenate([pairs, np.array([near, near])], axis=1))
    rewards = np.empty(points.shape[1])
    run(machine_code(payoff), points, rewards)
    assert rewards.tolist() == [payoff.scalar(*point) for point in points.T.tolist()]
    lows, highs = payoff.range({"y": (points[0], points[0])})
    for values in (rewards, payoff.vector(*points)):
        assert np.all((lows <= values) & (values <= highs))


WORDS = ["us", "eu", "a b"]  # not in alphabetical order


def texts_with_words():
    rng = random.Random(8)  # noqa: S311
    words = {"v": WORDS, "w": WORDS}
    grown = (random_formula(rng, ["x"], words) for _ in range(1000))
    compared = [text for text in grown if "'" in text or '"' in text]
    return ["x if v == w else -x", "(v == 'eu') - 2 * (w != \"a b\")", *compared[:6]]


@pytest.mark.parametrize("text", texts_with_words())
def test_machine_code_compares_words(text):
    words = Finite(WORDS)
    try:
        payoff = FormulaPayoff(Reward(text), Box(v=words, x=Interval(-30, 30)), Box(w=words))
    except FormulaError:
        return
    numbers = {"x": [-30.0, -1.5, 0.0, 0.1, 1.0, 7.0], "v": [0.0, 1.0, 2.0], "w": [0.0, 1.0, 2.0]}
    points = np.array(np.meshgrid(*(numbers[name] for name in payoff.names))).reshape(3, -1)
    rewards = np.empty(points.shape[1])
    run(machine_code(payoff), points, rewards)
    wanted = [payoff.scalar(*point) for point in points.T.tolist()]
    assert bits(rewards) == bits(wanted)
    assert bits(payoff.vector(*points)) == bits(wanted)


def test_every_operation_is_compared():
    assert used_operations(TEXTS, ["x", "y"]) == all_operations()
