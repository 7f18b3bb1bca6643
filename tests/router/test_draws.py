"""The draws of a decision: made from its id, and as random as those of a generator."""

import numpy as np
import pytest

from onepull.router.draws import Draw

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
