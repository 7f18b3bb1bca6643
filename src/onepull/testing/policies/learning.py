"""The checks of what a policy learns, keeps and is told."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onepull.errors import MergeError, OnepullError
from onepull.problem import Problem
from onepull.spaces import FAILED
from onepull.testing.bad_calls import bad_calls
from onepull.testing.policies.taught import (
    ORDER,
    PULLS,
    BuildPolicy,
    assert_alike,
    contexts,
    has,
    learned,
    observe,
    taught,
)
from onepull.testing.random_data import observations, random_points


def order_of_observations_does_not_matter(build: BuildPolicy, problem: Problem) -> None:
    """Observations in another order give the same indices."""
    policy, other = build(problem), build(problem)
    if has(policy, "order_matters"):
        return
    pulls = observations(problem, PULLS, np.random.default_rng(5))
    observe(policy, pulls)
    observe(other, [pulls[i] for i in np.random.default_rng(6).permutation(len(pulls))])
    assert_alike(policy, other, ORDER)


def batches_equal_single_observations(build: BuildPolicy, problem: Problem) -> None:
    """`observe_many` equals one `observe` per row, bit for bit."""
    policy, other = build(problem), build(problem)
    pulls = observations(problem, PULLS, np.random.default_rng(7))
    observe(policy, pulls)
    names = dict.fromkeys(name for pull in pulls for name in pull)
    columns: dict[str, Any] = {name: [pull.get(name) for pull in pulls] for name in names}
    if FAILED in columns:
        columns[FAILED] = [bool(failed) for failed in columns[FAILED]]
    other.observe_many(columns.pop("arm"), **columns)
    assert other.to_bytes() == policy.to_bytes(), "observe_many learned something else than observe"


def saving_and_loading_keeps_everything(build: BuildPolicy, problem: Problem) -> None:
    """A loaded policy equals the saved one bit for bit, and continues in the same way."""
    policy = taught(build, problem)
    saved = policy.to_bytes()
    twin = type(policy).from_bytes(saved, problem=problem)
    assert twin.to_bytes() == saved, "saving the loaded policy gives another file"
    states = random_points(problem.state, PULLS, np.random.default_rng(8))
    for context, state in zip(contexts(problem), states, strict=False):
        arm = policy.choose(**context)
        assert twin.choose(**context) == arm, "the loaded policy chooses another arm"
        policy.observe(arm, **context, **state)
        twin.observe(arm, **context, **state)
    assert twin.to_bytes() == policy.to_bytes(), "the loaded policy learned something else"


def merging_is_seeing_everything(build: BuildPolicy, problem: Problem) -> None:
    """Two merged policies equal one policy that saw all observations."""
    one, two, whole = build(problem), build(problem), build(problem)
    pulls = observations(problem, PULLS, np.random.default_rng(9))
    observe(one, pulls[::2])
    observe(two, pulls[1::2])
    observe(whole, pulls)
    theirs = two.to_bytes()
    if has(one, "order_matters"):
        before = one.to_bytes()
        try:
            one.merge(two)
        except MergeError:
            assert one.to_bytes() == before, "a merge that raised changed the policy"
    else:
        try:
            one.merge(two)
        except MergeError as error:
            raise AssertionError(f"merge raised {error!r}; {ORDER}") from error
        assert_alike(one, whole, ORDER)
    merged = one.to_bytes()
    again = type(one).from_bytes(merged, problem=problem).to_bytes()
    assert again == merged, "saving the loaded merged policy gives another file"
    assert two.to_bytes() == theirs, "merge changed the other policy"


def feedback_may_be_late_or_missing(build: BuildPolicy, problem: Problem) -> None:
    """Choices that were never observed do not count."""
    policy, other = build(problem), build(problem)
    pulls = observations(problem, 8, np.random.default_rng(12))
    for context in contexts(problem):
        policy.choose(**context)
    observe(policy, pulls)
    observe(other, pulls)
    assert learned(policy) == learned(other), (
        "choices without an observation changed what was learned"
    )


def pulls_in_flight_count_until_they_land(build: BuildPolicy, problem: Problem) -> None:
    """`pulled` either has no effect, or adds a pull until the observation arrives."""
    policy, other = taught(build, problem), taught(build, problem)
    before = learned(policy)
    (pull,) = observations(problem, 1, np.random.default_rng(14))
    context = problem.context.among(pull)
    plain = policy.explain(**context)
    policy.pulled(pull["arm"], **context)
    explained = policy.explain(**context)
    counted = explained != plain
    assert counted == policy.counts_in_flight, (
        f"pulled() {'changed' if counted else 'did not change'} the explanation, "
        f"but counts_in_flight is {policy.counts_in_flight}"
    )
    for row, rest in zip(explained.arms, plain.arms, strict=True):
        more = int(counted and row.arm == pull["arm"])
        assert math.isclose(row.pulls, rest.pulls), f"{row} against {rest}, with {more} in flight"
        assert row.in_flight == more, f"{row} with {more} in flight"
        assert row.estimate == rest.estimate or not rest.pulls, (
            f"a pull in flight changed an estimate: {row} against {rest}"
        )
    assert learned(policy) == before, "pulled() changed what is learned or saved"
    policy.gave_up(pull["arm"], **context)
    policy.gave_up(pull["arm"], **context)  # nothing is in flight: must have no effect
    assert policy.explain(**context) == plain, "gave_up() did not undo pulled()"
    policy.pulled(pull["arm"], **context)
    policy.observe(**pull)
    other.observe(**pull)
    assert policy.explain(**context) == other.explain(**context), (
        "a pull is counted twice after its observation"
    )
    assert learned(policy) == learned(other), "pulled() changed what the observation taught"
    fresh, burst = build(problem), []
    if not counted or not all(math.isinf(row.index) for row in fresh.explain(**context).arms):
        return  # it ignores pulls in flight, or does not learn
    for _ in problem.arms:
        burst.append(fresh.choose(**context))
        fresh.pulled(burst[-1], **context)
    assert sorted(burst) == sorted(problem.arms), (
        f"without feedback, {len(burst)} requests went to {burst}; expected each arm once"
    )


def bad_input_changes_nothing(build: BuildPolicy, problem: Problem) -> None:
    """Invalid calls raise an `OnepullError` with a message and leave the policy unchanged."""
    policy = taught(build, problem)
    before = policy.to_bytes()
    pull = observations(problem, 1, np.random.default_rng(13))[0]
    arm = pull.pop("arm")
    context = problem.context.among(pull)
    for what, call in bad_calls(policy, problem, arm, pull, context):
        try:
            call()
        except OnepullError as error:
            assert str(error).strip(), f"{what}: the error has no message"
        else:
            raise AssertionError(f"{what} was accepted")
        assert policy.to_bytes() == before, f"{what} raised an error but changed the policy"
