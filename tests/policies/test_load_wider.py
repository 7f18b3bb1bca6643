"""Loading into a problem that has grown: exactly as if it had been so before, or refused."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from policy_cases import CASES, one_each

from onepull import (
    CCB,
    DCB,
    UCB1,
    UCBALP,
    CoarseKL,
    ContextualZooming,
    DiscountedUCB,
    DoublingCCB,
    EmpiricalKL,
    EpochGreedy,
    Finite,
    Genie,
    Interval,
    LinUCB,
    MultiUCB,
    OnepullError,
    ParameterError,
    PatientKL,
    Policy,
    Problem,
    RestartingUCB,
    SaveFileError,
    SlidingWindowKL,
    SlidingWindowUCB,
    UpperConfidence,
)
from onepull.policies.loaded import changes
from onepull.testing.random_data import observations


def narrow(**spaces):
    return Problem(
        arms=["wifi", "lte", "5g"],
        context={"bits": spaces.get("bits", Finite([1, 3]))},
        state={"capacity": spaces.get("capacity", Finite([0, 2, 4]))},
        reward=spaces.get("reward", "min(bits, capacity)"),
    )


CONTINUOUS = {"bits": Interval(0, 4), "capacity": Interval(0, 4)}
MORE_CONTEXTS = {"bits": Finite([3, 2, 1])}
MORE_STATES = {"capacity": Finite([4, 3, 2, 1, 0])}
WIDER_STATES = {"capacity": Interval(0, 9)}
WIDER_CONTEXTS = {"bits": Interval(0, 8)}


def paid(problem):
    return UCBALP(problem, costs={"lte": 0.5}, budget=50, horizon=200)


# A policy, the spaces of its problem, and how they change.
EXACT: dict[str, tuple[Any, Any, Any]] = {
    "a table with fewer, reordered contexts": (DCB, MORE_CONTEXTS, {"bits": Finite([1, 2, 3])}),
    "a table with wider states": (DCB, {"capacity": Interval(0, 4)}, WIDER_STATES),
    "a table with listed states that become an interval": (DCB, {}, WIDER_STATES),
    "cells with wider states": (lambda p: CCB(p, delta=0.5), CONTINUOUS, WIDER_STATES),
    "phases with wider states": (DoublingCCB, CONTINUOUS, WIDER_STATES),
    "blind with more contexts": (UCB1, {}, MORE_CONTEXTS),
    "blind with wider contexts": (UCB1, CONTINUOUS, WIDER_CONTEXTS),
    "per context with more contexts": (MultiUCB, {}, MORE_CONTEXTS),
    "per context with more states": (MultiUCB, {}, MORE_STATES),
    "a histogram with more contexts": (EmpiricalKL, {}, MORE_CONTEXTS),
    "a histogram with more states": (EmpiricalKL, {}, MORE_STATES),
    "a histogram with contexts that become an interval": (
        EmpiricalKL,
        {},
        {"bits": Interval(0, 9)},
    ),
    "a sketch with wider contexts": (lambda p: EmpiricalKL(p, knots=5), CONTINUOUS, WIDER_CONTEXTS),
    "a window with more states": (lambda p: SlidingWindowKL(p, window=9), {}, MORE_STATES),
    "a window with wider states": (lambda p: SlidingWindowUCB(p, window=9), {}, WIDER_STATES),
    "a discount with wider states": (DiscountedUCB, {}, WIDER_STATES),
    "patience with more contexts": (PatientKL, {}, MORE_CONTEXTS),
    "a budget with more contexts": (paid, {}, MORE_CONTEXTS),
    "sets with more contexts": (CoarseKL, {}, MORE_CONTEXTS),
    "regression with more states": (LinUCB, {}, MORE_STATES),
    "a class with more states": (EpochGreedy, {}, MORE_STATES),
    "zooming with wider states": (ContextualZooming, CONTINUOUS, WIDER_STATES),
    "detectors with states that change no reward": (RestartingUCB, {}, WIDER_STATES),
    "clipping from now on": (
        lambda p: EmpiricalKL(p, knots=5),
        CONTINUOUS,
        {"capacity": Interval(0, 4, outside="clip")},
    ),
}


def taught(policy, narrower, count=60):
    """Return the policy after observations that the narrower problem allows."""
    for pull in observations(narrower, count, np.random.default_rng(3)):
        policy.observe(**pull)
    return policy


@pytest.mark.parametrize("name", EXACT)
def test_it_is_as_if_the_problem_had_always_been_so(name):
    build, before, after = EXACT[name]
    old, new = narrow(**before), narrow(**{**before, **after})
    policy = Policy.from_bytes(taught(build(old), old).to_bytes(), problem=new)
    always = taught(build(new), old)
    assert policy.problem == new
    assert policy.to_bytes() == always.to_bytes()
    assert policy.loaded is not None
    assert policy.loaded.trials == policy.trials == always.trials
    assert policy.stats() == always.stats()
    for pull in observations(new, 30, np.random.default_rng(4)):
        context = new.context.among(pull)
        assert policy.explain(**context) == always.explain(**context)
        for one in (policy, always):
            one.observe(**pull)
    assert policy.to_bytes() == always.to_bytes()


SQUARED = {"capacity": Interval(0, 4), "reward": "bits * capacity"}
REFUSED: dict[str, tuple[Any, Any, Any, str]] = {
    "more contexts": (
        DCB,
        {},
        MORE_CONTEXTS,
        r"only mean rewards of the old contexts are stored, and bits=2 is not one of them",
    ),
    "a sketch": (
        lambda p: EmpiricalKL(p, knots=5),
        CONTINUOUS,
        WIDER_STATES,
        r"capacity is sketched on knots between the old bounds",
    ),
    "cells": (
        lambda p: MultiUCB(p, delta=0.5),
        CONTINUOUS,
        WIDER_CONTEXTS,
        "the cells of bits lie between the old bounds",
    ),
    "centres": (lambda p: CCB(p, delta=0.5), CONTINUOUS, WIDER_CONTEXTS, "is not one of them"),
    "detectors": (RestartingUCB, SQUARED, WIDER_STATES, "change detectors are scaled"),
    "regression": (LinUCB, SQUARED, WIDER_STATES, "which was 0 to 12 and is 0 to 27"),
    "features": (LinUCB, {}, MORE_CONTEXTS, "what is stored depends on the values of bits"),
    "sets": (CoarseKL, {}, MORE_STATES, "which of the old values capacity may have"),
    "levels": (
        lambda p: CoarseKL(p, knots=5),
        {"capacity": Interval(0, 4)},
        {"bits": Finite([1, 2, 3])},
        "cut for the old contexts",
    ),
    "narrower": (DCB, {}, {"capacity": Finite([0, 2])}, "does not hold all of it"),
    "narrower interval": (DCB, {"capacity": Interval(0, 4)}, {"capacity": Interval(1, 9)}, "hold"),
    "no longer listed": (DCB, {"capacity": Interval(0, 4)}, {"capacity": Finite([0, 4])}, "hold"),
    "another reward": (EmpiricalKL, {}, {"reward": "bits + capacity"}, "then call with_reward"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_not_be_exact_is_refused_with_the_reason(name):
    build, before, after, said = REFUSED[name]
    old, new = narrow(**before), narrow(**{**before, **after})
    text = taught(build(old), old).to_bytes()
    with pytest.raises(SaveFileError, match=said):
        Policy.from_bytes(text, problem=new)


SKETCHES = {
    "EmpiricalKL": lambda p: EmpiricalKL(p, knots=9),
    "UpperConfidence": lambda p: UpperConfidence(p, sharing="sketch(17)"),
    "SlidingWindowKL": lambda p: SlidingWindowKL(p, window=30, knots=70),
    "PatientKL": lambda p: PatientKL(p, knots=9),
}


@pytest.mark.parametrize("name", SKETCHES)
def test_a_sketch_is_moved_to_wider_bounds_with_the_error_that_it_states(name):
    spaces = {"capacity": Interval(0, 4)}
    old, new = narrow(**spaces), narrow(capacity=Interval(-1, 6.5))
    policy = SKETCHES[name](old)
    states = np.random.default_rng(5).uniform(0, 4, 30)
    policy.observe_many(["lte"] * 30, bits=[1] * 30, capacity=states)
    text = policy.to_bytes()
    said = r"capacity is sketched .* off by up to ([0-9.]+), where the reward goes from -1 to 3"
    with pytest.raises(SaveFileError, match=said) as told:
        Policy.from_bytes(text, problem=new)
    found = re.search(said, str(told.value))
    assert found is not None
    error = float(found[1])
    with pytest.raises(SaveFileError, match=said):
        Policy.from_bytes(text, problem=new, error=0.99 * error)
    moved = Policy.from_bytes(text, problem=new, error=error * (1 + 1e-5))
    assert moved.loaded is not None
    assert moved.loaded.error == pytest.approx(error, rel=1e-5)
    assert "estimates from them may be off by up to" in str(moved.loaded)
    for bits in (1, 3):
        mean = np.mean(np.minimum(bits, states))
        assert moved.estimates(bits=bits)[1] == pytest.approx(mean, abs=error)
    # Means of the state itself are kept: interpolation is exact for them.
    assert moved.stats().arms[1].state == pytest.approx({"capacity": states.mean()})
    moved.observe("wifi", bits=1, capacity=6.4)
    assert Policy.from_bytes(moved.to_bytes()).to_bytes() == moved.to_bytes()


@pytest.mark.parametrize("error", [-1, "much", None, float("nan")])
def test_an_error_that_cannot_be_is_refused(error):
    with pytest.raises(ParameterError, match="error must be a number >= 0"):
        Policy.from_bytes(DCB(narrow()).to_bytes(), error=error)


def test_what_was_never_learned_is_not_made_up_whatever_error_is_accepted():
    text = taught(DCB(narrow()), narrow()).to_bytes()
    with pytest.raises(SaveFileError, match="is not one of them"):
        Policy.from_bytes(text, problem=narrow(**MORE_CONTEXTS), error=100)


def test_the_account():
    policy = EmpiricalKL(narrow())
    policy.observe_many(["wifi", "lte", "lte"], capacity=[0, 2, 4])
    policy._counts.clip(1)
    policy.add_arm("satellite")
    policy.pause("lte")
    new = narrow(**MORE_STATES, bits=Interval(0, 4)).with_arms(["wifi", "lte", "5g", "6g", "7g"])
    loaded = Policy.from_bytes(policy.to_bytes(), problem=new)
    assert loaded.problem.arms == ("wifi", "lte", "5g", "satellite", "6g", "7g")
    assert loaded.controls == policy.controls
    assert [row.pulls for row in loaded.stats().arms] == [1, 2, 0, 0, 0, 0]
    assert str(loaded.loaded) == dedent("""\
        kept what was learned from 3 observations
        bits was Finite([1, 3]) and is Interval(0, 4)
        capacity was Finite([0, 2, 4]) and is Finite([4, 3, 2, 1, 0])
        added 6g, 7g, never pulled
        kept satellite, which the problem does not list
        1 observations were clipped to the old bounds and stay there""")


def test_words_are_matched_by_what_they_say():
    def problem(words, regions):
        return Problem(
            arms=["a", "b"],
            context={"region": Finite(regions)},
            state={"cache": Finite(words), "x": Finite([1, 2])},
            reward='x * (1 + (cache == "hot")) if region == "eu" else x',
        )

    old, new = (
        problem(["cold", "hot"], ["eu", "us"]),
        problem(["warm", "hot", "cold"], ["us", "eu"]),
    )
    for build in (EmpiricalKL, MultiUCB, DCB):
        loaded = Policy.from_bytes(taught(build(old), old).to_bytes(), problem=new)
        assert loaded.to_bytes() == taught(build(new), old).to_bytes()


def test_a_reward_in_code_may_get_wider_spaces():
    old, new = narrow(reward=min_of), narrow(reward=min_of, **MORE_STATES)
    loaded = Policy.from_bytes(taught(EmpiricalKL(old), old).to_bytes(), problem=new)
    assert loaded.to_bytes() == taught(EmpiricalKL(new), old).to_bytes()


def min_of(bits, capacity):
    return min(bits, capacity)


def test_a_member_of_a_fleet_stays_with_its_problem():
    policy = EmpiricalKL(narrow())
    policy.join("one")
    with pytest.raises(SaveFileError, match="a member of a fleet cannot be loaded into another"):
        Policy.from_bytes(policy.to_bytes(), problem=narrow(**MORE_STATES))
    assert Policy.from_bytes(policy.to_bytes(), problem=narrow()).versions == {}


@pytest.mark.parametrize("name", one_each())
def test_every_policy_takes_more_arms_and_never_wider_spaces_wrongly(name):
    build, made = CASES[name]
    problem = made()
    policy = taught(build(problem), problem, 40)
    text = policy.to_bytes()
    state = {
        field: Finite([*(space.words or space.values), "new" if space.words else space.high + 1])
        if isinstance(space, Finite)
        else Interval(space.low, space.high + 1, outside=space.outside)
        for field, space in problem.state.items()
    }
    if problem.reward.is_formula and not any(
        space.clips for space in state.values() if isinstance(space, Interval)
    ):
        wider = Problem(**{**problem._parts(), "state": state})
        try:
            loaded = Policy.from_bytes(text, problem=wider)
        except SaveFileError as error:
            assert "exactly in the given problem" in str(error) or "Genie" in name  # noqa: PT017 - either will do
        else:
            # A genie of the wider problem would be given other laws.
            own = Genie(wider, states=policy.states) if isinstance(policy, Genie) else build(wider)
            always = taught(own, problem, 40)
            assert loaded.to_bytes() == always.to_bytes()
    known = problem.attributes.get(problem.arms[0], {})
    arms = {**problem.attributes, "added-arm": known} if known else [*problem.arms, "added-arm"]
    more = problem.with_arms(arms)
    try:
        loaded = Policy.from_bytes(text, problem=more)
    except SaveFileError:
        assert "listed" in name or "shared" in name  # its parameters are about its arms
    else:
        policy.add_arm("added-arm", **known)
        assert loaded.to_bytes() == policy.to_bytes()


@pytest.mark.parametrize("name", one_each())
def test_several_arms_at_once_are_the_same_as_one_after_the_other(name):
    build, made = CASES[name]
    problem = made()
    policy = taught(build(problem), problem, 40)
    text = policy.to_bytes()
    # The second has other attributes than any arm, so that the range of the reward may change.
    known = problem.attributes.get(problem.arms[0], {})
    other = {field: v if isinstance(v, str) else 2 * v + 1 for field, v in known.items()}
    added = {"new-1": known, "new-2": other, "new-3": known}
    try:
        for arm, attributes in added.items():
            policy.add_arm(arm, **attributes)
    except OnepullError:
        pytest.skip("its parameters are about its arms")
    arms = {**problem.attributes, **added} if known else [*problem.arms, *added]
    loaded = Policy.from_bytes(text, problem=problem.with_arms(arms))
    assert loaded.to_bytes() == policy.to_bytes()


class Unsearched(tuple[str, ...]):
    """Names of arms of which each is looked up elsewhere."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        raise AssertionError(f"all arms are looked through for {name}")


def test_what_changed_is_found_without_comparing_all_arms_with_all():
    few, more = (
        Problem(arms=names, state={"x": Interval(0, 1)}, reward="x")
        for names in (["a", "b"], ["b", "c", "d"])
    )
    for each in (few, more):
        object.__setattr__(each, "arms", Unsearched(each.arms))
    found = changes(few, more, 3, 0)
    assert (found.added, found.extra) == (("c", "d"), ("a",))
