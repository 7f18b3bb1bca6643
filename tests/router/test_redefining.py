"""A log that is opened with another problem: which of the changes is the newest one."""

from math import inf

import pytest

from onepull import Interval, Problem, Router
from onepull.errors import ParameterError

REWARD = "-first - 0.001 * price * tokens"


def priced(price=1.0, *, most=4000, reward=REWARD, failure=-30.0, **context):
    return Problem(
        arms={"a": {"price": price}, "b": {"price": 2.0}},
        context={"tokens": Interval(1, most), **context},
        state={"first": Interval(0, inf)},
        reward=reward,
        failure=failure,
    )


@pytest.fixture
def path(tmp_path):
    """A log with twenty outcomes."""
    path = tmp_path / "router.db"
    with Router(priced(), store=path) as router:
        for i in range(20):
            router.observe(router.choose(tokens=5 + i), first=1.0)
    return path


def present(path, problem, **stated):
    """Open the log with a problem; return what it has become, and what is said about it."""
    with Router(problem, store=path, **stated) as router:
        return router.problem, str(router.redefinition)


def test_a_newer_file_beats_an_older_change_at_run_time_also_when_all_is_learned_again(path):
    with Router(priced(), store=path) as router:
        router.set_attributes("a", price=5.0)
        router.set_reward("-2 * first", failure=-60)
    assert present(path, priced())[0].attributes["a"] == {"price": 5.0}
    file = {"reward": "-3 * first", "failure": -90.0}
    for most in (4000, 8000):  # the first needs no learning again but for the failure
        problem, said = present(path, priced(7.0, most=most, **file))
        assert problem.attributes["a"] == {"price": 7.0}
        assert (str(problem.reward), problem.failure) == (str(priced(**file).reward), -90.0)
        assert "all 20 outcomes were kept" in said


def test_a_change_at_run_time_stays_when_something_else_of_the_file_changes(path):
    with Router(priced(), store=path) as router:
        router.set_attributes("a", price=5.0)
        router.set_reward("-2 * first", failure=-60)
        router.add_arm("c", price=1.0)
        router.observe("one", arm="c", first=2.0, tokens=7)
        router.set_attributes("c", price=4.0)
        router.remove_arm("b")
    problem, _ = present(path, priced(most=8000))
    assert problem.attributes == {"a": {"price": 5.0}, "c": {"price": 4.0}}
    assert (str(problem.reward), problem.failure) == (str(priced(reward="-2 * first").reward), -60)
    with Router(priced(most=8000), store=path) as router:
        stats = router.stats()
        assert [(arm.arm, arm.pulls > 0) for arm in stats.policy.arms] == [("a", True), ("c", True)]


def test_what_is_learned_again_is_what_the_present_reward_says(path):
    with Router(priced(), store=path) as router:
        router.set_reward("-2 * first")
    with Router(priced(most=8000), store=path) as router:
        assert router._fold.policy.estimates(tokens=10) == pytest.approx([-2.0, -2.0])


@pytest.mark.parametrize("most", [8000, 9000])  # the other context learns all again
def test_a_mode_that_was_set_at_run_time_stays_with_another_fallback(path, most):
    with Router(priced(most=8000), store=path, fallback="a") as router:
        router.set_mode("off")
    with Router(priced(most=most), store=path, fallback="b") as router:
        decision = router.choose(tokens=3)
        assert (decision.mode, decision.arm) == ("off", "b")
    # Without a fallback there is no such mode.
    with Router(priced(most=most), store=path) as router:
        assert router.choose(tokens=3).mode == "live"


def test_another_mode_is_taken_with_another_context(path):
    with Router(priced(most=8000), store=path, mode="shadow", fallback="b") as router:
        assert router.choose(tokens=3).mode == "shadow"
    with Router(priced(most=9000), store=path, mode="shadow", fallback="b") as router:
        assert router.choose(tokens=3).arm == "b"


def test_changes_at_run_time_that_do_not_fit_are_named_or_dropped(path):
    with Router(priced(), store=path) as router:
        router.add_arm("c", price=1.0)
    other = Problem(
        arms={"a": {"cost": 1.0}, "b": {"cost": 2.0}},
        context={"tokens": Interval(1, 5000)},
        state={"first": Interval(0, inf)},
        reward="-first - cost",
        failure=-30.0,
    )
    with pytest.raises(ParameterError, match=r"changed at run time.*arm 'c'.*`redefine`"):
        Router(other, store=path)
    assert present(path, other, redefine=True)[0].arms == ("a", "b")


def test_most_outcomes_must_be_kept(path):
    with Router(priced(), store=path) as router:
        router.observe("one", arm="a", first=1.0, tokens=2)
    with pytest.raises(
        ParameterError, match=r"only 1 of its 21 outcomes could be kept.*`redefine`"
    ):
        Router(priced(most=3), store=path)
    problem, said = present(path, priced(most=3), redefine=True)
    assert problem.context["tokens"].high == 3
    assert said == "changed: the context; 1 of 21 outcomes were kept"
    assert present(path, priced())[1] == (
        "changed: the context; all 1 outcomes were kept, and 20 earlier ones were learned again"
    )


def test_a_decision_does_not_wait_for_an_answer_that_came_before_it(path):
    with Router(priced(), store=path) as router:
        router.observe("early", arm="b", first=1.0, tokens=9)  # a client used its fallback
        assert router.choose(id="early", tokens=9).id == "early"
        assert router.stats().in_flight == 0
