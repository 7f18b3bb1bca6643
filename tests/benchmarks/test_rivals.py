import math
import sys
from pathlib import Path

import pytest

from onepull import Finite, Interval, Problem

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from rivals import Asked, Averaging, WithChance, player, policy_of

PRICED = Problem(
    arms={"a": {"price": 1.0}, "b": {"price": 2.0}},
    context={"y": Finite([1, 2])},
    state={"x": Interval(0, math.inf)},
    reward="-y * x - price",
    failure="-10 * y",
)


def test_average_by_hand():
    average = Averaging(PRICED, rate=0.5, explore=0.0, seed=1)
    assert average.choose({"y": 1}) == "a"
    average.learn("a", {"y": 1}, {"x": 2.0}, -3.0)
    assert average.choose({"y": 1}) == "b"
    average.learn("b", {"y": 1}, {"x": 1.0}, -3.0)
    average.learn("a", {"y": 1}, {"x": 4.0}, -5.0)
    assert average.values({"y": 2}).tolist() == [-2 * 3 - 1, -2 * 1 - 2]
    average.learn("b", {"y": 1}, {"failed": True}, -10.0)
    # Half of b's pulls fail now: half of -4, and half of -20.
    assert average.values({"y": 2}).tolist() == [-7.0, -12.0]
    assert average.choose({"y": 2}) == "a"
    assert average.choose({"y": 2}, ["b"]) == "b"


def test_average_that_only_failed():
    average = Averaging(PRICED, rate=0.5, explore=0.0, seed=1)
    average.learn("a", {"y": 1}, {"failed": True}, -10.0)
    average.pulled("b", {"y": 1})
    assert average.values({"y": 1}).tolist() == [-10.0, -math.inf]


def test_arms_in_flight_are_asked_once():
    average = Averaging(PRICED, rate=0.5, explore=0.0, seed=1)
    average.pulled(average.choose({"y": 1}), {"y": 1})
    assert average.choose({"y": 1}) == "b"


def test_exploring_share():
    simple = Problem(arms=["a", "b"], state={"x": Interval(0, 1)}, reward="x")
    chance = player("eps-0.5")(simple, 1)
    assert isinstance(chance, WithChance)
    chance.learn("a", {}, {"x": 1.0}, 1.0)
    chance.learn("b", {}, {"x": 0.0}, 0.0)
    # A quarter of the choices is b; outside this range with a probability below 1e-9.
    assert 150 < sum(chance.choose({}) == "b" for _ in range(1000)) < 350


def test_names():
    made = player("AdaptiveKL(kept=64;adapts=False)")(PRICED, 1)
    assert isinstance(made, Asked)
    assert made.policy.parameters == {"kept": 64, "adapts": False}
    assert type(policy_of("onepull:AdaptiveKL")(PRICED)) is type(made.policy)
    rated = player("EWMA-0.1-0.05")(PRICED, 1)
    assert isinstance(rated, Averaging)
    assert (rated.rate, rated.explore) == (0.1, 0.05)
    with pytest.raises(SystemExit, match="unknown policy 'Nonesuch'"):
        player("Nonesuch")


def test_cells_of_intervals():
    wide = Problem(
        arms=["a"], context={"y": Interval(0, 40)}, state={"x": Interval(0, 1)}, reward="x * y"
    )
    made = player("CCB")(wide, 1)
    assert isinstance(made, Asked)
    assert made.policy.parameters["delta"] == 0.5
