"""Contextual zooming beside a literal transcription of its algorithm, step by step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from problems import channels, harvesting, mixed

from onepull import (
    ContextualZooming,
    Finite,
    Interval,
    MergeError,
    ParameterError,
    Policy,
    Problem,
    Random,
    SaveFileError,
    simulate,
)
from onepull.distributions import Beta, Uniform
from onepull.environment import Environment
from onepull.policies.partition.balls import leading_ball, leading_of_many
from onepull.testing.random_data import random_points


class PaperBall:
    def __init__(self, arm, centre, radius):
        self.arm, self.centre, self.radius = arm, centre, radius
        self.n, self.rewards = 0, 0.0


class PaperZooming:
    """Algorithm 1, with one ball an arm at first and arms infinitely far from each other."""

    def __init__(self, problem, horizon, width):
        self.problem, self.horizon, self.width = problem, horizon, width
        self.low, high = problem.payoff.whole_range
        self.range = high - self.low
        self.slopes = [problem.payoff.lipschitz[name].value for name in problem.context]
        middle = [(space.low + space.high) / 2 for space in problem.context.values()]
        self.active = [PaperBall(arm, middle, 1.0) for arm in problem.arms]
        self.t = 1

    def distance(self, one, two):
        total = 0.0
        for slope, a, b in zip(self.slopes, one, two, strict=True):
            total += slope * abs(a - b) / self.range
        return min(1.0, total)

    def conf(self, ball):
        return self.width * math.sqrt(math.log(self.horizon or self.t) / (1 + ball.n))

    def pre_index(self, ball):
        if ball.n == 0:
            return math.inf
        return ball.rewards / ball.n + ball.radius + self.conf(ball)

    def index(self, ball):
        bounds = [
            self.pre_index(other) + self.distance(ball.centre, other.centre)
            for other in self.active
            if other.arm == ball.arm
        ]
        return ball.radius + min(bounds)

    def contains(self, ball, arm, context):
        return ball.arm == arm and self.distance(ball.centre, context) <= ball.radius

    def in_domain(self, ball, arm, context):
        return self.contains(ball, arm, context) and not any(
            self.contains(other, arm, context)
            for other in self.active
            if other.radius < ball.radius
        )

    def relevant(self, arm, context):
        return [ball for ball in self.active if self.in_domain(ball, arm, context)]

    def indices(self, context):
        return [
            max(self.index(ball) for ball in self.relevant(arm, context))
            for arm in self.problem.arms
        ]

    def update(self, arm, context, reward):
        ball = max(self.relevant(arm, context), key=self.index)
        ball.n += 1
        ball.rewards += (reward - self.low) / self.range
        self.t += 1
        if self.conf(ball) <= ball.radius:
            self.active.append(PaperBall(arm, list(context), ball.radius / 2))


@pytest.mark.parametrize("width", [0.15, 0.6])
@pytest.mark.parametrize("horizon", [None, 500])
@pytest.mark.parametrize("make", [harvesting, channels, mixed])
def test_every_step_is_that_of_the_algorithm(make, horizon, width):
    problem = make()
    policy = ContextualZooming(problem, horizon=horizon, width=width)
    paper = PaperZooming(problem, horizon, width)
    generator = np.random.default_rng(2)
    contexts = random_points(problem.context, 250, generator)
    states = random_points(problem.state, 250, generator)
    for context, state in zip(contexts, states, strict=True):
        values = list(context.values())
        scores = np.array(paper.indices(values))
        rows = policy.explain(**context).arms
        assert [row.index for row in rows] == pytest.approx(paper.low + paper.range * scores)
        arm = policy.choose(**context)
        assert arm == problem.arms[int(np.argmax(scores))]
        policy.observe(arm, **context, **state)
        paper.update(arm, values, problem.payoff(**context, **state))
    fields = len(problem.context)
    assert policy.storage == len(paper.active) * (fields + 3)
    assert len(paper.active) > 3 * len(problem.arms)  # it did zoom


def one_arm(**parameters):
    problem = Problem(
        arms=["a"], context={"y": Interval(0, 1)}, state={"x": Interval(0, 2)}, reward="x * y"
    )
    return ContextualZooming(problem, **parameters)


def test_steps_by_hand():
    """L = G = 2, so D = |y - y'|; conf = √(ln e⁴ / (1+n)) / 2 = 1/√(1+n), with T = e⁴."""
    policy = one_arm(horizon=55, width=0.5)
    unit = 0.5 * math.sqrt(math.log(55))
    policy.observe("a", y=0.9, x=1.0)  # 0.45 of the range; conf = unit/√2 < 1: opens
    balls = policy._knowledge.balls[0]
    assert balls.centres == [(0.5,), (0.9,)]
    assert balls.radii == [1.0, 0.5]
    (inside,), (outside,) = policy.explain(y=0.8).arms, policy.explain(y=0.3).arms
    first = 0.45 + 1 + unit / math.sqrt(2)
    assert outside.index == pytest.approx(2 * (1 + first))
    assert inside.index == pytest.approx(2 * (0.5 + first + 0.4))
    policy.observe("a", y=0.8, x=2.0)  # counts for the new ball: 0.8, conf = unit/√2 > 1/2
    assert balls.statistics.pulls == [1, 1]
    (row,) = policy.explain(y=0.8).arms
    assert row.estimate == pytest.approx(1.6)
    assert row.index == pytest.approx(2 * (0.5 + min(first + 0.4, 0.8 + 0.5 + unit / math.sqrt(2))))


def test_radii_halve_and_balls_of_a_radius_lie_apart():
    policy = one_arm(horizon=1000, width=0.2)
    generator = np.random.default_rng(5)
    for y in generator.random(600).tolist():
        policy.observe("a", y=y, x=float(generator.random()))
    balls = policy._knowledge.balls[0]
    for radius in set(balls.radii):
        assert math.log2(radius).is_integer()
        of_radius = np.array(balls.radii) == radius
        centres = np.sort(np.array(balls.centres)[of_radius, 0])
        assert np.all(np.diff(centres) > radius)
    assert min(balls.radii) <= 1 / 8


@pytest.mark.parametrize("fields", [1, 3])
def test_lists_and_arrays_lead_to_the_same_ball_bit_for_bit(fields):
    generator = np.random.default_rng(fields)
    for _ in range(200):
        balls = int(generator.integers(1, 60))
        centres = generator.random((balls, fields))
        radii = np.append(1.0, 0.5 ** generator.integers(0, 5, balls - 1))
        pulls = generator.integers(0, 9, balls)
        means = np.where(pulls > 0, generator.random(balls), np.inf)
        slopes, context = generator.random(fields) * 2, generator.random(fields)
        rest: Any = slopes.tolist(), float(generator.uniform(1, 9)), 0.3
        lists: Any = [part.tolist() for part in (context, centres, radii, pulls, means)]
        arrays: Any = context, centres, radii, pulls, means
        assert leading_ball(*lists, *rest) == leading_of_many(*arrays, *rest)


def test_contexts_that_differ_at_all_are_apart_where_the_slope_is_infinite():
    problem = Problem(
        arms=["a"],
        context={"y": Finite([1, 2, 3])},
        state={"x": Interval(0, 1)},
        reward="x if y >= 2 else 0",
    )
    assert problem.payoff.lipschitz["y"].value == math.inf
    policy = ContextualZooming(problem, horizon=100, width=0.5)
    policy.observe_many(["a"] * 6, y=[1, 2, 3] * 2, x=[0.5] * 6)
    assert [row.estimate for y in (1, 2, 3) for row in policy.explain(y=y).arms] == [0.0, 0.5, 0.5]


def smooth_world():
    """Rewards whose best arm changes with the context, and not linearly."""
    problem = Problem(
        arms=["low", "high"],
        context={"y": Interval(0, 1)},
        state={"x": Interval(0, 1)},
        reward="1 - abs(y - x)",
    )
    states = {"low": Beta(2, 8), "high": Beta(8, 2)}
    return Environment(problem, states=states, contexts=Uniform(0, 1))


def test_regret_is_far_below_random_and_grows_slower_than_time():
    """In 400 other replications, four by four, it kept 6 and 12 standard deviations away."""
    world = smooth_world()
    policies = {
        "zooming": ContextualZooming(world.problem, width=0.5),
        "random": Random(world.problem),
    }
    result = simulate(
        world, policies, horizon=2000, replications=4, seed=1, checkpoints=[500, 2000]
    )
    (early, late), (_, random) = result.regrets.mean(axis=1)
    assert late < 0.3 * random
    assert late < 3.5 * early  # where linear growth means 4


def test_two_policies_cannot_be_merged():
    one, two = one_arm(), one_arm()
    with pytest.raises(MergeError, match="depend on the order"):
        one.merge(two)


def test_saved_balls_go_on_as_they_were():
    policy = one_arm(horizon=1000, width=0.2)
    generator = np.random.default_rng(6)
    for y in generator.random(100).tolist():
        policy.observe("a", y=y, x=float(generator.random()))
    twin = Policy.from_bytes(policy.to_bytes())
    assert twin.storage == policy.storage
    for y in generator.random(50).tolist():
        assert twin.explain(y=y) == policy.explain(y=y)
        for one in (policy, twin):
            one.observe("a", y=y, x=1.0)
    assert twin.to_bytes() == policy.to_bytes()


@pytest.mark.parametrize(
    "damage",
    [
        lambda state: state["balls"].pop(),
        lambda state: state.pop("trials"),
        lambda state: state.update(trials=1),
        lambda state: state["balls"][0]["radii"].pop(),
        lambda state: state["balls"][0]["radii"].__setitem__(1, 0.0),
        lambda state: state["balls"][0]["radii"].__setitem__(0, 0.5),
        lambda state: state["balls"][0]["centres"][1].append(0.0),
        lambda state: state["balls"][0]["centres"][0].__setitem__(0, 0.1),
        lambda state: state["balls"][0]["statistics"]["pulls"].pop(),
    ],
)
def test_balls_that_cannot_be_are_refused(damage):
    policy = one_arm(horizon=1000, width=0.2)
    policy.observe_many(["a", "a"], y=[0.2, 0.9], x=[1.0, 2.0])
    before = policy.to_bytes()
    balls = policy._knowledge.balls[0]
    statistics = {"trials": 2, "pulls": [2, 0, 0], "means": [[0.5], [], []]}
    state = {
        "trials": 2,
        "balls": [
            {
                "centres": [list(centre) for centre in balls.centres],
                "radii": balls.radii.copy(),
                "statistics": statistics,
            }
        ],
    }
    damage(state)
    with pytest.raises(SaveFileError):
        policy._knowledge.restore(state)
    assert policy.to_bytes() == before


@pytest.mark.parametrize(
    "parameters",
    [{"horizon": 1}, {"horizon": 10.0}, {"horizon": True}, {"width": 0}, {"width": "4"}],
)
def test_parameters_that_are_not_allowed_are_refused(parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        one_arm(**parameters)
