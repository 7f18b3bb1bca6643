"""RandomizedUCB against its definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from crossing import crossing, drawn_class, run_trial
from problems import channels

from onepull import (
    ParameterError,
    Random,
    RandomizedUCB,
    simulate,
)
from onepull.policies.policy_class.cheapest_mixture import Program
from onepull.policies.policy_class.mixture import PolicyMixture


def program(arms, cells, kind, generator, curve):
    policies = drawn_class(arms, cells, kind, generator, 15)
    frequencies = generator.dirichlet(np.ones(cells))
    return Program(
        policies,
        gains=frequencies[:, None] * generator.uniform(0, 1, (cells, arms)),
        frequencies=frequencies,
        floor=0.06 / arms,
        flat=4.0 * arms,
        curve=curve,
    )


def variances(program, table):
    """V of every policy by its definition."""
    arms = table.shape[1]
    return np.array([
        sum(
            f / ((1 - arms * program.floor) * table[cell, arm] + program.floor)
            for cell, (arm, f) in enumerate(zip(row, program.frequencies[:, 0], strict=True))
        )
        for row in program.policies.assignments
    ])  # fmt: skip


def worst_of_pairs(costs, heights, flat, curve):
    """By how much a mixture of two policies exceeds the bound, on a fine grid of shares."""
    shares = np.linspace(0, 1, 101)[:, None, None]
    mixed_costs = shares * costs[:, None] + (1 - shares) * costs
    mixed_heights = shares * heights[:, None] + (1 - shares) * heights
    return float((mixed_heights - np.maximum(flat, curve * mixed_costs**2)).max())


CASES = list(itertools.product([(2, 2), (3, 3)], ["maps", "thresholds", "listed"], [0.0, 60, 900]))


@pytest.mark.parametrize(("size", "kind", "curve"), CASES)
def test_a_solution_keeps_to_the_constraint_and_is_near_the_least(size, kind, curve):
    generator = np.random.default_rng(8)
    arms, cells = size
    problem = program(arms, cells, kind, generator, curve)
    count = len(problem.policies)
    weights, prices = problem.solve(slack=0.5, tolerance=0.005)
    assert sum(weights.values()) == pytest.approx(1)
    mixture = PolicyMixture.of(problem.policies, weights)
    table = mixture.table(arms)
    heights = variances(problem, table)
    np.testing.assert_allclose(problem.variances(table), heights)
    # For every mixture, of which those of two policies are enough, and of many at random.
    worst = worst_of_pairs(problem.costs, heights, problem.flat, curve)
    assert worst <= 0.5 + 1e-3
    for share in generator.dirichlet(np.full(count, 0.3), 500):
        bound = max(problem.flat, curve * float(share @ problem.costs) ** 2)
        assert share @ heights <= bound + 0.5 + 1e-3
    # The excess that the program knows is that of the worst mixture of two.
    assert problem.excess(heights) >= worst - 1e-6
    assert problem.excess(heights) <= max(0.02, worst + 0.02 * abs(worst) + 0.02)
    # No distribution that keeps to the constraint costs less by more than the tolerance.
    value = sum(w * problem.costs[p] for p, w in weights.items())
    bought = PolicyMixture.of(problem.policies, prices)
    assert problem.gap(table, bought.table(arms), slack=0.5) <= 0.0051
    for alpha in (0.05, 0.3):
        for share in generator.dirichlet(np.full(count, alpha), 300):
            near = 0.9 * share + 0.1 * np.eye(count)[problem.leader]
            for point in (near, 0.5 * near + 0.5 * _dense(weights, count)):
                other = PolicyMixture(problem.policies.assignments, point).table(arms)
                if problem.excess(problem.variances(other)) <= 0.5:
                    assert point @ problem.costs >= value - 0.0051


def _dense(weights, count):
    dense = np.zeros(count)
    dense[list(weights)] = list(weights.values())
    return dense


def test_where_the_bound_is_a_parabola_vertices_are_not_enough():
    problem = program(2, 2, "maps", np.random.default_rng(9), 1e4)
    low, high = problem.costs.argmin(), problem.costs.argmax()
    heights = np.zeros(4)
    heights[low], heights[high] = problem.flat, problem.bound(problem.costs[high])
    single = heights - np.maximum(problem.flat, problem.curve * problem.costs**2)
    assert single.max() <= 1e-9
    found = problem.excess(heights)
    pairs = worst_of_pairs(problem.costs, heights, problem.flat, problem.curve)
    assert found == pytest.approx(pairs, rel=1e-2)
    assert found > 1


def test_the_first_steps_by_hand():
    policy = RandomizedUCB(crossing().problem)
    # μ = 1/(2K) = 1/4 for long, where the best policy alone keeps to the constraint.
    assert [row.chance for row in policy.explain(y=0).arms] == [0.75, 0.25]
    policy.observe("b", y=0, x=0)  # reward 1 with probability 1/4
    assert [row.chance for row in policy.explain(y=0).arms] == [0.25, 0.75]
    assert [row.chance for row in policy.explain(y=1).arms] == [0.75, 0.25]
    assert policy.explain(y=0).arms[1].index == 4.0
    assert policy.explain(y=0).reason.startswith("from a mixture of 1 policy")


@pytest.mark.parametrize("caution", [180.0, 2.0])
def test_every_trial_keeps_to_the_papers_constraint_and_saves_whole(caution):
    problem = crossing().problem
    policy = RandomizedUCB(problem, caution=caution, failure=0.5, seed=2)
    generator = np.random.default_rng(10)
    mixed = curved = 0
    for trial in range(1, 1201):
        run_trial(policy, generator)
        if trial % 40:
            continue
        known = policy._knowledge
        doubt = 2 * math.log(4 * (trial + 1) / 0.5)
        floor = min(1 / 4, math.sqrt(doubt / (2 * 2 * (trial + 1))))
        assert known.floor == pytest.approx(floor)
        curve = trial / (caution * 2 * math.log(4 * trial / 0.5))
        values = known.policies.values(known.sums / trial)
        heights = variances(known.program(), known.table)
        assert worst_of_pairs(values.max() - values, heights, 8.0, curve) <= 2 + 1e-3
        mixed += len(known.mixture.weights) > 1
        curved += not known.program().is_flat and len(known.mixture.weights) > 1
    assert mixed > 5
    assert (curved > 5) == (caution < 180)
    twin = RandomizedUCB.from_bytes(policy.to_bytes())
    assert twin.to_bytes() == policy.to_bytes()
    for _ in range(100):
        y = int(generator.integers(2))
        arm = policy.choose(y=y)
        assert twin.choose(y=y) == arm
        for each in (policy, twin):
            each.observe(arm, y=y, x=int(arm == "b"))
    assert twin.to_bytes() == policy.to_bytes()


def test_arms_come_and_go_between_solutions():
    problem = crossing().problem
    policy = RandomizedUCB(problem, seed=3)
    generator = np.random.default_rng(11)
    for _ in range(900):
        run_trial(policy, generator)
    before = policy.to_bytes()
    assert len(policy._knowledge.mixture.weights) > 1
    policy.add_arm("c")
    assert policy.explain(y=0).arms[2].chance == pytest.approx(policy._knowledge.floor)
    policy.remove_arm("c")
    assert policy.to_bytes() == before
    policy.remove_arm("a")
    assert policy.explain(y=0).arm == "b"
    policy.observe("b", y=0, x=1)
    policy.add_arm("d")
    policy.observe("d", y=0, x=0)
    assert sum(row.chance or 0 for row in policy.explain(y=0).arms) == pytest.approx(1)


@pytest.mark.parametrize("bad", [{"failure": 0}, {"failure": "x"}, {"caution": 0}])
def test_parameters_out_of_range_are_refused(bad):
    with pytest.raises(ParameterError, match=next(iter(bad))):
        RandomizedUCB(channels(3), **bad)


def test_regret_is_sublinear():
    # The means of eight runs are 17 and 4 standard errors from these bounds.
    environment = crossing()
    problem = environment.problem
    result = simulate(
        environment,
        {"RandomizedUCB": RandomizedUCB(problem), "Random": Random(problem)},
        horizon=2000, replications=8, seed=1, checkpoints=[1000, 2000],
    )  # fmt: skip
    (first, both), (_, even) = result.regrets.mean(axis=1)
    assert both < 0.35 * even
    assert both - first < 0.95 * first
