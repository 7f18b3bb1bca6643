"""Policy classes: what is in them, the oracle, and arms that come and go."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from problems import channels, harvesting, mixed

from onepull import ContextTable, EpochGreedy, Finite, InputError, Interval, ParameterError, Problem
from onepull.factor import partition
from onepull.policies.policy_class.mixture import PolicyMixture
from onepull.policies.policy_class.policy_class import PolicyClass
from onepull.testing.random_data import observations


def two_fields():
    """Six cells in no order, three arms."""
    return Problem(
        arms=["a", "b", "c"],
        context={"y": Finite([3, 1, 2]), "z": Finite([5, 4])},
        state={"x": Interval(0, 1)},
        reward="x * y * z",
    )


def maps_of(policies):
    return [tuple(row) for row in policies.assignments.tolist()]


# What is in a class


def test_maps_are_all_maps_in_order():
    problem = two_fields()
    policies = PolicyClass(ContextTable(problem), problem.arms, "maps")
    assert maps_of(policies) == list(itertools.product(range(3), repeat=6))


def test_thresholds_are_constants_and_cuts_along_each_field():
    problem = two_fields()
    table = ContextTable(problem)
    policies = PolicyClass(table, problem.arms, "thresholds")
    expected: set[tuple[int, ...]] = {(arm,) * 6 for arm in range(3)}
    for field, cuts in ((0, (1.5, 2.5)), (1, (4.5,))):
        for cut, below, above in itertools.product(cuts, range(3), range(3)):
            expected.add(tuple(below if c[field] < cut else above for c in table.centres))
    assert len(policies) == 3 + 3 * 6 == len(expected)
    assert set(maps_of(policies)) == expected


def test_a_small_problem_takes_all_maps_and_a_large_one_thresholds():
    problem = channels()
    assert len(PolicyClass(ContextTable(problem), problem.arms)) == 7**4
    cells = partition(harvesting(), 0.1)
    assert len(PolicyClass(cells, harvesting().arms)) == 4 + 9 * 12


def test_a_class_may_be_listed():
    problem = two_fields()
    rows = [["a"] * 6, list("abcabc")]
    policies = PolicyClass(ContextTable(problem), problem.arms, rows)
    assert maps_of(policies) == [(0,) * 6, (0, 1, 2, 0, 1, 2)]
    assert policies.kind == rows


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("trees", "'maps', 'thresholds' or a list"),
        (5, "given 5"),
        ([], "given \\[\\]"),
        (["aaaaaa"], "a list with one arm per cell"),
        ([["a"] * 6, ["a"] * 5], "policy 1 must have one arm for each of 6 cells, given 5"),
        ([list("aaaaad")], "policy 0 plays the unknown arm 'd'; the arms are a, b, c"),
        ([[0] * 6], "unknown arm 0"),
    ],
)
def test_a_class_that_cannot_be_is_refused(kind, error):
    with pytest.raises(ParameterError, match=error):
        EpochGreedy(two_fields(), policies=kind)


def test_a_class_that_is_too_large_is_refused():
    with pytest.raises(
        ParameterError, match="1,048,576 maps of cells to arms over 10 cells are too many"
    ):
        EpochGreedy(harvesting(), policies="maps", delta=0.1)
    with pytest.raises(ParameterError, match="too many to count maps"):
        EpochGreedy(harvesting(), policies="maps", delta=1e-4)
    with pytest.raises(ParameterError, match="119,992 policies with one threshold"):
        EpochGreedy(harvesting(), delta=1e-4)


# The oracle


@pytest.mark.parametrize("kind", ["maps", "thresholds"])
def test_the_oracle_is_the_best_of_all(kind):
    problem = two_fields()
    policies = PolicyClass(ContextTable(problem), problem.arms, kind)
    generator = np.random.default_rng(1)
    for _ in range(30):
        scores = generator.integers(0, 3, (6, 3)).astype(float)  # with many ties
        sums = [sum(scores[i, arm] for i, arm in enumerate(row)) for row in maps_of(policies)]
        assert policies.values(scores).tolist() == sums
        assert policies.best(scores) == (sums.index(max(sums)), max(sums))


def test_a_mixture_draws_what_its_policies_play():
    generator = np.random.default_rng(2)
    maps, weights = generator.integers(0, 3, (5, 4)), generator.dirichlet(np.ones(5))
    table = PolicyMixture(maps, weights).table(3)
    for cell, arm in itertools.product(range(4), range(3)):
        played = sum(w for row, w in zip(maps, weights, strict=True) if row[cell] == arm)
        assert table[cell, arm] == pytest.approx(played)
    left = PolicyMixture(np.array([[0, 2], [1, 2], [2, 2]]), np.array([0.5, 0.3, 0.2])).without(1)
    assert left.maps.tolist() == [[0, 1], [1, 1]]
    assert left.weights.tolist() == [0.5, 0.2]


# Arms that come and go


def test_a_named_class_is_made_anew_for_the_arms():
    policy = EpochGreedy(channels(3))
    policy.add_arm("new")
    assert len(policy._knowledge.policies) == 4**4
    policy.remove_arm("channel-1")
    assert len(policy._knowledge.policies) == 3**4


def test_a_listed_class_stays_and_keeps_its_arms():
    rows = [["a"] * 6, list("ababab")]
    policy = EpochGreedy(two_fields(), policies=rows)
    policy.add_arm("d")
    assert policy.parameters["policies"] == rows
    before = policy.to_bytes()
    with pytest.raises(InputError, match="arm 'b' is played by a listed policy"):
        policy.remove_arm("b")
    assert policy.to_bytes() == before
    policy.remove_arm("c")
    assert policy.problem.arms == ("a", "b", "d")
    assert EpochGreedy.from_bytes(policy.to_bytes()).to_bytes() == policy.to_bytes()


def test_contexts_are_cut_into_cells():
    problem = mixed()
    policy = EpochGreedy(problem, delta=0.5)
    assert policy.parameters == {"delta": 0.5, "c": 1.0}
    for pull in observations(problem, 20, np.random.default_rng(3)):
        policy.observe(**pull)
    assert EpochGreedy.from_bytes(policy.to_bytes()).to_bytes() == policy.to_bytes()
