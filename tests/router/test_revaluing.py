"""What merged states cannot tell is refused, unless an error is accepted for it."""

import numpy as np
import pytest
from router_workers import quiet

from onepull import Interval, MemoryStore, ParameterError, Problem

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
        assert not [event for event in one.log() if hasattr(event, "by")]
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
        assert not [event for event in router.log() if hasattr(event, "by")]


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
