"""Draws in compiled code: the right laws, and nothing but key, trial and arm behind them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepull.distributions import (
    Beta,
    Clipped,
    Discrete,
    Exponential,
    Gamma,
    Independent,
    InOrder,
    LogNormal,
    Mixture,
    Nakagami,
    Rician,
    Truncated,
    TruncatedNormal,
    Uniform,
)
from onepull.simulation import trials
from onepull.simulation.draws import keys, show
from onepull.simulation.law_tables import tabulate

DRAWS = 100_000
# Dvoretzky, Kiefer, Wolfowitz and Massart: sup |F_n - F| exceeds this with probability 1e-6.
FAR = math.sqrt(math.log(2e6) / (2 * DRAWS))
KEY = keys(1, 0, 0)[0]


def drawn(law, count=DRAWS, key=KEY, arms=1):
    """Return what a law shows as the context of trials 0 to count-1, and its atoms."""
    rows, values = np.empty(count, np.int64), np.empty((count, law.fields))
    trials.arrivals(0, key, tabulate([law]), arms, rows, values)
    return values, rows


def distance(sample, cdf):
    """Return the Kolmogorov-Smirnov distance of a sample to a distribution function."""
    x = np.sort(sample)
    f, n = cdf(x), len(x)
    steps = np.arange(n + 1) / n
    return max(np.max(steps[1:] - f), np.max(f - steps[:-1]))


def by_density(law):
    """Return the distribution function of a law with a bounded density, by its trapezoids."""
    low, high = law.bulk
    x = np.linspace(low, high, 200_001)
    y = law.density(x)
    sums = np.concatenate([[0.0], np.cumsum((y[1:] + y[:-1]) / 2)])
    return lambda at: np.interp(at, x, sums / sums[-1])


def normal(z):
    return np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in z])


LAWS = {
    "uniform": (Uniform(-2, 5), lambda x: (x + 2) / 7),
    "exponential": (Exponential(3), lambda x: -np.expm1(-x / 3)),
    "log normal": (LogNormal(0.4, 0.7), lambda x: normal((np.log(x) - 0.4) / 0.7)),
    "squared normal": (Nakagami(snr_db=0, m=0.5), lambda x: 2 * normal(np.sqrt(x)) - 1),
    "steep beta": (Beta(0.2, 1), lambda x: x**0.2),
    "arcsine": (Beta(0.5, 0.5), lambda x: 2 / np.pi * np.arcsin(np.sqrt(x))),
    "gamma": (Gamma(mean=2, shape=3.7), None),
    "narrow gamma": (Gamma(mean=2, shape=900), None),
    "beta": (Beta(2, 5, low=-1, high=3), None),
    "normal": (TruncatedNormal(1, 0.5, low=0, high=1.7), None),
    "normal tail": (TruncatedNormal(-1, 1, low=0.5, high=4), None),
    "rician": (Rician(snr_db=4, k=3), None),
    "rayleigh": (Rician(snr_db=4, k=0), None),
    "sight": (Rician(snr_db=4, k=2000), None),
}


@pytest.mark.parametrize("name", LAWS)
def test_continuous_laws_are_met(name):
    law, cdf = LAWS[name]
    assert distance(drawn(law)[0][:, 0], cdf or by_density(law)) < FAR + 1e-5


def test_draws_keep_to_the_support_to_the_last_bit():
    law = Beta(1, 0.2, low=-0.1, high=0.2)
    values, _ = drawn(law)
    assert values.max() == 0.2
    assert values.min() >= -0.1


def test_the_fields_of_a_vector_are_independent_and_each_its_own():
    law = Independent(Uniform(0, 1), Exponential(2), Discrete([5], [1]), Beta(0.5, 0.5))
    values, _ = drawn(law)
    assert np.all(values[:, 2] == 5)
    assert distance(values[:, 0], lambda x: x) < FAR
    assert distance(values[:, 1], lambda x: -np.expm1(-x / 2)) < FAR
    # Ranks, so that a correlation has standard deviation 1/√n: six of them, 2e-9 each.
    ranks = values[:, [0, 1, 3]].argsort(axis=0).argsort(axis=0)
    found = np.corrcoef(ranks.T)[np.triu_indices(3, 1)]
    assert np.all(np.abs(found) < 6 / math.sqrt(DRAWS))


def test_finite_fields_beside_continuous_ones_keep_their_probabilities():
    law = Independent(Uniform(0, 1), Discrete([1, 2, 5], [0.5, 0.3, 0.2]), Uniform(2, 3))
    laws, shown = tabulate([law, law]), np.zeros(3)
    seen = np.empty((DRAWS, 3))
    for trial in range(DRAWS):
        show(laws, 1, np.uint64(7), trial, trial, shown)
        seen[trial] = shown
    shares = [np.mean(seen[:, 1] == value) for value in (1, 2, 5)]
    # Six standard deviations: 2e-9 each.
    assert np.allclose(shares, [0.5, 0.3, 0.2], atol=6 * 0.5 / math.sqrt(DRAWS))
    assert abs(seen[:, 0].mean() - 0.5) < 6 * 0.3 / math.sqrt(DRAWS)
    assert seen[:, 2].min() >= 2


def share(law, cut):
    return law.expectation(lambda x: (x <= cut) * 1.0)


NESTED = [
    Truncated(LogNormal(0.4, 0.7), 1, 3),
    Truncated(Mixture([(0.5, Exponential(2)), (0.5, Discrete([1, 9], [0.5, 0.5]))]), 0.5, 5),
    Clipped(Gamma(mean=2, shape=3.7), 1.5, 4),
    Clipped(Truncated(Rician(snr_db=4, k=3), low=1), high=3),
    Mixture([(0.2, Uniform(0, 1)), (0.5, Clipped(Exponential(3), 1, 2)), (0.3, Beta(0.5, 0.5))]),
]


@pytest.mark.parametrize("law", NESTED, ids=repr)
def test_mixed_and_cut_laws_are_met(law):
    for values in (drawn(law)[0][:, 0], drawn(Independent(Uniform(0, 1), law))[0][:, 1]):
        ((low, high),) = law.support
        assert low <= values.min()
        assert values.max() <= high
        for cut in (*np.quantile(values, [0.01, 0.2, 0.5, 0.8, 0.99]), low, 1.0):
            assert abs(np.mean(values <= cut) - share(law, cut)) < FAR + 1e-8


def test_the_fields_of_a_mixture_come_together():
    idle = Independent(Uniform(0, 1), Clipped(Exponential(1), 0, 2))
    rows = Discrete([[10, 11], [12, 13]], [0.25, 0.75])
    law = Mixture([(0.5, idle), (0.25, rows), (0.25, Independent(Uniform(5, 6), Uniform(7, 8)))])
    values, _ = drawn(law)
    first, second = values.T
    together = [
        ((first < 1) & (second <= 2), 0.5),
        ((first == 10) & (second == 11), 0.0625),
        ((first == 12) & (second == 13), 0.1875),
        ((first > 5) & (first < 6) & (second > 7) & (second < 8), 0.25),
    ]
    assert sum(np.mean(met) for met, _ in together) == pytest.approx(1, abs=1e-12)
    for met, chance in together:
        # Six standard deviations: 2e-9 each.
        assert np.mean(met) == pytest.approx(chance, abs=6 * 0.5 / math.sqrt(DRAWS))
    assert np.mean(second[first < 1] == 2) == pytest.approx(math.exp(-2), abs=0.01)


def test_laws_of_every_kind_stand_beside_each_other():
    laws = [Discrete([1, 2], [0.5, 0.5]), NESTED[4], Exponential(2), NESTED[1]]
    tables, shown = tabulate(laws), np.zeros(1)
    seen = np.empty((len(laws), 20_000))
    for j, row in enumerate(seen):
        for trial in range(len(row)):
            show(tables, j, np.uint64(7), 4 * trial + j, trial, shown)
            row[trial] = shown[0]
    for law, row in zip(laws, seen, strict=True):
        mean = law.expectation(lambda x: x)
        spread = math.sqrt(law.expectation(lambda x, m=mean: (x - m) ** 2))
        # Six standard errors: by normality false once in 5e8.
        assert abs(row.mean() - mean) < 6 * spread / math.sqrt(len(row))


# Alias tables


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40).filter(lambda w: sum(w) > 1e-3))
def test_alias_tables_hold_the_probabilities(weights):
    shares = np.array(weights) / sum(weights)
    law = Discrete(range(len(shares)), shares)
    laws = tabulate([Discrete([7], [1.0]), law])
    start, count = laws.start[1], laws.size[1]
    assert (start, count) == (1, len(shares))
    found = np.zeros(count)
    for k in range(count):
        found[k] += laws.keep[start + k]
        found[laws.alias[start + k] - start] += 1 - laws.keep[start + k]
    assert found / count == pytest.approx(law.probabilities, abs=1e-15)
    assert np.all(laws.keep >= 0)
    assert np.all(laws.keep <= 1)


def test_atoms_come_with_their_probabilities():
    shares = np.array([0.31, 0.0, 0.002, 0.5, 0.188])
    _, rows = drawn(Discrete([3, 1, 4, 1.5, 9], shares))
    counts = np.bincount(rows, minlength=5)
    assert counts[1] == 0
    kept = shares > 0
    # χ² with 3 degrees of freedom exceeds 31 with probability 8e-7.
    assert np.sum((counts - DRAWS * shares)[kept] ** 2 / (DRAWS * shares[kept])) < 31


def test_rows_of_several_fields_stay_together():
    points = [[1, 10], [2, 20], [3, 30]]
    values, rows = drawn(Discrete(points, [0.2, 0.3, 0.5]), 1000)
    assert np.array_equal(values, np.array(points, float)[rows])


def test_what_is_in_order_is_replayed():
    values, rows = drawn(InOrder([5, 3, 4]), 8)
    assert rows.tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    assert values[:, 0].tolist() == [5, 3, 4, 5, 3, 4, 5, 3]


# Places


def at(laws, j, place, trial):
    out = np.zeros(1)
    show(laws, j, KEY, place, trial, out)
    return out[0]


def test_a_draw_depends_on_its_place_only():
    some = [Exponential(1), Discrete([1, 2, 3], [0.2, 0.3, 0.5]), Uniform(0, 1)]
    laws = tabulate(some)
    places = [(j, trial * 4 + 1 + j, trial) for trial in range(50) for j in range(3)]
    forwards = [at(laws, j, place, trial) for j, place, trial in places]
    backwards = [at(laws, j, place, trial) for j, place, trial in reversed(places)]
    assert forwards == backwards[::-1]
    alone = tabulate(some[:1])
    first = [value for (j, _, _), value in zip(places, forwards, strict=True) if j == 0]
    assert first == [at(alone, 0, trial * 4 + 1, trial) for trial in range(50)]


def test_stretches_join():
    law = Gamma(mean=1, shape=0.5)
    whole, _ = drawn(law, 100)
    rows, part = np.empty(40, np.int64), np.empty((40, 1))
    trials.arrivals(60, KEY, tabulate([law]), 1, rows, part)
    assert np.array_equal(part, whole[60:])


def test_replications_arms_and_neighbours_are_uncorrelated():
    law, count = Uniform(0, 1), 100_000
    columns = [drawn(law, count, keys(5, 0, r)[0])[0][:, 0] for r in range(3)]
    columns += [drawn(law, count, keys(5, 1, 0)[0])[0][:, 0]]
    columns += [drawn(law, count, keys(5, 0, 0)[1])[0][:, 0]]
    both = drawn(law, 3 * count, keys(5, 0, 0)[0], arms=0)[0][:, 0]  # every place in turn
    columns += [both[1::3], both[2::3], np.roll(columns[0], 1)]
    # 28 correlations, each beyond six standard deviations with probability 2e-9: 6e-8.
    found = np.corrcoef(columns)[np.triu_indices(len(columns), 1)]
    assert np.all(np.abs(found) < 6 / math.sqrt(count))


def test_keys_are_a_function_of_seed_experiment_and_replication():
    made = {tuple(keys(s, e, r)) for s in range(5) for e in range(5) for r in range(5)}
    assert len(made) == 125
    assert tuple(keys(3, 2, 1)) == tuple(keys(3, 2, 1))
    numbers = [key for pair in made for key in pair]
    assert len(set(numbers)) == 250
