"""The range of the reward in a context."""

from __future__ import annotations

import numpy as np

from onepull import Finite, Interval, Problem, recommended
from onepull.factor.context_ranges import Ranges


def many(reward):
    """16 million listed contexts, and words."""
    return Problem(
        arms={"a": {"price": 0}, "b": {"price": 5}},
        context={
            "x": Finite(range(256)),
            "y": Finite(range(256)),
            "z": Finite(range(256)),
            "word": Finite(["one", "two"]),
        },
        state={"rate": Interval(0, 9)},
        reward=reward,
    )


def test_bounds_hold_in_millions_of_contexts():
    problem = many("min(rate, x + y / 9 + z) * (1 + (word == 'two')) - price")
    ranges, luck = Ranges(problem), np.random.default_rng(1)
    for _ in range(200):
        context = (*luck.integers(0, 256, 3).astype(float).tolist(), float(luck.integers(2)))
        lows, highs = ranges.at(context)
        for arm, price in enumerate((0.0, 5.0)):
            found = problem.payoff.scalar(*context, price, float(luck.uniform(0, 9)))
            assert lows[arm] - 1e-9 <= found <= highs[arm] + 1e-9


def test_millions_of_contexts_have_a_recommended_policy():
    problem = many("min(rate, x + y / 9 + z)").with_arms(["a", "b"])
    policy = recommended(problem)
    policy.observe("a", rate=3)
    assert policy.choose(x=1, y=2, z=3, word="one") == "b"
