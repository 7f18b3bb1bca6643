"""The best mixture against its dual, against brute force, and by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from onepull.budgets import best_mix, can_pay
from onepull.errors import ParameterError


def instances(count, *, contexts=5, arms=6):
    """Yield random programmes; half of them on coarse grids, where slopes and costs tie."""
    generator = np.random.default_rng(1)
    for number in range(count):
        m, k = generator.integers(1, contexts + 1), generator.integers(1, arms + 1)
        if number % 2:
            values, costs = generator.normal(size=(m, k)), generator.uniform(0, 2, k)
        else:
            values = generator.integers(-3, 4, (m, k)).astype(float)
            costs = generator.integers(0, 4, k) / 2
        costs[generator.integers(k)] = 0.0
        weights = generator.dirichlet(np.ones(m))
        yield values, weights, costs, float(generator.choice([0.0, generator.uniform(0, 2)]))


def dual(values, weights, costs, rate):
    """Return min over λ ≥ 0 of λ·rate + Σ p_i max_j (v_ij - λ c_j): it is at a corner."""
    m, k = values.shape
    corners = [0.0] + [
        (values[i, a] - values[i, b]) / (costs[a] - costs[b])
        for i in range(m)
        for a, b in itertools.permutations(range(k), 2)
        if costs[a] > costs[b]
    ]
    return min(
        price * rate + weights @ (values - price * costs).max(axis=1)
        for price in corners
        if price >= 0
    )


def test_the_value_is_that_of_the_dual():
    for instance in instances(400):
        assert best_mix(*instance).value == pytest.approx(dual(*instance), abs=1e-9)


def test_the_mixture_is_one_spends_no_more_and_earns_its_value():
    for values, weights, costs, rate in instances(400):
        mix = best_mix(values, weights, costs, rate)
        assert mix.shares.min() >= 0
        assert mix.shares.sum(axis=1) == pytest.approx(np.ones(len(values)))
        assert weights @ mix.shares @ costs <= rate + 1e-9
        assert weights @ (mix.shares * values).sum(axis=1) == pytest.approx(mix.value, abs=1e-9)
        # At most one context mixes two arms; the others use one.
        assert np.sum(mix.shares > 0) <= len(values) + 1


def test_at_its_price_no_arm_is_better_than_those_with_a_share():
    for values, weights, costs, rate in instances(400):
        mix = best_mix(values, weights, costs, rate)
        worth = values - mix.price * costs
        short = worth.max(axis=1, keepdims=True) - worth
        assert np.all(short[mix.shares > 0] < 1e-9)


def test_small_programmes_by_trying_all_pairs_of_maps():
    # An optimum mixes at most two maps from contexts to arms.
    for values, weights, costs, rate in instances(60, contexts=3, arms=3):
        m, k = values.shape
        maps = list(itertools.product(range(k), repeat=m))
        earns = np.array([weights @ values[range(m), arms] for arms in maps])
        spends = np.array([weights @ costs[list(arms)] for arms in maps])
        best = -np.inf
        for a, b in itertools.product(range(len(maps)), repeat=2):
            if spends[a] <= rate + 1e-12:
                over = spends[b] - spends[a]
                share = 1.0 if spends[b] <= rate else (rate - spends[a]) / over
                best = max(best, earns[a] + share * (earns[b] - earns[a]))
        assert best_mix(values, weights, costs, rate).value == pytest.approx(best, abs=1e-9)


def test_by_hand():
    # 0.25 buys arm 1 everywhere; of the 0.15 left, 2 a unit is earned by arm 2 in the second.
    values = [[0.0, 0.7, 0.6], [0.0, 0.7, 1.2]]
    mix = best_mix(values, [0.5, 0.5], [0.0, 0.25, 0.5], 0.35)
    assert mix.shares == pytest.approx(np.array([[0, 1, 0], [0, 0.2, 0.8]]))
    assert [mix.value, mix.price] == pytest.approx([0.9, 2.0])


def test_enough_is_worth_nothing_more():
    mix = best_mix([[0.0, 2.0, 1.0]], [1.0], [0.0, 1.0, 3.0], 5.0)
    assert mix.shares.tolist() == [[0, 1, 0]]
    assert mix.price == 0.0


def test_nothing_to_spend_leaves_the_best_free_arm():
    mix = best_mix([[1.0, 2.0, 9.0]], [1.0], [0.0, 0.0, 1.0], 0.0)
    assert (mix.shares.tolist(), mix.value, mix.price) == ([[0, 1, 0]], 2.0, 7.0)


def test_an_arm_that_cannot_be_had_has_no_share():
    mix = best_mix([[-np.inf, 1.0, -np.inf, 3.0]], [1.0], [0.0, 0.0, 0.1, 1.0], 0.5)
    assert mix.shares.tolist() == [[0, 0.5, 0, 0.5]]
    assert mix.value == 2.0


def test_a_context_that_never_comes_costs_nothing():
    mix = best_mix([[0.0, 1.0], [0.0, 5.0]], [1.0, 0.0], [0.0, 1.0], 0.5)
    assert mix.shares.tolist() == [[0.5, 0.5], [0, 1]]


def test_a_rate_below_the_cheapest_arms_is_refused():
    with pytest.raises(ParameterError, match="does not pay for the cheapest"):
        best_mix([[1.0, 2.0]], [1.0], [0.5, 1.0], 0.4)


def test_rounding_does_not_cost_a_pull():
    left = 0.3
    for _ in range(3):
        assert can_pay(left, 0.1, budget=0.3)
        left -= 0.1
    assert not can_pay(left, 0.1, budget=0.3)
