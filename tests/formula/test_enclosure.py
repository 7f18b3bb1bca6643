"""Enclosures contain every value and every slope of random formulas on random boxes."""

from __future__ import annotations

import itertools
import math
import random
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from onepull.errors import FormulaError
from onepull.formula import Enclosure, Formula

NAMES = ["x", "y"]
LEAVES = [*NAMES, *NAMES, *NAMES, "0", "1", "2", "0.1", "3.7", "1e-3", "10", "1e5"]
NODES = [
    *(f"(T {sign} T)" for sign in ("+", "-", "*", "/", "%", "//")),
    *(f"{name}(T)" for name in ("abs", "exp", "log", "log2", "log10", "log1p", "sqrt", "-")),
    *(f"(T) ** {power}" for power in ("2", "3", "0.5", "-1", "-2", "1.5", "0")),
    *("min(T, T)", "max(T, T, T)", "clip(T, T, T)", "floor(T)", "ceil(T)", "(abs(T) + 0.1) ** T"),
    *("(T if C else T)", "where(C, T, T)", "(0 + C)", "(T if x > 0 else T)", "(T if y < x else T)"),
]
CONDITIONS = [
    *(f"(T {sign} T)" for sign in ("<", "<=", ">", ">=", "==", "!=")),
    *("(T < T <= T)", "(C and C)", "(C or C)", "(not C)"),
]
ENDS = [-math.inf, -1e200, -3.0, -1.0, 0.0, 0.1, 0.3, 1.0, 2.0, 3.0, 1e9, 1e200, math.inf]
LARGEST = sys.float_info.max


def grow(draw: random.Random, depth: int, kind: str = "T") -> str:
    """Return a random term (T) or condition (C)."""
    if kind == "T" and (depth <= 0 or draw.random() < 0.15):
        return draw.choice(LEAVES)
    template = draw.choice(NODES if kind == "T" else CONDITIONS if depth > 0 else CONDITIONS[:6])
    return re.sub("[TC]", lambda hole: grow(draw, depth - 1, hole[0]), template)


def interval(draw: random.Random, *, wild: bool) -> tuple[float, float]:
    pool = ENDS if wild else ENDS[2:-3]
    low, high = sorted(draw.choice([draw.choice(pool), draw.uniform(-5, 5)]) for _ in range(2))
    return (low, high) if low < math.inf and high > -math.inf and low < high else (0.5, 2.0)


def inside(draw: random.Random, ends: tuple[float, float]) -> list[float]:
    """Return points of an interval: its ends, and others between them."""
    low, high = (min(max(end, -LARGEST), LARGEST) for end in ends)
    near = max(low, -1e3), min(high, 1e3)
    between = [draw.uniform(*near) for _ in range(3)]
    return sorted({low, high, *(min(max(value, low), high) for value in between)})


def accepted(seed: int, count: int, *, wild: bool) -> Iterator[Case]:
    """Draw random formulas and boxes until `count` of them were accepted."""
    draw = random.Random(seed)  # noqa: S311
    while count:
        text, box = grow(draw, draw.randint(1, 4)), {n: interval(draw, wild=wild) for n in NAMES}
        try:
            formula = Formula(text, NAMES)
            enclosure = formula.enclose(box, along=NAMES)
        except FormulaError:
            continue
        count -= 1
        yield Case(formula, box, enclosure, {n: inside(draw, box[n]) for n in NAMES})


class Case(NamedTuple):
    formula: Formula
    box: dict[str, tuple[float, float]]
    enclosure: Enclosure
    points: dict[str, list[float]]


@pytest.mark.parametrize("wild", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_values_lie_in_the_enclosure(seed, wild):
    for formula, box, enclosure, points in accepted(seed, 300, wild=wild):
        for x, y in itertools.product(points["x"], points["y"]):
            value = formula.scalar(x, y)
            assert isinstance(value, float), (formula, box)
            assert not math.isnan(value), (formula, box, x, y)
            spare = 1e-12 * abs(value) if math.isfinite(value) else 0.0
            low, high = enclosure.low - spare, enclosure.high + spare
            assert low <= value <= high, (formula, box, x, y)


@pytest.mark.parametrize("along", NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_difference_quotients_lie_in_the_slopes(seed, along):
    (other,) = set(NAMES) - {along}
    for formula, box, enclosure, points in accepted(seed, 300, wild=False):
        low, high = map(float, enclosure.slopes.get(along, (0.0, 0.0)))
        assert low <= high, (formula, box)
        for fixed in points[other]:
            values = [formula.scalar(**{along: v, other: fixed}) for v in points[along]]
            size = max(1.0, *map(abs, values), *(abs(float(end)) for end in enclosure.bounds))
            for (a, one), (b, two) in itertools.pairwise(zip(points[along], values, strict=True)):
                slack = 1e-9 * (b - a) * max(abs(low), abs(high), 1.0) + 1e-9 * size
                if math.isfinite(size):
                    within = low * (b - a) - slack <= two - one <= high * (b - a) + slack
                    assert within, (formula, box, along, a, b, fixed)


@pytest.mark.parametrize("seed", range(4))
def test_many_boxes_at_once_are_each_box_alone(seed):
    draw = random.Random(seed)  # noqa: S311
    for formula, *_ in accepted(seed, 100, wild=False):
        boxes = [{name: interval(draw, wild=True) for name in NAMES} for _ in range(4)]
        columns = {n: np.array([box[n] for box in boxes]).T for n in NAMES}
        try:
            low, high = formula.enclose({n: (c[0], c[1]) for n, c in columns.items()}).bounds
        except FormulaError:
            continue
        alone = np.array([formula.enclose(box).bounds for box in boxes]).T
        # Arrays and single numbers may differ in the last place.
        np.testing.assert_allclose(np.broadcast_to(low, 4), alone[0], rtol=1e-12)
        np.testing.assert_allclose(np.broadcast_to(high, 4), alone[1], rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("x ** 2", 0, 4),
        ("x ** 3", -1, 8),
        ("abs(x)", 0, 2),
        ("x * y", -3, 6),
        ("x / y", -1, 2),
        ("x % 5", 0, 5),
        ("y % 5", 1, 3),
        ("y // 2", 0, 1),
        ("min(x, y)", -1, 2),
        ("max(x, y)", 1, 3),
        ("clip(x, 0, 1)", 0, 1),
        ("x >= y", 0, 1),
        ("x > 3", 0, 0),
        ("y > 0", 1, 1),
        ("sqrt(y + 1)", math.sqrt(2), 2),
    ],
)
def test_simple_enclosures_are_exact(text, low, high):
    enclosure = Formula(text, NAMES).enclose({"x": (-1.0, 2.0), "y": (1.0, 3.0)})
    assert (float(enclosure.low), float(enclosure.high)) == (low, high)


@pytest.mark.parametrize("text", ["x % y", "x // y", "x ** y", "exp(x) / y", "x < y"])
def test_a_point_is_enclosed_by_its_value(text):
    formula = Formula(text, NAMES)
    xs, ys = (grid.ravel() for grid in np.meshgrid([0.3, 1.0, 2.0, 7.7], [0.1, 0.7, 2.0, 3.0]))
    enclosure = formula.enclose({"x": (xs, xs), "y": (ys, ys)})
    wanted = [formula.scalar(*point) for point in zip(xs.tolist(), ys.tolist(), strict=True)]
    assert enclosure.low.tolist() == pytest.approx(wanted, rel=1e-14)
    assert enclosure.high.tolist() == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("1 + 1 / x", "1 / x"),
        ("1 + x ** -1", "x ** -1"),
        ("y // x", "y // x"),
        ("y % x", "y % x"),
        ("2 * log(x)", "log(x)"),
        ("2 * log2(x)", "log2(x)"),
        ("log1p(x - 1)", "log1p(x - 1)"),
        ("1 + sqrt(x)", "sqrt(x)"),
        ("1 + x ** 0.5", "x ** 0.5"),
        ("1 + x ** y", "x ** y"),
        ("1 + exp(y)", "exp(y)"),
        ("1 + y ** 99 * 2", "y ** 99"),
        ("clip(y ** 50 * y ** 50 * y - y ** 50 * y ** 50 * y, 0, 1)", None),
        ("clip(floor(y ** 50 * y ** 50), 0, 1)", "floor(y ** 50 * y ** 50)"),
        ("9 ** 9 ** 9", "9 ** 9 ** 9"),
    ],
)
def test_a_formula_that_may_be_undefined_is_refused_where_it_is(text, part):
    with pytest.raises(FormulaError) as caught:
        Formula(text, NAMES).enclose({"x": (-1.0, 1.0), "y": (0.0, 2000.0)})
    error = caught.value
    assert part is None or error.text[error.start : error.stop] == part


@pytest.mark.parametrize(
    "text",
    [
        "log(x) if x >= 1 else 0",
        "0 if x < 1 else log(x)",
        "0 if 1 > x else log(x)",
        "1 / x if x > 0.5 else 2",
        "where(not x <= 0.5, 1 / x, 2)",
        "1 / x if x > 0 else 2",
        "1 / x if 0 < x else 2",
        "1 / x if y > 0 and x > y else 2",
        "2 if x <= 0 or y <= 1 else 1 / (x * y)",
        "1 / x if not (x <= 0 or y <= 1) else 2",
        "1 / x if 0 < x < 2 else 2",
        "(sqrt(x) if x > -y else 0) if y < 0 else 1",
        "log(x) if x > 1 else (log(y) if y > 1 else log(2 - y) if y < 1 else 0)",
    ],
)
def test_a_guard_narrows_the_domain(text):
    box = {"x": (-3.0, 3.0), "y": (-2.0, 2.0)}
    formula = Formula(text, NAMES)
    enclosure = formula.enclose(box)
    values = [formula.scalar(x / 8, y / 8) for x in range(-24, 25) for y in range(-16, 17)]
    assert enclosure.low <= min(values)
    assert max(values) <= enclosure.high


@pytest.mark.parametrize(
    "text",
    [
        "1 / x if x > -0.5 else 2",
        "1 / x if x > 0 or y > 0 else 2",
        "1 / x if y > 0 else 2",
        "2 if x > 0 else 1 / x",
        "2 if x > 0 and y > 0 else 1 / x",
        "1 / x if x >= 0 else 2",
    ],
)
def test_a_guard_that_leaves_a_gap_is_refused(text):
    with pytest.raises(FormulaError, match="divide by zero"):
        Formula(text, NAMES).enclose({"x": (-3.0, 3.0), "y": (-2.0, 2.0)})


def test_a_bounded_formula_of_an_unbounded_field_is_accepted():
    box = {"x": (0.0, math.inf), "y": (1.0, math.inf)}
    for text in ("min(x, 3)", "clip(x - y, 0, 3)", "min(x / y, 3)", "3 / (1 + x * x) + min(x, 0)"):
        enclosure = Formula(text, NAMES).enclose(box)
        assert (float(enclosure.low), float(enclosure.high)) == (0.0, 3.0)
