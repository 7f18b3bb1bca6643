"""Enclosures contain every value and every slope of random formulas on random boxes."""

from __future__ import annotations

import itertools
import math
import random
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from formula.other_libraries import computed_elsewhere
from formula.random_formulas import random_formula

from onepull.errors import FormulaError
from onepull.formula import Enclosure, Formula

NAMES = ["x", "y"]
ENDS = [-math.inf, -1e200, -3.0, -1.0, 0.0, 0.1, 0.3, 1.0, 2.0, 3.0, 1e9, 1e200, math.inf]
LARGEST = sys.float_info.max


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
        text, box = random_formula(draw, NAMES), {n: interval(draw, wild=wild) for n in NAMES}
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
    draw = random.Random(seed)  # noqa: S311
    for formula, box, enclosure, points in accepted(seed, 300, wild=wild):
        elsewhere = computed_elsewhere(formula, draw)
        pairs = list(itertools.product(points["x"], points["y"]))
        arrays = formula.vector(*np.array(pairs).T).tolist()
        for (x, y), found in zip(pairs, arrays, strict=True):
            for value in (formula.scalar(x, y), found, elsewhere(x, y)):
                assert isinstance(value, float), (formula, box)
                assert enclosure.low <= value <= enclosure.high, (formula, box, x, y)


@pytest.mark.parametrize("along", NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_difference_quotients_lie_in_the_slopes(seed, along):
    (other,) = set(NAMES) - {along}
    for formula, box, enclosure, points in accepted(seed, 300, wild=False):
        low, high = map(float, enclosure.slopes.get(along, (0.0, 0.0)))
        assert low <= high, (formula, box)
        for fixed in points[other]:
            if low == -math.inf and high == math.inf:
                continue
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
        ("y ** -1", 1 / 3, 1),
        ("y ** 0.5", 1, math.sqrt(3)),
        ("y % 1e-308", 0, 1e-308),
    ],
)
def test_simple_enclosures_are_exact(text, low, high):
    enclosure = Formula(text, NAMES).enclose({"x": (-1.0, 2.0), "y": (1.0, 3.0)})
    assert (float(enclosure.low), float(enclosure.high)) == (low, high)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("floor(x)", 0, 3),
        ("ceil(x)", 0, 3),
        ("x // 1", 0, 3),
        ("x % 4", 0, 3),
        ("floor(x ** 2)", 0, 9),
        ("floor(x ** 3 - x)", -3, 27),
        ("floor(sqrt(x + 1))", 1, 2),
        ("floor((x + 1) ** 0.5)", 1, 2),
        ("floor(6 * (x + 1) ** -1)", 1, 6),
        ("ceil(exp(-x))", 1, 1),
        ("floor(log(x + 1))", 0, 1),
        ("floor((x / 3) ** 0.3)", 0, 1),
        ("x >= 3", 0, 1),
        ("x > 3", 0, 0),
        ("exp(x) >= 1", 1, 1),
    ],
)
def test_jumps_at_whole_numbers_are_exact(text, low, high):
    enclosure = Formula(text, ["x"]).enclose({"x": (0.0, 3.0)})
    assert (float(enclosure.low), float(enclosure.high)) == (low, high)


# Jumps of each kind, behind each function that libraries compute differently.
INNER = [
    *("x ** (1 / 3)", "x ** 1.5", "x ** -2", "x ** 5", "2 ** x", "x ** (x / 999)", "exp(log(x))"),
    *("log(x)", "log2(x)", "log10(x)", "log1p(x)", "exp(x / 9)", "x / 3", "x * 0.1", "x - 0.3"),
]
JUMPS = [
    *("floor({})", "ceil({})", "({}) // 1", "({}) // 0.1", "({}) % 1", "5 % ({} + 9)"),
    *("{} >= 3", "3 > {}", "{} == 3", "{} != 2", "1 < {} <= 3", "x if {} < 2 else -x"),
    *("floor(3 * ({}))", "not {} < 3", "where({} <= 1, 1 / 3, 7)", "ceil({}) + 1"),
]


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("jump", JUMPS)
def test_enclosures_hold_at_jumps(inner, jump):
    formula = Formula(jump.format(inner), ["x"])
    draw = random.Random(0)  # noqa: S311
    elsewhere = computed_elsewhere(formula, draw)
    centres = [*range(1, 28), 64, 100, 125, 1000, 0.1, 0.3, 0.5, 0.7, math.e, math.e**2, 9 * 2**0.5]
    points = []
    for centre in map(float, centres):
        below, above = math.nextafter(centre, 0.0), math.nextafter(centre, math.inf)
        points += [math.nextafter(below, 0.0), below, centre, above, math.nextafter(above, 2e3)]
    arrays = formula.vector(np.array(points)).tolist()
    alone = formula.enclose({"x": (np.array(points), np.array(points))})
    lows, highs = (np.broadcast_to(end, len(points)) for end in alone.bounds)
    whole = formula.enclose({"x": (min(points), max(points))})
    for i, x in enumerate(points):
        for value in (formula.scalar(x), arrays[i], elsewhere(x)):
            assert lows[i] <= value <= highs[i], x
            assert whole.low <= value <= whole.high, x


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


COMPARISONS = ["x < y", "x <= y * 2", "y > x * x", "x >= y", "0 < x < y", "y > x >= x * x"]


@pytest.mark.parametrize("one", COMPARISONS)
@pytest.mark.parametrize("two", COMPARISONS)
@pytest.mark.parametrize("joined", ["{} and {}", "{} or {}", "not ({} or not {})"])
def test_narrowing_keeps_boxes_of_any_shape(one, two, joined):
    formula = Formula(f"x * y if {joined.format(one, two)} else x / 2 + y * y", NAMES)
    edges, points = np.linspace(-2, 3, 6), np.array([-1.0, 0.5, 2.0])
    box = {"x": (edges[:-1, None], edges[1:, None]), "y": (points, points)}
    enclosure = formula.enclose(box, along=NAMES)
    assert enclosure.low.shape == enclosure.high.shape == (5, 3)
    for x in np.linspace(-2, 3, 41):
        cell = min(int(x + 2), 4)
        for i, y in enumerate(points):
            value = formula.scalar(float(x), float(y))
            assert enclosure.low[cell, i] <= value <= enclosure.high[cell, i]


def test_a_bounded_formula_of_an_unbounded_field_is_accepted():
    box = {"x": (0.0, math.inf), "y": (1.0, math.inf)}
    for text in ("min(x, 3)", "clip(x - y, 0, 3)", "min(x / y, 3)", "3 / (1 + x * x) + min(x, 0)"):
        enclosure = Formula(text, NAMES).enclose(box)
        assert (float(enclosure.low), float(enclosure.high)) == (0.0, 3.0)
