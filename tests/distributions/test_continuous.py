"""Continuous laws: means against closed forms, samples against means, error messages."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepull.distributions import (
    Beta,
    Exponential,
    Gamma,
    LogNormal,
    Nakagami,
    Rayleigh,
    Rician,
    TruncatedNormal,
    Uniform,
)
from onepull.errors import ParameterError

some = settings(derandomize=True, deadline=None, max_examples=25)
CLOSE = 1e-8

LAWS = [
    Uniform(-1, 3),
    Beta(0.3, 0.6),
    Beta(2, 5, low=-1, high=4),
    Beta(1, 0.2, low=-0.1, high=0.2),
    Beta(0.4, 2.5, low=-1, high=4),
    TruncatedNormal(1, 0.5, low=0, high=3),
    TruncatedNormal(-1, 1, low=0, high=3),
    LogNormal(0.3, 0.8),
    Gamma(mean=3, shape=0.4),
    Gamma(mean=2, shape=7.5),
    Exponential(2),
    Rayleigh(snr_db=5),
    Nakagami(snr_db=3, m=0.5),
    Nakagami(snr_db=3, m=4),
    Rician(snr_db=3, k=0),
    Rician(snr_db=3, k=5),
]
every_law = pytest.mark.parametrize("law", LAWS, ids=repr)


def phi(z):
    """The standard normal distribution function, precise in its lower tail."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def identity(x):
    return x


def above(c):
    return lambda x: (x >= c).astype(float)


def capped(c):
    return lambda x: np.minimum(c, x)


# Closed forms


@some
@given(st.floats(-5, 5), st.floats(0.1, 10), st.floats(0.05, 0.95))
def test_uniform(low, width, share):
    law, high, c = Uniform(low, low + width), low + width, low + share * width
    assert law.expectation(identity) == pytest.approx((low + high) / 2, rel=CLOSE, abs=CLOSE)
    second = (low**2 + low * high + high**2) / 3
    assert law.expectation(np.square) == pytest.approx(second, rel=CLOSE)
    assert law.expectation(above(c)) == pytest.approx(1 - share, rel=CLOSE)
    exact = ((c**2 - low**2) / 2 + c * (high - c)) / width
    assert law.expectation(capped(c)) == pytest.approx(exact, rel=CLOSE, abs=CLOSE)


@some
@given(st.floats(0.01, 100), st.floats(0.05, 5))
def test_exponential(mean, share):
    law, c = Exponential(mean), share * mean
    for power in (1, 2, 3):
        exact = math.factorial(power) * mean**power
        assert law.expectation(lambda x, k=power: x**k) == pytest.approx(exact, rel=CLOSE)
    assert law.expectation(above(c)) == pytest.approx(math.exp(-share), rel=CLOSE)
    assert law.expectation(capped(c)) == pytest.approx(-mean * math.expm1(-share), rel=CLOSE)


@some
@given(st.floats(0.1, 20), st.floats(0.2, 2000))
def test_moments_of_gamma(mean, shape):
    law = Gamma(mean=mean, shape=shape)
    scale = mean / shape
    assert law.expectation(identity) == pytest.approx(mean, rel=CLOSE)
    assert law.expectation(np.square) == pytest.approx(shape * (shape + 1) * scale**2, rel=CLOSE)


@pytest.mark.parametrize("shape", [1, 2, 3, 8])
@pytest.mark.parametrize("share", [0.2, 1.0, 2.5])
def test_gamma_of_whole_shape_counts_arrivals(shape, share):
    # P(X > c) = P(Poisson(c/scale) < shape), and E min(c, X) follows from it.
    law, c = Gamma(mean=3, shape=shape), 3 * share
    rate = c / (3 / shape)

    def tail(k):
        return sum(math.exp(-rate) * rate**i / math.factorial(i) for i in range(k))

    assert law.expectation(above(c)) == pytest.approx(tail(shape), rel=CLOSE)
    exact = 3 * (1 - tail(shape + 1)) + c * tail(shape)
    assert law.expectation(capped(c)) == pytest.approx(exact, rel=CLOSE)


@pytest.mark.parametrize("snr_db", [-10, 0, 7])
@pytest.mark.parametrize("share", [0.1, 1, 4])
def test_nakagami_of_one_half_is_a_squared_normal(snr_db, share):
    power = 10 ** (snr_db / 10)
    law, c = Nakagami(snr_db=snr_db, m=0.5), share * power
    z = math.sqrt(share)
    below = math.erf(z / math.sqrt(2))
    assert law.expectation(above(c)) == pytest.approx(1 - below, rel=CLOSE)
    # E[Z²; |Z| < z] = P(|Z| < z) - 2z·φ(z).
    part = below - 2 * z * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    assert law.expectation(capped(c)) == pytest.approx(power * part + c * (1 - below), rel=CLOSE)


@some
@given(st.floats(-3, 3), st.floats(0.2, 3), st.floats(0.1, 0.9))
def test_truncated_normal(mean, sd, share):
    low, high = -1.0, 2.0
    a, b = (low - mean) / sd, (high - mean) / sd
    mass = phi(b) - phi(a)
    if mass < 2e-3:
        return
    law = TruncatedNormal(mean, sd, low=low, high=high)

    def bell(z):
        return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    exact = mean + sd * (bell(a) - bell(b)) / mass
    assert law.expectation(identity) == pytest.approx(exact, rel=CLOSE, abs=CLOSE)
    c = low + share * (high - low)
    z = (c - mean) / sd
    assert law.expectation(above(c)) == pytest.approx((phi(b) - phi(z)) / mass, abs=CLOSE)
    below = (mean * (phi(z) - phi(a)) + sd * (bell(a) - bell(z))) / mass
    exact = below + c * (phi(b) - phi(z)) / mass
    assert law.expectation(capped(c)) == pytest.approx(exact, rel=CLOSE, abs=CLOSE)


@some
@given(st.floats(-2, 3), st.floats(0.05, 1.5), st.floats(-1.5, 1.5))
def test_log_normal(mean, sd, z):
    law, c = LogNormal(mean, sd), math.exp(mean + z * sd)
    assert law.expectation(identity) == pytest.approx(math.exp(mean + sd**2 / 2), rel=CLOSE)
    assert law.expectation(np.log) == pytest.approx(mean, rel=CLOSE, abs=CLOSE)
    assert law.expectation(above(c)) == pytest.approx(phi(-z), rel=CLOSE)
    exact = math.exp(mean + sd**2 / 2) * phi(z - sd) + c * phi(-z)
    assert law.expectation(capped(c)) == pytest.approx(exact, rel=CLOSE)


@some
@given(st.floats(0.2, 50), st.floats(0.2, 50))
def test_moments_of_beta(a, b):
    law = Beta(a, b, low=-1, high=3)
    share = a / (a + b)
    second = a * (a + 1) / ((a + b) * (a + b + 1))
    assert law.expectation(identity) == pytest.approx(4 * share - 1, rel=CLOSE, abs=CLOSE)
    exact = 16 * second - 8 * share + 1
    assert law.expectation(np.square) == pytest.approx(exact, rel=CLOSE, abs=CLOSE)


@pytest.mark.parametrize("a", [0.2, 0.5, 0.9, 3.0])
@pytest.mark.parametrize("c", [0.001, 0.2, 0.8])
def test_beta_that_is_a_power_of_a_uniform(a, c):
    # With b = 1 the distribution function is x^a.
    law = Beta(a, 1)
    assert law.expectation(above(c)) == pytest.approx(1 - c**a, rel=CLOSE)
    exact = a / (a + 1) * c ** (a + 1) + c * (1 - c**a)
    assert law.expectation(capped(c)) == pytest.approx(exact, rel=CLOSE)


@some
@given(
    st.floats(0.2, 9), st.floats(0.2, 9), st.floats(-9, 9), st.floats(0.1, 9), st.floats(0.05, 0.95)
)
def test_beta_does_not_depend_on_its_interval(a, b, low, width, share):
    unit, other = Beta(a, b), Beta(a, b, low=low, high=low + width)
    exact = unit.expectation(capped(share))
    found = other.expectation(lambda x: np.minimum(share, (x - low) / width))
    assert found == pytest.approx(exact, rel=CLOSE, abs=CLOSE)
    for nodes in (64, 4096):
        (points, weights), (others, again) = unit.rule(nodes), other.rule(nodes)
        assert again == pytest.approx(weights, rel=1e-6, abs=1e-12)
        assert (others - low) / width == pytest.approx(points, abs=1e-12)


@pytest.mark.parametrize("c", [0.01, 0.3, 0.99])
def test_the_arcsine_law(c):
    exact = 1 - 2 / math.pi * math.asin(math.sqrt(c))
    assert Beta(0.5, 0.5).expectation(above(c)) == pytest.approx(exact, rel=CLOSE)


@pytest.mark.parametrize("k", [0.0, 0.7, 6.0, 100.0, 400.0, 1e5])
def test_moments_of_rician(k):
    law = Rician(snr_db=3, k=k)
    power = 10**0.3
    assert law.expectation(identity) == pytest.approx(power, rel=CLOSE)
    variance = power**2 * (1 + 2 * k) / (1 + k) ** 2
    assert law.expectation(lambda x: (x - power) ** 2) == pytest.approx(variance, rel=1e-7)


@pytest.mark.parametrize("k", [0.5, 4.0, 30.0])
@pytest.mark.parametrize("share", [0.3, 1.0, 1.5])
def test_rician_by_brute_force_over_the_two_normals(k, share):
    # X = (s + σU)² + (σV)²: P(X < c) integrates P(|V| < √(c-(s+σu)²)/σ) over u, and
    # substituting s + σu = √c·sin(t) leaves a smooth periodic-like integrand.
    power = 10**0.3
    law, c = Rician(snr_db=3, k=k), share * power
    s, sigma = math.sqrt(power * k / (k + 1)), math.sqrt(power / (2 * (k + 1)))
    x, w = np.polynomial.legendre.leggauss(400)
    t = math.pi / 2 * x
    u = (math.sqrt(c) * np.sin(t) - s) / sigma
    band = np.array([math.erf(v / math.sqrt(2)) for v in math.sqrt(c) * np.cos(t) / sigma])
    bell = np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)
    below = float(math.pi / 2 * (w @ (bell * band * math.sqrt(c) * np.cos(t) / sigma)))
    assert law.expectation(above(c)) == pytest.approx(1 - below, rel=CLOSE, abs=1e-10)


def test_rayleigh_is_rician_without_sight_is_exponential():
    laws = [Rayleigh(snr_db=6), Rician(snr_db=6, k=0), Exponential(10**0.6)]
    for function in (np.sqrt, np.log1p, capped(2.0), above(5.0)):
        values = [law.expectation(function) for law in laws]
        assert values == pytest.approx([values[0]] * 3, rel=CLOSE)


@pytest.mark.parametrize(
    ("law", "mean", "sd"),
    [
        (TruncatedNormal(0.4321, 1e-5, low=0, high=1), 0.4321, 1e-5),
        (Gamma(mean=5, shape=1e6), 5, 5e-3),
        (Beta(3e6, 2e6), 0.6, math.sqrt(0.24 / 5e6)),
        (Rician(snr_db=0, k=1e8), 1, math.sqrt(2e-8)),
        (LogNormal(2, 1e-4), math.exp(2), math.exp(2) * 1e-4),
    ],
    ids=repr,
)
def test_a_narrow_law_is_not_overlooked(law, mean, sd):
    assert law.expectation(identity) == pytest.approx(mean, rel=1e-7)
    spread = law.expectation(lambda x: (x - mean) ** 2)
    assert math.sqrt(spread) == pytest.approx(sd, rel=1e-3)


# Every law


@every_law
def test_the_mean_of_a_constant_is_the_constant(law):
    assert law.expectation(lambda x: np.full_like(x, 7.0)) == pytest.approx(7.0, rel=1e-12)


@every_law
def test_the_rule_converges_to_the_expectation(law):
    def function(x):
        return np.log1p(np.abs(x)) + np.minimum(x, 1.0)

    exact = law.expectation(function)
    errors = []
    for nodes in (16, 64, 256):
        points, weights = law.rule(nodes)
        assert points.shape == (len(weights), 1)
        assert weights.sum() == pytest.approx(1.0, abs=1e-12)
        assert np.all(weights >= 0)
        errors.append(abs(float(weights @ function(points[:, 0])) - exact))
    assert errors[2] < 1e-3
    assert errors[2] <= errors[0] + 1e-12


@every_law
def test_samples_agree_in_mean_and_variance(law):
    size = 100_000
    drawn = law.sample(np.random.default_rng(11), size)
    assert drawn.shape == (size, 1)
    mean = law.expectation(identity)
    variance = law.expectation(lambda x: (x - mean) ** 2)
    fourth = law.expectation(lambda x: (x - mean) ** 4)
    # Six standard errors: by normality false once in 5e8 a test.
    assert abs(drawn.mean() - mean) < 6 * math.sqrt(variance / size)
    bound = 6 * math.sqrt((fourth - variance**2) / size)
    assert abs(np.mean((drawn - mean) ** 2) - variance) < bound


@every_law
def test_samples_keep_to_the_support(law):
    ((low, high),) = law.support
    drawn = law.sample(np.random.default_rng(5), 10_000)
    assert low <= drawn.min()
    assert drawn.max() <= high


@every_law
def test_a_law_travels_and_shows_itself_as_written(law):
    twin = pickle.loads(pickle.dumps(law))  # noqa: S301 - our own
    assert repr(twin) == repr(law)
    assert twin.expectation(np.abs) == law.expectation(np.abs)
    assert law.fields == 1
    assert law.atoms is None


def test_supports():
    assert Uniform(1, 2).support == [(1, 2)]
    assert Beta(2, 2, low=3, high=5).support == [(3, 5)]
    assert Beta(1e5, 1e5).support == [(0, 1)]
    assert TruncatedNormal(0.5, 0.001, low=0, high=1).support == [(0, 1)]
    for law in (LogNormal(0, 1), Exponential(1), Rician(snr_db=3, k=50), Nakagami(snr_db=1, m=9)):
        assert law.support == [(0, math.inf)]


def test_laws_are_shown_as_written():
    assert repr(Exponential(2)) == "Exponential(mean=2)"
    assert repr(Rayleigh(snr_db=5)) == "Rayleigh(snr_db=5)"
    assert repr(Nakagami(snr_db=5, m=2)) == "Nakagami(snr_db=5, m=2)"
    assert repr(Gamma(mean=3, shape=2)) == "Gamma(mean=3, shape=2)"
    assert repr(Rician(snr_db=1, k=2)) == "Rician(snr_db=1, k=2)"
    shown = "TruncatedNormal(mean=1, sd=2, low=0, high=3)"
    assert repr(TruncatedNormal(1, 2, low=0, high=3)) == shown


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: Uniform(1, 1), "Uniform high must be above 1, given 1"),
        (lambda: Uniform(0, math.inf), "Uniform high must be a finite number, given inf"),
        (lambda: Uniform("0", 1), "Uniform low must be a finite number, given '0'"),  # type: ignore[arg-type]
        (lambda: Uniform(True, 2), "finite number, given True"),
        (lambda: Beta(0, 1), "Beta a must be at least 0.2, given 0"),
        (lambda: Beta(1, 0.05), "Beta b must be at least 0.2, given 0.05"),
        (lambda: Beta(1, 1, low=2, high=1), "Beta high must be above 2"),
        (lambda: TruncatedNormal(0, 0, low=0, high=1), "sd must be above 0"),
        (lambda: TruncatedNormal(0, 1, low=1, high=0), "high must be above 1"),
        (lambda: TruncatedNormal(9, 1, low=0, high=1), "of its mass between 0 and 1"),
        (lambda: TruncatedNormal(-9, 1, low=0, high=1), "of its mass between 0 and 1"),
        (lambda: TruncatedNormal(0, 1e6, low=0, high=1), "of its mass between 0 and 1"),
        (lambda: LogNormal(0, -1), "LogNormal sd must be above 0, given -1"),
        (lambda: LogNormal(math.nan, 1), "mean must be a finite number, given nan"),
        (lambda: Gamma(mean=0, shape=1), "Gamma mean must be above 0"),
        (lambda: Gamma(mean=1, shape=0), "Gamma shape must be at least 0.2"),
        (lambda: Exponential(-2), "Exponential mean must be above 0, given -2"),
        (lambda: Rayleigh(snr_db="loud"), "snr_db must be a number of decibels, given 'loud'"),  # type: ignore[arg-type]
        (lambda: Rayleigh(snr_db=1e6), "snr_db must be a number of decibels"),
        (lambda: Rayleigh(snr_db=-1e6), "snr_db must be a number of decibels"),
        (lambda: Nakagami(snr_db=0, m=0), "must be at least 0.2, given 0"),
        (lambda: Rician(snr_db=0, k=-1), "Rician k must be 0 or more, given -1"),
        (lambda: Rician(snr_db=math.nan, k=1), "snr_db must be a finite number"),
        (lambda: Rician(snr_db=-1e6, k=1), "snr_db must be a number of decibels"),
    ],
)
def test_what_is_no_law_is_refused(build, said):
    with pytest.raises(ParameterError, match=said):
        build()
