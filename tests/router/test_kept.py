"""What a router keeps does not grow with the requests that it has answered."""

from __future__ import annotations

from typing import Any

from router_workers import overdue, quiet

from onepull import EpsilonGreedy, Interval, MemoryStore, Problem
from onepull.router.state.flights import MOST_STALE_DEADLINES
from onepull.router.state.log_counts import REMOVED
from onepull.service.views.hosted import Hosted
from onepull.store import Decided, Expired, Observed

PROBLEM = Problem(arms=["a", "b"], state={"x": Interval(0, 1)}, reward="x")


def test_answers_and_expiries_leave_nothing_behind():
    with quiet(EpsilonGreedy, PROBLEM, MemoryStore()) as router:
        for i in range(3 * MOST_STALE_DEADLINES):
            decision = router.choose()
            if i % 3:
                router.observe(decision, x=0.5)
            elif i % 100 == 0:
                overdue(router)
                router.expire()
        overdue(router)
        router.expire()
        flights = router._fold.flights
        assert len(flights) == 0
        assert len(flights._answered) == 0
        assert len(flights._deadlines) <= MOST_STALE_DEADLINES + 1


def test_arms_that_come_and_go_leave_only_a_sum_behind():
    with quiet(EpsilonGreedy, PROBLEM, MemoryStore()) as router:
        hosted = Hosted(router)
        sizes = []
        for i in range(40):
            arm = f"pod-{i:02}"
            router.add_arm(arm)
            router.choose(eligible=[arm])
            router.observe(f"own-{i}", arm=arm, x=0.5)
            router.sync()
            hosted.catch_up()
            router.remove_arm(arm)
            hosted.catch_up()
            sizes.append(len(router.state()))
        stats = router.stats()
        assert stats.decisions == {REMOVED: {"live": 40}}
        assert stats.outcomes == {REMOVED: {"observed": 40}}
        assert sizes[-1] <= sizes[10] + 10  # counts have more digits
        assert set(hosted.newest._outcomes) <= {"a", "b"}


def test_what_another_process_writes_of_a_removed_arm_is_counted_in_the_sum():
    """It may choose the arm until it has read that it is gone."""
    with quiet(EpsilonGreedy, PROBLEM, MemoryStore()) as router:
        for i in range(9):
            arm = f"pod-{i}"
            router.add_arm(arm)
            router.remove_arm(arm)
            told: dict[str, Any] = {"id": str(i), "arm": arm, "problem": router.name, "time": 1.0}
            router.store.append(
                [
                    Decided(**told),
                    Observed(**told, state={"x": 0.5}, counts=False),
                    Expired(**{**told, "id": f"other-{i}"}),
                ]
            )
            router.sync()
        stats = router.stats()
        assert stats.decisions == {REMOVED: {"live": 9}}
        assert stats.outcomes == {REMOVED: {"observed": 9, "expired": 9}}
