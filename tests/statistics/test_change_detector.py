"""The change detector: how often it is wrong, and how soon it is right."""

from __future__ import annotations

import math

import numpy as np
import pytest

from onepull.statistics import ChangeDetector
from onepull.statistics.change_detector import ALIKE, SPAN, alarm_level, coin_divergence


def alarm(detector, rows):
    """Return after how many observations a change is seen, None if it never is."""
    return next((i + 1 for i, row in enumerate(rows) if detector.take(row)), None)


@pytest.mark.parametrize(
    "draw",
    [
        lambda generator: generator.random((1600, 2)) < 0.5,
        lambda generator: generator.random((1600, 2)) < [0.02, 0.97],
        lambda generator: generator.random((1600, 2)),
    ],
    ids=["coins", "rare", "uniform"],
)
def test_false_alarms_are_rare(draw):
    # If each of 150 fails with probability 0.05, more than 22 do with probability 1e-5.
    generator = np.random.default_rng(1)
    found = [
        alarm(ChangeDetector([0, 0], [1, 1], failure=0.05), draw(generator)) for _ in range(150)
    ]
    assert sum(trial is not None for trial in found) <= 22


def test_a_change_is_seen_soon():
    # 480 coins of 0.7 after 1000 of 0.3: unless the two means are closer than 0.2, which has
    # probability exp(-2 · 0.2² / (1/1000 + 1/480)) = 5e-12 in each of 40 runs, the statistic is
    # above 2 · 324 · 0.2² = 25.9, and the level at the 93rd test of about 20 cuts is below.
    assert alarm_level(93, 20, 0.01) < 25.9
    generator = np.random.default_rng(2)
    delays = []
    for _ in range(40):
        coins = np.concatenate([generator.random(1000) < 0.3, generator.random(480) < 0.7])
        found = alarm(ChangeDetector([0.0], [1.0], failure=0.01), coins[:, None])
        assert found is not None
        assert found > 1000
        delays.append(found - 1000)
    assert 32 < np.mean(delays) < 160  # about 22 / (2 · 0.4²) and a bucket


def test_any_feature_may_change_and_units_do_not_matter():
    generator = np.random.default_rng(3)
    rows = generator.random((800, 3))
    rows[400:, 2] *= 0.3
    plain = alarm(ChangeDetector([0, 0, 0], [1, 1, 1]), rows)
    scaled = alarm(ChangeDetector([-5, 2, 0], [-3, 2, 10]), rows * [2, 0, 10] + [-5, 2, 0])
    assert plain is not None
    assert 400 < plain <= scaled <= plain + SPAN
    assert alarm(ChangeDetector([0, 0], [1, 1]), rows[:, :2]) is None


def test_the_statistic_is_the_likelihood_ratio_at_the_best_cut():
    # Two buckets of coins: without tidying, all cuts are those between buckets.
    generator = np.random.default_rng(4)
    coins = np.concatenate([generator.random(32) < 0.1, generator.random(32) < 0.9]).astype(float)

    def log_likelihood(part):
        p = part.mean()
        return sum(math.log(p if coin else 1 - p) for coin in part)

    ratios = [
        log_likelihood(coins[:n][:cut])
        + log_likelihood(coins[:n][cut:])
        - log_likelihood(coins[:n])
        for n in (48, 64)
        for cut in (16, 32)
        if 0 < coins[:cut].mean() < 1 and 0 < coins[cut:n].mean() < 1
    ]
    p, n = coins.mean(), 64
    ratio = 32 * coin_divergence(coins[:32].mean(), p) + 32 * coin_divergence(coins[32:].mean(), p)
    assert ratio == pytest.approx(ratios[-1])
    failure = 4.0 * 3 * 4 * 5 / math.exp(ratio - 2 * math.log(ratio))
    assert n // SPAN == 4
    assert alarm(ChangeDetector([0.0], [1.0], failure=min(failure, 0.5)), coins[:, None]) == 64


def test_memory_grows_with_the_logarithm():
    detector = ChangeDetector([0.0], [1.0])
    generator = np.random.default_rng(5)
    for value in generator.random(20_000):
        assert not detector.take([value])
    sizes = detector.state().sizes
    assert sum(sizes) == 20_000
    assert sizes == sorted(sizes, reverse=True)
    assert max(map(sizes.count, sizes)) <= ALIKE
    assert detector.storage <= detector.storage_after(20_000) < 110


@pytest.mark.parametrize("unit", [2.0**-990, 2.0**-40, 2.0**990])
def test_a_power_of_two_changes_no_alarm(unit):
    rows = np.random.default_rng(3).random((200, 2)) + np.repeat([[0.0], [1.0]], 100, axis=0)
    plain = alarm(ChangeDetector([0.0, 0.0], [2.0, 2.0]), rows)
    assert plain is not None
    assert alarm(ChangeDetector([0.0, 0.0], [2 * unit, 2 * unit]), rows * unit) == plain


@pytest.mark.parametrize("width", [0.0, 5e-324, 1e-310])
def test_a_range_of_next_to_no_width_changes_never(width):
    rows = [[5.0 * width * (i > 100)] for i in range(200)]
    assert alarm(ChangeDetector([0.0], [5.0 * width]), rows) is None
