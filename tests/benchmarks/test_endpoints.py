import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from endpoints import ATTEMPTS, ENDPOINTS, FLAPS, SCENARIOS, World, normal_below, serve


class Fixed:
    """Takes the first arm of an order of its own, and notes what it was told."""

    def __init__(self, order):
        self.order, self.told, self.flying, self.most = order, [], 0, 0

    def choose(self, context, eligible=None):
        del context
        return next(arm for arm in self.order if eligible is None or arm in eligible)

    def pulled(self, arm, context):
        del arm, context
        self.flying += 1
        self.most = max(self.most, self.flying)

    def learn(self, arm, context, shown, reward):
        self.flying -= 1
        self.told.append((arm, context, shown, reward))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_means_are_those_of_pulls(scenario):
    world = World(scenario, 3, 400)
    laws = world.laws[0]
    luck = np.random.default_rng(1)
    count = 40_000
    for arm in range(ENDPOINTS):
        normal = luck.normal(size=(2, count))
        ttft = laws.ttft[arm] * np.exp(laws.ttft_spread[arm] * normal[0])
        tpot = laws.tpot[arm] * np.exp(laws.tpot_spread[arm] * normal[1])
        failed = luck.random(count) < laws.failing[arm]
        context, price = (world.tokens[0], world.hurry[0]), world.price[arm]
        paid = world.problem.payoff.vector(*context, price, ttft, tpot, failed.astype(float))
        # Five standard errors: fails with a probability below 1e-6.
        error = 5 * paid.std() / np.sqrt(count) + 1e-6
        assert abs(paid.mean() - world.means[0, arm]) < error


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_changes(scenario):
    world = World(scenario, 1, 800)
    kinds = [id(laws) for laws in world.laws]
    expected = {"worse": 2, "better": 2, "flapping": 2}.get(scenario, 1)
    assert len(set(kinds)) == expected
    assert sum(a != b for a, b in itertools.pairwise(kinds)) == {
        "worse": 1, "better": 1, "flapping": FLAPS - 1,
    }.get(scenario, 0)  # fmt: skip


def test_same_luck_for_all():
    one, two = World("worse", 5, 300), World("worse", 5, 300)
    assert one.pull(200, 1, 3) == two.pull(200, 1, 3)
    assert np.array_equal(one.means, two.means)


def test_serving():
    world = World("steady", 2, 600)
    player = Fixed(list(world.problem.arms))
    served = serve(world, player)
    failures = [told for told in player.told if "failed" in told[2]]
    first = [told for told in player.told if told[0] == "e0"]
    assert len(first) == world.requests
    # A failure is retried at the next arm, and no request is tried more than three times.
    assert {arm for arm, *_ in player.told} <= {f"e{j}" for j in range(ATTEMPTS)}
    retried = len(player.told) - world.requests
    assert retried == sum(arm != f"e{ATTEMPTS - 1}" for arm, *_ in failures)
    assert player.flying == 0
    assert player.most > 20
    gaps = world.means.max(axis=1) - world.means[:, 0]
    assert served.losses.sum() >= gaps.sum()
    assert (served.losses >= 0).all()


def test_genie_loses_nothing():
    world = World("flapping", 2, 300)
    places = iter(range(world.requests))

    class Genie(Fixed):
        def choose(self, context, eligible=None):
            if eligible is not None:  # a retry, which is not looked at here
                return super().choose(context, eligible)
            return world.problem.arms[int(world.means[next(places)].argmax())]

    served = serve(world, Genie(list(world.problem.arms)))
    assert np.median(served.losses) == 0.0
    assert (served.losses == 0.0).mean() > 0.8


def test_normal():
    assert normal_below(np.array([0.0, 1.959964, -1.959964])) == pytest.approx(
        [0.5, 0.975, 0.025], abs=1e-6
    )
