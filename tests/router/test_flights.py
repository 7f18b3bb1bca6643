"""Decisions in flight: each expires at its own time, however many were answered meanwhile."""

from __future__ import annotations

import time

from hypothesis import example, given
from hypothesis import strategies as st

from onepull.router.state.flights import GRACE, MOST_STALE_DEADLINES, Flights
from onepull.store import Decided

STEPS = st.lists(
    st.tuples(
        st.integers(0, 9), st.sampled_from(["add", "read", "pop", "look"]), st.floats(0.5, 20)
    ),
    max_size=40,
)


@given(steps=STEPS)
@example(steps=[(0, "add", 1.0), (0, "pop", 1.0), (0, "add", 2.0)])
def test_expiry_by_definition(steps):
    """Against a plain list of deadlines, with waits that change."""
    flights, expected, now = Flights(10.0), {}, 100.0
    wall = time.time() - now
    for number, kind, seconds in steps:
        id_ = f"{number}"
        if kind == "add" and id_ not in expected:
            flights.expires = seconds
            flights.add(Decided(id=id_, arm="a"), now + flights.expires)
            expected[id_] = now + seconds
        elif kind == "read":
            event = Decided(id=id_, arm="a", time=wall + now, expires_at=wall + now + seconds)
            if flights.read(event, now):
                expected[id_] = flights.foreign[id_][1]
                assert expected[id_] <= now + seconds + GRACE + 1e-3
        elif kind == "pop":
            flights.pop(id_)
            expected.pop(id_, None)
        now += seconds / 4
        due = {id_ for id_, deadline in expected.items() if deadline <= now}
        assert {event.id for event in flights.expired(now)} == due
        assert {event.id for event in flights.expired(now)} == due  # until they are answered
    assert len(flights) == len(expected)


def test_answered_decisions_do_not_pile_up():
    flights = Flights(1e6)
    for i in range(20 * MOST_STALE_DEADLINES):
        flights.add(Decided(id=str(i), arm="a"), deadline=60.0)
        flights.pop(str(i))
    assert len(flights) == 0
    assert len(flights._deadlines) <= MOST_STALE_DEADLINES + 1
