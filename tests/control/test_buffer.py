"""Levels of buffers, and the errors for invalid parameters."""

from __future__ import annotations

import numpy as np
import pytest

from onepull.control import Backlog, Battery
from onepull.errors import ParameterError

POWERS = [0.25, 0.5, 1.0]


def test_a_battery_offers_what_it_holds():
    battery = Battery(capacity=2.0, amounts=POWERS)
    assert battery.offers(0.2) == ()
    assert battery.offers(0.5) == (0.25, 0.5)
    assert battery.offers(2.0) == (0.25, 0.5, 1.0)


def test_rounding_does_not_take_an_amount_away():
    battery = Battery(capacity=1.0, amounts=[0.1])
    level = 0.3 - 0.1 - 0.1
    assert level < 0.1
    assert battery.offers(level) == (0.1,)
    assert battery.refilled(level, 0.1, 0.0) == (0.0, 0.0)


def test_a_backlog_offers_all_that_waits_up_to_the_largest():
    backlog = Backlog(capacity=10, amounts=[1, 2, 4], costs={})
    assert [backlog.offers(level) for level in (0, 1, 3, 4, 9)] == [(), (1,), (2,), (4,), (4,)]


@pytest.mark.parametrize("seed", range(5))
def test_nothing_appears_or_vanishes(seed):
    generator = np.random.default_rng(seed)
    battery = Battery(capacity=3.0, amounts=POWERS)
    level, drained, lost, arrived = 0.0, 0.0, 0.0, 0.0
    for energy in generator.integers(0, 9, 200) / 4:
        offers = battery.offers(level)
        power = generator.choice(offers) if offers else 0.0
        level, over = battery.refilled(level, power, energy)
        drained, lost, arrived = drained + power, lost + over, arrived + energy
        assert 0 <= level <= battery.capacity
    assert arrived == drained + lost + level  # quarters are exact


def test_gains_and_drains():
    battery = Battery(capacity=2.0, amounts=POWERS)
    backlog = Backlog(capacity=10, amounts=[1, 2], costs={"a": 0.5})
    assert (battery.gain(3.0, 0.5), battery.drain(0.25, 3.0)) == (3.0, 0.25)
    assert (backlog.gain(3.0, 0.5), backlog.drain(2.0, 1.5)) == (-0.5, 1.5)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"capacity": 0}, "capacity must be a number > 0"),
        ({"amounts": []}, "from small to large"),
        ({"amounts": [1, 1]}, "from small to large"),
        ({"amounts": [0, 1]}, "an amount must be a number > 0"),
        ({"amounts": [1, 5]}, "must not exceed the capacity, 4, given 5"),
        ({"costs": {"a": -1}}, "the cost of 'a'"),
    ],
)
def test_what_cannot_be_is_refused(wrong, told):
    stated = {"capacity": 4, "amounts": [1, 2], "costs": {}} | wrong
    with pytest.raises(ParameterError, match=told):
        Backlog(**stated)
