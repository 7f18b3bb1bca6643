"""The draws of a decision: made from its id, and as random as those of a generator."""

import numpy as np
import pytest
from problems import channels

from onepull import EpsilonGreedy, Router
from onepull.router.state.draws import Draw

IDS = [f"id {i}" for i in range(4000)]


def test_the_same_id_draws_the_same():
    for id_ in IDS[:5]:
        one, two = Draw(id_), Draw(id_)
        assert [one.random() for _ in range(9)] == [two.random() for _ in range(9)]
        assert one.standard_normal(3).tolist() == two.standard_normal(3).tolist()
        assert Draw(id_).random(2).tolist() == Draw(id_).random(2).tolist()


@pytest.mark.parametrize("which", range(6))
def test_numbers_are_uniform(which):
    """Each of the first numbers, over many ids: fails by chance once in 10,000 seeds."""
    drawn = []
    for id_ in IDS:
        draw = Draw(id_)
        for _ in range(which):
            draw.random()
        drawn.append(draw.random())
    counts, _ = np.histogram(drawn, bins=10, range=(0, 1))
    statistic = float(np.sum((counts - 400.0) ** 2) / 400.0)
    assert statistic < 33.7  # the 99.99 % quantile of chi-squared with 9 degrees of freedom


def test_numbers_of_one_id_are_independent():
    rows = []
    for id_ in IDS:
        draw = Draw(id_)
        rows.append([draw.random(), draw.random(), draw.standard_normal(), draw.random(1)[0]])
    correlations = np.corrcoef(np.array(rows).T) - np.eye(4)
    assert np.abs(correlations).max() < 5 / np.sqrt(len(IDS))


class AlwaysLast(EpsilonGreedy):
    """Redefines how it draws, and so its chances."""

    def _draw(self, request):
        return request.allowed[-1]

    def _chances(self, request):
        return [float(arm == request.allowed[-1]) for arm in request.allowed]


def test_a_policy_that_draws_in_its_own_way():
    with Router(channels(3), policy=AlwaysLast) as router:
        decision = router.choose(bits=1)
        assert (decision.arm, decision.chance) == (router.problem.arms[-1], 1.0)


def test_the_chance_of_a_draw_is_that_of_its_explanation():
    with Router(channels(3), policy={"name": "EpsilonGreedy", "c": 0.5, "seed": 1}) as router:
        for i, arm in enumerate(router.problem.arms * 5):
            router.observe(str(i), arm=arm, bits=1, capacity=float(i % 4))
        for _ in range(50):
            told = {row.arm: row.chance for row in router.explain(bits=1).arms}
            decision = router.choose(bits=1)
            assert decision.chance == told[decision.arm]
            router.gave_up(decision)
