"""Empirical likelihood: divergences by brute force, bounds as their inverse, leaders in full."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from onepull.index.bernstein import bernstein_bound, bernstein_index, law_variance
from onepull.index.empirical_kl import likely_cap, likely_index
from onepull.index.empirical_likelihood import (
    divergence,
    exploration,
    likely_mean,
    likely_share,
    rounding,
)
from onepull.index.imed import divergence_cap, divergence_index
from onepull.index.rules import leading_law

some = settings(derandomize=True, deadline=None, max_examples=80)
SCALES = [(0.0, 1.0), (-7.0, 0.0), (-3.0, 5.0), (0.0, 1e9), (-1e-6, 1e-6), (1e6, 1e6 + 1)]


def likely_leader(*told: Any) -> int:
    return leading_law(*told, likely_index, likely_cap, True)  # type: ignore[call-arg]  # seven


def least_divergent(values, laws, pulls, means, top):
    told = values, laws, pulls, means, min(values), top, 0.0
    return leading_law(*told, divergence_index, divergence_cap, False)


@st.composite
def laws(draw, *, most=6):
    """Return values up to a top, weights, and the top; some reach it and some do not."""
    luck = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    low, high = draw(st.sampled_from(SCALES))
    count = draw(st.integers(1, most))
    values = luck.uniform(low, high, count)
    if draw(st.booleans()):
        values[luck.integers(count)] = high
    concentration = draw(st.sampled_from([0.05, 1.0, 20.0]))
    weights = luck.dirichlet(np.full(count, concentration))
    if draw(st.booleans()):
        weights[luck.integers(count)] = 0.0
    assume(weights.sum() > 0.5)
    return values.tolist(), (weights / weights.sum()).tolist(), float(high)


def mean_of(values, weights):
    return math.fsum(v * w for v, w in zip(values, weights, strict=True))


def maximised(values, weights, level, top):
    """Return max over λ of E ln(1 - λ (X - θ)/(top - θ)), by trying ever closer ones."""
    kept = np.array(weights) > 0
    z = (np.array(values)[kept] - level) / (top - level)
    p = np.array(weights)[kept]
    low, high, best = 0.0, 1.0, 0.0
    for _ in range(12):
        tried = np.linspace(low, high, 201)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.log(np.maximum(1 - np.outer(tried, z), 0.0)) @ p
        found = np.where(np.isnan(found), -np.inf, found)
        at = int(found.argmax())
        best = max(best, float(found[at]))
        low, high = tried[max(at - 1, 0)], tried[min(at + 1, 200)]
    return best


@some
@given(law=laws(), share=st.floats(0.001, 0.999))
def test_the_divergence_is_the_maximum_of_its_dual(law, share):
    values, weights, top = law
    mean = mean_of(values, weights)
    assume(top - mean > 1e-3 * (top - min(values)))
    level = mean + share * (top - mean)
    found = divergence(values, weights, len(values), level, top)
    assert found == pytest.approx(maximised(values, weights, level, top), rel=1e-6, abs=1e-9)


@some
@given(law=laws(most=4), share=st.floats(0.05, 0.9), seed=st.integers(0, 2**32 - 1))
def test_no_law_with_a_higher_mean_is_nearer_and_one_is_as_near(law, share, seed):
    values, weights, top = law
    mean = mean_of(values, weights)
    assume(top - mean > 1e-3 * (top - min(values)))
    level = mean + share * (top - mean)
    found = divergence(values, weights, len(values), level, top)
    points, p = np.array([*values, top]), np.array([*weights, 0.0])
    kept = p > 0

    def apart(laws):
        with np.errstate(divide="ignore"):
            return np.sum(p[kept] * np.log(p[kept] / laws[..., kept]), axis=-1)

    # Random laws, moved towards the top until their mean is the level.
    others = np.random.default_rng(seed).dirichlet(np.full(len(points), 0.7), 500) + 1e-15
    others = np.vstack([others / others.sum(axis=1, keepdims=True), p])
    means = others @ points
    move = np.clip((level - means) / (top - means), 0, 1)[:, None]
    at_level = (1 - move) * others + move * (points == top) / np.sum(points == top)
    assert np.all(apart(at_level) >= found - 1e-9)
    # The nearest is p/(1 - λ (x - θ)/(top - θ)), the rest at the top.
    assert _tilted(values, weights, level, top) == pytest.approx(found, rel=2e-2, abs=1e-6)


def _tilted(values, weights, level, top):
    """Return the least divergence of the laws that can be nearest, one for each of many λ."""
    x, p = np.array(values)[np.array(weights) > 0], np.array(weights)[np.array(weights) > 0]
    free = np.concatenate([[0.0], np.geomspace(1e-9, 1, 5000), 1 - np.geomspace(1e-6, 1, 5000)])
    rest = free[:, None] + (1 - free[:, None]) * (top - x) / (top - level)
    near = p / np.maximum(rest, 1e-12)
    near /= np.maximum(near.sum(axis=1), 1.0)[:, None]  # what is left over goes to the top
    means = near @ x + (1 - near.sum(axis=1)) * top
    above = means >= level - 1e-9 * (top - level)
    return float(np.min(np.log(p / near[above]) @ p))


@some
@given(law=laws(), budget=st.floats(1e-4, 20.0))
def test_the_bound_is_where_the_divergence_meets_the_budget(law, budget):
    values, weights, top = law
    mean, spread = mean_of(values, weights), top - min(values)
    assume(spread > 0)
    bound = likely_mean(values, weights, len(values), top, budget)
    slack = 1e-9 * max(spread, abs(top) * 1e-3)
    assert mean - slack <= bound <= top
    assert bound <= mean + spread * math.sqrt(budget / 2) + slack
    if top - bound > 1e-6 * spread and top - mean > 1e-6 * spread:
        level = divergence(values, weights, len(values), bound, top)
        assert level == pytest.approx(budget, rel=1e-4, abs=1e-7)


@some
@given(law=laws(), budgets=st.lists(st.floats(0, 10), min_size=2, max_size=6))
def test_more_budget_never_lowers_the_bound(law, budgets):
    values, weights, top = law
    bounds = [likely_mean(values, weights, len(values), top, b) for b in sorted(budgets)]
    slack = 1e-9 * max(1.0, abs(top))
    assert all(one <= two + slack for one, two in pairwise(bounds))


@some
@given(law=laws(), budget=st.floats(0.001, 5), scale=st.floats(0.01, 100), shift=st.floats(-5, 5))
def test_bounds_move_with_the_unit_of_the_reward(law, budget, scale, shift):
    values, weights, top = law
    assume(top - min(values) > 1e-3)  # else a shift loses the digits
    assume(abs(top) < 10)
    bound = likely_mean(values, weights, len(values), top, budget)
    moved = [scale * v + shift for v in values]
    other = likely_mean(moved, weights, len(values), scale * top + shift, budget)
    assert other == pytest.approx(scale * bound + shift, rel=1e-6, abs=1e-6 * scale)


@some
@given(mean=st.floats(0, 1), budget=st.floats(0, 30))
def test_the_share_of_a_coin(mean, budget):
    share = likely_share(mean, budget)
    assert mean <= share <= min(1.0, mean + math.sqrt(budget / 2)) + 1e-12
    assert share == pytest.approx(
        likely_mean([0.0, 1.0], [1 - mean, mean], 2, 1.0, budget), abs=1e-7
    )
    if mean > 1e-9 and mean + 1e-9 < share < 1 - 1e-9:
        kl = mean * math.log(mean / share) + (1 - mean) * math.log((1 - mean) / (1 - share))
        assert kl == pytest.approx(budget, rel=1e-5, abs=1e-9)


# The edges


def test_all_weight_at_the_top():
    assert likely_mean([0.0, 1.0], [0.0, 1.0], 2, 1.0, 0.3) == 1.0
    assert divergence([0.0, 1.0], [0.0, 1.0], 2, 0.99, 1.0) == 0.0
    assert likely_share(1.0, 0.5) == 1.0


def test_one_value_below_the_top():
    """All of a law at v: 1 - e^-budget of it moves to the top."""
    for v, top in ((0.0, 1.0), (-4.0, 0.0), (0.3, 1e6)):
        bound = likely_mean([v], [1.0], 1, top, 0.4)
        assert bound == pytest.approx(v + (1 - math.exp(-0.4)) * (top - v), rel=1e-12)
        assert divergence([v], [1.0], 1, bound, top) == pytest.approx(0.4, rel=1e-9)
    assert likely_share(0.0, 0.4) == pytest.approx(1 - math.exp(-0.4))


@pytest.mark.parametrize("budget", [0.0, -1.0])
def test_without_a_budget_the_bound_is_the_mean(budget):
    assert likely_mean([0.0, 1.0], [0.7, 0.3], 2, 1.0, budget) == pytest.approx(0.3)
    assert likely_share(0.3, budget) == 0.3


def test_levels_below_the_mean_and_beyond_the_top():
    fair = [0.0, 1.0], [0.5, 0.5], 2
    assert divergence(*fair, 0.5, 1.0) == divergence(*fair, 0.1, 1.0) == 0.0
    assert divergence(*fair, 1.0, 1.0) == divergence(*fair, 3.0, 1.0) == math.inf


@pytest.mark.parametrize("tiny", [1e-3, 1e-8, 1e-15, 1e-300])
def test_a_tiny_weight_at_the_top_changes_little(tiny):
    """A weight next to nothing is next to none, however sharp the pole at λ = 1 becomes."""
    with_it = [0.0, 0.4, 1.0], [0.5, 0.5 - tiny, tiny], 3
    without = [0.0, 0.4], [0.5, 0.5], 2
    near = 40 * tiny * max(1.0, -math.log(tiny)) + 1e-9
    assert divergence(*with_it, 0.5, 1.0) == pytest.approx(divergence(*without, 0.5, 1.0), abs=near)
    assert likely_mean(*with_it, 1.0, 0.3) == pytest.approx(
        likely_mean(*without, 1.0, 0.3), abs=near
    )


@pytest.mark.parametrize("budget", [1e-12, 1e-6, 50.0, 700.0])
def test_extreme_budgets_stay_within(budget):
    for values, weights in (([0.0, 1.0], [0.9, 0.1]), ([0.0, 0.5], [0.9, 0.1])):
        bound = likely_mean(values, weights, 2, 1.0, budget)
        mean = mean_of(values, weights)
        assert mean <= bound <= min(1.0, mean + math.sqrt(budget / 2) + 1e-12)


def test_a_value_far_below():
    """A range of 1e12 for a law that is near the top: no digits are lost on the way."""
    found = likely_mean([-1e12, -1.0], [0.0, 1.0], 2, 0.0, 0.2)
    assert found == pytest.approx(-math.exp(-0.2))
    coin = likely_mean([-1e12, 0.0], [0.4, 0.6], 2, 0.0, 0.1)
    assert coin == pytest.approx(-1e12 * (1 - likely_share(0.6, 0.1)), rel=1e-7)


def test_exploration():
    assert [exploration(n, 3.0) for n in (0, 1)] == [0.0, 0.0]
    assert exploration(2, 3.0) == math.log(2)  # ln ln n would be below nothing
    assert exploration(100, 3.0) == pytest.approx(math.log(100) + 3 * math.log(math.log(100)))
    assert exploration(100, 0.0) == math.log(100)


def test_the_bernstein_bound_and_the_variance():
    assert law_variance([-1.0, 3.0], [0.25, 0.75], 2, 2.0, 1.0) == 3.0
    assert bernstein_bound(0.0, 2.0, 4.0, 10.0, 5.0) == pytest.approx(math.sqrt(2) + 6)


# Leaders


@st.composite
def arms(draw):
    """Return values, laws of several arms as counts over pulls, and the pulls; ties are many."""
    luck = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    low, high = draw(st.sampled_from(SCALES[:3]))
    count, number = draw(st.integers(2, 4)), draw(st.integers(2, 6))
    values = np.sort(luck.uniform(low, high, count))
    pulls = luck.integers(0 if draw(st.booleans()) else 1, draw(st.sampled_from([4, 50])), number)
    seen = [luck.multinomial(m, luck.dirichlet(np.ones(count))) for m in pulls]
    laws = [(s / max(m, 1)).tolist() for s, m in zip(seen, pulls, strict=True)]
    means = [mean_of(values, law) for law in laws]
    return values.tolist(), laws, pulls.tolist(), means, float(values[0]), float(values[-1])


@some
@given(arms=arms(), risk=st.floats(0, 12))
def test_the_leader_has_the_highest_bound(arms, risk):
    values, laws, pulls, means, low, top = arms
    found = likely_leader(values, laws, pulls, means, low, top, risk)
    bounds = [
        likely_mean(values, law, len(values), top, risk / m) if m else math.inf
        for law, m in zip(laws, pulls, strict=True)
    ]
    slack = 1e-9 * (top - low)
    assert bounds[found] >= max(bounds) - slack
    tied = [j for j, bound in enumerate(bounds) if bound == bounds[found]]
    assert found == min(tied, key=lambda j: (pulls[j], j))


@some
@given(arms=arms())
def test_the_least_divergent_has_the_least_cost(arms):
    values, laws, pulls, means, _, top = arms
    found = least_divergent(values, laws, pulls, means, top)
    best = max((mean for mean, m in zip(means, pulls, strict=True) if m), default=0.0)
    costs = [
        m * divergence(values, law, len(values), best, top) + math.log(m) if m else -math.inf
        for law, m in zip(laws, pulls, strict=True)
    ]
    assert costs[found] <= min(costs) + 1e-9
    assert found <= costs.index(costs[found])


def test_ties_go_to_the_least_pulled_and_then_to_the_first_arm():
    values, law = [0.0, 1.0], [0.5, 0.5]
    told = values, [law, law, law], [4, 4, 4], [0.5, 0.5, 0.5]
    assert likely_leader(*told, 0.0, 1.0, 3.0) == 0
    assert least_divergent(*told, 1.0) == 0
    worse = [0.75, 0.25]
    told = values, [worse, law, law], [400, 4, 4], [0.25, 0.5, 0.5]
    assert likely_leader(*told, 0.0, 1.0, 3.0) == 1
    assert least_divergent(*told, 1.0) == 1
    # Both have seen the best there is, the first of them last in the order of looking.
    top = [0.0, 1.0]
    told = values, [law, top, top], [2, 9, 9], [0.5, 1.0, 1.0]
    assert likely_leader(*told, 0.0, 1.0, 1.0) == 1
    told = values, [law, top, top], [2, 9, 8], [0.5, 1.0, 1.0]
    assert likely_leader(*told, 0.0, 1.0, 1.0) == 2


def test_rounding_breaks_no_tie():
    """Weights of states that are all worth the top sum to one but for rounding."""
    shares = [0.1] * 9  # and the rest, so that their sum may be off either way
    whole = [*shares, 1.0 - sum(shares)], [*shares, 0.1]
    values = [3.0] * 10
    assert {likely_mean(values, law, 10, 3.0, 0.1) for law in whole} == {3.0}
    assert likely_share(1.0 - 1e-16, 0.1) == 1.0
    means = [3.0 * sum(law) for law in whole]
    assert means[0] != means[1]
    for pulls in ([7, 8], [8, 7]):
        for low in (0.0, 3.0):
            found = likely_leader(values, whole, pulls, means, low, 3.0, 2.0)
            assert found == pulls.index(7)


def test_a_share_of_less_than_nothing_counts_for_nothing():
    """A window that let go of observations leaves rounding behind, of either sign."""
    for rest in (-1e-17, 1e-17):
        for values in ([0.0, 0.4, 1.0], [0.4, 0.0, 0.9], [0.0, 1.0, 0.4]):
            plain = likely_mean(values, [0.0, 1.0, 0.0], 3, 1.0, 0.1)
            assert likely_mean(values, [rest, 1.0, rest], 3, 1.0, 0.1) == pytest.approx(plain)


# Rewards of any size


SIZES = st.sampled_from([5e-324, 1e-310, 1e-300, 1e-150, 1e-9, 1.0, 1e9, 1e150, 1e300])


@st.composite
def wild_laws(draw):
    """Return values of very different sizes, weights of which some are tiny, and the top."""
    count = draw(st.integers(1, 5))
    values = [draw(st.floats(-1, 1)) * draw(SIZES) for _ in range(count)]
    parts = st.sampled_from([0.0, 1.0, 1.0, 0.3, 1e-5, 1e-17, -1e-17, 1e-200, 1e-310])
    weights = [1.0, *(draw(parts) for _ in range(count - 1))]
    above = draw(st.sampled_from([0.0, 0.0, 1.0])) * draw(SIZES)
    return values, [weight / sum(weights) for weight in weights], max(values) + above


@settings(some, max_examples=500)
@given(law=wild_laws(), budget=st.sampled_from([0.0, 1e-13, 1e-3, 0.1, 5.0, 700.0]))
def test_no_law_of_any_size_breaks_a_bound(law, budget):
    values, weights, top = law
    mean = mean_of(values, weights)
    assert likely_mean(values, weights, len(values), top, budget) <= top
    for level in (values[0], mean, top, math.nextafter(top, -math.inf), 0.0):
        assert divergence(values, weights, len(values), level, top) >= 0.0
    told = values, weights, 7.0, mean, mean, min(values), top, 4.0
    assert math.isfinite(bernstein_index(*told))


@some
@given(law=laws(), budget=st.floats(1e-4, 20.0), exponent=st.integers(-900, 900))
def test_a_power_of_two_scales_every_bound_exactly(law, budget, exponent):
    values, weights, top = law
    unit = 2.0**exponent
    scaled = [value * unit for value in values]
    bound = likely_mean(values, weights, len(values), top, budget)
    assert likely_mean(scaled, weights, len(values), top * unit, budget) == bound * unit
    level = 0.3 * min(values) + 0.7 * top
    found = divergence(values, weights, len(values), level, top)
    assert divergence(scaled, weights, len(values), level * unit, top * unit) == found
    told = weights, 7.0, bound, bound, min(values), top, 4.0
    index = bernstein_index(values, *told)
    told = weights, 7.0, bound * unit, bound * unit, min(scaled), top * unit, 4.0
    assert bernstein_index(scaled, *told) == index * unit


def test_a_large_offset_costs_few_digits():
    """The distances to the top do not change, so neither does the bound's."""
    values, weights = [0.0, 1.0, 4.0], [0.5, 0.3, 0.2]
    bound = likely_mean(values, weights, 3, 4.0, 0.1)
    moved = likely_mean([2.0**50 + v for v in values], weights, 3, 2.0**50 + 4.0, 0.1)
    assert moved - 2.0**50 == pytest.approx(bound, abs=0.25)  # the spacing of numbers there
    assert rounding(2.0**40, 2.0**40 + 1.0) < 0.01


@pytest.mark.parametrize("below", [0.0, 1e-16, 1e-15, 1e-12, 1e-9, 1e-6])
def test_a_value_next_to_the_top_counts_as_one_at_the_top(below):
    values, weights = [-8.0, 1.0 - below], [1 / 7, 6 / 7]
    exact = math.log(9 / 7) / 7 + 6 / 7 * math.log(27 / 28)  # λ = 1/28
    assert divergence(values, weights, 2, 0.0, 1.0) == pytest.approx(exact, rel=1e-5)
