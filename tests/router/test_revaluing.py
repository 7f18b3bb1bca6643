"""What merged states cannot tell is refused, unless an error is accepted for it."""

import numpy as np
import pytest
from router_workers import quiet

from onepull import DCB, Interval, MemoryStore, ParameterError, Problem, Router, recommended
from onepull.store import Control, Defined, Observed

PROBLEM = Problem(
    arms={"a": {"fine": 0}},
    state={"delay": Interval(0, 1)},
    reward="fine * (floor(50 * delay) % 2)",
    failure=-1,
)
DELAYS = np.random.default_rng(3).random(3000).tolist()


def refused(router):
    return router.stats().refused


def test_an_error_is_accepted_for_all_workers_and_restarts():
    store = MemoryStore()
    with quiet("recommended", PROBLEM, store) as one, quiet("recommended", PROBLEM, store) as two:
        for i, delay in enumerate(DELAYS):
            one.observe(str(i), arm="a", delay=delay)
        with pytest.raises(ParameterError, match="Pass error="):
            one.set_attributes("a", fine=1)
        with pytest.raises(ParameterError, match="Pass error="):
            one.set_reward("floor(50 * delay) % 2")
        assert not [event for event in one.log() if isinstance(event, Control)]
        one.set_attributes("a", fine=1, error=1)
        one.set_reward("floor(50 * delay) % 2 - fine", failure="-7", error=1)
        two.sync()
        assert refused(one) == refused(two) == 0
        assert two.problem.attributes["a"]["fine"] == 1
        assert two.problem.failure == "-7"
        assert one.policy().to_bytes() == two.policy().to_bytes()
    with quiet("recommended", PROBLEM, store) as again:
        assert again.policy().to_bytes() == two.policy().to_bytes()


@pytest.mark.parametrize("error", [-1, float("nan"), "much"])
def test_an_error_that_cannot_be_accepted_is_not_written(error):
    with quiet("recommended", PROBLEM, None) as router:
        for change in (
            lambda: router.set_attributes("a", fine=1, error=error),
            lambda: router.set_reward("delay", error=error),
        ):
            with pytest.raises(ParameterError, match="error must be a number >= 0"):
                change()
        assert not [event for event in router.log() if isinstance(event, Control)]


def test_a_definition_that_has_changed_takes_an_error_too():
    store = MemoryStore()
    with quiet("recommended", PROBLEM, store) as one:
        for i, delay in enumerate(DELAYS):
            one.observe(str(i), arm="a", delay=delay)
    dearer = PROBLEM.with_arms({"a": {"fine": 1}})
    with pytest.raises(ParameterError, match="Pass error="):
        quiet("recommended", dearer, store)
    with pytest.raises(ParameterError, match="error must be a number >= 0"):
        quiet("recommended", dearer, store, error=-1)
    with quiet("recommended", dearer, store, error=1) as two:
        assert two.policy().trials == 3000
        assert two.problem.attributes["a"]["fine"] == 1
        assert str(two.redefinition) == "changed: the arms; all 3,000 outcomes were kept"
    with quiet("recommended", dearer, store) as again:
        assert again.policy().to_bytes() == two.policy().to_bytes()


OTHER = "floor(50 * delay) % 2 - fine"


def learned(problem, router, build=recommended):
    """Return a policy that has learned the states of its arms in a log, from the first on."""
    policy = build(problem)
    for event in router.log():
        if isinstance(event, Observed) and event.arm in problem.arms:
            policy.observe(event.arm, **event.context, **(event.state or {}))
    return policy


def test_all_outcomes_are_learned_again_with_another_reward():
    store = MemoryStore()
    problem = PROBLEM.with_arms({"a": {"fine": 0}, "b": {"fine": 2}, "c": {"fine": 1}})
    with quiet("recommended", problem, store) as one, quiet("recommended", problem, store) as two:
        for i, delay in enumerate(DELAYS):
            one.observe(str(i), arm="abc"[i % 7 % 3], delay=delay)
        one.remove_arm("c")
        one.pause("b")
        with pytest.raises(ParameterError, match="or pass relearn=True to learn all outcomes"):
            one.set_reward(OTHER)
        one.set_reward(OTHER, failure=-5, relearn=True, by="ada")
        two.observe("later", arm="a", delay=0.5)
        one.sync()
        present = problem.with_arms(["a", "b"])
        expected = learned(present.with_reward(OTHER, failure=-5), one)
        expected.pause("b")
        assert one.policy().to_bytes() == two.policy().to_bytes() == expected.to_bytes()
        written = [event for event in one.log() if isinstance(event, Defined)][-1]
        assert (written.reward, written.by) == (OTHER, "ada")
        assert refused(one) == 0
    with quiet("recommended", problem, store) as again:
        assert again.redefinition is None
        assert again.problem.reward.source == OTHER
        assert again.policy().to_bytes() == one.policy().to_bytes()


def test_what_comes_while_outcomes_are_learned_again_is_not_lost(monkeypatch):
    with quiet("recommended", PROBLEM, MemoryStore()) as router:
        for i, delay in enumerate(DELAYS[:1000]):
            router.observe(str(i), arm="a", delay=delay)
        relearned = Router._relearned

        def meanwhile(self, *given, **named):
            found = relearned(self, *given, **named)
            router.observe("meanwhile", arm="a", delay=0.25)
            return found

        monkeypatch.setattr(Router, "_relearned", meanwhile)
        router.set_reward(OTHER, relearn=True)
        expected = learned(PROBLEM.with_reward(OTHER), router)
        assert router.policy().to_bytes() == expected.to_bytes()
        assert expected.trials == 1001


def test_a_policy_without_states_learns_again_from_the_log():
    problem = Problem(arms=["a", "b"], state={"delay": Interval(0, 1)}, reward="1 - delay")
    with quiet(DCB, problem, MemoryStore()) as router:
        router.observe("one", arm="b", delay=0.3)
        with pytest.raises(ParameterError, match=r"stores rewards, not states.*or pass relearn"):
            router.set_reward("delay")
        router.set_reward("delay", relearn=True)
        expected = learned(problem.with_reward("delay"), router, DCB)
        assert router.policy().to_bytes() == expected.to_bytes()


def test_what_cannot_be_learned_again_is_refused_and_changes_nothing():
    def refuse(said, **given):
        before = router.state()
        with pytest.raises(ParameterError, match=said):
            router.set_reward("2 * delay", **{"relearn": True, **given})
        router.sync()
        assert router.state() == before

    problem = Problem(arms=["a", "b"], state={"delay": Interval(0, 1)}, reward="delay")
    with quiet("recommended", problem, MemoryStore(), keep=0) as router:
        router.observe("one", arm="a", delay=0.5)
        refuse("pass relearn or error, not both", error=1)
        refuse("relearn must be True or False", relearn="yes")
        refuse("pulls of this problem do not fail", failure=-1)
        router.observe("two", arm="a", reward=0.25)
        refuse("only 1 of 2 outcomes can be learned again")
        router.snapshot()  # which deletes what came before
        refuse("first events of the log of 'default' are deleted")


def priced(first, second):
    return Problem(
        arms={"a": {"tier": first}, "b": {"tier": second}},
        state={"delay": Interval(0, 1)},
        reward="-delay",
    )


def test_attributes_of_several_arms_change_at_once():
    """One after another they would be words and numbers together, and take long with many arms."""
    store = MemoryStore()
    with quiet("recommended", priced(1, 2), store) as router:
        router.observe("one", arm="b", delay=0.5)
    with quiet("recommended", priced("gold", "plain"), store) as router:
        assert router.problem.attributes == {"a": {"tier": "gold"}, "b": {"tier": "plain"}}
        assert router.policy().estimates()[1] == -0.5


def test_an_arm_that_was_removed_stays_so_if_its_attributes_change():
    store = MemoryStore()
    with quiet("recommended", priced(1, 2), store) as router:
        router.remove_arm("a")
    with quiet("recommended", priced(3, 4), store) as router:
        assert router.problem.attributes == {"b": {"tier": 4}}
