"""Mixed, truncated and clipped laws against their definitions."""

from __future__ import annotations

import copy
import math
import pickle
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from onepull.distributions import (
    Beta,
    Clipped,
    Continuous,
    Discrete,
    Distribution,
    Exponential,
    Gamma,
    Independent,
    InOrder,
    LogNormal,
    Mixture,
    Rician,
    Switching,
    Truncated,
    TruncatedNormal,
    Uniform,
)
from onepull.distributions.fits_space import fitted
from onepull.errors import ParameterError
from onepull.spaces import Box, Finite, Interval

some = settings(derandomize=True, deadline=None, max_examples=60)
COIN = Discrete([0, 1], [0.75, 0.25])
PAIRS = Discrete([[0, 1], [1, 5], [2, 5]], [0.5, 0.25, 0.25])
LAWS = [
    Truncated(LogNormal(0.3, 0.8), 0, 3),
    Truncated(Exponential(2), high=1),
    Truncated(Rician(snr_db=3, k=5), low=2),
    Truncated(Beta(0.3, 0.6), 0.4, 0.95),
    Truncated(Uniform(0, 1), 0.5, 0.5001),
    Truncated(Discrete([1, 2, 3, 9], [0.5, 0.25, 0.125, 0.125]), 2, 8),
    Clipped(LogNormal(0.3, 0.8), 0.5, 3),
    Clipped(Gamma(mean=3, shape=0.4), 1, 4),
    Clipped(TruncatedNormal(1, 0.5, low=0, high=3), low=1.5),
    Clipped(Beta(0.3, 0.6), 0.1, 0.9),
    Clipped(Discrete([1, 2, 3, 9], [0.5, 0.25, 0.125, 0.125]), 2, 8),
    Clipped(Exponential(0.001), 0.01, 30),
    Mixture([(0.5, Uniform(0, 1)), (0.3, Exponential(4)), (0.2, COIN)]),
    Mixture([(0.9, Truncated(LogNormal(0, 1), high=5)), (0.1, Clipped(Exponential(9), 0, 30))]),
    Truncated(Mixture([(0.7, Exponential(2)), (0.3, Discrete([1, 40], [0.5, 0.5]))]), 0.5, 30),
    Clipped(Truncated(Clipped(Exponential(5), 1, 9), 2, 9), 3, 8),
]
every_law = pytest.mark.parametrize("law", LAWS, ids=repr)


def identity(x):
    return x


def measure(tree):
    """Return what a nest of laws means, as points with weights, straight from the definitions."""
    kind, *rest = tree
    if kind == "points":
        values, weights = rest
        return np.array(values, float), np.array(weights) / sum(weights)
    if kind in QUANTILES:
        n = 20_000  # the middle of every n-th of the mass
        return np.array([QUANTILES[kind]((i + 0.5) / n) for i in range(n)]), np.full(n, 1 / n)
    if kind == "mixture":
        (parts,) = rest
        total = sum(weight for weight, _ in parts)
        found = [(weight / total, *measure(part)) for weight, part in parts]
        return np.concatenate([x for _, x, _ in found]), np.concatenate(
            [w * p for w, _, p in found]
        )
    of, low, high = rest
    x, p = measure(of)
    if kind == "clipped":
        return np.clip(x, low, high), p
    kept = (x >= low) & (x <= high)
    assume(p[kept].sum() > 0.02)
    return x[kept], p[kept] / p[kept].sum()


QUANTILES = {
    "exponential": lambda u: -2 * math.log1p(-u),
    "log-normal": lambda u: math.exp(0.5 * NormalDist().inv_cdf(u)),
    "uniform": lambda u: 1 + 3 * u,
}
PLAIN = {
    "exponential": Exponential(2),
    "log-normal": LogNormal(0, 0.5),
    "uniform": Uniform(1, 4),
}


def built(tree):
    """Return the law of a nest."""
    kind, *rest = tree
    if kind == "points":
        values, weights = rest
        return Discrete(values, np.array(weights) / sum(weights))
    if kind in PLAIN:
        return PLAIN[kind]
    if kind == "mixture":
        (parts,) = rest
        total = sum(weight for weight, _ in parts)
        return Mixture([(weight / total, built(part)) for weight, part in parts])
    of, low, high = rest
    return {"truncated": Truncated, "clipped": Clipped}[kind](built(of), low, high)


points = st.lists(
    st.tuples(st.integers(0, 8).map(lambda k: k / 2), st.integers(1, 9)), min_size=1, max_size=6
).map(lambda pairs: ("points", [x for x, _ in pairs], [w for _, w in pairs]))


def nests(leaves):
    ends = st.tuples(st.integers(-1, 3), st.integers(1, 6)).map(lambda e: (e[0], e[0] + e[1]))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(st.tuples(st.integers(1, 9), inner), min_size=1, max_size=3).map(
                lambda parts: ("mixture", parts)
            ),
            st.tuples(st.sampled_from(["truncated", "clipped"]), inner, ends).map(
                lambda made: (made[0], made[1], *made[2])
            ),
        ),
        max_leaves=5,
    )


# Definitions


@some
@given(nests(points))
def test_nests_of_points_are_what_they_say(tree):
    x, p = measure(tree)
    law = built(tree)
    assert law.atoms is not None
    rows, weights = law.atoms
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    plain: dict[float, float] = {}
    for value, weight in zip(x.tolist(), p.tolist(), strict=True):
        plain[value] = plain.get(value, 0.0) + weight
    found: dict[float, float] = {}
    for value, weight in zip(rows[:, 0].tolist(), weights.tolist(), strict=True):
        found[value] = found.get(value, 0.0) + weight
    assert found == pytest.approx(plain, abs=1e-12)
    assert law.support == [(min(plain), max(plain))]
    assert law.expectation(np.square) == pytest.approx(float(p @ x**2), rel=1e-12)


@some
@given(nests(st.one_of(points, st.sampled_from(sorted(PLAIN)).map(lambda name: (name,)))))
def test_nests_of_densities_are_what_they_say(tree):
    x, p = measure(tree)
    law = built(tree)
    ((low, high),) = law.support
    assert low <= x.min()
    assert x.max() <= high
    # A boundary of a truncation may split one of 20,000 pieces; the mass kept is at least 2 %.
    for function in (lambda x: np.minimum(x, 3.0), lambda x: (x <= 2.0) * 1.0):
        exact = float(p @ function(x))
        assert law.expectation(function) == pytest.approx(exact, abs=0.02)
    points, weights = law.rule(64)
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert low <= points.min()
    assert points.max() <= high
    assert weights @ np.minimum(points[:, 0], 3) == pytest.approx(
        law.expectation(lambda x: np.minimum(x, 3.0)), abs=0.02
    )


@some
@given(st.floats(0.1, 50), st.floats(0, 3), st.floats(0.1, 4))
def test_exponential_in_an_interval(mean, start, width):
    low, high = start * mean, (start + width) * mean
    below, above = -math.expm1(-start), math.exp(-start - width)
    inside = math.exp(-start) * -math.expm1(-width)
    # E[X; low < X < high] = mean·((1 + a)·e^-a - (1 + b)·e^-b) with a, b in units of the mean.
    part = mean * ((1 + start) * math.exp(-start) - (1 + start + width) * above)
    truncated = Truncated(Exponential(mean), low, high)
    assert truncated.expectation(identity) == pytest.approx(part / inside, rel=1e-9)
    clipped = Clipped(Exponential(mean), low, high)
    exact = low * below + part + high * above
    assert clipped.expectation(identity) == pytest.approx(exact, rel=1e-9)
    assert clipped.expectation(lambda x: (x >= high) * 1.0) == pytest.approx(above, rel=1e-8)


@some
@given(st.floats(-2, 3), st.floats(0.05, 3), st.floats(-2, 1), st.floats(0.2, 3))
def test_log_normal_in_an_interval(mean, sd, start, width):
    phi = NormalDist().cdf
    low, high = math.exp(mean + sd * start), math.exp(mean + sd * (start + width))
    inside = phi(start + width) - phi(start)
    part = math.exp(mean + sd**2 / 2) * (phi(start + width - sd) - phi(start - sd))
    law = Truncated(LogNormal(mean, sd), low, high)
    assert law.expectation(identity) == pytest.approx(part / inside, rel=1e-8)
    exact = low * phi(start) + part + high * phi(-start - width)
    assert Clipped(LogNormal(mean, sd), low, high).expectation(identity) == pytest.approx(
        exact, rel=1e-8
    )


def test_a_truncated_normal_is_a_normal_truncated():
    wide = TruncatedNormal(1, 0.5, low=-9, high=9)
    narrow = TruncatedNormal(1, 0.5, low=0.2, high=1.4)
    for function in (identity, np.exp, lambda x: np.minimum(x, 1.1)):
        assert Truncated(wide, 0.2, 1.4).expectation(function) == pytest.approx(
            narrow.expectation(function), rel=1e-9
        )


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.6), (0.5, 2.0), (2.0, 0.5), (3.0, 4.0)])
@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9])
def test_the_two_sides_of_a_cut_make_up_the_law(a, b, cut):
    law = Beta(a, b)
    (below, first), (above, second) = law.between(-math.inf, cut), law.between(cut, math.inf)
    assert first is not None
    assert second is not None
    assert below + above == pytest.approx(1, abs=1e-9)
    both = below * first.expectation(np.sqrt) + above * second.expectation(np.sqrt)
    assert both == pytest.approx(law.expectation(np.sqrt), rel=1e-8)


# Every law


@every_law
def test_samples_agree_in_mean_and_keep_to_the_support(law):
    size = 40_000
    drawn = law.sample(np.random.default_rng(11), size)
    assert drawn.shape == (size, 1)
    ((low, high),) = law.support
    assert low <= drawn.min()
    assert drawn.max() <= high
    mean = law.expectation(identity)
    spread = math.sqrt(law.expectation(lambda x: (x - mean) ** 2))
    # Six standard errors: by normality false once in 5e8 a test.
    assert abs(drawn.mean() - mean) <= 6 * spread / math.sqrt(size) + 1e-12


@every_law
def test_samples_have_the_distribution_function(law):
    size = 20_000
    drawn = law.sample(np.random.default_rng(5), size)[:, 0]
    for cut in np.quantile(drawn, [0.05, 0.3, 0.5, 0.8, 0.99]).tolist():
        share = law.expectation(lambda x, c=cut: (x <= c) * 1.0)
        # Hoeffding: 2·exp(-2·2e4·0.03²) < 1e-15 for a cut fixed in advance; by Dvoretzky, Kiefer,
        # Wolfowitz and Massart the same holds for all cuts at once.
        assert np.mean(drawn <= cut) == pytest.approx(share, abs=0.03)


@every_law
def test_the_rule_converges_to_the_expectation(law):
    def function(x):
        return np.log1p(np.abs(x)) + np.minimum(x, 1.0)

    exact = law.expectation(function)
    points, weights = law.rule(256)
    assert points.shape == (len(weights), 1)
    assert np.all(weights >= 0)
    assert weights @ function(points[:, 0]) == pytest.approx(exact, abs=1e-3)


@every_law
def test_a_law_travels_and_shows_itself_as_written(law):
    for twin in (pickle.loads(pickle.dumps(law)), copy.deepcopy(law), eval(repr(law))):  # noqa: S301, S307 - our own
        assert repr(twin) == repr(law)
        assert twin.expectation(np.abs) == law.expectation(np.abs)
        same = (one.sample(np.random.default_rng(1), 50) for one in (law, twin))
        np.testing.assert_array_equal(*same)


@every_law
def test_the_parts_make_up_the_law(law):
    assert math.fsum(weight for weight, _ in law.parts()) == pytest.approx(1, abs=1e-12)
    assert all(type(part) in {Discrete, Uniform} or part.fields == 1 for _, part in law.parts())
    assert all(part.parts() == [(1.0, part)] for _, part in law.parts())
    whole = sum(weight * part.expectation(np.sqrt) for weight, part in law.parts())
    assert law.expectation(np.sqrt) == pytest.approx(whole, rel=1e-12)


# Several fields and words


def test_fields_of_a_mixture_are_drawn_together():
    idle = Independent(Uniform(0, 1), Uniform(0, 1))
    busy = Independent(Uniform(10, 11), Uniform(10, 11))
    law = Mixture([(0.75, idle), (0.25, busy)])
    assert law.fields == 2
    assert law.support == [(0, 11), (0, 11)]
    assert law.expectation(lambda x, y: x * y) == pytest.approx(0.75 / 4 + 0.25 * 10.5**2)
    drawn = law.sample(np.random.default_rng(3), 10_000)
    assert np.all((drawn[:, 0] > 5) == (drawn[:, 1] > 5))
    # Hoeffding: 2·exp(-2·1e4·0.04²) < 3e-14.
    assert np.mean(drawn[:, 0] > 5) == pytest.approx(0.25, abs=0.04)


def test_points_of_several_fields_mix():
    law = Mixture([(0.5, PAIRS), (0.5, Independent(COIN, Discrete([5], [1])))])
    rows, weights = law.atoms or (None, None)
    assert rows is not None
    assert weights is not None
    pairs = dict(zip(map(tuple, rows.tolist()), weights.tolist(), strict=True))
    assert pairs == {(0, 1): 0.25, (1, 5): 0.25, (2, 5): 0.125, (0, 5): 0.375}


def test_one_mixed_field_among_points_is_exact():
    law = Independent(COIN, Clipped(Exponential(2), 0, 4))
    exact = 0.25 * 2 * -math.expm1(-2)
    assert law.expectation(lambda x, y: x * y) == pytest.approx(exact, rel=1e-9)


def test_words_of_a_mixture_are_numbered_alike():
    law = Mixture([(0.5, Discrete(["eu", "us"], [0.5, 0.5])), (0.5, Discrete(["us"], [1]))])
    assert law.words == (("eu", "us"),)
    rows, weights = law.atoms or (None, None)
    assert rows is not None
    assert weights is not None
    assert (rows.ravel().tolist(), weights.tolist()) == ([0, 1], [0.25, 0.75])
    placed = law.on(Box(region=Finite(["asia", "us", "eu"])))
    rows, weights = placed.atoms or (None, None)
    assert rows is not None
    assert weights is not None
    assert (rows.ravel().tolist(), weights.tolist()) == ([1, 2], [0.75, 0.25])
    with pytest.raises(ParameterError, match="region can be 'eu'"):
        law.on(Box(region=Finite(["asia", "us"])))


# Clipping to a space

CLIPS = Interval(1, 4, outside="clip")


@pytest.mark.parametrize(
    "law",
    [
        *LAWS[:4],
        Exponential(2),
        Discrete([0, 2, 9], [0.25, 0.5, 0.25]),
        Mixture([(0.5, Uniform(0, 9)), (0.5, COIN)]),
    ],
    ids=repr,
)
def test_a_space_that_clips_shows_the_nearest_end(law):
    shown = fitted(law, Box(x=CLIPS), "the states")
    ((low, high),) = shown.support
    assert low >= 1
    assert high <= 4
    exact = law.expectation(lambda x: np.clip(x, 1, 4) ** 2)
    assert shown.expectation(np.square) == pytest.approx(exact, rel=1e-8)
    assert fitted(shown, Box(x=CLIPS), "the states") is shown


def test_each_field_is_clipped_by_its_own_space():
    box = Box(x=CLIPS, y=Interval(0, 9), z=Interval(0, math.inf))
    fields = Independent(Exponential(2), Uniform(0, 9), LogNormal(0, 1))
    shown = fitted(fields, box, "the states")
    assert repr(shown) == (
        "Independent(Clipped(Exponential(mean=2), low=1, high=4), "
        "Uniform(low=0, high=9), LogNormal(mean=0, sd=1))"
    )
    rows = Discrete([[0, 5, 7], [8, 9, 1]], [0.5, 0.5])
    mixed = fitted(Mixture([(0.5, fields), (0.5, rows)]), box, "the states")
    assert mixed.support == [(1, 4), (0, 9), (0, math.inf)]
    # E clip(X, 1, 4) = 1 + the integral of exp(-x/2) from 1 to 4.
    each = 1 + 2 * (math.exp(-0.5) - math.exp(-2)), 4.5, math.exp(0.5)
    exact = (sum(each) + (1 + 5 + 7 + 4 + 9 + 1) / 2) / 2
    assert mixed.expectation(lambda x, y, z: x + y + z) == pytest.approx(exact, rel=1e-9)


def test_a_replayed_or_switching_law_is_clipped_too():
    box = Box(x=CLIPS)
    replayed = fitted(InOrder([0, 2, 7]), box, "the states")
    assert replayed.in_order
    assert replayed.sample(np.random.default_rng(0), 4).ravel().tolist() == [1, 2, 4, 1]
    switching = fitted(Switching({0: Exponential(2), 5: Uniform(1, 2)}), box, "the states")
    assert switching.support == [(1, 4)]


@pytest.mark.parametrize("law", [Exponential(2), Uniform(-1, 2), Discrete([5], [1])], ids=repr)
def test_a_law_that_leaves_a_space_is_told_the_ways_out(law):
    with pytest.raises(ParameterError) as caught:
        fitted(law, Box(x=Interval(0, 4)), "the states")
    told = str(caught.value)
    for way in ("Truncated", "Clipped", "outside='clip'", "wider interval"):
        assert way in told


# Errors


class Opaque(Distribution):
    support = [(0.0, 1.0)]  # noqa: RUF012 - a constant

    def expectation(self, function):
        return float(function(np.array([0.5]))[0])

    def rule(self, nodes):
        del nodes
        return np.array([[0.5]]), np.ones(1)

    def sample(self, generator, size):
        return generator.random((size, 1))


class Rising(Continuous):
    def __init__(self):
        super().__init__()
        self.bulk, self.shape = (0.0, 1.0), ()

    @staticmethod
    def quantile(u):
        return u**0.5

    def density(self, x):
        return x


def test_a_density_of_ones_own_is_truncated_and_clipped():
    # The density is 2x on [0, 1].
    assert Truncated(Rising(), 0.5, 1).expectation(identity) == pytest.approx((7 / 12) / 0.75)
    law = Clipped(Rising(), high=0.5)
    assert law.expectation(identity) == pytest.approx(2 / 3 * 0.125 + 0.5 * 0.75)
    assert law.sample(np.random.default_rng(0), 100).max() == 0.5


def test_a_law_without_atoms_or_density_is_not_cut():
    for kind in (Truncated, Clipped):
        with pytest.raises(ParameterError, match="subclass Continuous"):
            kind(Opaque(), 0.2, 0.4)
    with pytest.raises(ParameterError, match="Opaque cannot be clipped"):
        Opaque().clipped([(0.2, 0.4)])
    assert Opaque().clipped([(0, 1)]).support == [(0, 1)]


@pytest.mark.parametrize("kind", [Truncated, Clipped])
@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ((3, 0, 1), "takes a law, given 3"),
        ((PAIRS, 0, 1), "a law of one field"),
        ((Discrete(["eu"], [1]), 0, 1), "a law of numbers"),
        ((InOrder([1, 2]), 0, 1), "drawn at random"),
        ((Switching({0: COIN, 5: COIN}), 0, 1), "never switches"),
        ((COIN, 1, 1), "low < high"),
        ((COIN, 2, 1), "low < high"),
        ((COIN, math.nan, 1), "low < high"),
        ((COIN, "0", 1), "low < high"),
        ((COIN,), "at least one of them finite"),
    ],
)
def test_what_cannot_be_cut_is_refused(kind, given_, said):
    with pytest.raises(ParameterError, match=said) as caught:
        kind(*given_)
    assert str(caught.value).startswith(kind.__name__)


@pytest.mark.parametrize(
    ("law", "low", "high"),
    [
        (Exponential(1), 20, 30),
        (Exponential(1), -5, -1),
        (COIN, 0.2, 0.8),
        (Truncated(Exponential(1), 6, math.inf), 8, math.inf),
    ],
)
def test_a_truncation_keeps_enough_of_the_law(law, low, high):
    with pytest.raises(ParameterError, match="mass; it needs at least"):
        Truncated(law, low, high)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([], "pairs of a weight and a law"),
        (3, "pairs of a weight and a law"),
        (COIN, "pairs of a weight and a law"),
        ([COIN], "pairs of a weight and a law"),
        ([(1, 2)], "pairs of a weight and a law"),
        ([(COIN, 1)], "pairs of a weight and a law"),
        ([("1", COIN)], "pairs of a weight and a law"),
        ([(0.5, COIN)], "sum to 1"),
        ([(1.5, COIN), (-0.5, COIN)], "sum to 1"),
        ([(math.nan, COIN)], "sum to 1"),
        ([(math.inf, COIN)], "sum to 1"),
        ([(0.5, COIN), (0.5, PAIRS)], "same number of fields"),
        ([(0.5, COIN), (0.5, InOrder([1]))], "drawn at random"),
        ([(1, Switching({0: COIN, 5: COIN}))], "never switch"),
        ([(0.5, COIN), (0.5, Discrete(["eu"], [1]))], "words"),
    ],
)
def test_what_cannot_be_mixed_is_refused(parts, said):
    with pytest.raises(ParameterError, match=said):
        Mixture(parts)
