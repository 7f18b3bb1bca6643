"""The bounds are the paper's formulas, and the corrected ones what their proofs give."""

from __future__ import annotations

import math

import numpy as np
import pytest

from onepull import ParameterError
from onepull.environment import channel_selection, energy_harvesting
from onepull.theory import (
    Instance,
    doubling_phases,
    gap_free,
    lemma_1,
    multi_ucb,
    staircase,
    theorem_1,
    theorem_1_printed,
    theorem_2,
    theorem_3,
    theorem_4,
    ucb1,
)
from onepull.theory.series import settled_from, settled_printed, zeta

LOG = 4 * 2.01 * math.log(1e5)
LAST = math.pi**2 / 3


@pytest.fixture(scope="module")
def seven():
    return Instance.of(channel_selection(7))


@pytest.fixture(scope="module")
def four():
    return Instance.of(channel_selection(4))


def test_theorem_1_as_printed(seven):
    bounds = theorem_1_printed(seven, 0.01, 1e5)
    # The least gaps of channels 5, 6 and 7 are 0.4 (y = 1 or 4), 0.5 and 0.6 (y = 1).
    np.testing.assert_allclose(bounds[4:], LOG / np.array([0.4, 0.5, 0.6]) ** 2 + 1 + LAST)
    assert [round(bound) for bound in bounds[4:6]] == [583, 375]
    assert np.all(np.isinf(bounds[:4]))


def test_theorem_1_corrected(seven):
    bounds = theorem_1(seven, 0.01, 1e5)
    # The range in context y is y; (y/gap)² is greatest at y = 4, where the gaps are 0.4, 0.8, 1.2.
    np.testing.assert_allclose(bounds[4:], LOG * (4 / np.array([0.4, 0.8, 1.2])) ** 2 + 1 + LAST)
    assert [round(bound) for bound in bounds[4:6]] == [9261, 2318]
    assert np.all(np.isinf(bounds[:4]))


@pytest.mark.parametrize("trial", [1, 10, 1000, 9000, 1e5])
def test_theorem_1_corrected_is_at_most_the_number_of_trials(seven, trial):
    bounds = theorem_1(seven, 0.01, trial)
    proof = 4 * 2.01 * math.log(trial) * (4 / np.array([0.4, 0.8, 1.2])) ** 2 + 1 + LAST
    np.testing.assert_allclose(bounds[4:], np.minimum(proof, trial))
    assert np.all(np.isinf(bounds[:4]))


def test_theorem_2_as_printed(seven):
    found = theorem_2(seven, 0.01, 1e5, printed=True)
    c = sum(n**-1.02 for n in range(1, 10**6)) + (10**6) ** -0.02 / 0.02  # and its tail
    assert found.c_epsilon == pytest.approx(c, rel=1e-6)
    # Each of the first four is best in one context of probability 1/4; Δ_o = 0.1.
    n = np.arange(1, 10**6)
    holds = np.floor(0.25 * n / 14) > np.ceil(4 * 2.01 * np.log(n) / 0.01 - 1e-9)
    assert found.n_o[0] == n[holds][0]
    assert round(found.n_o[0], -4) == 600_000
    assert found.under_realised[0] == 32
    assert found.under_exploited[0] == pytest.approx(2**3.02 * 7**4.02 * c * 4**2.02)
    assert round(found.under_exploited[0] / 1e7, 1) == 1.7
    assert found.dominated[0] == pytest.approx(LAST * 0.75)
    assert np.all(np.isnan(found.total[4:]))


def test_theorem_2_corrected(seven):
    found = theorem_2(seven, 0.01, 1e5)
    # Channel 1 is best at y = 1, where channel 2 is (1/0.1)² = 100 steep; elsewhere channel 1
    # is at most (4/0.9)².  Channel 4 is best at y = 4, where channel 3 is (4/0.1)² = 1600 steep.
    for j, steep in ((0, 100), (3, 1600)):
        before, after = found.n_o[j] - 1, found.n_o[j]
        for n, holds in ((before, False), (after, True), (2 * after, True), (9 * after, True)):
            assert bool(n / 56 - 1 >= 4 * 2.01 * steep * math.log(n)) is holds
    assert round(found.n_o[3] / 1e7, 1) == 1.2
    coins = 0.125 * math.log(0.5) + 0.875 * math.log(0.875 / 0.75)
    assert found.under_realised[0] == pytest.approx(1 / math.expm1(coins))
    assert found.under_realised[0] < 32
    pulls = found.n_o[0] // 56
    tail = pulls**-2.02 + pulls**-1.02 / 1.02
    assert found.under_exploited[0] == pytest.approx(6 * 0.25 * 56 * tail / 1.01)
    assert found.under_exploited[0] < 0.01
    # Long before n_o, theorem 1's argument is better, and after it no bound grows.
    assert found.bound[0] == pytest.approx(LOG * (4 / 0.9) ** 2 + 1 + LAST * 0.75)
    ends = [theorem_2(seven, 0.01, n).bound[:4] for n in (1e300, 1e308)]
    assert np.all(ends[0] <= ends[1])
    assert np.all(ends[1] <= found.total[:4])


def test_the_tail_of_under_exploited_trials_is_a_bound(seven):
    """Σ_n m(n)^-(2+2ε) over n ≥ n_o with m(n) = ⌊p n/2K⌋, summed term by term."""
    found = theorem_2(seven, 0.01, 1e5)
    n = np.arange(found.n_o[0], found.n_o[0] + 10**7)
    summed = 6 * 0.25 * np.sum(np.floor(n / 56) ** -2.02) / 1.01
    assert summed < found.under_exploited[0]
    assert summed > 0.9 * found.under_exploited[0]


def test_theorem_2_needs_no_positive_epsilon(seven):
    assert theorem_2(seven, 0.0, 1e5).c_epsilon == math.inf
    assert np.all(np.isfinite(theorem_2(seven, -0.4, 1e5).total[:4]))
    with pytest.raises(ParameterError, match=r"epsilon must be a number > 0 .* given 0"):
        theorem_2(seven, 0, 1e5, printed=True)
    with pytest.raises(ParameterError, match=r"epsilon must be a number > -0\.5"):
        theorem_2(seven, -0.5, 1e5)


@pytest.mark.parametrize("epsilon", [100.0, 1000.0, 1e6, 1e99])
def test_bounds_of_a_large_epsilon_are_numbers(seven, epsilon):
    for printed in (True, False):
        found = theorem_2(seven, epsilon, 1e5, printed=printed)
        assert np.all(np.isfinite(found.bound[:4]))
        assert np.all(found.bound[:4] >= theorem_2(seven, 1.0, 1e5, printed=printed).bound[:4])
    with pytest.raises(ParameterError, match=r"<= 1e\+100 here, given 1e\+300"):
        theorem_2(seven, 1e300, 1e5)


def test_theorem_3(seven):
    printed = theorem_3(seven, 0.01, 1e5, printed=True)
    assert printed.leading == pytest.approx(LOG * 1.2 / 0.1**2 * 3)
    # Channel 5, (G/Δ)² and Δ: 6.25 0.4; 11.1 0.6; 25 0.6; 100 0.4 for y = 1 to 4.  Up to pull
    # 25 (in units of 4(2+ε) ln n) the dearest context that asks for it costs 0.6, then 0.4.
    # Channel 6: 4 0.5; 6.25 0.8; 11.1 0.9; 25 0.8.  Channel 7: 1.2 until 11.1, where y = 4 ends.
    steps = [25 * 0.6 + 75 * 0.4, (9 / 0.81) * 0.9 + (25 - 9 / 0.81) * 0.8, 16 / 1.44 * 1.2]
    np.testing.assert_allclose(staircase(seven)[4:], steps)
    found = theorem_3(seven, 0.01, 1e5)
    assert found.leading == pytest.approx(LOG * sum(steps))
    # The notes' form, max (G/Δ)² · max Δ, is never less.
    assert found.leading <= LOG * (100 * 0.6 + 25 * 0.9 + 16 / 1.44 * 1.2)
    assert found.total == found.leading + found.rest


def test_where_every_arm_is_somewhere_best_nothing_grows_with_the_logarithm(four):
    assert theorem_3(four, 0.01, 1e5).leading == 0
    constant = theorem_2(four, 0.01, 1e5).total @ four.gaps.max(axis=0)
    assert theorem_3(four, 0.01, 1e308).total <= constant


def test_no_arm_costs_more_than_always_pulling_it(seven):
    losses = seven.probabilities @ seven.gaps
    for trial in (7, 100, 1000):
        assert theorem_3(seven, 0.01, trial).total <= trial * losses.sum() * (1 + 1e-12)


def test_lemma_1(seven):
    assert lemma_1(seven, 0.01, 1e5, printed=True).tolist() == pytest.approx(
        [2 * 7**4.02 / 1e5**2.02] * 4
    )
    # ⌊n/7⌋ = 14285 is more than 92.6 (G/Δ)² but for y = 4, where channel 3 is 1600 steep.
    found = lemma_1(seven, 0.01, 1e5)
    assert found[:3].tolist() == pytest.approx([6 * 14285**-2.02 / 2.02] * 3)
    assert found[3] == 1
    assert np.all(lemma_1(seven, 0.01, 3) == 1)


def test_theorem_4():
    harvesting = energy_harvesting(4)
    cells = theorem_3(Instance.of(harvesting, 0.01), 0.01, 1e6)
    found = theorem_4(harvesting, 0.01, 0.01, 1e6)
    assert found.leading == cells.leading
    assert found.total - cells.total == pytest.approx(0.01 * 4 * 1e6)
    # A δ that does not divide the width is as good as the cells it makes.
    assert theorem_4(harvesting, 0.01, 0.0109, 1e6).total == pytest.approx(
        theorem_4(harvesting, 0.01, 1 / 92, 1e6).total
    )


def test_gap_free():
    seven, harvesting = channel_selection(7).problem, energy_harvesting(4).problem
    found = gap_free(seven, alpha=2.01, horizon=10**5)
    assert found == pytest.approx(4 * 4 * math.sqrt(2.01 * 7 * 1e5 * math.log(1e5)))
    found = gap_free(harvesting, alpha=2.01, delta=0.001, horizon=10**6)
    learning = 4 * math.log(5) * math.sqrt(2.01 * 4 * 1e6 * math.log(1e6))
    assert found == pytest.approx(0.001 * 4 * 1e6 + learning)
    assert found == gap_free(harvesting, alpha=2.01, delta={"power": 0.001}, horizon=10**6)


@pytest.mark.parametrize("arms", range(2, 9))
@pytest.mark.parametrize("alpha", [1.5, 2.0, 2.01, 3.0])
def test_what_the_gap_free_constant_leaves_pays_for_first_pulls_and_misleading_trials(arms, alpha):
    """The argument of docs/theory.md, in units of G: each arm's sum over its pulls falls short
    of 2√T_j by enough for its first pull and its part of the trials that mislead."""
    misleading = sum(t ** (1 - 2 * alpha) for t in range(arms + 1, 10**5)) + 1e-4
    for horizon in (arms + 1, 2 * arms, 100, 10**4):
        width = 2 * math.sqrt(alpha * math.log(horizon))
        for pulls in (1, 2, 3, 10, horizon - arms + 1):
            spent = 1 + width * sum(s**-0.5 for s in range(1, pulls)) + misleading
            assert spent <= 2 * width * math.sqrt(pulls)


def test_doubling_sums_the_phases_that_begin():
    def seen(trials):
        phases.append(trials)
        return 1.0

    for horizon, expected in ((1, [2]), (2, [2]), (3, [2, 4]), (6, [2, 4]), (7, [2, 4, 8])):
        phases: list[int] = []
        assert doubling_phases(seen, horizon) == len(expected)
        assert phases == expected


@pytest.mark.parametrize("growth", [1 / 3, 1 / 2, 2 / 3])
def test_doubling_is_geometric(growth):
    """There is no factor ln T: the sum is within a constant of its last term."""
    for horizon in (10**3, 10**6, 10**12):
        last = (2 ** math.ceil(math.log2(horizon + 2) - 1)) ** growth
        total = doubling_phases(lambda trials: trials**growth, horizon)
        assert total <= last * 2**growth / (2**growth - 1)


def test_ucb1_and_multi_ucb(seven):
    # Blindly, channel j loses what it falls short of the best, on average over the contexts;
    # channels 3 loses (0.2 + 0.2 + 0 + 0.1)/4 a trial, less than any other.
    low, high = ucb1(seven, 1e5)
    assert low == pytest.approx(1e5 * 0.5 / 4)
    more = (seven.gaps.mean(axis=0) - 0.125)[[0, 1, 3, 4, 5, 6]]
    assert high - low == pytest.approx(
        float(np.sum(8 * math.log(1e5) * 16 / more + more * (1 + LAST)))
    )
    summed = 0.0
    for i, j in np.argwhere(seven.gaps > 0):
        gap = seven.gaps[i, j]
        summed += 8 * math.log(25001) * (i + 1) ** 2 / gap + gap * (1 + LAST)
    assert multi_ucb(seven, 1e5) == pytest.approx(summed)


@pytest.mark.parametrize("share", [1 / 4, 1 / 56, 1e-4])
@pytest.mark.parametrize("cost", [0.05, 1.0, 8.04, 300.0])
def test_thresholds_against_a_table(share, cost):
    n = np.arange(1, 5 * 10**6, dtype=float)
    late = share * n - 1 >= cost * np.log(n)
    expected = n[~late][-1] + 1 if not late.all() else 1
    if late[-1]:
        assert abs(settled_from(np.array([share]), np.array([cost]))[0] - expected) <= 1
    holds = np.floor(share * n + 1e-9) > np.ceil(cost * np.log(n))
    if holds[-1]:
        assert settled_printed(share, cost) == n[holds][0]


def test_zeta():
    assert zeta(2) == pytest.approx(math.pi**2 / 6, rel=1e-13)
    assert zeta(4) == pytest.approx(math.pi**4 / 90, rel=1e-13)
    assert zeta(1) == math.inf


@pytest.mark.parametrize(
    "call",
    [
        lambda seven: theorem_1(seven, 0.01, 0),
        lambda seven: theorem_1(seven, True, 10),
        lambda seven: theorem_1(seven, math.nan, 10),
        lambda _: doubling_phases(float, 0),
        lambda _: gap_free(channel_selection().problem, alpha=1.4, horizon=10),
        lambda _: gap_free(channel_selection().problem, alpha=2, horizon=1),
        lambda _: gap_free(channel_selection().problem, alpha=2, delta=0.1, horizon=10),
        lambda _: gap_free(energy_harvesting().problem, alpha=2, horizon=10),
    ],
)
def test_what_is_refused(seven, call):
    with pytest.raises(ParameterError):
        call(seven)
