"""Explanations: the numbers behind a choice, and the reason in words."""

from __future__ import annotations

import math
from textwrap import dedent

import msgspec
import numpy as np
import pytest
from problems import channels

from onepull import (
    DCB,
    IMED,
    AdaptiveKL,
    Discrete,
    EmpiricalKL,
    FixedArm,
    Genie,
    Greedy,
    InputError,
    Interval,
    Problem,
    Random,
    UnknownArm,
)


def two_pulled(**keywords):
    policy = DCB(channels(3), **keywords)
    policy.observe("channel-1", capacity=1)
    policy.observe("channel-2", capacity=2)
    return policy


def test_an_explanation_prints_as_a_table():
    policy = two_pulled()
    # Trial 3 with G = 3: 3·√(2.01 ln 3) = 4.4580.
    assert str(policy.explain(bits=3, eligible=["channel-1", "channel-2"])) == dedent("""\
        DCB at trial 3 with bits=3
          arm        pulls  estimate   bonus   index
          channel-1      1    1.0000  4.4580  5.4580
        → channel-2      1    2.0000  4.4580  6.4580
        × channel-3      0         –       ∞       ∞
        channel-2: highest index, among those eligible""")


def test_an_explanation_of_a_draw_points_at_no_arm():
    policy = two_pulled(seed=1)
    policy.observe("channel-3", capacity=2)
    assert str(policy.explain(bits=1)) == dedent("""\
        DCB at trial 4 with bits=1
          arm        pulls  estimate   bonus   index  chance
          channel-1      1    1.0000  1.6693  2.6693  0.3333
          channel-2      1    1.0000  1.6693  2.6693  0.3333
          channel-3      1    1.0000  1.6693  2.6693  0.3333
        a draw: highest index, a tie of channel-1, channel-2, channel-3: one is drawn""")


def test_reasons():
    policy = two_pulled()
    assert policy.explain(bits=1).reason == "never pulled"
    some = policy.explain(bits=3, eligible=["channel-2"])
    assert some.reason == "highest index, among those eligible"
    tie = policy.explain(bits=1, eligible=["channel-2", "channel-1"])
    of_them = "highest index, among those eligible, a tie of channel-1, channel-2: "
    assert tie.reason == f"{of_them}the first arm is taken"
    assert tie.arm == "channel-1"
    fresh = DCB(channels(2)).explain(bits=1)
    assert fresh.reason == "never pulled, a tie of channel-1, channel-2: the first arm is taken"
    assert fresh.trial == 1


def test_bounds_that_stop_at_the_top_go_to_the_least_pulled():
    def after(pulls, **keywords):
        policy = EmpiricalKL(channels(3), **keywords)
        for arm, count in zip(policy.problem.arms, pulls, strict=True):
            policy.observe_many([arm] * count, capacity=[7] * count)
        return policy

    tie = "highest index, a tie of channel-1, channel-2, channel-3: "
    for seed in (None, 1):
        one = after([3, 2, 4], seed=seed)
        assert (one.choose(bits=2), one.explain(bits=2).arm) == ("channel-2", "channel-2")
        assert one.explain(bits=2).reason == f"{tie}the least pulled is taken"
    two = after([3, 2, 2])
    assert (two.choose(bits=2), two.explain(bits=2).arm) == ("channel-2", "channel-2")
    assert two.explain(bits=2).reason == f"{tie}the first of the least pulled is taken"
    eligible = ["channel-1", "channel-3"]
    assert two.choose(bits=2, eligible=eligible) == "channel-3"
    drawn = after([3, 2, 2], seed=1)
    assert {drawn.choose(bits=2) for _ in range(40)} == {"channel-2", "channel-3"}  # but 2^-39
    told = drawn.explain(bits=2)
    assert (told.arm, told.reason) == (None, f"{tie}one of the least pulled is drawn")
    assert [row.chance for row in told.arms] == [0.0, 0.5, 0.5]
    assert after([2, 2, 2]).explain(bits=2).reason == f"{tie}the first arm is taken"


def test_reasons_of_the_points_of_reference():
    problem = channels(2)
    greedy = Greedy(problem)
    greedy.observe_many(["channel-1", "channel-2"], capacity=[1, 2])
    assert greedy.explain(bits=4).reason == "highest estimate"
    assert [row.bonus for row in greedy.explain(bits=4).arms] == [0.0, 0.0]
    assert FixedArm(problem, arm="channel-2").explain(bits=1).reason == (
        "channel-2 is always pulled where it can be"
    )
    random = Random(problem, seed=1).explain(bits=1)
    assert (random.arm, random.reason) == (
        None,
        "all arms are alike, a tie of channel-1, channel-2: one is drawn",
    )
    assert {(row.estimate, row.bonus) for row in random.arms} == {(None, None)}
    genie = Genie(problem, states=dict.fromkeys(problem.arms, Discrete([1], [1.0])))
    assert genie.explain(bits=1).reason.startswith("highest expected reward, a tie of")


def test_an_unpulled_arm_has_no_estimate_and_an_infinite_index():
    row = two_pulled().explain(bits=1).arms[2]
    assert (row.pulls, row.estimate, row.bonus, row.index) == (0, None, math.inf, math.inf)


def test_an_index_that_is_no_bound_is_explained():
    problem = Problem(arms=["a", "b"], state={"x": Interval(0, 1)}, reward="x")
    policy = AdaptiveKL(problem)
    assert policy.explain().note == ""
    luck = np.random.default_rng(1)
    for i in range(900):  # the arms change places every 50 trials
        high = luck.random() * 0.1
        policy.observe("ab"[i % 2], x=high + 0.9 * ((i // 50 + i) % 2))
    assert math.isfinite(policy.half_life)
    told = policy.explain()
    assert told.reason.startswith("least divergence from the best")
    assert "the less an arm diverges from the best, the higher it is; it is no bound" in told.note
    assert str(told).endswith(f"\n{told.note}")
    assert told.note in told._repr_html_()
    imed = IMED(problem)
    assert [row.bonus for row in imed.explain().arms] == [math.inf, math.inf]  # never pulled
    imed.observe_many(["a", "b"], x=[0.2, 0.7])
    told = imed.explain()
    assert told.note == "the index is the divergence with a minus, and not in units of the reward"
    assert [row.bonus for row in told.arms] == [None, None]


def test_explaining_refuses_what_choosing_refuses():
    policy = two_pulled()
    for call in (policy.choose, policy.explain):
        with pytest.raises(UnknownArm):
            call(bits=1, eligible=["wifi"])
        with pytest.raises(InputError, match="at least one arm, given none"):
            call(bits=1, eligible=[])
        with pytest.raises(InputError, match="a list of arms, given the text 'channel-1'"):
            call(bits=1, eligible="channel-1")
        with pytest.raises(InputError, match="'bits' is missing"):
            call()


def test_in_json_what_is_infinite_is_null():
    policy = DCB(channels(3))
    policy.observe("channel-1", capacity=1)
    pulled, fresh, _ = msgspec.json.decode(msgspec.json.encode(policy.explain(bits=3)))["arms"]
    assert (fresh["index"], fresh["bonus"], fresh["estimate"]) == (None, None, None)
    assert pulled["index"] == pulled["estimate"] + pulled["bonus"]
