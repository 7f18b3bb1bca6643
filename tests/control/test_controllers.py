"""Decisions against values worked out by hand, limits of the weight, and every policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onepull import (
    DCB,
    DSEE,
    IMED,
    KLUCB,
    UCB1,
    DirichletThompson,
    Discrete,
    EmpiricalKL,
    EpsilonGreedy,
    Finite,
    FixedArm,
    Genie,
    Greedy,
    MultiUCB,
    Problem,
    Random,
    UpperConfidence,
)
from onepull.control import (
    Backlog,
    Battery,
    BatteryPlan,
    DriftPlusPenalty,
    Myopic,
    Planned,
    SlotChoice,
)
from onepull.errors import InputError, ParameterError, UnknownArm

POWERS = [1.0, 2.0, 3.0]
PROBLEM = Problem(
    arms=["steady", "risky"],
    context={"power": Finite(POWERS)},
    state={"gain": Finite([0, 1, 4])},
    reward="log(1 + power * gain)",
)
STATES = {"steady": Discrete([1], [1.0]), "risky": Discrete([0, 4], [0.5, 0.5])}
CHANNELS = Problem(
    arms=["cheap", "dear"],
    context={"bits": Finite([1, 2, 3, 4])},
    state={"capacity": Finite([0, 1, 4])},
    reward="min(bits, capacity)",
)
CAPACITIES = {"cheap": Discrete([0, 1], [0.5, 0.5]), "dear": Discrete([0, 4], [0.25, 0.75])}
COSTS = {"cheap": 0.25, "dear": 1.0}
GENIE = Genie(PROBLEM, states=STATES)


def battery(capacity=6.0):
    return Battery(capacity=capacity, amounts=POWERS)


def backlog():
    return Backlog(capacity=50, amounts=[1, 2, 3, 4], costs=COSTS)


def mean(power, arm):
    return STATES[arm].expectation(lambda gain: np.log(1 + power * gain))


@pytest.mark.parametrize("weight", [0.5, 2.0, 5.0, 20.0])
@pytest.mark.parametrize("level", [0.0, 0.5, 1.0, 2.5, 4.0, 6.0])
def test_a_battery_by_its_definition(weight, level):
    pairs = [(p, arm) for p in POWERS for arm in PROBLEM.arms]
    target = weight * max(mean(p, arm) / p for p, arm in pairs)
    scores = {
        (p, arm): weight * mean(p, arm) + (level - target) * p for p, arm in pairs if p <= level
    }
    best = max(scores.items(), key=lambda item: item[1], default=(None, 0.0))
    expected = SlotChoice(*best[0]) if best[0] and best[1] > 0 else SlotChoice(0.0, None)
    assert DriftPlusPenalty(GENIE, battery(), weight=weight).decide(level) == expected


def test_a_backlog_by_hand():
    control = DriftPlusPenalty(Genie(CHANNELS, states=CAPACITIES), backlog(), weight=12.0)
    # Means with 1 to 4 bits: cheap 1/2, dear 3/4 of the bits.  The cheapest bit costs 1/3 (dear,
    # with four at once), so θ = -4 and the scores are (L + 4)·mean - 12·cost.
    # L=1: 2.5 - 3 and 3.75 - 12; L=3: 3.5 - 3 and 15.75 - 12; L=4: 4 - 3 and 24 - 12.
    assert [control.decide(level).arm for level in (0, 1, 2, 3, 4)] == [
        None, None, None, "dear", "dear",
    ]  # fmt: skip
    assert control.decide(30) == SlotChoice(4.0, "dear")


def test_hardly_any_weight_is_ignoring_the_buffer():
    for level in (0.0, 1.0, 2.0, 3.5, 6.0):
        small = DriftPlusPenalty(GENIE, battery(), weight=1e-9).decide(level)
        assert small == Myopic(GENIE, battery()).decide(level)
    channels = Genie(CHANNELS, states=CAPACITIES)
    for level in range(8):
        small = DriftPlusPenalty(channels, backlog(), weight=1e-9).decide(level)
        assert small == Myopic(channels, backlog()).decide(level)


def test_a_great_weight_makes_the_most_of_every_unit():
    control = DriftPlusPenalty(GENIE, battery(), weight=1e9)
    thriftiest = max(POWERS, key=lambda p: max(mean(p, arm) for arm in PROBLEM.arms) / p)
    assert {control.decide(level).amount for level in (1.0, 3.0, 6.0)} == {thriftiest}
    queue = DriftPlusPenalty(Genie(CHANNELS, states=CAPACITIES), backlog(), weight=1e9)
    assert [queue.decide(level).arm for level in (1, 3, 4, 50)] == [None, None, "dear", "dear"]


def test_more_is_spent_the_fuller_the_battery():
    control = DriftPlusPenalty(GENIE, battery(), weight=4.0)
    spent = [control.decide(level).amount for level in np.linspace(0, 6, 25)]
    assert spent == sorted(spent)
    assert len(set(spent)) == 4


def test_ignoring_the_queue_at_a_price():
    channels = Genie(CHANNELS, states=CAPACITIES)
    assert Myopic(channels, backlog()).decide(1) == SlotChoice(1.0, "dear")
    assert Myopic(channels, backlog(), price=1.0).decide(1) == SlotChoice(1.0, "cheap")
    assert Myopic(channels, backlog(), price=1.0).decide(4) == SlotChoice(4.0, "dear")
    assert Myopic(channels, backlog(), price=9.0).decide(4) == SlotChoice(0.0, None)


POLICIES = {
    "DCB": DCB,
    "UpperConfidence": UpperConfidence,
    "MultiUCB": MultiUCB,
    "UCB1": UCB1,
    "Greedy": Greedy,
    "EmpiricalKL": EmpiricalKL,
    "KLUCB": KLUCB,
    "IMED": IMED,
    "EpsilonGreedy": lambda problem: EpsilonGreedy(problem, seed=1),
    "DirichletThompson": lambda problem: DirichletThompson(problem, seed=1),
    "DSEE": DSEE,
    "histogram": lambda problem: UpperConfidence(problem, sharing="histogram"),
}


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("kind", [DriftPlusPenalty, Myopic, BatteryPlan])
def test_any_policy_never_spends_more_than_there_is(make, kind):
    told: dict[Any, Any] = {
        DriftPlusPenalty: {"weight": 2.0},
        Myopic: {},
        BatteryPlan: {"arrivals": Discrete([0, 2], [0.5, 0.5])},
    }
    control = kind(make(PROBLEM), battery(), **told[kind])
    generator, level, pulls = np.random.default_rng(1), 0.0, 0
    for _ in range(60):
        amount, arm = control.decide(level)
        assert amount <= level
        assert (arm is None) == (amount == 0.0)
        if arm is not None:
            gain = float(STATES[arm].sample(generator, 1)[0, 0])
            control.observe(arm, power=amount, gain=gain)
            pulls += 1
        level, _ = control.buffer.refilled(level, amount, 2.0 * generator.integers(2))
    assert control.policy.trials == pulls > 10


def test_an_arm_never_pulled_is_worth_the_most_there_can_be():
    control = DriftPlusPenalty(DCB(PROBLEM), battery(), weight=1.0)
    top = [PROBLEM.payoff(power=p, gain=4) for p in POWERS]
    assert [control.worth(p) for p in POWERS] == pytest.approx(top)
    assert [arm for arm, _ in control.options(2.0)] == ["steady", "risky"]
    assert [worth for _, worth in control.options(2.0)] == pytest.approx([top[1]] * 2)


def test_what_was_learned_is_used_at_once():
    control = Myopic(Greedy(PROBLEM), battery())
    for arm, gain in (("steady", 1), ("risky", 0)):
        control.observe(arm, gain=gain)
    assert control.decide(3.0) == SlotChoice(3.0, "steady")
    for _ in range(9):
        control.observe("risky", gain=4)
    assert control.decide(3.0) == SlotChoice(3.0, "risky")


def test_deciding_changes_nothing_that_was_learned():
    control = DriftPlusPenalty(DCB(PROBLEM), battery(), weight=1.0)
    control.observe("steady", gain=1)
    before = control.policy.to_bytes()
    assert control.decide(3.0) == control.decide(3.0)
    assert control.policy.to_bytes() == before


@pytest.mark.parametrize(
    "policy", [Random(PROBLEM, seed=1), FixedArm(PROBLEM, arm="risky")], ids=["Random", "FixedArm"]
)
def test_a_policy_without_estimates_is_refused(policy):
    with pytest.raises(ParameterError, match="does not estimate what an arm is worth"):
        DriftPlusPenalty(policy, battery(), weight=1.0)


@pytest.mark.parametrize("level", [float("nan"), float("inf"), -1e-3, -1, 6.001, "3", None, True])
@pytest.mark.parametrize(
    "control",
    [
        Myopic(GENIE, battery()),
        DriftPlusPenalty(GENIE, battery(), weight=2.0),
        BatteryPlan(GENIE, battery(), arrivals=Discrete([0, 2], [0.5, 0.5])),
    ],
    ids=lambda control: type(control).__name__,
)
def test_a_level_that_cannot_be_is_refused(control, level):
    with pytest.raises(InputError, match="level must be a number from 0 to the capacity, 6, given"):
        control.decide(level)


def test_a_level_may_be_off_by_rounding():
    control = Myopic(GENIE, battery())
    assert control.decide(0.3 - 0.1 - 0.1 - 0.1) == SlotChoice(0.0, None)  # -2.8e-17
    assert control.decide(6.0 + 1e-12) == control.decide(6) == control.decide(np.float64(6))


def build_any(kind: Any, *given: Any, **named: Any) -> Any:
    """Build with arguments of the wrong type, hidden from mypy."""
    return kind(*given, **named)


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: build_any(Myopic, PROBLEM, battery()), "needs a policy, such as DCB"),
        (lambda: build_any(Myopic, GENIE, 3.0), "needs a Battery or a Backlog, given 3.0"),
        (
            lambda: build_any(BatteryPlan, GENIE, battery(), arrivals={0: 0.5, 2: 0.5}),
            "arrivals must be a law",
        ),
        (
            lambda: build_any(BatteryPlan, GENIE, battery(), arrivals=[0, 2]),
            "arrivals must be a law",
        ),
        (
            lambda: build_any(
                BatteryPlan, GENIE, battery(), arrivals=Discrete([-1, 2], [0.5, 0.5])
            ),
            "amount goes from -1 to 2",
        ),
        (
            lambda: build_any(
                BatteryPlan, GENIE, battery(), arrivals=Discrete([[0, 1], [2, 1]], [0.5, 0.5])
            ),
            "need 1 field",
        ),
        (
            lambda: build_any(Planned, GENIE, battery(), "spend all"),
            "plan must be a LevelPlan",
        ),
        (
            lambda: build_any(Battery, capacity=6, amounts=1.0),
            "must be a list of numbers from small to large",
        ),
        (lambda: build_any(Backlog, capacity=6, amounts=[1], costs=[1]), "costs are given by arm"),
        (lambda: build_any(Myopic, GENIE, battery(), price="1"), "price must be a number >= 0"),
        (
            lambda: build_any(DriftPlusPenalty, GENIE, battery(), weight=[1]),
            "weight must be a number > 0",
        ),
    ],
)
def test_a_wrong_type_is_refused(build, told):
    with pytest.raises(ParameterError, match=told):
        build()


def test_what_does_not_fit_is_refused():
    with pytest.raises(ParameterError, match="power"):
        Myopic(DCB(PROBLEM), Battery(capacity=6, amounts=[1.5]))
    with pytest.raises(UnknownArm, match="'wifi' among the costs"):
        Myopic(DCB(PROBLEM), Backlog(capacity=6, amounts=[1], costs={"wifi": 1}))
    with pytest.raises(ParameterError, match="needs a Battery, given Backlog"):
        BatteryPlan(DCB(CHANNELS), backlog(), arrivals=Discrete([0, 1], [0.5, 0.5]))
    with pytest.raises(ParameterError, match="weight must be a number > 0"):
        DriftPlusPenalty(DCB(PROBLEM), battery(), weight=0.0)
    two = Problem(
        arms=["a"],
        context={"y": Finite([1]), "z": Finite([1])},
        state={"x": Finite([0, 1])},
        reward="x * y * z",
    )
    with pytest.raises(ParameterError, match="one context field, the amount; given y, z"):
        Myopic(DCB(two), Battery(capacity=6, amounts=[1]))
