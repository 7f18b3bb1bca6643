"""Environments with a buffer are validated on construction."""

from __future__ import annotations

from typing import Any

import pytest

from onepull import Discrete, Finite, Problem
from onepull.control import Backlog, Battery, BufferEnvironment, harvesting_battery, metered_backlog
from onepull.distributions import Switching, Uniform
from onepull.errors import ParameterError, UnknownArm

PROBLEM = Problem(
    arms=["a", "b"],
    context={"bits": Finite([1, 2])},
    state={"capacity": Finite([0, 1, 3])},
    reward="min(bits, capacity)",
)
GIVEN: dict[str, Any] = {
    "states": {"a": Discrete([1], [1.0]), "b": Discrete([0, 3], [0.5, 0.5])},
    "buffer": Backlog(capacity=9, amounts=[1, 2], costs={"b": 1}),
    "arrivals": Discrete([0, 1], [0.5, 0.5]),
}


def test_the_two_worlds_are_what_they_say():
    battery, backlog = harvesting_battery(), metered_backlog()
    assert battery.arrivals.expectation(lambda x: x) == pytest.approx(0.2)
    assert battery.buffer.amounts == tuple(i / 8 for i in range(1, 9))
    assert backlog.arrivals.expectation(lambda x: x) == pytest.approx(0.8)
    cheapest = backlog.states["channel 1"].expectation(lambda x: x)
    assert cheapest == pytest.approx(0.7)  # less than arrives


@pytest.mark.parametrize(
    ("wrong", "error", "told"),
    [
        ({"arrivals": Discrete([-1, 1], [0.5, 0.5])}, ParameterError, "amount goes from -1 to 1"),
        ({"arrivals": 3}, ParameterError, "the arrivals need a Distribution, given 3"),
        (
            {"arrivals": Switching({0: Uniform(0, 1), 10: Uniform(1, 2)})},
            ParameterError,
            "laws that never switch",
        ),
        ({"states": {"a": Discrete([1], [1.0])}}, ParameterError, "no law for the states of 'b'"),
        ({"states": {"c": Discrete([1], [1.0])}}, UnknownArm, "'c' among the laws"),
        ({"buffer": Battery(capacity=9, amounts=[1, 5])}, ParameterError, "bits"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, error, told):
    with pytest.raises(error, match=told):
        BufferEnvironment(PROBLEM, **(GIVEN | wrong))


def test_a_reward_that_drains_more_than_was_offered_is_refused():
    twice = PROBLEM.with_reward("2 * min(bits, capacity)")
    with pytest.raises(ParameterError, match="bits=1 may drain 0 to 2 of the buffer"):
        BufferEnvironment(twice, **GIVEN)
    # The power drains a battery, whatever the reward.
    BufferEnvironment(twice, **(GIVEN | {"buffer": Battery(capacity=9, amounts=[1, 2])}))
