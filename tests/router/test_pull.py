"""`with router.pull(…)`: what is recorded, whatever becomes of the block."""

from __future__ import annotations

import pytest
from problems import channels
from router_workers import quiet

from onepull import DCB, ConflictError, InputError, StateError
from onepull.store import Decided, GaveUp, Observed


def kinds(router):
    router.store.flush()
    return [type(event) for event in router.log(after=1)]  # the first defines the problem


def test_a_pull_is_a_decision_with_its_id_and_key():
    with quiet(DCB, channels(3), None) as router:
        with router.pull(id="order 7", key="session 1", bits=3) as pull:
            assert (pull.id, pull.arm, pull.context) == ("order 7", "channel-1", {"bits": 3})
            assert router.stats().in_flight == 1
            receipt = pull.observe(capacity=2)
        assert (receipt.learned, receipt.late) == (True, False)
        assert kinds(router) == [Decided, Observed]
        assert pull.observe(capacity=2).duplicate  # as a router takes it
        with pytest.raises(ConflictError):
            pull.observe(capacity=3)
        assert router.choose(key="session 1", bits=1).arm == "channel-1"


def test_what_is_given_up_can_still_be_answered():
    with quiet(DCB, channels(3), None) as router:
        with pytest.raises(StateError) as caught, router.pull(bits=3) as pull:
            pull.observe(capacity=99)
        assert "the pull of 'channel-1' was given up" in caught.value.__notes__[0]
        assert (kinds(router), router.stats().in_flight) == ([Decided, GaveUp], 0)
        receipt = pull.observe(capacity=2)
        assert (receipt.learned, receipt.late) == (True, True)


def closed_in_a_block(work):
    """Let a block close the router, so that the pull cannot be given up; return its error."""
    router = quiet(DCB, channels(3), None)

    def block():
        with router.pull(bits=3) as pull:
            try:
                work(pull)
            finally:
                router.close()

    with pytest.raises(BaseException) as caught:  # noqa: PT011 - it is looked at
        block()
    return caught.value


def test_an_error_of_the_block_is_not_replaced():
    def interrupted(_):
        raise KeyboardInterrupt

    assert isinstance(closed_in_a_block(interrupted), KeyboardInterrupt)
    refused = closed_in_a_block(lambda pull: pull.observe(capacity=99))
    assert isinstance(refused, StateError)
    assert not hasattr(refused, "__notes__")  # it was not given up


def test_a_pull_is_begun_once():
    with quiet(DCB, channels(3), None) as router:
        pull = router.pull(bits=3)
        with pytest.raises(InputError, match="has no arm yet"):
            pull.observe(capacity=1)
        with pull:
            pull.give_up()
        assert kinds(router) == [Decided, GaveUp]  # and not a second time at the end
        with pytest.raises(InputError, match="was begun before"), pull:
            pass
