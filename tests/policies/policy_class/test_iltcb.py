"""ILTCB against its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from crossing import crossing, drawn_class, run_trial
from problems import channels

from onepull import (
    ILTCB,
    ParameterError,
    Random,
    simulate,
)
from onepull.policies.policy_class.low_variance import low_variance
from onepull.testing.random_data import observations

# The optimisation


def smoothed(policies, weights, floor, cell, arm):
    """Q^μ(arm | cell) by its definition."""
    share = sum(w for p, w in weights.items() if policies.assignments[p, cell] == arm)
    return (1 - len(policies.arms) * floor) * share + floor


def variance(policies, weights, floor, frequencies, policy):
    return sum(
        f / smoothed(policies, weights, floor, cell, policies.assignments[policy, cell])
        for cell, f in enumerate(frequencies)
    )


@pytest.mark.parametrize("kind", ["maps", "thresholds", "listed"])
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
def test_weights_satisfy_both_constraints(kind, scale):
    generator = np.random.default_rng(3)
    for arms, cells in ((2, 2), (3, 4), (4, 3)):
        policies = drawn_class(arms, cells, kind, generator, 12)
        merits = scale * generator.uniform(0, 1, (cells, arms))
        frequencies, floor = generator.dirichlet(np.ones(cells)), 0.04 / arms
        weights = low_variance(policies, merits, frequencies, floor)
        values = policies.values(merits)
        costs = values.max() - values
        assert min(weights.values()) > 0
        assert sum(weights.values()) <= 1 + 1e-9
        assert sum(w * costs[p] for p, w in weights.items()) <= 2 * arms + 1e-9
        for policy in range(len(policies)):
            found = variance(policies, weights, floor, frequencies, policy)
            assert found <= 2 * arms + costs[policy] + 1e-6


def test_coordinate_descent_against_a_transcription():
    generator = np.random.default_rng(4)
    policies = drawn_class(3, 3, "maps", generator, 12)
    merits, frequencies = 5 * generator.uniform(0, 1, (3, 3)), generator.dirichlet(np.ones(3))
    floor, arms = 0.03, 3
    costs = policies.values(merits).max() - policies.values(merits)
    weights: dict[int, float] = {}
    while True:
        mass = sum(w * (2 * arms + costs[p]) for p, w in weights.items())
        if mass > 2 * arms:
            weights = {p: w * 2 * arms / mass for p, w in weights.items()}
        v = [variance(policies, weights, floor, frequencies, p) for p in range(len(policies))]
        d = [v[p] - 2 * arms - costs[p] for p in range(len(policies))]
        worst = int(np.argmax(np.round(d, 9)))
        if d[worst] <= 1e-8:
            break
        s = sum(
            f / smoothed(policies, weights, floor, x, policies.assignments[worst, x]) ** 2
            for x, f in enumerate(frequencies)
        )
        step = (v[worst] + d[worst]) / (2 * (1 - arms * floor) * s)
        weights[worst] = weights.get(worst, 0.0) + step
    found = low_variance(policies, merits, frequencies, floor)
    assert found == pytest.approx(weights, abs=1e-9)


# The policy


def test_the_first_steps_by_hand():
    policy = ILTCB(crossing().problem)
    # μ = 1/(2K) = 1/4 at first, where no weights are needed: the best policy gets them all.
    assert [row.chance for row in policy.explain(y=0).arms] == [0.75, 0.25]
    policy.observe("b", y=0, x=0)  # reward 1 with probability 1/4
    assert [row.chance for row in policy.explain(y=0).arms] == [0.25, 0.75]
    assert [row.chance for row in policy.explain(y=1).arms] == [0.75, 0.25]
    assert policy.explain(y=0).arms[1].index == 4.0
    policy.observe("a", y=0, x=0)  # reward 1 with probability 1/4
    assert [row.index for row in policy.explain(y=0).arms] == [2.0, 2.0]
    assert policy.explain(y=0).reason.startswith("from 1 policy weighted after trial 2")


def test_epochs_end_at_powers_of_two_and_floors_follow():
    problem = crossing().problem
    policy, slow = ILTCB(problem, failure=0.1), ILTCB(problem, ratio=1.5)
    ends: list[int] = []
    slower: list[int] = []
    for pull in observations(problem, 600, np.random.default_rng(5)):
        for each, found in ((policy, ends), (slow, slower)):
            each.observe(**pull)
            if each._knowledge.solved == each.trials:
                found.append(each.trials)
    assert ends == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    assert slower[:8] == [1, 2, 3, 4, 6, 9, 13, 19]
    floor = math.sqrt(math.log(16 * 512**2 * 4 / 0.1) / (2 * 512))
    assert policy._knowledge.floor == pytest.approx(floor)
    for y in (0, 1):
        assert min(row.chance or 0 for row in policy.explain(y=y).arms) >= floor - 1e-12


def test_weights_are_those_of_the_history_and_the_rest_is_the_best_policys():
    environment = crossing()
    policy = ILTCB(environment.problem, psi=2, seed=6)
    generator = np.random.default_rng(7)
    for _ in range(1024):
        run_trial(policy, generator)
    known = policy._knowledge
    gains, floor = known.sums / 1024, known.floor
    weights = low_variance(known.policies, gains / (2 * floor), known.visits / 1024, floor)
    best = int(known.policies.values(gains).argmax())
    weights[best] = weights.get(best, 0.0) + 1 - sum(weights.values())
    for y in (0, 1):
        for j, row in enumerate(policy.explain(y=y).arms):
            expected = smoothed(known.policies, weights, floor, y, j)
            assert row.chance == pytest.approx(expected, abs=1e-9)
    twin = ILTCB.from_bytes(policy.to_bytes())
    assert twin.to_bytes() == policy.to_bytes()
    assert [twin.choose(y=1) for _ in range(50)] == [policy.choose(y=1) for _ in range(50)]


def test_policies_of_a_removed_arm_lose_their_weight():
    policy = ILTCB(channels(2), policies="thresholds")
    for _ in range(600):
        policy.observe("channel-2", bits=4, capacity=4)
    assert len(policy._knowledge.mixture.weights) == 2
    policy.remove_arm("channel-2")
    assert policy.explain(bits=4).arm == "channel-1"


@pytest.mark.parametrize(
    "bad", [{"failure": 0}, {"failure": 1}, {"psi": 0}, {"ratio": 1}, {"ratio": 2.5}]
)
def test_parameters_out_of_range_are_refused(bad):
    with pytest.raises(ParameterError, match=next(iter(bad))):
        ILTCB(channels(3), **bad)


def test_regret_is_below_that_of_drawing_evenly_and_sublinear_with_a_small_psi():
    # The means of four runs are 13 and 7 standard errors from these bounds.
    environment = crossing()
    problem = environment.problem
    result = simulate(
        environment,
        {"ILTCB": ILTCB(problem), "bold": ILTCB(problem, psi=0.1), "Random": Random(problem)},
        horizon=2000, replications=4, seed=1, checkpoints=[1000, 2000],
    )  # fmt: skip
    (_, proved), (first, bold), (_, even) = result.regrets.mean(axis=1)
    assert proved < 0.75 * even
    assert bold < 0.4 * even
    assert bold - first < 0.8 * first
