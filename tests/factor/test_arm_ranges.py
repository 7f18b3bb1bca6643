"""The range of each arm's rewards, where arms have attributes."""

from __future__ import annotations

import numpy as np
import pytest

from onepull import DCB, Finite, Interval, Problem, Reward
from onepull.factor import arm_ranges
from onepull.factor.arm_ranges import ranges_by_arm, whole_ranges
from onepull.payoff.box_points import pieces


def priced(count, **changes):
    told = {
        "arms": {
            f"arm-{i}": {"price": 0.25 * i, "tier": "gold" if i % 3 else "plain"}
            for i in range(count)
        },
        "context": {"size": Finite([1, 4])},
        "state": {"rate": Interval(0, 2)},
        "reward": "size * rate * (2 if tier == 'gold' else 1) - price",
        "failure": "-1 - price * size",
    }
    return Problem(**{**told, **changes})


def by_hand(problem):
    """Return the range of each arm: the highest rate, and the failure or no rate at all."""
    known = list(problem.attributes.values())
    high = [
        [2 * size * (2 if k["tier"] == "gold" else 1) - k["price"] for k in known]
        for size in (1, 4)
    ]
    low = [[min(-k["price"], -1 - k["price"] * size) for k in known] for size in (1, 4)]
    return low, high


@pytest.mark.parametrize("count", [3, 64, 65, 200])
def test_every_arm_has_its_own_range_however_many_there_are(count):
    problem = priced(count)
    lows, highs = ranges_by_arm(problem, pieces(problem.context, 16))
    expected = by_hand(problem)
    np.testing.assert_allclose(lows, expected[0])
    np.testing.assert_allclose(highs, expected[1])
    low, high = whole_ranges(problem)
    assert low == np.min(expected[0], axis=0).tolist()
    assert high == np.max(expected[1], axis=0).tolist()


def test_arms_alike_share_an_analysis():
    arms = {f"arm-{i}": {"price": float(i % 2), "tier": "plain"} for i in range(300)}
    problem = priced(0, arms=arms, words={"tier": ["gold"]})
    lows, highs = ranges_by_arm(problem, pieces(problem.context, 16))
    assert lows.shape == highs.shape == (2, 300)
    assert (highs[:, ::2] == [[2.0], [8.0]]).all()
    assert (highs[:, 1::2] == [[1.0], [7.0]]).all()


def test_a_reward_in_python_and_declared_bounds():
    def earned(size, rate, price, tier):
        return size * rate * (2 if tier == "gold" else 1) - price

    for count in (10, 100):
        listed = priced(count, state={"rate": Finite([0, 2])}, reward=earned)
        lows, highs = ranges_by_arm(listed, pieces(listed.context, 16))
        np.testing.assert_allclose((lows, highs), by_hand(listed))
        declared = priced(count, reward=Reward(earned, low=-30, high="16 * size"), failure=None)
        lows, highs = ranges_by_arm(declared, pieces(declared.context, 16))
        assert (lows == -30).all()
        assert (highs == [[16.0], [64.0]]).all()


def test_bounds_hold_where_a_formula_is_hard_to_bound(monkeypatch):
    problem = priced(70, reward="rate * (price - rate) * size", failure=None)
    contexts = pieces(problem.context, 16)
    lows, highs = ranges_by_arm(problem, contexts)
    rates = np.linspace(0, 2, 101)
    for j, known in enumerate(problem.attributes.values()):
        for i, size in enumerate((1, 4)):
            rewards = rates * (known["price"] - rates) * size
            assert lows[i, j] <= rewards.min() <= rewards.max() <= highs[i, j]
    widest = np.ptp(problem.payoff.whole_range)
    assert (highs - lows)[:, 0].max() < widest / 4  # the common range is that of the dearest
    monkeypatch.setattr(arm_ranges, "MOST_PAIRS", 100)
    common = ranges_by_arm(problem, contexts)
    assert (common[0] <= lows + 1e-9).all()
    assert (common[1] >= highs - 1e-9).all()


def test_a_policy_of_many_arms_explores_each_by_its_own_range():
    many = DCB(priced(80))
    few = DCB(priced(80).with_arms({a: priced(80).attributes[a] for a in ("arm-1", "arm-79")}))
    for policy in (many, few):
        policy.observe_many(["arm-1", "arm-79"], rate=[1.0, 1.5])
    found = many.indices(size=4)
    assert [found[1], found[79]] == pytest.approx(few.indices(size=4))
