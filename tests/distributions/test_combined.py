"""Laws with independent fields, and laws that switch over time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from onepull.distributions import (
    Discrete,
    Exponential,
    Independent,
    InOrder,
    Switching,
    Uniform,
)
from onepull.errors import ParameterError

COIN = Discrete([0, 1], [0.75, 0.25])
DIE = Discrete([1, 2, 3], [0.2, 0.3, 0.5])


def test_finite_fields_give_all_combinations():
    law = Independent(COIN, DIE)
    points, weights = law.atoms or (None, None)
    assert points is not None
    assert weights is not None
    pairs = dict(zip(map(tuple, points.tolist()), weights.tolist(), strict=True))
    assert len(pairs) == 6
    assert pairs[1.0, 3.0] == pytest.approx(0.125, abs=1e-16)
    assert weights.sum() == pytest.approx(1, abs=1e-15)
    assert law.expectation(lambda x, y: x * y) == pytest.approx(0.25 * 2.3, rel=1e-14)
    assert law.support == [(0, 1), (1, 3)]


@pytest.mark.parametrize("swapped", [False, True])
def test_one_continuous_field_among_finite_ones_is_exact(swapped):
    # E min(X, Y) for X exponential with mean 2: sum of 2(1 - exp(-y/2)).
    laws = (DIE, Exponential(2)) if swapped else (Exponential(2), DIE)
    law = Independent(*laws)
    assert law.atoms is None
    exact = sum(p * 2 * -math.expm1(-y / 2) for y, p in [(1, 0.2), (2, 0.3), (3, 0.5)])
    assert law.expectation(np.minimum) == pytest.approx(exact, rel=1e-9)


def test_two_continuous_fields_are_good_to_six_digits():
    law = Independent(Uniform(0, 1), Uniform(0, 1))
    assert law.expectation(lambda x, y: x * y**2) == pytest.approx(1 / 6, rel=1e-9)
    assert law.expectation(np.minimum) == pytest.approx(1 / 3, abs=1e-4)
    assert law.expectation(lambda x, y: np.exp(x + y)) == pytest.approx((math.e - 1) ** 2, rel=1e-9)


def test_independent_fields_are_sampled_apart():
    law = Independent(Uniform(0, 1), DIE, Uniform(2, 4))
    drawn = law.sample(np.random.default_rng(3), 40_000)
    assert drawn.shape == (40_000, 3)
    # A correlation has standard deviation 1/√n = 0.005: six of them, false once in 5e8.
    assert np.all(np.abs(np.asarray(np.corrcoef(drawn.T))[np.triu_indices(3, 1)]) < 0.03)
    # Hoeffding on values within [0, 2]: 2·exp(-2·4e4·(0.06/2)²) < 1e-30 a mean.
    assert drawn.mean(axis=0) == pytest.approx([0.5, 2.3, 3.0], abs=0.06)


@pytest.mark.parametrize(
    "laws",
    [(), (Independent(COIN, DIE),), (InOrder([1, 2]),), (Switching({0: COIN, 5: DIE}),)],
)
def test_what_is_not_one_field_each_is_refused(laws):
    with pytest.raises(ParameterError, match="Independent"):
        Independent(*laws)


def test_switching_knows_its_pieces():
    law = Switching({10: DIE, 0: COIN})
    assert law.pieces() == [(0, COIN), (10, DIE)]
    assert law.support == [(0, 3)]
    assert law.fields == 1
    assert law.atoms is None
    assert law.expectation(lambda x: x) == 0.25


def test_switching_samples_each_piece_in_its_time():
    law = Switching({0: Discrete([1], [1]), 3: Discrete([2], [1]), 5: Discrete([3], [1])})
    generator = np.random.default_rng(0)
    assert law.sample(generator, 7)[:, 0].tolist() == [1, 1, 1, 2, 2, 3, 3]
    assert law.sample(generator, 4)[:, 0].tolist() == [1, 1, 1, 2]
    assert law.sample(generator, 3)[:, 0].tolist() == [1, 1, 1]


def test_what_is_in_order_goes_by_the_trial_after_a_switch():
    law = Switching({0: Discrete([9], [1]), 3: InOrder([0, 1])})
    assert law.sample(np.random.default_rng(0), 6)[:, 0].tolist() == [9, 9, 9, 1, 0, 1]


@pytest.mark.parametrize(
    ("laws", "said"),
    [
        ({}, "the first at 0"),
        ({1: COIN}, "the first at 0"),
        ({0: COIN, -3: DIE}, "the first at 0"),
        ({0: COIN, 2.5: DIE}, "the first at 0"),
        ({0: COIN, 5: Independent(COIN, DIE)}, "same number of fields"),
        ({0: COIN, 5: Switching({0: COIN, 2: DIE})}, "stationary"),
    ],
)
def test_what_does_not_switch_is_refused(laws, said):
    with pytest.raises(ParameterError, match=said):
        Switching(laws)


def test_many_laws_make_no_long_error():
    with pytest.raises(ParameterError, match="the first at 0") as error:
        Switching(dict.fromkeys(range(1, 1000), COIN))
    assert len(str(error.value)) < 400
