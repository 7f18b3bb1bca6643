"""Laws on finitely many points: expectations, samples, error messages."""

from __future__ import annotations

import math

import numpy as np
import pytest

from onepull import Discrete, ParameterError
from onepull.distributions import InOrder, scaled_bernoulli


def test_expectation_is_the_weighted_sum():
    law = Discrete([0, 1, 5], [0.2, 0.3, 0.5])
    assert law.expectation(np.square) == pytest.approx(0.3 + 0.5 * 25, abs=1e-12)


def test_expectation_of_a_function_of_two_fields():
    law = Discrete([[1, 10], [2, 20]], [0.25, 0.75])
    assert law.expectation(lambda x, y: x * y) == pytest.approx(0.25 * 10 + 0.75 * 40, abs=1e-12)


def test_samples_are_rows_with_the_stated_frequencies():
    law = Discrete([[0, 1], [3, 4]], [0.3, 0.7])
    rows = law.sample(np.random.default_rng(5), 10_000)
    assert rows.shape == (10_000, 2)
    assert set(map(tuple, rows.tolist())) == {(0.0, 1.0), (3.0, 4.0)}
    # Hoeffding: off by 0.03 with probability below 2·exp(-2·10^4·0.03²) = 3e-8.
    assert abs(np.mean(rows[:, 0] == 3) - 0.7) < 0.03


def test_the_same_generator_gives_the_same_sample():
    law = Discrete([0, 1], [0.5, 0.5])
    one, two = (law.sample(np.random.default_rng(1), 50) for _ in range(2))
    assert np.array_equal(one, two)


def test_probabilities_are_scaled_to_sum_to_one():
    law = Discrete([1, 2, 3], [1 / 3 + 1e-10, 1 / 3, 1 / 3])
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-15)


def test_it_is_shown_as_written():
    assert repr(Discrete([0, 3], [0.5, 0.5])) == "Discrete([0.0, 3.0], [0.5, 0.5])"


@pytest.mark.parametrize(
    ("values", "probabilities", "said"),
    [
        ([1, 2], [0.5, 0.6], "sum to 1"),
        ([1, 2], [1.5, -0.5], "sum to 1"),
        ([1], [math.nan], "sum to 1"),
        ([1, 2], [1.0], "one probability per state"),
        ([], [], "one probability per state"),
        (3, [1.0], "one probability per state"),
        ([[], []], [0.5, 0.5], "one probability per state"),
        ([[[1]]], [1.0], "one probability per state"),
        ([math.inf], [1.0], "finite states"),
        ([math.nan], [1.0], "finite states"),
        ([[1], [1, 2]], [0.5, 0.5], "equal length"),
        (["a", 1], [0.5, 0.5], "numbers"),
    ],
)
def test_what_is_not_a_distribution_is_refused(values, probabilities, said):
    with pytest.raises(ParameterError, match=said) as error:
        Discrete(values, probabilities)
    assert "given" in str(error.value)


def test_its_atoms_are_its_rule_and_its_support_their_ends():
    law = Discrete([[0, 1], [3, 4], [2, 9]], [0.3, 0.6, 0.1])
    for nodes in (1, 100):
        points, weights = law.rule(nodes)
        assert np.array_equal(points, law.atoms[0])
        assert np.array_equal(weights, law.atoms[1])
    assert law.support == [(0.0, 3.0), (1.0, 9.0)]
    assert law.pieces() == [(0, law)]
    assert not law.in_order


def test_a_scaled_bernoulli_is_worth_its_value_or_nothing():
    law = scaled_bernoulli(3, 0.4)
    assert law.expectation(lambda x: x) == pytest.approx(1.2, abs=1e-15)
    assert law.support == [(0.0, 3.0)]
    with pytest.raises(ParameterError, match="sum to 1"):
        scaled_bernoulli(1, 1.5)


def test_in_order_cycles_whatever_the_generator():
    law = InOrder([3, 1, 2])
    assert law.in_order
    drawn = law.sample(np.random.default_rng(0), 7)
    assert drawn.tolist() == [[3], [1], [2], [3], [1], [2], [3]]
    assert law.expectation(np.square) == pytest.approx(14 / 3, rel=1e-15)


def test_in_order_takes_rows_of_several_fields():
    law = InOrder([[1, 10], [2, 20]])
    assert law.sample(np.random.default_rng(0), 3).tolist() == [[1, 10], [2, 20], [1, 10]]


@pytest.mark.parametrize(
    "points", [[], "abc", 5, [1, "a"], [[1], [2, 3]], [1, math.nan], ["a" * 5000, 1]]
)
def test_what_in_order_refuses_it_refuses_by_its_own_name(points):
    with pytest.raises(ParameterError, match=r"^InOrder takes a list of points") as error:
        InOrder(points)
    assert "probabilit" not in str(error.value)
    assert len(str(error.value)) < 400
