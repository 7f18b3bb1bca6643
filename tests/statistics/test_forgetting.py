"""Statistics that forget: the definitions on random data, and nothing lost on the way."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import msgspec
import numpy as np
import pytest

from onepull import MergeError, SaveFileError
from onepull.checks import restored
from onepull.index.hoeffding import hoeffding
from onepull.statistics import ArmStatistics, Discounted, Restarting, Window

ARMS, FEATURES = 4, 3
KINDS = {
    "discounted": partial(Discounted, discount=0.9),
    "hardly": partial(Discounted, discount=0.2),
    "window": partial(Window, window=17),
    "one": partial(Window, window=1),
    "restarting": partial(Restarting, lows=[-40] * 3, highs=[40] * 3, failure=0.5),
    "together": partial(Restarting, lows=[-9] * 3, highs=[9] * 3, failure=0.9, together=True),
}
every = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def observed(seed, count, arms=ARMS, features=FEATURES):
    generator = np.random.default_rng(seed)
    return [
        (int(generator.integers(arms)), (generator.normal(size=features) * 10).tolist())
        for _ in range(count)
    ]


def learned(kind, rows, arms=ARMS, features=FEATURES):
    statistics = kind(arms, features)
    for arm, values in rows:
        statistics.update(arm, values)
    return statistics


def assert_weighed(statistics, rows, weights, rel=1e-11):
    """Compare with sums over the raw history in which each observation has a weight."""
    assert statistics.trials == len(rows)
    for arm in range(len(statistics.pulls)):
        mine = [(w, row) for w, (j, row) in zip(weights, rows, strict=True) if j == arm and w]
        pulls = math.fsum(w for w, _ in mine)
        assert statistics.pulls[arm] == pytest.approx(pulls, rel=rel)
        root = 1 / math.sqrt(pulls) if mine else 0.0
        assert statistics.roots[arm] == pytest.approx(root, rel=rel)
        for i in range(statistics.features):
            mean = math.fsum(w * row[i] for w, row in mine) / pulls if mine else math.inf
            assert statistics.means[i][arm] == pytest.approx(mean, rel=rel, abs=1e-10)


@pytest.mark.parametrize("discount", [0.3, 0.9, 0.999])
@pytest.mark.parametrize("count", [0, 1, 50, 3000])
@pytest.mark.parametrize("features", [3, 70])
def test_an_observation_of_k_trials_ago_counts_discount_to_the_k(discount, count, features):
    rows = observed(count, min(count, 400) if features > 3 else count, features=features)
    statistics = learned(partial(Discounted, discount=discount), rows, features=features)
    weights = [discount ** (len(rows) - 1 - s) for s in range(len(rows))]
    assert_weighed(statistics, rows, weights)


@pytest.mark.parametrize("window", [1, 2, 17, 1000])
@pytest.mark.parametrize("count", [0, 1, 50, 3000])
@pytest.mark.parametrize("features", [3, 70])
def test_the_last_observations_count_and_no_others(window, count, features):
    rows = observed(count, min(count, 400) if features > 3 else count, features=features)
    statistics = learned(partial(Window, window=window), rows, features=features)
    assert_weighed(statistics, rows, [float(len(rows) - s <= window) for s in range(len(rows))])


def test_rounding_does_not_pile_up_in_a_window():
    # Large numbers leave, small ones stay: what rounding left of them would be seen.
    rows = [(0, [1e9 * math.sin(i)]) for i in range(500)] + [(0, [1e-9]) for _ in range(20)]
    statistics = learned(partial(Window, window=10), rows, arms=1, features=1)
    assert statistics.means[0][0] == 1e-9


def test_an_arm_that_fades_away_is_as_one_never_pulled():
    statistics = Discounted(2, 1, discount=0.5)
    for arm in [0] + [1] * 2000:
        statistics.update(arm, [1.0])
    assert statistics.pulls[0] == 0
    assert statistics.means[0][0] == math.inf
    statistics.update(0, [3.0])
    assert (statistics.pulls[0], statistics.means[0][0]) == (1.0, 3.0)


def test_a_restart_forgets_one_arm_or_all():
    for together in (False, True):
        statistics = Restarting(2, 1, lows=[0], highs=[1], failure=0.01, together=together)
        for arm, value in [(1, 0.5)] * 5 + [(0, 0.0)] * 100 + [(0, 1.0)] * 60:
            statistics.update(arm, [value])
        assert statistics.means[0][0] == 1.0
        assert statistics.pulls[1] == (0 if together else 5)
        assert statistics.seen == [165, 5]
        assert statistics.restarts[0] > 105
        assert statistics.restarts[1] == (statistics.restarts[0] if together else 0)


@every
def test_scores_go_by_what_is_remembered(kind):
    statistics = learned(kind, observed(4, 90))
    rule = hoeffding(2.0)
    aim = rule.aim_at(-1.0, 3.0, 91)
    for row in statistics.means:
        scores = statistics.score(rule, row, aim)
        wanted = [rule.index(m, r, aim) for m, r in zip(row, statistics.roots, strict=True)]
        assert list(scores) == wanted
        assert statistics.leader(rule, row, aim) == int(np.argmax(wanted))


@every
@pytest.mark.parametrize("count", [0, 1, 16, 17, 40, 700])
def test_a_state_comes_back_bit_for_bit_and_goes_on(kind, count):
    rows = observed(5, count + 300)
    one, two = learned(kind, rows[:count]), kind(ARMS, FEATURES)
    text = msgspec.json.encode(one.state())
    two.restore(msgspec.json.decode(text, type=two.State))
    assert msgspec.json.encode(two.state()) == text
    for arm, row in rows[count:]:
        for statistics in (one, two):
            statistics.update(arm, row)
    assert msgspec.json.encode(two.state()) == msgspec.json.encode(one.state())


@every
def test_arms_leave_and_the_rest_goes_on_bit_for_bit(kind):
    one, two = learned(kind, observed(6, 40)), kind(ARMS, FEATURES)
    for statistics in (one,):
        statistics.remove_arm(1)
        statistics.add_arm()
    two.restore(one.state())
    for arm, row in observed(7, 60):
        for statistics in (one, two, copy := two.copy()):
            statistics.update(arm, row)
        assert copy.state() == two.state()
    assert one.state() == two.state()


@every
def test_what_two_saw_cannot_be_added(kind):
    one, two = (learned(kind, observed(seed, 10)) for seed in (1, 2))
    before = one.state()
    with pytest.raises(MergeError, match="order of observations"):
        one.merge(two, range(ARMS))
    assert one.state() == before


@every
def test_pulls_in_flight_narrow_the_bound_and_land(kind):
    waiting, other = (learned(kind, observed(8, 30)) for _ in range(2))
    arm = 2
    waiting.expect(arm, 2)
    assert waiting.roots[arm] < other.roots[arm] or not other.pulls[arm]
    assert (waiting.counts[arm], waiting.trial) == (other.pulls[arm] + 2, other.trial + 2)
    for _, row in observed(9, 40):  # past the end of the window
        waiting.update(arm, row)
        other.update(arm, row)
    assert waiting.waiting == 0
    assert waiting.state() == other.state()
    assert list(waiting.roots) == list(other.roots)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("discounted", {"weights": [1.0, 2.0]}),
        ("discounted", {"weights": [-1.0, 2.0, 1.0, 1.0]}),
        ("discounted", {"scale": 0.0}),
        ("discounted", {"trials": 1}),
        ("window", {"arms": [0]}),
        ("window", {"arms": [9] * 17}),
        ("window", {"rows": [[1.0]] * 17}),
        ("restarting", {"seen": [1]}),
        ("restarting", {"seen": [999] * 4}),
        ("restarting", {"detectors": []}),
    ],
)
def test_a_state_that_cannot_be_is_refused(kind, changes):
    build: Any = KINDS[kind]
    statistics = learned(build, observed(1, 30))
    saved = msgspec.to_builtins(statistics.state()) | changes
    fresh = build(ARMS, FEATURES)
    with pytest.raises(SaveFileError):
        fresh.restore(restored(fresh.State, saved, "statistics"))


@every
def test_storage_is_what_is_kept_at_most(kind):
    def numbers(value):
        if isinstance(value, dict):
            value = list(value.values())
        return sum(map(numbers, value)) if isinstance(value, list) else 1

    statistics = learned(kind, observed(3, 900))
    kept = numbers(msgspec.to_builtins(statistics.state()))
    assert kept <= statistics.storage_after(900) + 2 * ARMS
    assert statistics.storage <= kind(ARMS, FEATURES).storage_after(900)
    assert ArmStatistics.empty(arms=ARMS, features=FEATURES).storage_after(9) == 16
