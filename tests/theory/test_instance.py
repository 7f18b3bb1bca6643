"""Gaps, sets and probabilities are those of the definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from onepull import Finite, Interval, ParameterError, Problem
from onepull.distributions import (
    Beta,
    Clipped,
    Discrete,
    Exponential,
    Independent,
    InOrder,
    Mixture,
    Switching,
    Truncated,
    TruncatedNormal,
    Uniform,
)
from onepull.environment import Environment, channel_selection, energy_harvesting
from onepull.factor import Grid
from onepull.theory import Instance
from onepull.theory.cell_probabilities import cell_masses


def test_the_seven_channels_by_hand():
    """In context y, channel j yields min(y, j)(8-j)/10 in the mean, and the range is y."""
    seven = Instance.of(channel_selection(7))
    means = np.array([[min(y, j) * (8 - j) / 10 for j in range(1, 8)] for y in (1, 2, 3, 4)])
    np.testing.assert_allclose(seven.rewards, means)
    np.testing.assert_allclose(
        seven.gaps, means.max(axis=1, keepdims=True) - means, rtol=0, atol=1e-12
    )
    assert seven.ranges.tolist() == [1, 2, 3, 4]
    assert seven.probabilities.tolist() == [0.25] * 4
    assert (seven.optimal, seven.never_optimal) == ([0, 1, 2, 3], [4, 5, 6])
    assert [seven.contexts_of(j).tolist() for j in range(5)] == [[0], [1], [2], [3], []]
    np.testing.assert_allclose(seven.q, [0.25] * 4 + [0] * 3)
    assert seven.p_o == 0.25
    # Channel 2 in context 1 and channel 3 in context 4; channel 7 in contexts 3 and 4.
    assert (seven.smallest_gap, seven.largest_gap) == pytest.approx((0.1, 1.2))
    assert seven.cell_cost == 0


def test_the_four_channels_are_all_best_somewhere():
    four = Instance.of(channel_selection(4))
    assert (four.optimal, four.never_optimal) == ([0, 1, 2, 3], [])
    assert (four.smallest_gap, four.largest_gap) == pytest.approx((0.1, 0.9))


def test_energy_harvesting_by_hand():
    """Channel j yields log(1 + yj)(8-j)/10; L is the largest gain and G is log(1 + 4y)."""
    cells = Instance.of(energy_harvesting(4), delta=0.01)
    y = (np.arange(100) + 0.5) / 100
    np.testing.assert_allclose(cells.contexts[:, 0], y)
    means = np.array([[math.log1p(p * j) * (8 - j) / 10 for j in range(1, 5)] for p in y])
    np.testing.assert_allclose(cells.rewards, means)
    np.testing.assert_allclose(cells.probabilities, 0.01)
    np.testing.assert_allclose(cells.ranges, np.log1p(4 * y))
    # Channel 4 is best up to the root of 0.5 log(1 + 3y) = 0.4 log(1 + 4y), about 0.2023.
    assert (cells.optimal, cells.never_optimal) == ([2, 3], [0, 1])
    assert cells.contexts_of(3).tolist() == list(range(20))
    assert cells.lipschitz == {"power": 4}
    assert cells.cell_cost == pytest.approx(0.04)


def problem(**context):
    return Problem(arms=["a", "b"], context=context, state={"x": Finite([0, 1])}, reward="x")


STATES = {"a": Discrete([0, 1], [0.5, 0.5]), "b": Discrete([0, 1], [0.5, 0.5])}


def test_ties_count_for_every_best_arm_and_leave_no_gap():
    listed = problem(y=Finite([1, 2]))
    tied = Instance.of(Environment(listed, states=STATES, contexts=Discrete([1, 2], [0.4, 0.6])))
    assert tied.optimal == [0, 1]
    assert tied.q.tolist() == [1, 1]
    assert tied.alone_in(0).tolist() == []
    assert (tied.smallest_gap, tied.largest_gap) == (math.inf, 0)


def test_contexts_that_are_listed_twice_or_never_occur():
    listed = problem(y=Finite([1, 2, 3]))
    found = Instance.of(Environment(listed, states=STATES, contexts=InOrder([2, 1, 2])))
    assert found.contexts.ravel().tolist() == [1, 2]
    np.testing.assert_allclose(found.probabilities, [1 / 3, 2 / 3])
    assert "in order" in found.notes[0]
    law = Discrete([1, 2, 3], [0.5, 0.0, 0.5])
    found = Instance.of(Environment(listed, states=STATES, contexts=law))
    assert found.contexts.ravel().tolist() == [1, 3]


def test_cells_have_the_probability_of_their_law():
    unit = problem(y=Interval(0, 1))
    beta = Environment(unit, states=STATES, contexts=Beta(2, 2))
    edges = np.linspace(0, 1, 6)
    exact = 3 * edges**2 - 2 * edges**3
    np.testing.assert_allclose(Instance.of(beta, 0.2).probabilities, np.diff(exact), atol=1e-10)
    arcsine = Environment(unit, states=STATES, contexts=Beta(0.5, 0.5))
    exact = 2 / math.pi * np.arcsin(np.sqrt(edges))
    np.testing.assert_allclose(Instance.of(arcsine, 0.2).probabilities, np.diff(exact), atol=1e-6)
    normal = Environment(unit, states=STATES, contexts=TruncatedNormal(0.5, 0.01, low=0, high=1))
    # All of it is in the middle cell, so the others are left out or have next to nothing.
    assert Instance.of(normal, 0.2).probabilities.max() == pytest.approx(1)
    listed = Environment(unit, states=STATES, contexts=Discrete([0.1, 0.15, 0.9], [0.2, 0.3, 0.5]))
    found = Instance.of(listed, 0.5)
    assert found.contexts.ravel().tolist() == [0.25, 0.75]
    np.testing.assert_allclose(found.probabilities, [0.5, 0.5])


def test_cells_of_several_fields():
    several = problem(y=Interval(0, 2), z=Finite([5, 6]), w=Interval(0, 1))
    law = Independent(Uniform(0, 2), Discrete([5, 6], [0.3, 0.7]), Uniform(0, 0.5))
    found = Instance.of(Environment(several, states=STATES, contexts=law), {"y": 1, "w": 0.5})
    np.testing.assert_allclose(found.contexts, [[0.5, 5, 0.25], [0.5, 6, 0.25],
                                                [1.5, 5, 0.25], [1.5, 6, 0.25]])  # fmt: skip
    np.testing.assert_allclose(found.probabilities, [0.15, 0.35, 0.15, 0.35])
    assert found.widths == {"y": 1, "w": 0.5}


def test_what_there_is_no_instance_of():
    with pytest.raises(ParameterError, match=r"so delta .* is needed"):
        Instance.of(energy_harvesting())
    with pytest.raises(ParameterError, match="all are finite"):
        Instance.of(channel_selection(), delta=0.1)
    listed = problem(y=Finite([1]))
    turned = Switching({0: STATES["a"], 500: Discrete([0, 1], [0, 1])})
    with pytest.raises(ParameterError, match="do not change; these change after trial 500"):
        Instance.of(
            Environment(listed, states={**STATES, "a": turned}, contexts=Discrete([1], [1]))
        )


@pytest.mark.parametrize(
    "law",
    [
        Clipped(Exponential(0.3), 0, 1),
        Truncated(Exponential(0.3), 0, 1),
        Mixture([(0.5, Uniform(0, 1)), (0.5, Discrete([0.3], [1]))]),
    ],
    ids=repr,
)
def test_cells_of_mixed_and_cut_contexts(law):
    problem = Problem(
        arms=["a"],
        context={"power": Interval(0, 1)},
        state={"gain": Interval(0, 4)},
        reward="log(1 + power * gain)",
    )
    below = [law.expectation(lambda x, c=c: (x < c) * 1.0) for c in (0.25, 0.5, 0.75)]
    exact = np.diff([0.0, *below, 1.0])
    assert cell_masses(Grid(problem, delta=0.25), law) == pytest.approx(exact, abs=1e-8)
