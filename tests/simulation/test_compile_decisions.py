"""Compiled decisions are those of the interpreter, ties included."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import channels, endless, failing, harvesting, mixed

from onepull import AdaptiveKL, Finite, Interval, Problem, compile_decisions
from onepull.index.highest_bound import KeptBounds
from onepull.index.kept_likelihood import SAME_COST, explored, head_start, relative_cost
from onepull.policies.kept_states.compiled_search import COMPILED, as_arrays
from onepull.testing.random_data import observations, random_points


@pytest.fixture
def both():
    """Return a function that chooses in both ways, one after the other."""
    compile_decisions()
    search = COMPILED.leader

    def chosen(policy, **request):
        found = []
        for COMPILED.leader in (None, search):
            found.append(policy.choose(**request))
        return found

    yield chosen
    compile_decisions(use=False)


def priced():
    """Arms whose tops differ."""
    return Problem(
        arms={name: {"price": 0.1 * j} for j, name in enumerate("abcde")},
        context={"y": Interval(0, 1)},
        state={"x": Interval(0, 1)},
        reward="min(x, y) - price",
    )


def tied(arms=6):
    """Few rewards, so that bounds are often equal."""
    return Problem(
        arms=[f"a{j}" for j in range(arms)],
        context={"y": Finite([1, 2])},
        state={"x": Finite([0, 1])},
        reward="x * y",
    )


def stateless():
    """A reward that no state changes."""
    return Problem(
        arms=["a", "b"], context={"y": Interval(0, 1)}, state={"x": Interval(0, 1)}, reward="y"
    )


PROBLEMS = [channels, failing, endless, harvesting, mixed, priced, tied, stateless]


@pytest.mark.parametrize("make", [*PROBLEMS, lambda: tied(14)])
def test_the_same_arms_are_chosen(make, both):
    problem, generator = make(), np.random.default_rng(7)
    policy = AdaptiveKL(problem, kept=64, adapts=False)
    arms = list(problem.arms)
    for trial, record in enumerate(observations(problem, 400, generator)):
        (context,) = random_points(problem.context, 1, generator)
        one, two = both(policy, **context)
        assert one == two
        some = generator.choice(arms, size=int(generator.integers(1, len(arms) + 1)), replace=False)
        one, two = both(policy, **context, eligible=some.tolist())
        assert one == two
        if trial % 3 == 0:
            policy.pulled(one, **context)
        policy.observe(**record)


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
@pytest.mark.parametrize("arms", [1, 2, 5, 40])
def test_the_search_finds_the_leader(arms, scale, both):
    del both
    search, generator = COMPILED.leader, np.random.default_rng(arms)
    assert search is not None
    for trial in range(100):
        # Small whole numbers make ties; wide weights come from merging.
        levels = int(generator.integers(2, 5)) if trial % 2 else 10**6
        rewards = -scale * generator.integers(0, levels, (arms, 30)) / levels
        stands_for = generator.integers(0, 6, rewards.shape).astype(float)
        stands_for[:, 0] = 1.0
        pulls = stands_for.sum(axis=1)
        counts = (pulls + generator.integers(0, 3, arms)).astype(int).tolist()
        tops = 0.0 if trial % 4 else scale * generator.random(arms)
        allowed = range(arms) if trial % 5 else [arms - 1]
        unit = 2.0 ** round(-math.log2(scale))
        means = -generator.random((arms, 3))
        bounds = KeptBounds(rewards, stands_for, pulls, tops)
        here = np.array(bounds.means)[:, None] * unit
        everywhere = np.hstack([here, means])
        among = everywhere[list(allowed)]
        costs, size = among.max(axis=0) - everywhere, float(np.abs(among).max())
        number = int(10 ** generator.uniform(0, 6))
        rounding = SAME_COST * float(np.abs(among[:, 1:].max(axis=0)).max())
        leading = [bool((cost[1:] <= rounding).any()) for cost in costs]
        many, able = sum(leading[j] for j in allowed), min(len(allowed) - 1, means.shape[1])
        heads = [head_start(many - leads, able) for leads in leading]
        budgets = [
            explored(number, count, relative_cost(cost[0], cost.min(), size), head) / count
            for count, cost, head in zip(counts, costs, heads, strict=True)
        ]
        leaders = bounds.explore(budgets).highest(allowed)
        given, pulled, limits, some = as_arrays(rewards, counts, tops, allowed)
        found = search(given, stands_for, pulls, pulled, number, limits, some, means, unit)
        assert found == min(leaders, key=counts.__getitem__)


def test_nothing_is_compiled_while_a_decision_is_made(both):
    del both
    assert COMPILED.leader is not None
    with pytest.raises(TypeError, match="No matching definition"):
        COMPILED.leader(*[np.ones((1, 1), np.float32)] * 9)


def test_going_back_is_possible():
    compile_decisions()
    compile_decisions(use=False)
    assert COMPILED.leader is None
