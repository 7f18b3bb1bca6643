"""The checks of what must not change a policy: names and order of arms, units, other arms."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from onepull.errors import InputError, OnepullError, ParameterError
from onepull.payoff import Reward
from onepull.policies import ArmExplanation, Policy
from onepull.problem import Problem
from onepull.testing.policies.taught import (
    PROBLEMS,
    PULLS,
    BuildPolicy,
    assert_alike,
    by_arm,
    contexts,
    declare,
    distinct_contexts,
    has,
    near,
    observe,
    taught,
)
from onepull.testing.random_data import observations, with_prefix

_ARM_ORDER = declare("an arm's place in the list matters", "arm_order_matters=True")
_CHANCES = declare("estimates depend on the chances of the pulls", "weighs_chances=True")
_BEYOND = declare("estimates may leave the range of the reward", "extrapolates=True")
_UNITS = declare("the index is not a reward", "index_is_reward=False")
_OTHERS = declare("an index depends on other arms", "index_depends_on_other_arms=True")


_PREFIX = "renamed "  # the same for all arms, so that sorted names stay sorted


@lru_cache(PROBLEMS)
def _renamed(problem: Problem) -> Problem:
    return with_prefix(problem, _PREFIX)


@lru_cache(PROBLEMS)
def _reversed(problem: Problem) -> Problem:
    return problem.with_arms(list(reversed(problem.arms)))


@lru_cache(PROBLEMS)
def _scaled(problem: Problem) -> Problem:
    """Return a problem with three times the reward."""
    failure = None if problem.failure is None else f"3 * ({problem.failure})"
    return problem.with_reward(Reward(f"3 * ({problem.reward.source})"), failure=failure)


def renaming_arms_changes_nothing(build: BuildPolicy, problem: Problem) -> None:
    """Renaming the arms, in the same order, changes nothing, bit for bit.

    Skipped for a policy whose parameters name arms, such as `FixedArm(problem, arm="wifi")`.
    """
    try:
        other = build(_renamed(problem))
    except OnepullError:
        return
    policy = build(problem)
    pulls = observations(problem, PULLS, np.random.default_rng(10))
    observe(policy, pulls)
    observe(other, ({**pull, "arm": _PREFIX + pull["arm"]} for pull in pulls))
    for context in distinct_contexts(problem):
        pairs = zip(policy.explain(**context).arms, other.explain(**context).arms, strict=True)
        for row, renamed in pairs:
            same = msgspec.structs.replace(row, arm=_PREFIX + row.arm)
            assert renamed == same, f"renaming the arms changed {same} to {renamed}"
    for context in contexts(problem):  # a policy that draws chooses anew each time
        arm, chosen = policy.choose(**context), other.choose(**context)
        assert chosen == _PREFIX + arm, (
            f"renaming the arms changed the choice from {arm} to {chosen}"
        )


def reordering_arms_reorders_indices(build: BuildPolicy, problem: Problem) -> None:
    """An arm's pulls, estimate and index do not depend on its place in the list.

    With the trait `arm_order_matters` indices are not compared, and with `weighs_chances`
    estimates are not compared either: the chances of the pulls may depend on the arms' order.
    """
    policy, other = build(problem), build(_reversed(problem))
    pulls = observations(problem, PULLS, np.random.default_rng(10))
    observe(policy, pulls)
    observe(other, pulls)
    if not has(policy, "arm_order_matters"):
        assert_alike(policy, other, _ARM_ORDER)
        return
    assert policy.trials == other.trials, f"{policy.trials} trials against {other.trials}"
    for context in distinct_contexts(problem):
        rows = by_arm(policy.explain(**context))
        for arm, row in by_arm(other.explain(**context)).items():
            assert rows[arm].pulls == row.pulls, f"{rows[arm]} against {row}"
            if row.estimate is not None and not has(policy, "weighs_chances"):
                assert near(row.estimate, rows[arm].estimate), (
                    f"the estimates differ: {rows[arm]} against {row}; {_CHANCES}"
                )


def scaling_the_reward_scales_indices(build: BuildPolicy, problem: Problem) -> None:
    """Multiplying the reward by 3 multiplies estimates and indices by 3."""
    if not problem.reward.is_formula or problem.reward.declarations:
        return
    policy, other = build(problem), build(_scaled(problem))
    pulls = observations(problem, PULLS, np.random.default_rng(11))
    observe(policy, pulls)
    observe(other, pulls)
    for context in distinct_contexts(problem):
        for row, big in zip(
            policy.explain(**context).arms, other.explain(**context).arms, strict=True
        ):
            if row.estimate is not None:
                assert near(3 * row.estimate, big.estimate), (
                    f"the estimate did not scale with the reward: {row} against {big}"
                )
                scale = 3 if has(policy, "index_is_reward") else 1
                assert near(scale * row.index, big.index), (
                    f"the index should be {scale} times as large: {row} against {big}; {_UNITS}"
                )


def estimates_stay_in_bounds(build: BuildPolicy, problem: Problem) -> None:
    """Estimates lie within the range of the reward, and bonuses are not negative."""
    low, high = problem.payoff.whole_range
    slack = 1e-9 * max(1.0, abs(high), abs(low) if math.isfinite(low) else 0.0)
    policy = taught(build, problem)
    if has(policy, "extrapolates"):
        low, high = -math.inf, math.inf
    for context in distinct_contexts(problem):
        for row in policy.explain(**context).arms:
            if row.estimate is not None:
                assert low - slack <= row.estimate <= high + slack, (
                    f"the estimate is outside [{low}, {high}]: {row}; {_BEYOND}"
                )
                if has(policy, "index_is_reward"):
                    assert row.bonus is not None, f"the bonus is missing: {row}"
                    assert row.bonus >= -slack, f"the bonus is negative: {row}; {_UNITS}"


def arms_come_and_go(build: BuildPolicy, problem: Problem) -> None:
    """Adding an arm does not change the others, and removing it again restores the policy."""
    policy = taught(build, problem)
    before = policy.to_bytes()
    context, *_ = contexts(problem)
    rows = {row.arm: _known_about(policy, row) for row in policy.explain(**context).arms}
    try:
        policy.add_arm("added-arm", **problem.attributes.get(problem.arms[0], {}))
    except ParameterError:
        assert problem.attributes, "add_arm raised"  # its features depend on them
        return
    arms = policy.problem.arms
    assert arms == (*problem.arms, "added-arm"), f"after add_arm the arms are {arms}"
    for row in policy.explain(**context).arms:
        if row.arm in rows:
            assert _known_about(policy, row) == rows[row.arm], (
                f"adding an arm changed {row.arm}; {_OTHERS}"
            )
        else:
            assert row.pulls == 0, f"the new arm has {row.pulls} pulls, not 0"
    policy.remove_arm("added-arm")
    assert policy.to_bytes() == before, "adding and removing an arm changed the policy"
    for arm in problem.arms[:-1]:
        try:
            policy.remove_arm(arm)
        except (InputError, ParameterError):
            continue  # an arm that the policy cannot do without
        assert arm not in policy.problem.arms, f"{arm} is still there after remove_arm"
        for row in policy.explain(**context).arms:
            assert _known_about(policy, row) == rows[row.arm], (
                f"removing {arm} changed {row.arm}; {_OTHERS}"
            )


def _known_about(policy: Policy, row: ArmExplanation) -> tuple[Any, ...]:
    """Return what must not depend on other arms."""
    depends = has(policy, "arm_order_matters") or has(policy, "index_depends_on_other_arms")
    # The range of the reward covers the attributes of all arms.
    depends = depends or bool(policy.problem.attributes)
    return row.arm, row.pulls, row.estimate, None if depends else row.index
