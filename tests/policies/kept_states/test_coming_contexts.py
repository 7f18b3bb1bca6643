"""Which of the compared contexts come, and what follows for exploration."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepull import AdaptiveKL, Finite, Interval, Problem
from onepull.errors import SaveFileError
from onepull.policies.kept_states.coming_contexts import (
    AT_FIRST,
    MOST_COUNTED,
    RAREST,
    comes,
    count,
    counts_together,
    nearest,
    positions,
    scales,
)
from onepull.policies.kept_states.compared_rewards import tracked_contexts
from onepull.spaces import Box

SIZES = (1, 2, 4, 8)


def problem(sizes=SIZES):
    return Problem(
        arms=["a", "b", "c", "d"],
        context={"y": Finite(sizes)},
        state={"x": Interval(0, 8)},
        reward="min(x, y)",
    )


def taught(policy, requests, trials=400, *, told=True):
    luck = np.random.default_rng(5)
    for trial in range(trials):
        arm = policy.problem.arms[trial % 4]
        x = float(luck.uniform(0, 2 + 2 * (trial % 4)))
        context = {"y": requests[trial % len(requests)]} if told else {}
        policy.observe(arm, x=x, **context)
    return policy


def test_contexts_that_do_not_come_do_not_count():
    """As if the only context that comes were the only one that is declared."""
    some = taught(AdaptiveKL(problem(), adapts=False), [8])
    only = taught(AdaptiveKL(problem((8,)), adapts=False), [8])
    assert some.memory.coming() == [3]
    assert some.indices(y=8) == only.indices(y=8)
    every = taught(AdaptiveKL(problem(), adapts=False), SIZES)
    assert every.memory.coming() == [0, 1, 2, 3]
    assert every.indices(y=8) != only.indices(y=8)


def test_if_contexts_are_not_told_all_of_them_count():
    told = taught(AdaptiveKL(problem(), adapts=False), SIZES)
    untold = taught(AdaptiveKL(problem(), adapts=False), SIZES, told=False)
    assert untold.memory.came == [AT_FIRST] * 4
    assert [untold.indices(y=y) for y in SIZES] == [told.indices(y=y) for y in SIZES]


def test_a_context_counts_for_a_while_after_it_came_last():
    policy = taught(AdaptiveKL(problem()), [1], trials=40)
    assert policy.memory.coming() == [0, 1, 2, 3]  # each may still come
    came = taught(policy, [8], trials=3 * MOST_COUNTED).memory
    assert came.coming() == [3]
    assert sum(came.came) < MOST_COUNTED
    taught(policy, [1], trials=2 * MOST_COUNTED // RAREST)
    assert policy.memory.coming() == [0, 3]


def test_a_failure_and_a_reward_tell_their_context_too():
    policy = AdaptiveKL(
        Problem(
            arms=["a", "b"],
            context={"y": Finite([1, 2])},
            state={"x": Interval(0, 1)},
            reward="x * y",
            failure=-1,
        )
    )
    policy.observe("a", failed=True, y=2)
    policy.observe("a", reward=0.5, y=1)
    policy.observe("a", failed=True)
    with policy.pull(y=2) as pull:
        pull.observe(x=0.5)
    assert policy.memory.came == [AT_FIRST + 1, AT_FIRST + 2]


def test_requests_are_saved_copied_and_merged():
    policy = taught(AdaptiveKL(problem()), [8, 8, 1])
    twin = AdaptiveKL.from_bytes(policy.to_bytes())
    assert twin.memory.came == policy.memory.came
    taught(twin, [1], trials=10)
    assert twin.memory.came != policy.memory.came
    other = policy.with_reward("2 * min(x, y)")
    assert other.memory.came == policy.memory.came
    taught(other, [1], trials=10)
    assert other.memory.came != policy.memory.came
    policy.add_arm("e")
    policy.remove_arm("a")
    assert policy.memory.came == [137, 4, 4, 271]
    first, second = (taught(AdaptiveKL(problem()), [y], trials=100) for y in (1, 8))
    first.merge(second)
    assert first.memory.came == [104, 4, 4, 104]


def test_a_file_without_requests_or_with_wrong_ones():
    memory = taught(AdaptiveKL(problem()), [8]).memory
    state = memory.state()
    state.came = None
    memory.restore(msgspec.to_builtins(state))
    assert memory.came == [AT_FIRST] * 4
    for wrong in ([1, 2, 3], [MOST_COUNTED, 0, 0, 0]):
        state.came = wrong
        with pytest.raises(SaveFileError, match=r"requests .* expected less than 1000 near 4"):
            memory.restore(msgspec.to_builtins(state))


BOXES = {
    "listed": Box(y=Finite([1, 2, 50])),
    "interval": Box(y=Interval(1, 4000)),
    "log": Box(y=Interval(1e-3, 1e3, scale="log")),
    "unbounded": Box(y=Interval(0, math.inf), z=Interval(-math.inf, math.inf)),
    "mixed": Box(word=Finite(["eu", "us", "ap"]), y=Interval(-2, 6), flag=Finite([0, 1])),
}


@pytest.mark.parametrize("name", BOXES)
@given(seed=st.integers(0, 1000))
def test_the_nearest_context_is_the_one_at_the_least_distance(name, seed):
    box = BOXES[name]
    tracked = tracked_contexts(
        Problem(arms=["a"], context=box, state={"x": Interval(0, 1)}, reward="x")
    )
    of_fields = scales(box)
    places = positions(tracked, of_fields)
    for c, context in enumerate(tracked):
        found = nearest(positions([context], of_fields)[0], places)
        assert tracked[found] == context or (places[found] == places[c]).all()
    luck = np.random.default_rng(seed)
    weights = luck.dirichlet(np.ones(2))
    at = [tracked[i] for i in luck.integers(len(tracked), size=2)]
    listed = [isinstance(space, Finite) for space in box.values()]
    context = tuple(
        one if is_listed else weights[0] * one + weights[1] * other
        for one, other, is_listed in zip(*at, listed, strict=True)
    )
    far = (np.minimum((positions([context], of_fields) - places) ** 2, 1.0)).sum(axis=1)
    assert far[nearest(positions([context], of_fields)[0], places)] == pytest.approx(far.min())
    # A word is as far from any other word as the ends of an interval are from each other.
    assert far.max() <= len(box)


@given(st.lists(st.integers(0, 100), min_size=1, max_size=8), st.data())
def test_counts_stay_bounded_and_keep_their_shares(first, data):
    came = list(first)
    where = data.draw(st.lists(st.integers(0, len(came) - 1), max_size=50))
    for which in where:
        before = list(came)
        before[which] += 1
        count(came, which)
        is_full = sum(before) >= MOST_COUNTED
        assert came == ([each // 2 for each in before] if is_full else before)


@given(st.lists(st.integers(0, MOST_COUNTED // 8 - 1), min_size=4, max_size=4))
def test_counts_of_two_are_added_without_what_was_there_at_first(came):
    fresh = [AT_FIRST] * 4
    assert counts_together(came, fresh) == came == counts_together(fresh, came)
    assert sum(counts_together([900, 4, 4, 4], [4, 4, 4, 900])) < MOST_COUNTED


def test_a_context_comes_if_it_is_one_in_fifty_requests():
    assert comes(1, RAREST)
    assert not comes(1, RAREST + 1)
