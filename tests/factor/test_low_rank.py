"""Low rank: a few pivots, an error that is measured, and refusals where there are no few."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import mixed

from onepull import Finite, Interval, ParameterError, Problem, UpperConfidence
from onepull.factor import LowRank
from onepull.factor.context_ranges import Ranges


def problem(context, state, reward):
    return Problem(arms=["a", "b"], context=context, state=state, reward=reward)


def harvesting(high=4):
    return problem({"power": Interval(0, 1)}, {"gain": Interval(0, high)}, "log(1 + power * gain)")


def offloading():
    return problem(
        {"megabytes": Interval(1, 512), "work": Interval(1e3, 1e5)},
        {"rate": Interval(50, 200), "speed": Interval(7000, 9000)},
        "-(megabytes / rate + work / speed)",
    )


CASES = {
    "log": harvesting(),
    "log, wide": harvesting(100),
    "offloading": offloading(),
    "finite states": problem(
        {"y": Interval(-1, 4)}, {"x": Finite([0, 1, 2.5])}, "min(y, x) - 2 * (x >= y)"
    ),
    "finite contexts": problem({"y": Finite([1, 2])}, {"x": Interval(0, 4)}, "(x >= y) - x"),
    "mixed": problem(
        {"weight": Finite([-1, 2]), "size": Interval(0, 3)},
        {"speed": Finite([1, 2, 4]), "load": Interval(0, 1)},
        "exp(-size * load) * weight - sqrt(speed * size)",
    ),
    "three by two": problem(
        {"a": Interval(0, 1), "b": Interval(0, 1), "c": Interval(-1, 1)},
        {"x": Interval(0, 1), "z": Interval(0, 2)},
        "exp(-a * x) * b + c * z * x",
    ),
    "four by four": problem(
        {f"y{i}": Interval(-1, 1) for i in range(4)},
        {f"x{i}": Interval(0, 2) for i in range(4)},
        "y0 * x0 + y1 * x1 - y2 * x2 + y3 * sqrt(x3)",
    ),
    "constant": problem({"y": Interval(0, 1)}, {"x": Interval(0, 1)}, "5 + 0 * x * y"),
    "nothing": problem({"y": Interval(0, 1)}, {"x": Interval(0, 1)}, "0 * x * y"),
}


def drawn(box, count, generator):
    return np.column_stack(
        [
            generator.choice(np.array(space.values), count)
            if isinstance(space, Finite)
            else generator.uniform(space.low, space.high, count)
            for space in box.values()
        ]
    )


@pytest.mark.parametrize("tolerance", [1e-2, 1e-5, 1e-9])
@pytest.mark.parametrize("name", CASES)
def test_no_point_is_further_off_than_the_error(name, tolerance):
    case = CASES[name]
    factor = LowRank(case, tolerance=tolerance)
    generator = np.random.default_rng(5)
    contexts, states = (drawn(box, 4000, generator) for box in (case.context, case.state))
    rewards = case.payoff.vector(*contexts.T, *states.T)
    psi = np.array([factor.psi(tuple(state)) for state in states.tolist()])
    products = np.sum(factor.phi_many(contexts) * psi, axis=1)
    low, high = case.payoff.whole_range
    rounding = 1e-14 * max(1.0, abs(low), abs(high))
    assert np.max(np.abs(products - rewards)) <= factor.error + rounding
    assert factor.error <= tolerance * (high - low) + rounding
    lows, highs = factor.bounds_many(contexts)
    assert np.all(lows - rounding <= products)
    assert np.all(products <= highs + rounding)


@pytest.mark.parametrize(
    ("name", "tolerance", "rank"),
    [
        ("offloading", 1e-3, 2),
        ("offloading", 1e-12, 2),
        ("four by four", 1e-12, 4),
        ("finite states", 1e-12, 3),
        ("finite contexts", 1e-12, 2),
        ("constant", 1e-12, 1),
        ("nothing", 1e-12, 1),
    ],
)
def test_the_rank_is_that_of_the_reward(name, tolerance, rank):
    factor = LowRank(CASES[name], tolerance=tolerance)
    assert factor.features == len(factor.pivots) == rank
    assert factor.error < 1e-10


@pytest.mark.parametrize(("tolerance", "most"), [(1e-2, 2), (1e-4, 4), (1e-6, 6), (1e-8, 8)])
def test_a_smooth_reward_takes_a_handful(tolerance, most):
    assert LowRank(harvesting(), tolerance=tolerance).features <= most


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_finite_states_take_no_more_than_there_are(count):
    states = np.linspace(0.1, 4, count).tolist()
    factor = LowRank(
        problem({"p": Interval(0, 1)}, {"x": Finite(states)}, "log(1 + p * x)"), tolerance=1e-12
    )
    assert factor.features <= count
    assert factor.error < 1e-11


def test_an_estimate_is_the_mean_of_the_rewards_within_the_error():
    case = harvesting()
    policy = UpperConfidence(case, sharing="low-rank(1e-5)")
    gains = np.random.default_rng(6).uniform(0, 4, 500)
    policy.observe_many(["a"] * 500, gain=gains)
    error = policy.sharing.error
    assert 0 < error < 1e-5 * math.log(5)
    for power in np.linspace(0, 1, 21).tolist():
        estimate = policy.explain(power=power).arms[0].estimate
        assert abs(estimate - np.mean(np.log1p(power * gains))) <= error + 1e-14


def test_the_error_is_part_of_the_bonus_and_changes_no_choice():
    case = harvesting()
    policy = UpperConfidence(case, sharing="low-rank(0.01)", alpha=0.5)
    policy.observe_many(["a", "a", "b"], gain=[1.0, 3.0, 2.0])
    row = policy.explain(power=0.5).arms[0]
    error = policy.sharing.error
    _, _, low, high = policy.sharing.view({"power": 0.5})
    assert high == pytest.approx(math.log(3), abs=2 * error + 1e-3)
    assert row.bonus == pytest.approx(
        (high - low) * math.sqrt(0.5 * math.log(4) / 2) + error, rel=1e-12
    )
    assert policy.choose(power=0.5) == policy.explain(power=0.5).arm


def test_policies_merge():
    case = offloading()
    one, two, both = (UpperConfidence(case, sharing="low-rank(1e-9)") for _ in range(3))
    for policy in (one, both):
        policy.observe_many(["a", "b"], rate=[60, 70], speed=[7100, 8000])
    for policy in (two, both):
        policy.observe_many(["a", "a"], rate=[160, 170], speed=[8100, 8900])
    one.merge(two)
    told = [
        [row.estimate for row in policy.explain(megabytes=100, work=5e4).arms]
        for policy in (one, both)
    ]
    assert told[0] == pytest.approx(told[1], rel=1e-12)


def test_a_kinked_reward_is_refused_at_a_tiny_tolerance_with_what_to_do():
    case = problem({"y": Interval(0, 4)}, {"x": Interval(0, 4)}, "min(y, x)")
    with pytest.raises(ParameterError, match=r"features leave an error of .*sketch or a grid"):
        LowRank(case, tolerance=1e-6)
    with pytest.raises(ParameterError, match="8 features leave an error"):
        LowRank(case, tolerance=1e-3, most=8)
    assert LowRank(case, tolerance=0.05).features < 20


def test_a_large_offset_costs_no_features():
    case = problem({"y": Interval(0, 1)}, {"x": Interval(0, 1)}, "1e6 + x * y")
    assert LowRank(case, tolerance=1e-12).features == 2


@pytest.mark.parametrize("tolerance", [0, 1e-13, 1, -1e-3, math.nan, math.inf, "0.1", None, True])
def test_a_tolerance_that_is_no_share_is_refused(tolerance):
    with pytest.raises(ParameterError, match="tolerance must be a share of the reward's range"):
        LowRank(harvesting(), tolerance=tolerance)


def test_unbounded_fields_are_refused():
    with pytest.raises(ParameterError, match=r"state field 'rate' is .*needs bounded fields"):
        LowRank(mixed())
    unbounded = problem({"y": Interval(0, math.inf)}, {"x": Interval(0, 1)}, "min(y, 1) * x")
    with pytest.raises(ParameterError, match=r"context field 'y' is .*needs bounded fields"):
        LowRank(unbounded)


def test_too_many_pairs_are_refused_before_they_are_made():
    many = problem({"y": Finite(range(50_000))}, {"x": Finite(range(1000))}, "log(1 + x * y)")
    with pytest.raises(ParameterError, match="50,000 contexts and 1,000 states are more than"):
        LowRank(many)


# The bounds that sketches and low rank go by


@pytest.mark.parametrize("name", CASES)
def test_ranges_hold_all_rewards(name):
    case = CASES[name]
    ranges = Ranges(case)
    generator = np.random.default_rng(7)
    contexts, states = (drawn(box, 3000, generator) for box in (case.context, case.state))
    rewards = np.broadcast_to(case.payoff.vector(*contexts.T, *states.T), 3000)
    lows, highs = ranges.at_many(contexts)
    slack = 1e-12 * max(1.0, *map(abs, case.payoff.whole_range))
    assert np.all(lows - slack <= rewards)
    assert np.all(rewards <= highs + slack)
    for context, low, high in zip(contexts[:50].tolist(), lows, highs, strict=False):
        assert ranges.at(tuple(context)) == (low, high)


def test_ranges_are_narrow_around_a_context():
    low, high = Ranges(harvesting()).at((0.5,))
    assert low == pytest.approx(0, abs=1e-12)
    assert math.log(3) <= high < math.log(3) + 1e-3
    wide = problem({"y": Interval(0, math.inf)}, {"x": Interval(0, 4)}, "min(y, x)")
    assert Ranges(wide).at((1.0,)) == wide.payoff.whole_range


@pytest.mark.parametrize("unit", [2.0**-980, 2.0**-40, 2.0**980])
def test_a_power_of_two_changes_no_pivot(unit):
    spaces = {"y": Interval(0, 1)}, {"x": Interval(0, 4)}
    plain = LowRank(problem(*spaces, "log(1 + y * x)"), tolerance=1e-4)
    scaled = LowRank(problem(*spaces, f"{unit!r} * log(1 + y * x)"), tolerance=1e-4)
    assert scaled.pivots == plain.pivots
    assert scaled.error == plain.error * unit
    assert scaled.phi((0.3,)).tolist() == plain.phi((0.3,)).tolist()


@pytest.mark.parametrize("size", [5e-324, 1e-310])
def test_rewards_next_to_nothing_are_refused(size):
    tiny = problem({"y": Finite([1, 2])}, {"x": Interval(0, 4)}, f"{size!r} * x * y")
    with pytest.raises(ParameterError, match=r"needs rewards above 9e-302 in size"):
        LowRank(tiny)
