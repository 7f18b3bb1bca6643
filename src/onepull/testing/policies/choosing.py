"""The checks of how a policy chooses."""

from __future__ import annotations

import math

import numpy as np

from onepull.problem import Problem
from onepull.testing.policies.taught import (
    ORDER,
    BuildPolicy,
    contexts,
    declare,
    distinct_contexts,
    has,
    learned,
    near,
    taught,
)
from onepull.testing.random_data import random_points

_RANDOM = declare("an arm without the highest index may be chosen", "randomised=True")
_TIES = declare("ties need not go to the least pulled arm", "breaks_ties_by_pulls=False")


def choosing_changes_nothing(build: BuildPolicy, problem: Problem) -> None:
    """`choose` and `explain` do not change what was learned, and give the same answer again."""
    policy = taught(build, problem)
    before = learned(policy)
    for context in distinct_contexts(problem):
        explained = policy.explain(**context)
        arm = policy.choose(**context)
        assert policy.explain(**context) == explained, f"explain differs when repeated: {context}"
        if explained.arm is not None:
            assert policy.choose(**context) == arm, f"choose differs when repeated: {context}"
    assert learned(policy) == before, "choose or explain changed what was learned"


def explanation_agrees_with_choice(build: BuildPolicy, problem: Problem) -> None:
    """`choose` returns an arm that `explain` allows, by its chance and its index."""
    policy = taught(build, problem)
    for context in contexts(problem):
        explained = policy.explain(**context)
        chosen = policy.choose(**context)
        indices = {row.arm: row.index for row in explained.arms}
        if not has(policy, "randomised"):
            top = max(indices.values())
            assert indices[chosen] == top, (
                f"{chosen} was chosen without the highest index: {indices}; {_RANDOM}"
            )
            pulls = {row.arm: row.pulls for row in explained.arms if row.index == top}
            fewest = pulls[chosen] == min(pulls.values())
            assert fewest or not has(policy, "breaks_ties_by_pulls"), (
                f"{chosen} is not the least pulled of the tied arms: {pulls}; {_TIES}"
            )
        assert explained.arm in (None, chosen), (
            f"explain names {explained.arm}, choose returned {chosen}"
        )
        chances = {row.arm: row.chance for row in explained.arms}
        if chances[chosen] is not None:
            total = math.fsum(chance for chance in chances.values() if chance is not None)
            assert chances[chosen] != 0, f"{chosen} was chosen with chance 0: {chances}"
            assert near(total, 1.0), f"the chances sum to {total}, not 1: {chances}"
        assert list(indices) == list(problem.arms), "explain must list the arms in their order"


def unpulled_arms_come_first(build: BuildPolicy, problem: Problem) -> None:
    """A policy that learns pulls every arm once before it pulls any arm twice."""
    policy = build(problem)
    context, *_ = contexts(problem)
    rows = policy.explain(**context).arms
    known = [row for row in rows if row.index < math.inf]
    if not policy.learns or (known and has(policy, "randomised")):
        return
    for row in known:
        raise AssertionError(f"{row.arm} was never pulled and has the index {row.index}")
    generator = np.random.default_rng(3)
    pulled = []
    # A policy that restarts may do so within the first round.
    for state in random_points(problem.state, len(problem.arms), generator):
        explained = policy.explain(**context)
        fresh = [row.arm for row in explained.arms if row.pulls == 0]
        arm = policy.choose(**context)
        assert not fresh or arm in fresh, f"{arm} was pulled again before {fresh}"
        policy.observe(arm, **context, **state)
        pulled.append(arm)
    if not has(policy, "order_matters"):
        assert sorted(pulled) == sorted(problem.arms), f"pulled {pulled} first; {ORDER}"


def only_eligible_arms_are_chosen(build: BuildPolicy, problem: Problem) -> None:
    """`choose` and `explain` respect `eligible`."""
    policy = taught(build, problem)
    generator = np.random.default_rng(4)
    for context in contexts(problem):
        size = int(generator.integers(1, len(problem.arms) + 1))
        eligible = generator.choice(np.array(problem.arms, dtype=object), size, replace=False)
        arm = policy.choose(eligible=list(eligible), **context)
        assert arm in eligible, f"{arm} was chosen and is not in {eligible}"
        rows = policy.explain(eligible=list(eligible), **context).arms
        marked = {row.arm for row in rows if row.eligible}
        assert marked == set(eligible), f"explain marks {marked} as eligible, not {eligible}"
