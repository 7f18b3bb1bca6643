"""Spaces validate their definition and the values they accept."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepull import Box, Finite, Grid, Interval, Problem, Sketch
from onepull.checks import real
from onepull.errors import ContextError, InputError, ProblemError, StateError

steady = settings(derandomize=True, deadline=None)


@pytest.mark.parametrize(
    "values", [[], [1, 1], [1, 1.0], [math.nan], [math.inf], ["1"], [True], "12", 5, [10**400]]
)
def test_finite_refuses(values):
    with pytest.raises(ProblemError, match="Finite takes"):
        Finite(values)


@pytest.mark.parametrize(
    "ends",
    [
        *[(1, 1), (2, 1), (math.nan, 1), (math.inf, math.inf), (-1.7e308, 1.7e308)],
        *[("0", 1), (None, 1), (False, 1)],
    ],
)
def test_interval_refuses(ends):
    with pytest.raises(ProblemError, match="Interval"):
        Interval(*ends)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, unique=True))
@steady
def test_finite_accepts_its_values_and_nothing_else(values):
    space = Finite(values)
    assert [space.accept(value) for value in values] == values == list(space.values)
    assert (space.low, space.high) == (min(values), max(values))
    assert eval(repr(space), {"Finite": Finite}) == space  # noqa: S307
    with pytest.raises(ValueError, match="is not one of"):
        space.accept(max(values) + 1)


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.floats(0, 1))
@steady
def test_interval_accepts_from_end_to_end(low, width, share):
    space = Interval(low, low + width)
    for value in (space.low, min(low + share * width, space.high), space.high):
        assert space.accept(np.float64(value)) == value
    for value in (np.nextafter(space.low, -math.inf), np.nextafter(space.high, math.inf), math.nan):
        with pytest.raises(ValueError, match="is not a finite number in"):
            space.accept(float(value))


def test_an_unbounded_interval_leaves_infinity_out():
    space = Interval(-math.inf, math.inf)
    assert space.accept(1e308) == 1e308
    for value in (math.inf, -math.inf, math.nan, 10**400):
        with pytest.raises(ValueError, match="finite"):
            space.accept(value)


@pytest.mark.parametrize("value", ["1", None, True, [1], 1j, np.array([1.0])])
def test_only_one_number_is_a_number(value):
    with pytest.raises(TypeError, match="not a number"):
        real(value)


@pytest.mark.parametrize("name", ["", "1a", "a b", "_a", "é", "lambda", "a.b", "a\n"])
def test_box_refuses_a_name(name):
    with pytest.raises(ProblemError, match="a name is"):
        Box({name: Finite([1])})


def test_box_refuses_what_is_no_space():
    with pytest.raises(ProblemError, match=r"takes Finite or Interval, as in Finite\(\[2, 1\]\)"):
        Box({"a": [2, 1]})  # type: ignore[dict-item]
    with pytest.raises(ProblemError, match=r"as in Interval\(0, 3, scale='log'\), given"):
        Box({"a": {"low": 0, "high": 3, "scale": "log"}})  # type: ignore[dict-item]
    with pytest.raises(ProblemError, match=r"as in Finite\(range\(0, 1000000000\)\)"):
        Box({"a": range(10**9)})  # type: ignore[dict-item]


def test_box_reads_its_fields_in_order_and_leaves_others():
    box = Box(b=Interval(0, 1), a=Finite([1, 2]))
    assert box.read({"a": 2, "z": "?", "b": np.float32(0.5)}) == (0.5, 2.0)
    assert box.exactly({"a": 1, "b": 0}) == (0.0, 1.0)
    assert box != Box(a=Finite([1, 2]), b=Interval(0, 1))
    assert len({box, Box(b=Interval(0, 1), a=Finite([1, 2]))}) == 1


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, ["context field 'a' is missing", "one of 1, 2"]),
        ({"a": 3, "b": 0}, ["'a' must be one of 1, 2", "given 3"]),
        ({"a": 1, "b": 2}, ["'b' must be a finite number in [0, 1]", "given 2"]),
        ({"a": "1", "b": 0}, ["given '1'", "not a number"]),
        ({"a": [9] * 99, "b": 0}, ["…", "not a number"]),
        ({"a": 1, "b": 0, "c": 0, 7: 0}, ["unknown fields 'c', 7", "allowed here: a, b"]),
        ({"a": 1, "c": 0}, ["'b' is missing (given the unknown field 'c')"]),
    ],
)
def test_refusals_say_what_was_given_and_what_is_allowed(fields, words):
    box = Box(a=Finite([1, 2]), b=Interval(0, 1))
    with pytest.raises(ContextError) as caught:
        box.acting_as("context").exactly(fields)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    with pytest.raises(StateError):
        box.acting_as("state").exactly(fields)
    with pytest.raises(InputError):
        box.exactly(fields)


def test_a_misspelt_field_is_told_with_the_nearest():
    box = Box(capacity=Finite([1, 2]), seconds=Interval(0, 1)).acting_as("state")
    for fields, said in (
        (
            {"capcity": 1, "seconds": 0},
            r"'capacity' is missing \(given the unknown field 'capcity',",
        ),
        ({"capcity": 1, "seconds": 0}, "did you mean 'capacity'"),
        (
            {"capacity": 1, "seconds": 0, "secnds": 0},
            "did you mean 'seconds'. Allowed here: capacity",
        ),
    ):
        with pytest.raises(StateError, match=said):
            box.exactly(fields)


@pytest.mark.parametrize("values", [3, None, "12", [[1]], ["1"], [True], [None], [1j], {"a": 1}])
def test_what_is_no_list_of_numbers_is_refused(values):
    with pytest.raises(ProblemError, match="Finite takes a list of numbers"):
        Finite(values)


def test_a_finite_space_has_a_limit_that_is_checked_first():
    with pytest.raises(ProblemError, match="at most 1,048,576 values"):
        Finite(range(10**12))


def test_a_number_given_twice_is_named():
    with pytest.raises(ProblemError, match="given 77 twice"):
        Finite([*range(50_000), 77])


@pytest.mark.parametrize("ends", [("0", 1), (0, None), (True, 2), (math.nan, 1), (2, 1), (1, 1)])
def test_what_is_no_interval_is_refused(ends):
    with pytest.raises(ProblemError, match="Interval takes"):
        Interval(*ends)


@pytest.mark.parametrize("spaces", [3, [1], "x", [("x", Finite([1]))], {"x": 1}, {1: Finite([1])}])
def test_what_is_no_box_is_refused(spaces):
    with pytest.raises(ProblemError, match="field"):
        Box(spaces)


def test_a_log_scale_spreads_cells_and_knots_by_ratio():
    problem = Problem(
        arms=["a"],
        context={"size": Interval(1, 10_000, scale="log")},
        state={"rate": Interval(0.01, 100, scale="log")},
        reward="min(size, rate)",
    )
    assert Problem.from_toml(problem.to_toml()) == problem
    grid = Grid(problem, delta=math.log(10.0))
    assert [round(centre, 6) for (centre,) in grid.centres] == [
        round(math.sqrt(10.0) * 10**i, 6) for i in range(4)
    ]
    generator = np.random.default_rng(0)
    column = np.exp(generator.uniform(0, math.log(10_000), 200))
    one_by_one = [grid.locate({"size": value}) for value in column.tolist()]
    assert grid.locate_many(column[:, None]).tolist() == one_by_one
    assert one_by_one == np.floor(np.log10(column)).astype(int).tolist()
    sketch = Sketch(problem, knots=41)
    for rate in np.exp(generator.uniform(math.log(0.01), math.log(100), 100)).tolist():
        weights = np.asarray(sketch.psi((rate,)))
        assert weights.sum() == pytest.approx(1.0)
        assert weights @ sketch.points[:, 0] == pytest.approx(rate)  # linear rewards are exact
        assert np.count_nonzero(weights) <= 2
        far = sketch.phi((7.0,)) @ weights - min(7.0, rate)
        assert abs(far) <= sketch.error


@pytest.mark.parametrize(
    ("low", "high", "scale"), [(0, 1, "log"), (-1, 1, "log"), (1, math.inf, "log"), (1, 2, "cubic")]
)
def test_a_log_scale_needs_positive_finite_ends(low, high, scale):
    with pytest.raises(ProblemError, match="scale"):
        Interval(low, high, scale=scale)
