"""Lower bounds: the divergence against a search over laws, the constants by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepull import DCB, Finite, Interval, ParameterError, Problem
from onepull.distributions import Discrete, Uniform
from onepull.environment import Environment, channel_selection, energy_harvesting, offloading
from onepull.theory import (
    Instance,
    divergences,
    graves_lai,
    hoeffding_constant,
    index_policy,
    kinf,
    lai_robbins,
    numbers_kept,
)


def coins(p, q):
    return sum(a * math.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a)


@pytest.mark.parametrize(("p", "q"), [(0.0, 0.3), (0.3, 0.6), (0.5, 0.500001), (0.01, 0.999)])
def test_coins_on_any_scale(p, q):
    for low, high in ((0.0, 1.0), (-5.0, 3.0)):
        level = low + q * (high - low)
        found = kinf(np.array([low, high]), np.array([1 - p, p]), level, high)
        assert found == pytest.approx(coins(p, q), rel=1e-6, abs=1e-15)


def test_a_law_that_does_not_reach_the_top():
    """A law at 0 moves θ of its mass to the top, 1: KL = -ln(1-θ), found at λ = 1."""
    assert kinf(np.array([0.0]), np.array([1.0]), 0.4, 1.0) == pytest.approx(-math.log(0.6))
    # A coin on 0 and 1/2 with θ = 0.6 and the top at 1: E(θ-X)/(1-X) = 0.3 - 0.5·0.4/1 + … > 0.
    found = kinf(np.array([0.0, 0.5]), np.array([0.5, 0.5]), 0.6, 1.0)
    assert found == pytest.approx(0.5 * math.log(1 / 0.4) + 0.5 * math.log(0.5 / 0.4))


def test_nothing_to_pay_and_no_way_to_pay():
    fair = np.array([0.0, 1.0]), np.array([0.5, 0.5])
    assert kinf(*fair, 0.5, 1.0) == kinf(*fair, 0.2, 1.0) == 0
    assert kinf(*fair, 1.0, 1.0) == kinf(*fair, 2.0, 1.0) == math.inf
    with pytest.raises(ParameterError, match=r"values must be at most top=0\.9, given 1"):
        kinf(*fair, 0.7, 0.9)


def searched(values, weights, level, top):
    """Return the least KL(F, F') over laws F' on two values and the top, by zooming in."""
    points = np.array([*values, top])
    best, centre, reach = math.inf, (0.5, 0.5), 0.5
    for _ in range(14):
        a = np.clip(np.linspace(centre[0] - reach, centre[0] + reach, 81), 1e-12, 1)
        b = np.clip(np.linspace(centre[1] - reach, centre[1] + reach, 81), 1e-12, 1)
        one, two = np.meshgrid(a, b, indexing="ij")
        rest = 1 - one - two
        mean = one * points[0] + two * points[1] + rest * points[2]
        cost = -weights[0] * np.log(one / weights[0]) - weights[1] * np.log(two / weights[1])
        cost = np.where((rest >= -1e-12) & (mean >= level - 1e-12), cost, math.inf)
        place = np.unravel_index(cost.argmin(), cost.shape)
        if cost[place] < best:
            best, centre = float(cost[place]), (float(one[place]), float(two[place]))
        reach *= 0.5
    return best


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    low=st.floats(-2, 0.2),
    high=st.floats(0.3, 0.95),
    weight=st.floats(0.05, 0.95),
    share=st.floats(0.05, 0.95),
)
def test_the_divergence_is_that_of_the_nearest_law(low, high, weight, share):
    values, weights = np.array([low, high]), np.array([weight, 1 - weight])
    level = float(values @ weights) + share * (1 - float(values @ weights))
    found = kinf(values, weights, level, 1.0)
    assert found == pytest.approx(searched(values, weights, level, 1.0), rel=2e-3, abs=1e-6)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_no_law_above_the_level_is_nearer(seed):
    generator = np.random.default_rng(seed)
    values = np.sort(generator.uniform(-1, 1, 6))
    weights = generator.dirichlet(np.ones(6))
    mean = float(values @ weights)
    level = mean + generator.uniform(0.05, 0.9) * (1 - mean)
    found = kinf(values, weights, level, 1.0)
    points = np.append(values, 1.0)
    others = generator.dirichlet(np.ones(7) / 2, 4000) + 1e-12
    others = others[others @ points > level]
    distances = np.sum(weights * np.log(weights / others[:, :6]), axis=1)
    assert np.all(distances >= found)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_pinsker(seed):
    """K ≥ 2 (Δ/G)², so no Hoeffding index with α = 1/2 pays less than the best index policy."""
    generator = np.random.default_rng(seed)
    values, weights = generator.uniform(0, 1, 5), generator.dirichlet(np.ones(5))
    mean = float(values @ weights)
    level = mean + generator.uniform(0.01, 0.99) * (1 - mean)
    assert kinf(values, weights, level, 1.0) >= 2 * (level - mean) ** 2


def test_the_seven_channels():
    """In context y ≤ 4 the channels 5, 6, 7 show y with probability (8-j)/10 and else nothing,
    so K is that of coins with (8-j)/10 and with θ*/y = (8-y)/10; least at y = 4, 0.4."""
    seven = channel_selection(7)
    instance, found = divergences(seven)
    for y in range(1, 5):
        for j in range(5, 8):
            expected = coins((8 - j) / 10, (8 - y) / 10)
            assert found[y - 1, j - 1] == pytest.approx(expected, rel=1e-9)
    least = graves_lai(seven)
    hand = [0.4 / coins(0.3, 0.4), 0.5 / coins(0.2, 0.4), 0.6 / coins(0.1, 0.4)]
    assert least.regret[4:].tolist() == pytest.approx(hand)  # cheapest at y = 1
    assert least.where.tolist() == [-1] * 4 + [0] * 3
    assert round(least.total, 1) == 26.6
    index = index_policy(seven)
    hand = [0.4 / coins(0.3, 0.4), 0.8 / coins(0.2, 0.4), 1.2 / coins(0.1, 0.4)]
    assert index.regret[4:].tolist() == pytest.approx(hand)  # most confusing at y = 4
    assert index.where[4:].tolist() == [3] * 3
    assert round(index.total, 1) == 32.6
    assert round(hoeffding_constant(instance, 0.5).total, 1) == 36.7
    assert round(hoeffding_constant(instance, 2.01).total, 1) == 147.4
    np.testing.assert_allclose(least.pulls, lai_robbins(seven).combined)
    assert np.all(hoeffding_constant(instance, 2.01).pulls >= least.pulls)


def test_lai_robbins_of_each_context():
    seven = channel_selection(7)
    instance, found = divergences(seven)
    apart = lai_robbins(seven)
    for i in range(4):
        others = [j for j in range(7) if instance.gaps[i, j] > 0]
        costs = sum(instance.gaps[i, j] / found[i, j] for j in others)
        assert apart.regret[i] == pytest.approx(costs)
    assert apart.total == pytest.approx(apart.regret.sum())
    assert apart.total > index_policy(seven).total > graves_lai(seven).total


def test_four_channels_cost_nothing_in_the_limit():
    four = channel_selection(4)
    assert graves_lai(four).total == index_policy(four).total == 0
    assert hoeffding_constant(Instance.of(four), 2.01).total == 0


def test_energy_harvesting_explores_for_nothing_where_there_is_no_power():
    """Gaps shrink with the power and divergences do not, so the cheapest cell gets cheaper."""
    coarse, fine = (graves_lai(energy_harvesting(4), delta) for delta in (0.01, 0.001))
    assert coarse.where.tolist() == fine.where.tolist() == [0, 0, -1, -1]
    assert coarse.total / fine.total == pytest.approx(10, rel=0.05)
    costly = [index_policy(energy_harvesting(4), delta).total for delta in (0.01, 0.001)]
    assert costly[1] == pytest.approx(costly[0], rel=0.02)


def uniform_arms(state):
    problem = Problem(arms=["a", "b"], context={"y": Finite([1])}, state={"x": state}, reward="x*y")
    return Environment(
        problem,
        states={"a": Uniform(0, 1), "b": Uniform(0, 0.5)},
        contexts=Discrete([1], [1]),
    )


def test_the_top_is_that_of_the_declared_states():
    """The more room above, the nearer is a law with a higher mean."""
    found = [graves_lai(uniform_arms(Interval(0, top))).total for top in (1, 2, 10)]
    assert found[0] < found[1] < found[2]


def test_continuous_states_by_quadrature():
    """K of Uniform(0, 1/2), level 1/2, top 2: λ = 1 and E ln((2-X)/1.5)."""
    instance, found = divergences(uniform_arms(Interval(0, 2)))
    x = (np.arange(10**6) + 0.5) / 2e6
    slope = np.mean((0.5 - x) / (2 - x))
    assert slope > 0
    assert found[0, 1] == pytest.approx(np.mean(np.log((2 - x) / 1.5)), rel=1e-8)
    assert "by quadrature" in instance.notes[-1]
    assert graves_lai(offloading()).total < index_policy(offloading()).total


def test_bad_alpha():
    with pytest.raises(ParameterError, match="alpha must be a number > 0, given 0"):
        hoeffding_constant(Instance.of(channel_selection()), 0)


def test_storage_is_that_of_the_policies():
    problem = channel_selection(7).problem
    kept = numbers_kept({"DCB": DCB(problem)}, 1000)
    assert kept["DCB"] == (7 * 5, 280)
