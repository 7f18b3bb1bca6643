"""`with policy.pull(…)`: what is chosen, and what stays in flight."""

from __future__ import annotations

import asyncio
import math

import numpy as np
import pytest
from policy_cases import one_each
from problems import alone, channels

from onepull import DCB, InputError, Interval, Problem, Pull, StateError
from onepull.testing.random_data import observations


def flights(policy):
    (statistics,) = policy.sharing.all_statistics.values()
    return statistics.in_flight


def in_flight(policy):
    return sum(flights(policy))


def test_a_pull_is_in_flight_until_it_is_observed():
    policy = DCB(channels(3))
    with policy.pull(bits=2) as pull:
        assert (pull.arm, pull.context, in_flight(policy)) == ("channel-1", {"bits": 2}, 1)
        pull.observe(capacity=1)
        assert in_flight(policy) == 0
    assert policy.trials == 1
    assert policy.choose(bits=2) == "channel-2"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, GeneratorExit])
def test_a_block_that_fails_gives_the_pull_up(error):
    policy = DCB(channels(3))
    with pytest.raises(error), policy.pull(bits=2):
        raise error
    assert (in_flight(policy), policy.trials) == (0, 0)


def test_a_refused_observation_does_not_stay_in_flight():
    policy = DCB(channels(3))
    with pytest.raises(StateError), policy.pull(bits=2) as pull:
        pull.observe(capacity=99)
    assert (in_flight(policy), policy.trials) == (0, 0)
    with policy.pull(bits=2) as pull:
        with pytest.raises(StateError):
            pull.observe(capacity=99)
        pull.observe(capacity=1)  # better
    assert (in_flight(policy), policy.trials) == (0, 1)


def test_a_refused_observation_says_what_became_of_its_pull():
    policy = DCB(channels(3))
    with pytest.raises(StateError) as caught, policy.pull(bits=2) as pull:
        pull.observe(capacity=99)
    assert caught.value.__notes__ == [
        (
            "the pull of 'channel-1' was given up, so it counts as nothing; pull.observe(…) still "
            "learns its answer, also after the block"
        )
    ]
    pull.observe(capacity=1)
    assert (in_flight(policy), policy.trials) == (0, 1)
    with pytest.raises(StateError) as caught, policy.pull(bits=2):
        policy.observe("channel-1", capacity=99)  # which has nothing to do with the pull
    assert not hasattr(caught.value, "__notes__")


def test_a_late_answer_leaves_another_pull_of_its_arm_in_flight():
    policy = DCB(channels(1))
    with policy.pull(bits=2) as late:
        pass
    with policy.pull(bits=2) as other:
        with pytest.raises(StateError):
            late.observe(capacity=99)
        assert in_flight(policy) == 1
        late.observe(capacity=1)
        assert (in_flight(policy), policy.stats().arms[0].in_flight, policy.trials) == (1, 1, 1)
        other.observe(capacity=2)
    assert (in_flight(policy), policy.trials) == (0, 2)


def test_an_answer_after_the_block_is_learned():
    policy = DCB(channels(3))
    with policy.pull(bits=2) as pull:
        pass
    assert in_flight(policy) == 0
    pull.observe(capacity=1)
    assert (in_flight(policy), policy.trials) == (0, 1)


def test_a_pull_is_begun_once_and_observed_once():
    policy = DCB(channels(3))
    pull = policy.pull(bits=2)
    assert isinstance(pull, Pull)
    assert in_flight(policy) == 0  # nothing happens before the block
    with pytest.raises(InputError, match="no arm yet"):
        pull.observe(capacity=1)
    with pull:
        pull.observe(capacity=1)
        with pytest.raises(InputError, match="observed before"):
            pull.observe(capacity=1)
    with pytest.raises(InputError, match="begun before"), pull:
        pass
    assert (in_flight(policy), policy.trials) == (0, 1)


def test_a_context_that_is_refused_leaves_nothing_in_flight():
    policy = DCB(channels(3))
    with pytest.raises(InputError), policy.pull(bits=99):
        pass
    with pytest.raises(InputError), policy.pull(bits=2, eligible=["none"]):
        pass
    assert (in_flight(policy), policy.trials) == (0, 0)


def test_the_context_may_be_given_again_if_it_is_the_same():
    policy = DCB(channels(3))
    with policy.pull(bits=2) as pull:
        with pytest.raises(InputError, match="chosen for bits=2, given bits=3"):
            pull.observe(bits=3, capacity=1)
        pull.observe(bits=2, capacity=1)
    assert policy.trials == 1


def test_an_arm_that_was_removed_does_not_hide_an_error():
    policy = DCB(channels(3))

    def request():
        with policy.pull(bits=2) as pull:
            policy.remove_arm(pull.arm)
            raise ConnectionError

    with pytest.raises(ConnectionError):
        request()


def test_a_cancelled_task_gives_its_pull_up():
    policy = DCB(channels(3))

    async def request():
        async with policy.pull(bits=2) as pull:
            await asyncio.sleep(60)
            pull.observe(capacity=1)

    async def run():
        tasks = [asyncio.create_task(request()) for _ in range(3)]
        await asyncio.sleep(0)
        assert flights(policy) == [1, 1, 1]  # no stampede to the first arm
        tasks[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        assert flights(policy) == [0, 1, 1]
        for task in tasks[1:]:
            task.cancel()
        await asyncio.gather(*tasks[1:], return_exceptions=True)

    asyncio.run(run())
    assert (in_flight(policy), policy.trials) == (0, 0)


def test_an_observation_without_a_block_is_awaited():
    policy = DCB(alone())

    async def request():
        async with policy.pull() as pull:
            await asyncio.sleep(0)
            pull.observe(rate=2.0)

    asyncio.run(request())
    assert policy.trials == 1


@pytest.mark.parametrize(("build", "problem"), one_each().values(), ids=one_each())
def test_every_policy_learns_as_by_choosing_and_observing(build, problem):
    one, two = build(problem()), build(problem())
    for record in observations(problem(), 12, np.random.default_rng(3)):
        context = problem().context.among(record)
        state = {name: record[name] for name in (*problem().state, "failed") if name in record}
        with one.pull(**context) as pull:
            pull.observe(**state)
        arm = two.choose(**context)
        two.observe(arm, **context, **state)
        assert pull.arm == arm
    assert one.to_bytes() == two.to_bytes()


class SlowError(Exception):
    """What a request raises."""


@pytest.mark.parametrize(("build", "problem"), one_each().values(), ids=one_each())
def test_an_arm_that_never_answers_is_tried_ever_more_rarely(build, problem):
    policy, pulls = build(problem()), 0
    dead = policy.problem.arms[0]
    for record in observations(problem(), 25, np.random.default_rng(5)):
        state = {name: record[name] for name in (*problem().state, "failed") if name in record}
        with policy.pull(**problem().context.among(record)) as pull:
            if pull.arm == dead:
                pulls += 1
            else:
                pull.observe(**state)
    if policy.learns and len(policy.problem.arms) > 1:
        assert pulls <= 1 + math.log(25)


def test_an_arm_that_answers_at_last_is_as_good_as_new():
    policy = DCB(channels(2))
    for _ in range(2):
        with policy.pull(bits=2) as pull:
            if pull.arm == "channel-2":
                pull.observe(capacity=1)
    assert [row.given_up for row in policy.stats().arms] == [1, 0]
    told = policy.explain(bits=2)
    assert (told.arm, told.reason.split("; ")[-1]) == ("channel-2", "no answer yet: channel-1")
    twin = DCB.from_bytes(policy.to_bytes())
    assert twin.explain(bits=2) == told
    for each in (policy, twin):
        each.observe("channel-1", capacity=3)
        assert each.choose(bits=2) == "channel-1"
        assert "no answer" not in each.explain(bits=2).reason


def silent() -> DCB:
    policy = DCB(channels(2))
    with policy.pull(bits=2):
        pass
    policy.observe("channel-2", capacity=0)
    return policy


def test_a_merged_policy_lets_silent_arms_rest_and_those_that_answered_not():
    fresh, answered = DCB(channels(2)), DCB(channels(2))
    fresh.merge(silent())
    assert fresh.choose(bits=2) == fresh.explain(bits=2).arm == "channel-2"
    answered.observe("channel-1", capacity=3)
    answered.merge(silent())
    assert answered.choose(bits=2) == answered.explain(bits=2).arm == "channel-1"


def test_an_arm_that_answered_another_member_of_a_fleet_is_not_silent():
    one, two = silent(), DCB(channels(2))
    one.join("one")
    two.join("two")
    with one.pull(bits=2) as pull:
        assert pull.arm == "channel-1"  # what was given up is counted anew from here on
    assert one.choose(bits=2) == "channel-2"
    two.observe("channel-1", capacity=3)
    one.absorb(two.updates())
    assert one.choose(bits=2) == one.explain(bits=2).arm == "channel-1"


def test_arms_that_are_all_silent_are_tried_in_turn():
    policy = DCB(channels(3))
    arms = []
    for _ in range(6):
        with policy.pull(bits=2) as pull:
            arms.append(pull.arm[-1])
    assert "".join(arms) == "123123"


def unsure() -> Problem:
    return Problem(arms=["a", "b"], state={"x": Interval(0, 1)}, reward="x", failure=-1)


def test_an_exception_is_a_failure_where_the_problem_knows_failures():
    policy = DCB(unsure())
    with pytest.raises(SlowError), policy.pull():
        raise SlowError
    assert policy.estimates() == [-1.0, math.inf]


def test_a_cancelled_pull_is_given_up_and_no_failure():
    policy = DCB(unsure())
    with pytest.raises(KeyboardInterrupt), policy.pull():
        raise KeyboardInterrupt
    assert policy.is_fresh
    assert policy.estimates() == [math.inf, math.inf]


def test_a_pull_can_be_said_to_fail():
    policy = DCB(unsure())
    with policy.pull() as pull:
        pull.fail()
    assert policy.estimates() == [-1.0, math.inf]


def test_an_observation_that_is_refused_is_no_failure_of_the_arm():
    policy = DCB(unsure())
    with pytest.raises(StateError), policy.pull() as pull:
        pull.observe(x=2)
    assert policy.is_fresh
    assert [(row.in_flight, row.failures) for row in policy.stats().arms] == [(0, 0), (0, 0)]


def test_a_refusal_in_a_group_of_tasks_is_no_failure_either():
    policy = DCB(unsure())

    async def main():
        async with policy.pull() as pull, asyncio.TaskGroup() as tasks:
            tasks.create_task(observed(pull, x=2))

    async def observed(pull, **state):
        pull.observe(**state)

    with pytest.raises(ExceptionGroup):
        asyncio.run(main())
    assert policy.is_fresh
    with pytest.raises(ExceptionGroup), policy.pull():
        raise ExceptionGroup("both", [SlowError(), StateError()])
    assert policy.estimates() == [math.inf, -1.0]  # the pull of the first arm was given up
