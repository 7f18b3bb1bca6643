"""Scalar and vector forms of a formula agree with Python and with each other."""

from __future__ import annotations

import math
import random

import numba
import numpy as np
import pytest
from formula.used_operations import all_operations, used_operations
from hypothesis import given, settings
from hypothesis import strategies as st

from onepull.formula import Formula

NAMES = ["x", "y", "z"]
PLAIN = {
    "min": min,
    "max": max,
    "abs": abs,
    "exp": math.exp,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "log1p": math.log1p,
    "sqrt": math.sqrt,
    "floor": math.floor,
    "ceil": math.ceil,
    "clip": lambda value, low, high: min(max(value, low), high),
    "where": lambda condition, a, b: a if condition else b,
}
TEXTS = [
    "x + y",
    "x - y",
    "x * y",
    "x / (y * y + 1)",
    "x % (abs(y) + 0.5)",
    "x % -(abs(y) + 0.5)",
    "x ** 3",
    "(x + y) ** 4",
    "((x - y) ** 2 + z) ** 3",
    "(abs(x) + 0.1) ** -1",
    "abs(x) ** 0.5",
    "x ** 5",
    "-x ** 2",
    "(-x) ** 2",
    "(abs(x) + 0.1) ** y",
    "2 ** -x",
    "-x",
    "+x",
    "1_000 * x + 0x10 + .5e1",
    "x < y",
    "x <= y",
    "x > y",
    "x >= y",
    "x == y",
    "x != y",
    "x < y < z",
    "x < y and y < z",
    "x < y or y < z or z < x",
    "not x < y",
    "(x < y) + (y < z) - 2 * (z < x)",
    "x if y < z else z",
    "where(x < y, x, z)",
    "min(x, y)",
    "max(x, y)",
    "min(x, y, z, 1)",
    "max(x + 1, y * 2, z)",
    "min(-x, 2)",
    "clip(x, -1, y)",
    "abs(x)",
    "exp(x)",
    "log(abs(x) + 1)",
    "log2(abs(x) + 1)",
    "log10(abs(x) + 1)",
    "log1p(abs(x))",
    "sqrt(abs(x))",
    "floor(x)",
    "ceil(x)",
    "1 / x if x > 0.5 else 2",
    "log(x) if x >= 1 and y >= 0 else sqrt(-x) if x < 0 else y",
]
number = st.floats(-4, 4) | st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0])
points = st.lists(st.tuples(number, number, number), min_size=1, max_size=6)


def close(values):
    return pytest.approx(values, rel=1e-14, abs=1e-300)


def plain(text, point):
    return float(eval(text, dict(PLAIN), dict(zip(NAMES, point, strict=True))))  # noqa: S307


@pytest.mark.parametrize("text", TEXTS)
@given(points=points)
@settings(derandomize=True, deadline=None, max_examples=15)
def test_scalar_vector_and_rows_equal_plain_python(text, points):
    formula = Formula(text, NAMES)
    values = [formula.scalar(*point) for point in points]
    # Small powers are products, which may differ from Python's in the last digit.
    wanted = [plain(text, point) for point in points]
    assert values == (close(wanted) if "**" in text else wanted)
    assert formula.vector(*np.array(points).T).tolist() == close(values)
    for point, value in zip(points, values, strict=True):
        assert formula.vector(*point) == close(value)
    listed = formula.rows([point[:2] for point in points])
    for *_, z in points:
        assert listed((z,)) == [formula.scalar(*point[:2], z) for point in points]


def test_every_operation_is_tested():
    assert used_operations([*TEXTS, "x // y"], NAMES) == all_operations()


@given(points)
@settings(derandomize=True, deadline=None)
def test_whole_quotient_is_the_floor_of_the_quotient(points):
    formula = Formula("x // (abs(y) + 0.5)", NAMES)
    for point in points:
        assert formula.scalar(*point) == math.floor(point[0] / (abs(point[1]) + 0.5))
        assert formula.vector(*point) == formula.scalar(*point)


def test_rows_do_not_work_out_a_branch_that_is_not_taken():
    formula = Formula("min(x if y <= 0 else 1 / y + sqrt(y) + y ** 0.5, 9)", ["y", "x"])
    assert formula.rows([(0.0,), (-1.0,), (4.0,)])((3.0,)) == [3.0, 3.0, 4.25]


def test_rows_keep_what_overflows():
    formula = Formula("min(y * 1e308 * y, x)", ["y", "x"])
    assert formula.rows([(10.0,), (0.0,)])((3.0,)) == [3.0, 0.0]


def test_arrays_take_plain_numbers_in_a_branch_that_is_not_taken():
    formula = Formula("y / x if x > 0 else y", ["y", "x"])
    assert formula.vector(np.array([1.0, 2.0]), 0.0).tolist() == [1.0, 2.0]


def test_vector_broadcasts_what_it_does_not_depend_on():
    assert Formula("x", ["x", "y"]).vector(2.0, np.zeros((3, 2))).shape == (3, 2)


def test_numba_compiles_the_source_and_gives_the_same_floats():
    text = (
        "where(x < y and not y == z, min(x, y, z + 1), max(x - y, z)) + log(1 + x * x)"
        " + exp(-y) * sqrt(abs(z)) - floor(x * y) + clip(z, -1, x) + min(x, 2) + (x >= 0.5)"
    )
    formula = Formula(text, NAMES)
    compiled = numba.njit(formula.scalar)
    draw = random.Random(0)  # noqa: S311
    for _ in range(300):
        point = [draw.choice([draw.uniform(-3, 3), float(draw.randint(-2, 2))]) for _ in NAMES]
        assert compiled(*point) == formula.scalar(*point)
