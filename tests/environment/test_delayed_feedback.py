"""Delays and losses: which are valid, and how they are shown."""

from __future__ import annotations

import math
import pickle

import pytest
from budgets import metered

from onepull import Discrete
from onepull.distributions import Exponential, Independent, Switching, Uniform
from onepull.environment import channel_selection
from onepull.errors import ParameterError, UnknownArm


def late(**stated):
    return channel_selection(2).with_late_feedback(**stated)


def test_without_them_feedback_is_prompt():
    prompt = channel_selection(2)
    assert not prompt.is_late
    assert "delays" not in repr(prompt)
    assert repr(late()) == repr(late(delays=0, losses=0)) == repr(prompt)
    assert not late(delays=Uniform(0, 0.9)).is_late


def test_one_for_all_or_by_arm():
    environment = late(delays={"channel 2": Exponential(5)}, losses=0.25)
    assert repr(environment.delays["channel 1"]) == "Discrete([0.0], [1.0])"
    assert repr(environment.delays["channel 2"]) == "Exponential(mean=5)"
    assert environment.losses == {"channel 1": 0.25, "channel 2": 0.25}
    assert environment.is_late


def test_they_are_shown_and_travel():
    environment = late(delays=3, losses={"channel 1": 0.5})
    shown = (
        ", delays={'channel 1': Discrete([3.0], [1.0]), 'channel 2': Discrete([3.0], [1.0])}, "
        "losses={'channel 1': 0.5, 'channel 2': 0.0})"
    )
    assert repr(environment).endswith(shown)
    assert repr(pickle.loads(pickle.dumps(environment))) == repr(environment)  # noqa: S301 - our own


def test_a_budget_needs_feedback_at_once():
    world = metered(5.0, contexts=2)
    assert repr(world.with_late_feedback(delays=0)) == repr(world)
    with pytest.raises(ParameterError, match="a budget needs feedback at once"):
        world.with_late_feedback(losses=0.1)


@pytest.mark.parametrize(
    ("stated", "error", "words"),
    [
        ({"delays": -1}, ParameterError, "the delay of 'channel 1' must be 0 or more, given -1"),
        ({"delays": math.nan}, ParameterError, "delay|nan"),
        ({"delays": math.inf}, ParameterError, "delay|inf"),
        ({"delays": "3"}, ParameterError, "must be a law or a number of trials, given '3'"),
        ({"delays": Uniform(-1, 3)}, ParameterError, "must be 0 or more"),
        ({"delays": {"channel 9": 1}}, UnknownArm, "'channel 9' among the delays"),
        (
            {"delays": Independent(Uniform(0, 1), Uniform(0, 1))},
            ParameterError,
            "a law of one number",
        ),
        (
            {"delays": Switching({0: Discrete([1], [1]), 9: Discrete([2], [1])})},
            ParameterError,
            "never switches",
        ),
        ({"losses": 1.1}, ParameterError, "the loss of 'channel 1' must be a probability"),
        ({"losses": math.nan}, ParameterError, "must be a probability"),
        ({"losses": "0.1"}, ParameterError, "must be a probability"),
        ({"losses": {"channel 9": 0.1}}, UnknownArm, "'channel 9' among the losses"),
    ],
)
def test_what_is_wrong_is_named(stated, error, words):
    with pytest.raises(error, match=words):
        late(**stated)
