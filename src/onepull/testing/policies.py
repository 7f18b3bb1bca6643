"""The checks for policies.

A trait of the policy relaxes some checks.  A check that fails names the trait to declare if the
behaviour is intended.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec
import numpy as np

from onepull.errors import InputError, MergeError, OnepullError, ParameterError
from onepull.payoff import Reward
from onepull.policies import ArmExplanation, Explanation, Policy
from onepull.problem import Problem
from onepull.spaces import FAILED
from onepull.testing.bad_calls import bad_calls
from onepull.testing.random_data import draw, observations, with_prefix

Build: TypeAlias = Callable[[Problem], Policy]

PULLS = 60


def _declare(behaviour: str, trait: str) -> str:
    """Return the hint that names the trait to declare."""
    return f"if {behaviour} by design, declare the trait {trait}"


_ORDER = _declare("the order of observations matters", "order_matters=True")
_ARM_ORDER = _declare("an arm's place in the list matters", "arm_order_matters=True")
_CHANCES = _declare("estimates depend on the chances of the pulls", "weighs_chances=True")
_RANDOM = _declare("an arm without the highest index may be chosen", "randomised=True")
_BEYOND = _declare("estimates may leave the range of the reward", "extrapolates=True")
_UNITS = _declare("the index is not a reward", "index_is_reward=False")
_OTHERS = _declare("an index depends on other arms", "index_depends_on_other_arms=True")
_TIES = _declare("ties need not go to the least pulled arm", "breaks_ties_by_pulls=False")


def _has(policy: Policy, trait: str) -> bool:
    """Return a trait of a policy by its name."""
    return bool(getattr(policy.traits, trait))


def choosing_changes_nothing(build: Build, problem: Problem) -> None:
    """`choose` and `explain` do not change what was learned, and give the same answer again."""
    policy = _taught(build, problem)
    before = _learned(policy)
    for context in _distinct_contexts(problem):
        explained = policy.explain(**context)
        arm = policy.choose(**context)
        assert policy.explain(**context) == explained, f"explain differs when repeated: {context}"
        if explained.arm is not None:
            assert policy.choose(**context) == arm, f"choose differs when repeated: {context}"
    assert _learned(policy) == before, "choose or explain changed what was learned"


def explanation_agrees_with_choice(build: Build, problem: Problem) -> None:
    """`choose` returns an arm that `explain` allows, by its chance and its index."""
    policy = _taught(build, problem)
    for context in _contexts(problem):
        explained = policy.explain(**context)
        chosen = policy.choose(**context)
        indices = {row.arm: row.index for row in explained.arms}
        if not _has(policy, "randomised"):
            top = max(indices.values())
            assert indices[chosen] == top, (
                f"{chosen} was chosen without the highest index: {indices}; {_RANDOM}"
            )
            pulls = {row.arm: row.pulls for row in explained.arms if row.index == top}
            fewest = pulls[chosen] == min(pulls.values())
            assert fewest or not _has(policy, "breaks_ties_by_pulls"), (
                f"{chosen} is not the least pulled of the tied arms: {pulls}; {_TIES}"
            )
        assert explained.arm in (None, chosen), (
            f"explain names {explained.arm}, choose returned {chosen}"
        )
        chances = {row.arm: row.chance for row in explained.arms}
        if chances[chosen] is not None:
            total = math.fsum(chance for chance in chances.values() if chance is not None)
            assert chances[chosen] != 0, f"{chosen} was chosen with chance 0: {chances}"
            assert _near(total, 1.0), f"the chances sum to {total}, not 1: {chances}"
        assert list(indices) == list(problem.arms), "explain must list the arms in their order"


def unpulled_arms_come_first(build: Build, problem: Problem) -> None:
    """A policy that learns pulls every arm once before it pulls any arm twice."""
    policy = build(problem)
    context, *_ = _contexts(problem)
    rows = policy.explain(**context).arms
    known = [row for row in rows if row.index < math.inf]
    if not policy.learns or (known and _has(policy, "randomised")):
        return
    for row in known:
        raise AssertionError(f"{row.arm} was never pulled and has the index {row.index}")
    generator = np.random.default_rng(3)
    pulled = []
    # A policy that restarts may do so within the first round.
    for state in draw(problem.state, len(problem.arms), generator):
        explained = policy.explain(**context)
        fresh = [row.arm for row in explained.arms if row.pulls == 0]
        arm = policy.choose(**context)
        assert not fresh or arm in fresh, f"{arm} was pulled again before {fresh}"
        policy.observe(arm, **context, **state)
        pulled.append(arm)
    if not _has(policy, "order_matters"):
        assert sorted(pulled) == sorted(problem.arms), f"pulled {pulled} first; {_ORDER}"


def only_eligible_arms_are_chosen(build: Build, problem: Problem) -> None:
    """`choose` and `explain` respect `eligible`."""
    policy = _taught(build, problem)
    generator = np.random.default_rng(4)
    for context in _contexts(problem):
        size = int(generator.integers(1, len(problem.arms) + 1))
        eligible = generator.choice(np.array(problem.arms, dtype=object), size, replace=False)
        arm = policy.choose(eligible=list(eligible), **context)
        assert arm in eligible, f"{arm} was chosen and is not in {eligible}"
        rows = policy.explain(eligible=list(eligible), **context).arms
        marked = {row.arm for row in rows if row.eligible}
        assert marked == set(eligible), f"explain marks {marked} as eligible, not {eligible}"


def order_of_observations_does_not_matter(build: Build, problem: Problem) -> None:
    """Observations in another order give the same indices."""
    policy, other = build(problem), build(problem)
    if _has(policy, "order_matters"):
        return
    pulls = observations(problem, PULLS, np.random.default_rng(5))
    _observe(policy, pulls)
    _observe(other, [pulls[i] for i in np.random.default_rng(6).permutation(len(pulls))])
    _assert_alike(policy, other, _ORDER)


def batches_equal_single_observations(build: Build, problem: Problem) -> None:
    """`observe_many` equals one `observe` per row, bit for bit."""
    policy, other = build(problem), build(problem)
    pulls = observations(problem, PULLS, np.random.default_rng(7))
    _observe(policy, pulls)
    names = dict.fromkeys(name for pull in pulls for name in pull)
    columns: dict[str, Any] = {name: [pull.get(name) for pull in pulls] for name in names}
    if FAILED in columns:
        columns[FAILED] = [bool(failed) for failed in columns[FAILED]]
    other.observe_many(columns.pop("arm"), **columns)
    assert other.to_bytes() == policy.to_bytes(), "observe_many learned something else than observe"


def saving_and_loading_keeps_everything(build: Build, problem: Problem) -> None:
    """A loaded policy equals the saved one bit for bit, and continues in the same way."""
    policy = _taught(build, problem)
    saved = policy.to_bytes()
    twin = type(policy).from_bytes(saved, problem=problem)
    assert twin.to_bytes() == saved, "saving the loaded policy gives another file"
    states = draw(problem.state, PULLS, np.random.default_rng(8))
    for context, state in zip(_contexts(problem), states, strict=False):
        arm = policy.choose(**context)
        assert twin.choose(**context) == arm, "the loaded policy chooses another arm"
        policy.observe(arm, **context, **state)
        twin.observe(arm, **context, **state)
    assert twin.to_bytes() == policy.to_bytes(), "the loaded policy learned something else"


def merging_is_seeing_everything(build: Build, problem: Problem) -> None:
    """Two merged policies equal one policy that saw all observations."""
    one, two, whole = build(problem), build(problem), build(problem)
    pulls = observations(problem, PULLS, np.random.default_rng(9))
    _observe(one, pulls[::2])
    _observe(two, pulls[1::2])
    _observe(whole, pulls)
    theirs = two.to_bytes()
    if _has(one, "order_matters"):
        before = one.to_bytes()
        try:
            one.merge(two)
        except MergeError:
            assert one.to_bytes() == before, "a merge that raised changed the policy"
    else:
        try:
            one.merge(two)
        except MergeError as error:
            raise AssertionError(f"merge raised {error!r}; {_ORDER}") from error
        _assert_alike(one, whole, _ORDER)
    merged = one.to_bytes()
    again = type(one).from_bytes(merged, problem=problem).to_bytes()
    assert again == merged, "saving the loaded merged policy gives another file"
    assert two.to_bytes() == theirs, "merge changed the other policy"


def renaming_arms_changes_nothing(build: Build, problem: Problem) -> None:
    """Renaming the arms, in the same order, changes nothing, bit for bit.

    Skipped for a policy whose parameters name arms, such as `FixedArm(problem, arm="wifi")`.
    """
    prefix = "renamed "  # the same for all, so that sorted names stay sorted
    try:
        other = build(with_prefix(problem, prefix))
    except OnepullError:
        return
    policy = build(problem)
    pulls = observations(problem, PULLS, np.random.default_rng(10))
    _observe(policy, pulls)
    _observe(other, ({**pull, "arm": prefix + pull["arm"]} for pull in pulls))
    for context in _distinct_contexts(problem):
        pairs = zip(policy.explain(**context).arms, other.explain(**context).arms, strict=True)
        for row, renamed in pairs:
            same = msgspec.structs.replace(row, arm=prefix + row.arm)
            assert renamed == same, f"renaming the arms changed {same} to {renamed}"
    for context in _contexts(problem):  # a policy that draws chooses anew each time
        arm, chosen = policy.choose(**context), other.choose(**context)
        assert chosen == prefix + arm, (
            f"renaming the arms changed the choice from {arm} to {chosen}"
        )


def reordering_arms_reorders_indices(build: Build, problem: Problem) -> None:
    """An arm's pulls, estimate and index do not depend on its place in the list.

    With the trait `arm_order_matters` indices are not compared, and with `weighs_chances`
    estimates are not compared either: the chances of the pulls may depend on the arms' order.
    """
    policy, other = build(problem), build(problem.with_arms(list(reversed(problem.arms))))
    pulls = observations(problem, PULLS, np.random.default_rng(10))
    _observe(policy, pulls)
    _observe(other, pulls)
    if not _has(policy, "arm_order_matters"):
        _assert_alike(policy, other, _ARM_ORDER)
        return
    assert policy.trials == other.trials, f"{policy.trials} trials against {other.trials}"
    for context in _distinct_contexts(problem):
        rows = _by_arm(policy.explain(**context))
        for arm, row in _by_arm(other.explain(**context)).items():
            assert rows[arm].pulls == row.pulls, f"{rows[arm]} against {row}"
            if row.estimate is not None and not _has(policy, "weighs_chances"):
                assert _near(row.estimate, rows[arm].estimate), (
                    f"the estimates differ: {rows[arm]} against {row}; {_CHANCES}"
                )


def scaling_the_reward_scales_indices(build: Build, problem: Problem) -> None:
    """Multiplying the reward by 3 multiplies estimates and indices by 3."""
    if not problem.reward.is_formula or problem.reward.declarations:
        return
    failure = None if problem.failure is None else f"3 * ({problem.failure})"
    scaled = problem.with_reward(Reward(f"3 * ({problem.reward.source})"), failure=failure)
    policy, other = build(problem), build(scaled)
    pulls = observations(problem, PULLS, np.random.default_rng(11))
    _observe(policy, pulls)
    _observe(other, pulls)
    for context in _distinct_contexts(problem):
        for row, big in zip(
            policy.explain(**context).arms, other.explain(**context).arms, strict=True
        ):
            if row.estimate is not None:
                assert _near(3 * row.estimate, big.estimate), (
                    f"the estimate did not scale with the reward: {row} against {big}"
                )
                scale = 3 if _has(policy, "index_is_reward") else 1
                assert _near(scale * row.index, big.index), (
                    f"the index should be {scale} times as large: {row} against {big}; {_UNITS}"
                )


def estimates_stay_in_bounds(build: Build, problem: Problem) -> None:
    """Estimates lie within the range of the reward, and bonuses are not negative."""
    low, high = problem.payoff.whole_range
    slack = 1e-9 * max(1.0, abs(high), abs(low) if math.isfinite(low) else 0.0)
    policy = _taught(build, problem)
    if _has(policy, "extrapolates"):
        low, high = -math.inf, math.inf
    for context in _distinct_contexts(problem):
        for row in policy.explain(**context).arms:
            if row.estimate is not None:
                assert low - slack <= row.estimate <= high + slack, (
                    f"the estimate is outside [{low}, {high}]: {row}; {_BEYOND}"
                )
                if _has(policy, "index_is_reward"):
                    assert row.bonus is not None, f"the bonus is missing: {row}"
                    assert row.bonus >= -slack, f"the bonus is negative: {row}; {_UNITS}"


def arms_come_and_go(build: Build, problem: Problem) -> None:
    """Adding an arm does not change the others, and removing it again restores the policy."""
    policy = _taught(build, problem)
    before = policy.to_bytes()
    context, *_ = _contexts(problem)
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


def feedback_may_be_late_or_missing(build: Build, problem: Problem) -> None:
    """Choices that were never observed do not count."""
    policy, other = build(problem), build(problem)
    pulls = observations(problem, 8, np.random.default_rng(12))
    for context in _contexts(problem):
        policy.choose(**context)
    _observe(policy, pulls)
    _observe(other, pulls)
    assert _learned(policy) == _learned(other), (
        "choices without an observation changed what was learned"
    )


def pulls_in_flight_count_until_they_land(build: Build, problem: Problem) -> None:
    """`pulled` either has no effect, or adds a pull until the observation arrives."""
    policy, other = _taught(build, problem), _taught(build, problem)
    before = _learned(policy)
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
        assert row.pulls == rest.pulls + more, f"{row} against {rest}, with {more} in flight"
        assert row.in_flight == more, f"{row} with {more} in flight"
        assert row.estimate == rest.estimate or not rest.pulls, (
            f"a pull in flight changed an estimate: {row} against {rest}"
        )
    assert _learned(policy) == before, "pulled() changed what is learned or saved"
    policy.gave_up(pull["arm"], **context)
    policy.gave_up(pull["arm"], **context)  # nothing is in flight: must have no effect
    assert policy.explain(**context) == plain, "gave_up() did not undo pulled()"
    policy.pulled(pull["arm"], **context)
    policy.observe(**pull)
    other.observe(**pull)
    assert policy.explain(**context) == other.explain(**context), (
        "a pull is counted twice after its observation"
    )
    assert _learned(policy) == _learned(other), "pulled() changed what the observation taught"
    fresh, burst = build(problem), []
    if not counted or not all(math.isinf(row.index) for row in fresh.explain(**context).arms):
        return  # it ignores pulls in flight, or does not learn
    for _ in problem.arms:
        burst.append(fresh.choose(**context))
        fresh.pulled(burst[-1], **context)
    assert sorted(burst) == sorted(problem.arms), (
        f"without feedback, {len(burst)} requests went to {burst}; expected each arm once"
    )


def bad_input_changes_nothing(build: Build, problem: Problem) -> None:
    """Invalid calls raise an `OnepullError` with a message and leave the policy unchanged."""
    policy = _taught(build, problem)
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


def _distinct_contexts(problem: Problem) -> list[dict[str, Any]]:
    """Return each context once, for checks that get the same answer if they ask again."""
    drawn = _contexts(problem)
    return [context for i, context in enumerate(drawn) if context not in drawn[:i]]


def _taught(build: Build, problem: Problem) -> Policy:
    policy = build(problem)
    _observe(policy, observations(problem, PULLS, np.random.default_rng(2)))
    return policy


def _observe(policy: Policy, pulls: Iterable[dict[str, Any]]) -> None:
    for pull in pulls:
        policy.observe(**pull)


def _learned(policy: Policy) -> Any:
    return json.loads(policy.to_bytes())["saved"]["learned"]


def _assert_alike(one: Policy, two: Policy, hint: str) -> None:
    assert one.trials == two.trials, f"{one.trials} trials against {two.trials}; {hint}"
    for context in _distinct_contexts(one.problem):
        rows = _by_arm(one.explain(**context))
        for arm, row in _by_arm(two.explain(**context)).items():
            same = rows[arm].pulls == row.pulls and _near(rows[arm].index, row.index)
            assert same, f"pulls or index differ: {rows[arm]} against {row}; {hint}"


def _by_arm(explanation: Explanation) -> dict[str, Any]:
    return {row.arm: row for row in explanation.arms}


def _known_about(policy: Policy, row: ArmExplanation) -> tuple[Any, ...]:
    """Return what must not depend on other arms."""
    depends = _has(policy, "arm_order_matters") or _has(policy, "index_depends_on_other_arms")
    # The range of the reward covers the attributes of all arms.
    depends = depends or bool(policy.problem.attributes)
    return row.arm, row.pulls, row.estimate, None if depends else row.index


def _near(one: float, two: float | None) -> bool:
    return two is not None and math.isclose(one, two, rel_tol=1e-9, abs_tol=1e-9)
