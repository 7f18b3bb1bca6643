"""The sketch: states shared out among knots, with an error that holds."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import mixed

from onepull import Finite, Interval, ParameterError, Problem, UpperConfidence
from onepull.factor import Sketch
from onepull.spaces import Box

FORMULAS = [
    "min(y, x)",
    "-abs(x - y)",
    "clip(3 * (x - y), -1, 1)",
    "max(x, 2 * y) - 5 * x",
    "log(2 + x + y)",
    "y * x**2 - x",
]


def on(reward, low=-1, high=3):
    return Problem(
        arms=["a", "b"],
        context={"y": Interval(-0.5, 2)},
        state={"x": Interval(low, high)},
        reward=reward,
    )


def both():
    return Problem(
        arms=["a", "b"],
        context={"size": Interval(0, 3), "weight": Finite([-1, 2])},
        state={"load": Interval(0, 1), "speed": Finite([4, 1, 2]), "delay": Interval(-1, 1)},
        reward="weight * min(size, speed * (1 - load)) - max(delay, 0)",
    )


@cache
def sketched(formula, knots):
    """A problem and its sketch, made once for all the points that it is tried at."""
    problem = on(formula) if formula else both()
    return problem, Sketch(problem, knots=knots)


def values(problem, context, state):
    return problem.payoff.scalar(*context, *state)


@given(
    formula=st.sampled_from(FORMULAS),
    knots=st.integers(2, 40),
    y=st.floats(-0.5, 2),
    x=st.floats(-1, 3),
)
@settings(derandomize=True, deadline=None, max_examples=150)
def test_the_stated_error_holds(formula, knots, y, x):
    problem, sketch = sketched(formula, knots)
    product = float(np.dot(sketch.phi((y,)), sketch.psi((x,))))
    assert abs(product - values(problem, (y,), (x,))) <= sketch.error + 1e-12
    low, high = sketch.bounds((y,))
    assert low - 1e-12 <= product <= high + 1e-12


@given(
    size=st.floats(0, 3),
    weight=st.sampled_from([-1.0, 2.0]),
    state=st.tuples(st.floats(0, 1), st.sampled_from([4.0, 1.0, 2.0]), st.floats(-1, 1)),
    knots=st.integers(2, 9),
)
@settings(derandomize=True, deadline=None)
def test_fields_make_a_product_whose_errors_add_up(size, weight, state, knots):
    problem, sketch = sketched(None, knots)
    assert sketch.features == 3 * knots**2
    # The slopes are 2·4 along the load and 1 along the delay.
    half = 0.5 / (knots - 1)
    assert sketch.error == pytest.approx(min(8 * half + 2 * half, 10), rel=1e-6)
    product = float(np.dot(sketch.phi((size, weight)), sketch.psi(state)))
    assert abs(product - values(problem, (size, weight), state)) <= sketch.error + 1e-12


def test_shares_are_a_law_with_the_mean_of_the_state():
    sketch = Sketch(on("x * y", low=-1, high=3), knots=9)
    for x in (-1.0, -0.99, 0.0, 0.25, 1.6, 3.0, math.nextafter(3.0, 0)):
        shares = np.asarray(sketch.psi((x,)))
        assert shares.min() >= 0
        assert shares.sum() == pytest.approx(1, abs=1e-15)
        assert shares @ sketch.points[:, 0] == pytest.approx(x, abs=1e-14)
        assert np.count_nonzero(shares) <= 2


@pytest.mark.parametrize("ends", [(0.1, 0.7), (-1 / 3, 1e3), (1e-9, 3e-9), (0, 0.3)])
def test_rounding_at_the_ends_makes_no_share_negative(ends):
    sketch = Sketch(on("x * y", *ends), knots=8)
    assert np.asarray(sketch.psi((ends[1],))).tolist() == [0.0] * 7 + [1.0]
    assert np.asarray(sketch.psi((ends[0],))).tolist() == [1.0] + [0.0] * 7


def test_it_is_exact_at_the_knots_and_where_the_reward_is_straight():
    problem = on("min(1, x) * y", low=0, high=4)
    sketch = Sketch(problem, knots=5)
    for x in (0, 1, 4, 0.3, 2.7):  # the kink is at a knot
        product = float(np.dot(sketch.phi((1.5,)), sketch.psi((float(x),))))
        assert product == pytest.approx(1.5 * min(1, x), abs=1e-14)


def test_the_error_is_reached():
    # Half way between knots, with the kink of the reward there.
    problem = on("min(y, x)", low=0, high=2)
    sketch = Sketch(problem, knots=3)
    assert sketch.error == 0.5
    product = float(np.dot(sketch.phi((0.5,)), sketch.psi((0.5,))))
    assert abs(product - 0.5) == pytest.approx(0.25)  # min is half as bad as the worst
    steep = on("abs(x - y)", low=0, high=2)
    product = float(np.dot(Sketch(steep, knots=3).phi((0.5,)), sketch.psi((0.5,))))
    assert product == pytest.approx(0.5)


def test_a_jump_may_be_missed_whole_but_no_more():
    problem = on("x >= y", low=0, high=2)
    sketch = Sketch(problem, knots=201)
    assert sketch.error == 1.0
    # Of a state spread evenly no more than a knot's distance, 1/200, falls beside the jump.
    seen = np.random.default_rng(1).uniform(0, 2, 4000)
    policy = UpperConfidence(problem, sharing="sketch(201)")
    policy.observe_many(["a"] * 4000, x=seen)
    estimate = policy.explain(y=0.7031).arms[0].estimate
    beside = float(np.mean(np.abs(seen - 0.7031) < 0.01))
    assert estimate == pytest.approx(np.mean(seen >= 0.7031), abs=beside)
    assert beside < 0.02


def test_sketches_merge_without_loss():
    problem = both()
    generator = np.random.default_rng(2)
    columns = {
        "load": generator.random(60),
        "speed": generator.choice([1, 2, 4], 60),
        "delay": generator.uniform(-1, 1, 60),
    }
    policies = [UpperConfidence(problem, sharing="sketch(5)") for _ in range(3)]
    for policy, part in zip(policies, (slice(60), slice(25), slice(25, 60)), strict=True):
        policy.observe_many(
            ["a"] * len(columns["load"][part]), **{n: c[part] for n, c in columns.items()}
        )
    whole, one, two = policies
    one.merge(two)
    for size in (0.2, 1.7, 3.0):
        told = [p.explain(size=size, weight=-1).arms[0].estimate for p in (whole, one)]
        assert told[0] == pytest.approx(told[1], rel=1e-12)


def test_many_knots_give_arrays():
    psi = Sketch(on("x * y"), knots=100).psi((0.1,))
    assert isinstance(psi, np.ndarray)
    assert isinstance(Sketch(on("x * y"), knots=10).psi((0.1,)), list)


def test_unbounded_states_are_refused_with_what_to_do():
    told = r"'rate' is .*inf.*needs bounded fields: bound it.*recommended"
    with pytest.raises(ParameterError, match=told):
        Sketch(mixed())


@pytest.mark.parametrize("knots", [1, 0, -3, 2.0, True, "9", None])
def test_knots_are_a_whole_number(knots):
    with pytest.raises(ParameterError, match="knots must be a whole number from 2, given"):
        Sketch(on("x * y"), knots=knots)


@pytest.mark.parametrize("knots", [10**5 + 1, 10**12])
def test_too_many_knots_are_refused_before_they_are_made(knots):
    with pytest.raises(ParameterError, match="are more than the 100,000 allowed; take fewer knots"):
        Sketch(on("x * y"), knots=knots)


@pytest.mark.parametrize("sharing", ["sketch(", "sketch(5", "sketch5)", "histogram(", "joint()"])
def test_a_sharing_must_be_written_right(sharing):
    with pytest.raises(ParameterError, match="sharing must be one of joint, "):
        UpperConfidence(on("x * y"), sharing=sharing)


def test_a_sharing_must_be_set_right():
    with pytest.raises(ParameterError, match=r"knots must be a whole number, given '2\.5'"):
        UpperConfidence(on("x * y"), sharing="sketch(2.5)")
    with pytest.raises(ParameterError, match=r"delta=0\.1 with sketch sharing"):
        UpperConfidence(on("x * y"), sharing="sketch(5)", delta=0.1)


LOOKED_AT: dict[str, tuple[Box, Box, str]] = {
    "kinked": (Box({"y": Interval(0, 3)}), Box({"x": Interval(-1, 3)}), "min(y, x)"),
    "smooth": (Box({"y": Finite([1, 5])}), Box({"x": Interval(1, 9)}), "-y / x"),
    "two fields": (
        Box({"y": Interval(0, 2)}),
        Box({"x": Interval(1, 4), "z": Interval(2, 5)}),
        "-(y / x + log(z))",
    ),
    "one of them listed": (
        Box({"y": Finite([1])}),
        Box({"x": Interval(1, 4), "z": Finite([0, 2])}),
        "z / x",
    ),
}


@pytest.mark.parametrize("name", LOOKED_AT)
@pytest.mark.parametrize("looks", [10, 3000, 1 << 18])
def test_a_closer_look_finds_no_less_than_the_error_there_is(name, looks):
    context, state, reward = LOOKED_AT[name]
    problem = Problem(arms=["a"], context=context, state=state, reward=reward)
    sketch = Sketch(problem, knots=6)
    bound = sketch.looked_at(looks)
    assert bound <= sketch.error
    generator = np.random.default_rng(1)
    worst = 0.0
    for _ in range(3000):
        y, *xs = (_anywhere(s, generator) for s in (*context.values(), *state.values()))
        drawn = np.dot(sketch.psi(tuple(xs)), sketch.phi((y,)))
        worst = max(worst, abs(drawn - problem.payoff.scalar(y, *xs)))
    assert worst <= bound
    if looks == 1 << 18:
        assert bound <= 0.8 * sketch.error  # and it is worth its time


def _anywhere(space, generator):
    if isinstance(space, Finite):
        return float(generator.choice(space.values))
    return float(generator.uniform(space.low, space.high))


def test_a_jump_is_not_looked_at():
    problem = Problem(
        arms=["a"], context={"y": Finite([1])}, state={"x": Interval(0, 3)}, reward="x >= y"
    )
    sketch = Sketch(problem, knots=9)
    assert sketch.looked_at() == sketch.error == 1.0
