"""The checks for policies."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec
import numpy as np

from onepull.errors import InputError, MergeError, OnepullError
from onepull.payoff import Reward
from onepull.policies import ArmExplanation, Explanation, Policy
from onepull.problem import Problem
from onepull.testing.bad_calls import bad_calls
from onepull.testing.random_data import draw, observations

Build: TypeAlias = Callable[[Problem], Policy]

PULLS = 60


def choosing_changes_nothing(build: Build, problem: Problem) -> None:
    """`choose` and `explain` leave what was learned alone, and repeat themselves."""
    policy = _taught(build, problem)
    before = _learned(policy)
    for context in _contexts(problem):
        explained = policy.explain(**context)
        arm = policy.choose(**context)
        assert policy.explain(**context) == explained, f"explain changed with {context}"
        if explained.arm is not None:
            assert policy.choose(**context) == arm, f"choose changed its mind with {context}"
    assert _learned(policy) == before, "choosing changed what was learned"


def explanation_agrees_with_choice(build: Build, problem: Problem) -> None:
    """The chosen arm is one that was explained to be, with its chance and its index."""
    policy = _taught(build, problem)
    for context in _contexts(problem):
        explained = policy.explain(**context)
        chosen = policy.choose(**context)
        indices = {row.arm: row.index for row in explained.arms}
        assert explained.arm in (None, chosen), f"explained {explained.arm}, chose {chosen}"
        if not policy.traits.randomised:
            top = max(indices.values())
            assert indices[chosen] == top, f"{chosen} is not the highest: {indices}"
            pulls = {row.arm: row.pulls for row in explained.arms if row.index == top}
            fewest = not policy.traits.breaks_ties_by_pulls or pulls[chosen] == min(pulls.values())
            assert fewest, f"{chosen} is not the least pulled of those that tie: {pulls}"
        chances = {row.arm: row.chance for row in explained.arms}
        if chances[chosen] is not None:
            total = math.fsum(chance for chance in chances.values() if chance is not None)
            assert chances[chosen] != 0, f"{chosen} was chosen against all chances: {chances}"
            assert _near(total, 1.0), f"the chances sum to {total}: {chances}"
        assert list(indices) == list(problem.arms), "the arms are not explained in order"


def unpulled_arms_come_first(build: Build, problem: Problem) -> None:
    """A policy that learns pulls every arm once before any twice."""
    policy = build(problem)
    context, *_ = _contexts(problem)
    if not all(math.isinf(row.index) for row in policy.explain(**context).arms):
        return  # it does not learn, so it has no need to
    generator = np.random.default_rng(3)
    pulled = []
    # A policy that starts afresh may do so within the first round.
    for state in draw(problem.state, len(problem.arms), generator):
        explained = policy.explain(**context)
        fresh = [row.arm for row in explained.arms if row.pulls == 0]
        arm = policy.choose(**context)
        assert not fresh or arm in fresh, f"{arm} was pulled before {fresh}"
        policy.observe(arm, **context, **state)
        pulled.append(arm)
    if not policy.traits.order_matters:
        assert sorted(pulled) == sorted(problem.arms), f"pulled {pulled} first"


def only_eligible_arms_are_chosen(build: Build, problem: Problem) -> None:
    """`eligible` is respected, whatever was learned."""
    policy = _taught(build, problem)
    generator = np.random.default_rng(4)
    for context in _contexts(problem):
        size = int(generator.integers(1, len(problem.arms) + 1))
        eligible = generator.choice(np.array(problem.arms, dtype=object), size, replace=False)
        arm = policy.choose(eligible=list(eligible), **context)
        assert arm in eligible, f"{arm} is not in {eligible}"
        rows = policy.explain(eligible=list(eligible), **context).arms
        assert {row.arm for row in rows if row.eligible} == set(eligible)


def order_of_observations_does_not_matter(build: Build, problem: Problem) -> None:
    """The same observations in another order teach the same."""
    policy, other = build(problem), build(problem)
    if policy.traits.order_matters:
        return
    pulls = observations(problem, PULLS, np.random.default_rng(5))
    _observe(policy, pulls)
    _observe(other, [pulls[i] for i in np.random.default_rng(6).permutation(len(pulls))])
    _assert_alike(policy, other)


def batches_equal_single_observations(build: Build, problem: Problem) -> None:
    """`observe_many` does what as many `observe` do, to the last bit."""
    policy, other = build(problem), build(problem)
    pulls = observations(problem, PULLS, np.random.default_rng(7))
    _observe(policy, pulls)
    columns = {name: [pull[name] for pull in pulls] for name in pulls[0]}
    other.observe_many(columns.pop("arm"), **columns)
    assert other.to_bytes() == policy.to_bytes(), "a batch taught something else"


def saving_and_loading_keeps_everything(build: Build, problem: Problem) -> None:
    """A loaded policy is the saved one to the last bit, and goes on like it."""
    policy = _taught(build, problem)
    saved = policy.to_bytes()
    twin = type(policy).from_bytes(saved, problem=problem)
    assert twin.to_bytes() == saved, "saving what was loaded gives another file"
    states = draw(problem.state, PULLS, np.random.default_rng(8))
    for context, state in zip(_contexts(problem), states, strict=False):
        arm = policy.choose(**context)
        assert twin.choose(**context) == arm, "the loaded policy chooses otherwise"
        policy.observe(arm, **context, **state)
        twin.observe(arm, **context, **state)
    assert twin.to_bytes() == policy.to_bytes(), "the loaded policy learned otherwise"


def merging_is_seeing_everything(build: Build, problem: Problem) -> None:
    """Two policies merged are as one that saw what both did."""
    one, two, whole = build(problem), build(problem), build(problem)
    pulls = observations(problem, PULLS, np.random.default_rng(9))
    _observe(one, pulls[::2])
    _observe(two, pulls[1::2])
    _observe(whole, pulls)
    theirs = two.to_bytes()
    if one.traits.order_matters:
        before = one.to_bytes()
        try:
            one.merge(two)
        except MergeError:
            assert one.to_bytes() == before, "a refused merge changed the policy"
    else:
        one.merge(two)
        _assert_alike(one, whole)
    merged = one.to_bytes()
    assert type(one).from_bytes(merged, problem=problem).to_bytes() == merged
    assert two.to_bytes() == theirs, "the other policy was changed"


def renaming_arms_changes_nothing(build: Build, problem: Problem) -> None:
    """With other names for the arms, in the same order, a policy does the same to the last bit.

    A policy that is built from names, as `FixedArm(problem, arm="wifi")` is, has no other.
    """
    prefix = "renamed "  # the same for all, so that sorted names stay sorted
    try:
        other = build(problem.with_arms(prefix + arm for arm in problem.arms))
    except OnepullError:
        return
    policy = build(problem)
    pulls = observations(problem, PULLS, np.random.default_rng(10))
    _observe(policy, pulls)
    _observe(other, ({**pull, "arm": prefix + pull["arm"]} for pull in pulls))
    for context in _contexts(problem):
        pairs = zip(policy.explain(**context).arms, other.explain(**context).arms, strict=True)
        for row, renamed in pairs:
            same = msgspec.structs.replace(row, arm=prefix + row.arm)
            assert renamed == same, f"{renamed} against {same}"
        arm, chosen = policy.choose(**context), other.choose(**context)
        assert chosen == prefix + arm, f"chose {chosen} for {arm}"


def reordering_arms_reorders_indices(build: Build, problem: Problem) -> None:
    """An arm's pulls, estimate and index do not depend on its place in the list.

    Where arms take turns the index says whose turn it is, so it does; pulls and estimates are
    the same there too.  Where pulls are weighed by their chances and ties between policies of
    a class go by the arms' order, the chances at which the same pulls were made depend on
    it, and with them the estimates: for those pulls alone are compared.
    """
    policy, other = build(problem), build(problem.with_arms(reversed(problem.arms)))
    pulls = observations(problem, PULLS, np.random.default_rng(10))
    _observe(policy, pulls)
    _observe(other, pulls)
    if not policy.traits.arm_order_matters:
        _assert_alike(policy, other)
        return
    assert policy.trials == other.trials
    for context in _contexts(problem):
        rows = _by_arm(policy.explain(**context))
        for arm, row in _by_arm(other.explain(**context)).items():
            assert rows[arm].pulls == row.pulls, f"{rows[arm]} against {row}"
            if row.estimate is not None and not policy.traits.weighs_chances:
                assert _near(row.estimate, rows[arm].estimate), f"{rows[arm]} against {row}"


def scaling_the_reward_scales_indices(build: Build, problem: Problem) -> None:
    """Estimates and bonuses are in the unit of the reward."""
    if not problem.reward.is_formula or problem.reward.declarations:
        return
    scaled = Problem(
        arms=problem.arms,
        context=problem.context,
        state=problem.state,
        reward=Reward(f"3 * ({problem.reward.source})"),
    )
    policy, other = build(problem), build(scaled)
    pulls = observations(problem, PULLS, np.random.default_rng(11))
    _observe(policy, pulls)
    _observe(other, pulls)
    for context in _contexts(problem):
        for row, big in zip(
            policy.explain(**context).arms, other.explain(**context).arms, strict=True
        ):
            if row.estimate is not None:
                assert _near(3 * row.estimate, big.estimate), f"{row} against {big}"
                scale = 3 if policy.traits.index_is_reward else 1
                assert _near(scale * row.index, big.index), f"{row} against {big}"


def estimates_stay_in_bounds(build: Build, problem: Problem) -> None:
    """No estimate leaves the range of the reward, and no bonus is negative."""
    low, high = problem.payoff.whole_range
    slack = 1e-9 * max(1.0, abs(low), abs(high))
    policy = _taught(build, problem)
    if policy.traits.extrapolates:
        low, high = -math.inf, math.inf
    for context in _contexts(problem):
        for row in policy.explain(**context).arms:
            if row.estimate is not None:
                assert low - slack <= row.estimate <= high + slack, f"{row} leaves {low}, {high}"
                if policy.traits.index_is_reward:
                    assert row.bonus is not None
                    assert row.bonus >= -slack, f"{row} has a negative bonus"


def arms_come_and_go(build: Build, problem: Problem) -> None:
    """Adding an arm leaves the others alone; removing it again leaves no trace."""
    policy = _taught(build, problem)
    before = policy.to_bytes()
    context, *_ = _contexts(problem)
    rows = {row.arm: _known_about(policy, row) for row in policy.explain(**context).arms}
    policy.add_arm("added-arm")
    assert policy.problem.arms == (*problem.arms, "added-arm")
    for row in policy.explain(**context).arms:
        if row.arm in rows:
            assert _known_about(policy, row) == rows[row.arm], f"adding an arm changed {row.arm}"
        else:
            assert row.pulls == 0, "the new arm has been pulled"
    policy.remove_arm("added-arm")
    assert policy.to_bytes() == before, "adding and removing an arm left a trace"
    for arm in problem.arms[:-1]:
        try:
            policy.remove_arm(arm)
        except InputError:
            continue  # one that the policy is made of
        assert arm not in policy.problem.arms
        for row in policy.explain(**context).arms:
            assert _known_about(policy, row) == rows[row.arm], f"removing {arm} changed {row.arm}"


def feedback_may_be_late_or_missing(build: Build, problem: Problem) -> None:
    """Only what was observed counts, however much was chosen before."""
    policy, other = build(problem), build(problem)
    pulls = observations(problem, 8, np.random.default_rng(12))
    for context in _contexts(problem):
        policy.choose(**context)
    _observe(policy, pulls)
    _observe(other, pulls)
    assert _learned(policy) == _learned(other), "unobserved choices left a trace"


def pulls_in_flight_count_until_they_land(build: Build, problem: Problem) -> None:
    """An announced pull is taken no notice of, or counts as a pull and teaches nothing."""
    policy, other = _taught(build, problem), _taught(build, problem)
    before = _learned(policy)
    (pull,) = observations(problem, 1, np.random.default_rng(14))
    context = {name: pull[name] for name in problem.context}
    plain = policy.explain(**context)
    policy.pulled(pull["arm"], **context)
    explained = policy.explain(**context)
    counted = explained != plain
    assert counted == policy.counts_in_flight, "counts_in_flight says otherwise"
    for row, rest in zip(explained.arms, plain.arms, strict=True):
        more = int(counted and row.arm == pull["arm"])
        assert row.pulls == rest.pulls + more, f"{row} against {rest} with {more} in flight"
        assert row.estimate == rest.estimate or not rest.pulls, f"{row} against {rest}"
    assert _learned(policy) == before, "an announced pull was learned from, or is saved"
    policy.gave_up(pull["arm"], **context)
    policy.gave_up(pull["arm"], **context)  # nothing is in flight any more
    assert policy.explain(**context) == plain, "what was given up left a trace"
    policy.pulled(pull["arm"], **context)
    policy.observe(**pull)
    other.observe(**pull)
    assert policy.explain(**context) == other.explain(**context), "what has landed counts twice"
    assert _learned(policy) == _learned(other), "an announced pull teaches something else"
    fresh, burst = build(problem), []
    if not counted or not all(math.isinf(row.index) for row in fresh.explain(**context).arms):
        return  # it counts nothing, or does not learn
    for _ in problem.arms:
        burst.append(fresh.choose(**context))
        fresh.pulled(burst[-1], **context)
    assert sorted(burst) == sorted(problem.arms), f"a burst went to {burst}"


def bad_input_changes_nothing(build: Build, problem: Problem) -> None:
    """Whatever is refused is refused by a clear error and leaves the policy as it was."""
    policy = _taught(build, problem)
    before = policy.to_bytes()
    pull = observations(problem, 1, np.random.default_rng(13))[0]
    arm = pull.pop("arm")
    context = {name: pull[name] for name in problem.context}
    for what, call in bad_calls(policy, problem, arm, pull, context):
        try:
            call()
        except OnepullError as error:
            assert str(error).strip(), f"{what}: the error says nothing"
        else:
            raise AssertionError(f"{what} was accepted")
        assert policy.to_bytes() == before, f"{what} was refused but changed the policy"


POLICY_CHECKS: list[Callable[[Build, Problem], None]] = [
    choosing_changes_nothing,
    explanation_agrees_with_choice,
    unpulled_arms_come_first,
    only_eligible_arms_are_chosen,
    order_of_observations_does_not_matter,
    batches_equal_single_observations,
    saving_and_loading_keeps_everything,
    merging_is_seeing_everything,
    renaming_arms_changes_nothing,
    reordering_arms_reorders_indices,
    scaling_the_reward_scales_indices,
    estimates_stay_in_bounds,
    arms_come_and_go,
    feedback_may_be_late_or_missing,
    pulls_in_flight_count_until_they_land,
    bad_input_changes_nothing,
]


def _contexts(problem: Problem) -> list[dict[str, Any]]:
    return draw(problem.context, 25, np.random.default_rng(1))


def _taught(build: Build, problem: Problem) -> Policy:
    policy = build(problem)
    _observe(policy, observations(problem, PULLS, np.random.default_rng(2)))
    return policy


def _observe(policy: Policy, pulls: Iterable[dict[str, Any]]) -> None:
    for pull in pulls:
        policy.observe(**pull)


def _learned(policy: Policy) -> Any:
    return json.loads(policy.to_bytes())["saved"]["learned"]


def _assert_alike(one: Policy, two: Policy) -> None:
    assert one.trials == two.trials, f"{one.trials} trials against {two.trials}"
    for context in _contexts(one.problem):
        rows = _by_arm(one.explain(**context))
        for arm, row in _by_arm(two.explain(**context)).items():
            assert rows[arm].pulls == row.pulls, f"{rows[arm]} against {row}"
            assert _near(rows[arm].index, row.index), f"{rows[arm]} against {row}"


def _by_arm(explanation: Explanation) -> dict[str, Any]:
    return {row.arm: row for row in explanation.arms}


def _known_about(policy: Policy, row: ArmExplanation) -> tuple[Any, ...]:
    """Return what does not depend on the other arms, as turns and chances do."""
    depends = policy.traits.arm_order_matters or policy.traits.index_depends_on_other_arms
    return row.arm, row.pulls, row.estimate, None if depends else row.index


def _near(one: float, two: float | None) -> bool:
    return two is not None and math.isclose(one, two, rel_tol=1e-9, abs_tol=1e-9)
