"""Means of functions that grow: heavy tails against closed forms, and means that are infinite."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepull.distributions import (
    Clipped,
    Exponential,
    Gamma,
    Independent,
    LogNormal,
    Mixture,
    Nakagami,
    Rician,
    Truncated,
    TruncatedNormal,
)

some = settings(derandomize=True, deadline=None, max_examples=40)


@some
@given(st.floats(-5, 5), st.floats(0.05, 6), st.floats(-3, 3))
def test_powers_of_log_normal(mean, sd, power):
    exact = math.exp(power * mean + (power * sd) ** 2 / 2)
    found = LogNormal(mean, sd).expectation(lambda x: x**power)
    assert found == pytest.approx(exact, rel=1e-8)


@some
@given(st.floats(0.01, 100), st.floats(0.2, 200), st.integers(1, 30))
def test_powers_of_gamma(mean, shape, power):
    # E X^k = scale^k · shape · (shape + 1) · … · (shape + k - 1).
    exact = math.prod((shape + i) * mean / shape for i in range(power))
    found = Gamma(mean=mean, shape=shape).expectation(lambda x: x**power)
    assert found == pytest.approx(exact, rel=1e-8)


@some
@given(st.floats(0.01, 100), st.floats(-5, 0.95))
def test_exponential_functions_of_an_exponential_law(mean, rate):
    found = Exponential(mean).expectation(lambda x: np.exp(rate * x / mean))
    assert found == pytest.approx(1 / (1 - rate), rel=1e-8)


@some
@given(st.floats(-3, 3), st.floats(0.2, 2), st.floats(-20, 20))
def test_exponential_functions_of_a_wide_normal_law(mean, sd, rate):
    law = TruncatedNormal(mean, sd, low=mean - 60 * sd, high=mean + 60 * sd)
    found = law.expectation(lambda x: np.exp(rate * (x - mean) / sd))
    assert found == pytest.approx(math.exp(rate**2 / 2), rel=1e-8)


@pytest.mark.parametrize("sd", [0.5, 1, 2, 3])
def test_a_linear_reward_of_two_log_normal_fields(sd):
    law = Independent(LogNormal(0, sd), LogNormal(-4, sd))
    exact = -math.exp(sd**2 / 2) * (1 + 100 * math.exp(-4))
    assert law.expectation(lambda x, y: -(x + 100 * y)) == pytest.approx(exact, rel=2e-8)


def test_the_second_moment_by_the_rule():
    for sd in (0.5, 1, 2, 4):
        points, weights = LogNormal(0, sd).rule(256)
        for power in (1, 2):
            found = weights @ points[:, 0] ** power
            assert found == pytest.approx(math.exp((power * sd) ** 2 / 2), rel=1e-9)


UNBOUNDED = [
    LogNormal(0, 1),
    Exponential(2),
    Gamma(mean=1, shape=0.5),
    Nakagami(snr_db=3, m=4),
    Rician(snr_db=3, k=2),
]


@pytest.mark.parametrize("law", UNBOUNDED, ids=repr)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_function_that_grows_too_fast_has_an_infinite_mean(law, sign):
    def function(x):
        return sign * np.exp(x**2)

    assert law.expectation(function) == sign * math.inf
    mixed = Mixture([(0.5, law), (0.5, Exponential(1))])
    assert mixed.expectation(function) == sign * math.inf
    pair = Independent(Exponential(1), mixed)
    assert pair.expectation(lambda x, y: function(y) - x) == sign * math.inf
    assert math.isfinite(pair.expectation(lambda x, y: sign * y - x))
    assert math.isfinite(Truncated(law, high=5).expectation(function))
    assert math.isfinite(Clipped(law, high=5).expectation(function))
    pair = Independent(Truncated(law, low=0.5), Clipped(law, high=5))
    assert math.isfinite(pair.expectation(lambda x, y: function(y) - x))
    assert pair.expectation(lambda x, y: function(x) - y) == sign * math.inf


@pytest.mark.parametrize("rate", [1.0, 1.5, 40.0])
def test_where_the_mean_of_an_exponential_function_ends(rate):
    assert Exponential(2).expectation(lambda x: np.exp(rate * x / 2)) == math.inf
    assert Exponential(2).expectation(lambda x: -np.exp(rate * x / 2)) == -math.inf


@pytest.mark.parametrize("law", UNBOUNDED, ids=repr)
def test_bounded_functions_are_not_bothered_by_tails(law):
    assert law.expectation(np.ones_like) == pytest.approx(1, abs=1e-13)
    assert law.expectation(np.zeros_like) == 0
    assert law.expectation(lambda x: np.exp(-x)) < 1


@pytest.mark.parametrize("law", UNBOUNDED, ids=repr)
def test_an_interval_in_the_far_tail_has_next_to_no_mass(law):
    ((low, high),) = law.support
    first, last = law._reach  # how far the density can be computed
    ends = [law._value(np.array(t)) for t in np.linspace(first, last, 200)]
    for start in map(float, ends):
        above, _ = law.between(start, high)
        below, _ = law.between(low, start)
        assert above + below == pytest.approx(1, abs=1e-9)
        assert Clipped(law, low=start).expectation(lambda x, s=start: x - s) >= 0
