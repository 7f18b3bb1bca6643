"""Traffic over time: counted as the log says, in memory of a fixed size."""

import pickle
import time
from typing import Any

import numpy as np
import pytest

from onepull import Interval, Problem, Router
from onepull.service.views.hosted import Hosted
from onepull.service.views.timeline import LEVELS, MOST_COUNTED_ARMS, OTHERS, Timeline
from onepull.store import Decided, Expired, Failed, Observed

DAY = 86_400.0


def problem(*arms):
    return Problem(arms=arms, state={"x": Interval(0, 1)}, reward="2 * x", failure=-1)


def decided(arm, moment):
    return Decided(id="", arm=arm, time=moment)


def total(columns, arm):
    return sum(counts.decisions for counts in columns.get(arm, []) if counts)


@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_columns_are_what_is_counted_by_hand(level):
    rng = np.random.default_rng(level)
    width, kept = LEVELS[level]
    start, columns, wide = 1_800_000_000, 20, 3 * width
    timeline = Timeline(problem("a", "b"))
    moments = np.sort(start + rng.uniform(0, columns * wide, 500)).tolist()
    moments[100:200] = moments[199:99:-1]  # several workers write, so times are not in order
    told: list[Any] = []
    for moment in moments:
        arm, x = "ab"[rng.integers(2)], float(rng.random())
        event = [
            decided(arm, moment),
            Observed(id="", arm=arm, state={"x": x}, time=moment),
            Failed(id="", arm=arm, time=moment),
            Expired(id="", arm=arm, time=moment),
        ][rng.integers(4)]
        timeline.fold(event)
        told.append(event)
    found = timeline.columns(level, start, wide, columns)
    for arm in "ab":
        for i, counts in enumerate(found[arm]):
            here = [e for e in told if e.arm == arm and (e.time - start) // wide == i]
            if counts is None:
                assert not here
                continue
            kinds = [type(event) for event in here]
            assert counts.decisions == kinds.count(Decided)
            assert counts.observations == kinds.count(Observed) + kinds.count(Failed)
            assert (counts.failures, counts.expired) == (kinds.count(Failed), kinds.count(Expired))
            earned: list[Any] = [
                2 * (event.state or {})["x"] for event in here if type(event) is Observed
            ]
            earned += [-1.0] * kinds.count(Failed)
            assert counts.rewards == len(earned)
            assert counts.reward == pytest.approx(sum(earned))
    assert kept >= columns * 3


def test_what_is_kept_does_not_grow_with_time():
    timeline = Timeline(problem("a", "b"))

    def live(first, days):
        for minute in range(int(days * 1440)):
            for arm in "ab":
                timeline.fold(decided(arm, first + 60.0 * minute))
        timeline.columns(0, first, 1, 1)
        return len(pickle.dumps([vars(timeline)[name] for name in ("_levels", "_last")]))

    assert live(0.0, 1) == live(DAY, 40)


def test_an_old_bucket_gives_its_place_to_a_new_one():
    timeline = Timeline(problem("a"))
    for tenth in range(40 * 144):
        timeline.fold(decided("a", 600.0 * tenth))
    assert total(timeline.columns(2, 10 * DAY, 600, 30 * 144), "a") == 30 * 144
    assert total(timeline.columns(2, 0.0, 600, 100), "a") == 0
    timeline.fold(decided("a", 0.0))  # too long ago
    assert total(timeline.columns(2, 0.0, 600, 1), "a") == 0


def test_a_clock_that_was_ahead_leaves_no_gap():
    timeline = Timeline(problem("a"))
    now = time.time() // 600 * 600
    for second in range(2000):
        timeline.fold(decided("a", now + 365 * DAY + second))
    for second in range(600):
        timeline.fold(decided("a", now - 600 + second))
    assert total(timeline.columns(0, now - 600, 1, 600), "a") == 600
    assert total(timeline.columns(2, now - 600, 600, 1), "a") == 600


def test_many_arms_are_counted_together_and_those_that_are_gone_make_room():
    names = [f"arm{i}" for i in range(MOST_COUNTED_ARMS + 5)]
    timeline = Timeline(problem(*names))
    for name in names:
        timeline.fold(decided(name, 1000.0))
    found = timeline.columns(0, 1000, 1, 1)
    assert len(found) == MOST_COUNTED_ARMS + 1
    assert total(found, OTHERS) == 5
    timeline.switch(problem(*names[1:], "new"))
    timeline.fold(decided("new", 1001.0))
    found = timeline.columns(0, 1000, 1, 2)
    assert total(found, "new") == 1
    assert names[0] not in found
    assert total(found, OTHERS) == 6


class Unsearched(tuple[str, ...]):
    """Names of arms that nothing may look through for each event."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        raise AssertionError(f"all arms are looked through for {name}")

    def index(self, *_: Any) -> int:
        raise AssertionError("all arms are looked through")


def test_an_event_takes_as_long_with_many_arms():
    names = [f"arm{i}" for i in range(MOST_COUNTED_ARMS + 5)]
    many = problem(*names)
    object.__setattr__(many, "arms", Unsearched(names))
    timeline = Timeline(many)
    for name in names:
        timeline.fold(Observed(id="", arm=name, state={"x": 0.5}, time=1000.0))
        timeline.fold(Failed(id="", arm=name, time=1000.0))
    found = timeline.columns(0, 1000, 1, 1)
    assert [counts and counts.reward for counts in found[names[0]]] == [1.0 - 1.0]
    assert [counts and counts.rewards for counts in found[OTHERS]] == [10]


@pytest.mark.parametrize("seconds", [60, 900, 901, 86_400, 2_592_000])
@pytest.mark.parametrize("most", [10, 300])
def test_every_span_has_all_decisions(seconds, most):
    with Router(problem("a"), policy="EpsilonGreedy") as router:
        hosted = Hosted(router)
        for _ in range(7):
            router.choose()
        router.store.flush()
        router.sync()
        told = hosted.span(seconds, most)
    assert sum(told.arms["a"].decisions[-2:]) == 7
    assert len(told.arms["a"].decisions) <= most + 1
    assert told.width * len(told.arms["a"].decisions) >= seconds
