"""The grid: equal cells no wider than delta, each standing for its centre."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import channels, harvesting, mixed

from onepull import ContextError, Finite, Grid, Interval, ParameterError, Problem
from onepull.factor.cells import MOST_CELLS


def on(low, high, reward="y * x"):
    return Problem(
        arms=["a", "b"],
        context={"y": Interval(low, high)},
        state={"x": Interval(0, 1)},
        reward=reward,
    )


def plane():
    return Problem(
        arms=["a"],
        context={"u": Interval(0, 1), "kind": Finite([5, 7]), "v": Interval(-2, 2)},
        state={"x": Interval(0, 3)},
        reward="kind * u + x * v",
    )


@given(
    low=st.floats(-100, 100),
    width=st.floats(0.01, 100),
    delta=st.floats(0.02, 200),
    part=st.floats(0, 1),
)
@settings(derandomize=True, deadline=None)
def test_cells_are_equal_and_no_wider_than_delta(low, width, delta, part):
    space = Interval(low, low + width)
    grid = Grid(on(space.low, space.high), delta=delta)
    count = max(1, math.ceil(space.width / delta - 1e-9))
    assert grid.features == count
    assert space.width / count <= delta * (1 + 1e-8)
    cell = space.width / count
    value = min(space.low + part * space.width, space.high)
    centre = grid.centres[grid.locate({"y": value})][0]
    assert abs(value - centre) <= cell / 2 + 1e-9 * max(1.0, abs(low), width)
    steps = np.diff([c for (c,) in grid.centres])
    np.testing.assert_allclose(steps, cell, rtol=1e-6)


def test_a_delta_that_does_not_divide_the_width_makes_cells_narrower():
    grid = Grid(on(0, 1), delta=0.3)
    assert grid.centres == [(0.125,), (0.375,), (0.625,), (0.875,)]


def test_a_tenth_cuts_the_unit_interval_into_ten():
    grid = Grid(on(0, 1), delta=0.1)
    assert grid.features == 10
    assert [c for (c,) in grid.centres] == pytest.approx(np.arange(0.05, 1, 0.1), abs=1e-15)


@pytest.mark.parametrize(
    ("high", "delta", "count"),
    [(1, 1e-3, 1000), (1, 1 / 7, 7), (1, 1e-6, 10**6), (1.1, 0.1, 11), (0.7, 0.1, 7)],
)
def test_rounding_of_delta_adds_no_cell(high, delta, count):
    assert Grid(on(0, high), delta=delta).features == count


def test_a_delta_as_wide_as_the_space_makes_one_cell():
    for delta in (1, 1.5, 1e9):
        assert Grid(on(0, 1), delta=delta).centres == [(0.5,)]


def test_a_boundary_belongs_to_the_upper_cell_and_the_end_to_the_last():
    grid = Grid(on(0, 1), delta=0.25)
    at = [grid.locate({"y": y}) for y in (0, 0.25, math.nextafter(0.25, 0), 0.5, 0.75, 1.0)]
    assert at == [0, 1, 0, 2, 3, 3]


def test_whole_numbers_and_numpy_numbers_are_contexts():
    grid = Grid(on(0, 4), delta=1)
    assert [grid.locate({"y": y}) for y in (3, np.float64(3), np.int64(3))] == [3, 3, 3]


@pytest.mark.parametrize("value", [-1e-9, 1.0000001, math.nan, math.inf, "0.5", None, True])
def test_what_is_not_a_context_is_refused(value):
    with pytest.raises(ContextError, match=r"must be a finite number in \[0, 1\], given"):
        Grid(on(0, 1), delta=0.1).locate({"y": value})


def test_fields_make_a_product_and_finite_ones_keep_their_values():
    grid = Grid(plane(), delta=1)
    assert grid.features == 1 * 2 * 4
    assert grid.centres[:4] == [(0.5, 5, -1.5), (0.5, 5, -0.5), (0.5, 5, 0.5), (0.5, 5, 1.5)]
    assert grid.centres[4] == (0.5, 7, -1.5)
    assert grid.locate({"v": 2, "u": 0.3, "kind": 7}) == 7


def test_delta_may_be_given_for_each_field():
    grid = Grid(plane(), delta={"v": 2, "u": 0.25})
    assert grid.features == 4 * 2 * 2
    assert grid.delta == {"v": 2.0, "u": 0.25}


def test_psi_is_the_reward_at_the_centres():
    grid = Grid(harvesting(), delta=0.1)
    expected = [math.log(1 + y * 3.5) for (y,) in grid.centres]
    assert list(grid.psi((3.5,))) == pytest.approx(expected, abs=1e-14)


def test_looking_gives_the_range_at_the_centre():
    grid = Grid(harvesting(), delta=0.1)
    _, low, high = grid.look(np.zeros((10, 1)), {"power": 0.29})
    assert low == 0.0
    assert high == pytest.approx(math.log(1 + 0.25 * 7), abs=1e-12)


def test_cell_bounds_cover_the_cell_and_not_only_its_centre():
    lows, highs = Grid(harvesting(), delta=0.25).cell_bounds()
    assert lows == [0.0] * 4
    expected = [math.log(1 + edge * 7) for edge in (0.25, 0.5, 0.75, 1.0)]
    assert highs == pytest.approx(expected, abs=1e-12)


def test_the_error_is_half_a_cell_times_the_slope():
    assert Grid(on(0, 1), delta=0.3).error == pytest.approx(0.25 / 2, rel=1e-6)
    assert Grid(plane(), delta=0.5).error == pytest.approx(0.25 * 7 + 0.25 * 3, rel=1e-6)


@pytest.mark.parametrize("problem", [harvesting, mixed, plane])
def test_the_error_bounds_what_the_centre_gets_wrong(problem):
    problem = problem()
    grid = Grid(problem, delta=0.37)
    generator = np.random.default_rng(4)
    for _ in range(300):
        context = {
            name: generator.choice(space.values)
            if isinstance(space, Finite)
            else generator.uniform(space.low, space.high)
            for name, space in problem.context.items()
        }
        (state,) = problem.state.values()
        x = float(generator.uniform(state.low, min(state.high, 10)))
        values = problem.context.read(context)
        exact = problem.payoff.scalar(*values, x)
        assert abs(grid.psi((x,))[grid.locate(context)] - exact) <= grid.error + 1e-12


def test_the_finest_grid_keeps_to_the_most_cells():
    assert Grid.finest(harvesting(), delta=1e-3).features == 1000
    assert MOST_CELLS / 2 < Grid.finest(harvesting(), delta=1e-9).features <= MOST_CELLS


def test_no_grid_is_fine_enough_for_too_many_finite_contexts():
    problem = Problem(
        arms=["a"],
        context={"y": Interval(0, 1), "z": Finite(range(MOST_CELLS + 1))},
        state={"x": Interval(0, 1)},
        reward="x * y",
    )
    with pytest.raises(ParameterError, match="more than the 1,000,000 allowed"):
        Grid.finest(problem, delta=0.1)


def test_an_unbounded_context_is_refused():
    problem = on(0, math.inf, "min(y, x)")
    for grid in (Grid, Grid.finest):
        with pytest.raises(ParameterError, match="only a bounded interval can be divided"):
            grid(problem, delta=0.1)


@pytest.mark.parametrize("delta", [0, -0.1, math.nan, math.inf, "0.1", True, None, [0.1]])
def test_a_delta_that_is_no_width_is_refused(delta):
    with pytest.raises(ParameterError, match="delta must be a number above 0, given"):
        Grid(on(0, 1), delta=delta)


@pytest.mark.parametrize("delta", [{}, {"u": 1}, {"u": 1, "v": 1, "kind": 1}, {"u": 1, "w": 1}])
def test_deltas_must_name_the_interval_fields(delta):
    with pytest.raises(
        ParameterError, match="delta must be given for the interval fields u, v, given for"
    ):
        Grid(plane(), delta=delta)


@pytest.mark.parametrize("delta", [9e-7, 1e-9, 5e-324])
def test_a_delta_that_makes_too_many_cells_is_refused(delta):
    with pytest.raises(ParameterError, match="'y' into more than 1,000,000 cells"):
        Grid(on(0, 1), delta=delta)


def test_a_product_of_too_many_cells_is_refused():
    with pytest.raises(
        ParameterError, match="8,000,000 context cells are more than the 1,000,000 allowed"
    ):
        Grid(plane(), delta=1e-3)


def test_finite_contexts_are_for_a_table():
    with pytest.raises(ParameterError, match="use a table"):
        Grid(channels(), delta=0.1)
