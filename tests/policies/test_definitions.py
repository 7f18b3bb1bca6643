"""Every policy beside a plain transcription of the paper: the same arm at every trial."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import channels, offloading

from onepull import (
    CCB,
    DCB,
    UCB1,
    DoublingCCB,
    Finite,
    Greedy,
    Interval,
    MultiUCB,
    Problem,
    UCB1Epsilon,
)

TOP = 3.0  # states live in [0, TOP]
TRIALS = 1500
few = settings(derandomize=True, deadline=None, max_examples=12)


class PaperDCB:
    """Algorithm 1: θ̂ as an M×K matrix, m as a vector, n counted from 1."""

    def __init__(self, arms, ranges, epsilon):
        self.theta = np.zeros((len(ranges), arms))
        self.m = np.zeros(arms)
        self.ranges = ranges
        self.alpha = 2 + epsilon
        self.n = 0

    def indices(self, i):
        n = self.n + 1
        if n <= len(self.m):
            return np.where(np.arange(len(self.m)) == n - 1, 1.0, 0.0)
        return self.theta[i] + self.ranges[i] * np.sqrt(self.alpha * np.log(n) / self.m)

    def update(self, j, rewards):
        self.theta[:, j] = (self.theta[:, j] * self.m[j] + rewards) / (self.m[j] + 1)
        self.m[j] += 1
        self.n += 1


# For each formula: g, and the places in [0, TOP] where it may be highest or lowest.
ENDS = (0.0, TOP)
SMOOTH: dict[str, Any] = {
    "log(1 + y * x)": (lambda y, x: np.log(1 + y * x), lambda _: ENDS),
    "-y / (1 + x)": (lambda y, x: -y / (1 + x), lambda _: ENDS),
    "y - (x - y)**2": (lambda y, x: y - (x - y) ** 2, lambda y: (*ENDS, min(y, TOP))),
    "exp(-y * x) * 5": (lambda y, x: 5 * np.exp(-y * x), lambda _: ENDS),
}
KINKED: dict[str, Any] = {
    "min(y, x)": (np.minimum, lambda _: ENDS),
    "max(y, x) - y * y": (lambda y, x: np.maximum(y, x) - y * y, lambda _: ENDS),
    "y if x >= y else 0": (lambda y, x: np.where(x >= y, y, 0.0), lambda _: ENDS),
}


def bounds(formula, y):
    g, places = (SMOOTH | KINKED)[formula]
    values = [float(g(y, x)) for x in places(y)]
    return min(values), max(values)


def spread(formula, y):
    low, high = bounds(formula, y)
    return high - low


class Case:
    """A random problem with its arms' random laws."""

    def __init__(self, seed, formulas, *, arms=None, contexts=None):
        self.draw = generator = np.random.default_rng(seed)
        self.formula = str(generator.choice(list(formulas)))
        self.g = (SMOOTH | KINKED)[self.formula][0]
        self.arms = arms or int(generator.integers(1, 9))
        count = contexts or int(generator.integers(1, 7))
        self.contexts = generator.uniform(0.1, 2.9, count).tolist()
        self.shape = generator.uniform(0.3, 3, (2, self.arms))

    def problem(self, context):
        return Problem(
            arms=[f"arm-{j}" for j in range(self.arms)],
            context={"y": context},
            state={"x": Interval(0, TOP)},
            reward=self.formula,
        )

    def state(self, j):
        return float(TOP * self.draw.beta(self.shape[0, j], self.shape[1, j]))


def assert_plays(indices, j, slack):
    """The arm is the first with the highest index, or within `slack` of it."""
    assert j == int(np.argmax(indices)) or indices[j] >= indices.max() - slack, (j, indices)


def position(arm):
    return int(arm.removeprefix("arm-"))


def known_reward(case, policy, epsilon, slack, trials=TRIALS):
    """Play DCB, or greed, beside algorithm 1."""
    ranges = [spread(case.formula, y) for y in case.contexts]
    paper = PaperDCB(case.arms, ranges, epsilon)
    contexts = np.array(case.contexts)
    for _ in range(trials):
        i = int(case.draw.integers(len(contexts)))
        j = position(policy.choose(y=case.contexts[i]))
        assert_plays(paper.indices(i), j, slack)
        x = case.state(j)
        policy.observe(f"arm-{j}", x=x)
        paper.update(j, case.g(contexts, x))


@given(seed=st.integers(0, 2**32), epsilon=st.sampled_from([0.01, 0.5, 3.0]))
@few
def test_dcb_is_algorithm_1(seed, epsilon):
    case = Case(seed, SMOOTH)
    known_reward(case, DCB(case.problem(Finite(case.contexts)), epsilon=epsilon), epsilon, 0.0)


@given(seed=st.integers(0, 2**32))
@few
def test_dcb_is_algorithm_1_up_to_ties_where_the_reward_has_kinks(seed):
    case = Case(seed, KINKED)
    known_reward(case, DCB(case.problem(Finite(case.contexts)), epsilon=0.01), 0.01, 1e-12)


@pytest.mark.parametrize(("arms", "contexts"), [(70, 3), (3, 70), (65, 65)])
def test_dcb_is_algorithm_1_with_many_arms_or_contexts(arms, contexts):
    case = Case(7, SMOOTH, arms=arms, contexts=contexts)
    known_reward(case, DCB(case.problem(Finite(case.contexts)), epsilon=0.01), 0.01, 0.0, 4000)


@given(seed=st.integers(0, 2**32))
@few
def test_greed_is_algorithm_1_without_a_bonus(seed):
    case = Case(seed, SMOOTH)
    known_reward(case, Greedy(case.problem(Finite(case.contexts))), -2.0, 0.0)


def test_dcb_is_algorithm_1_on_products_of_contexts_and_states():
    problem = offloading()
    policy = DCB(problem, epsilon=0.1)
    contexts = [(m, w) for m in (8, 64, 512) for w in (1e3, 1e5)]
    ranges = [m / 50 + w / 7000 - m / 200 - w / 9000 for m, w in contexts]
    paper = PaperDCB(3, ranges, 0.1)
    generator = np.random.default_rng(3)
    for _ in range(3000):
        i = int(generator.integers(6))
        arm = policy.choose(work=contexts[i][1], megabytes=contexts[i][0])
        j = problem.arms.index(arm)
        assert_plays(paper.indices(i), j, 0.0)
        link = generator.uniform(50, 150 + 25 * j)
        speed = generator.uniform(7000, 9000 - 500 * j)
        policy.observe(arm, link=link, speed=speed)
        paper.update(j, np.array([-(m / link + w / speed) for m, w in contexts]))


@given(seed=st.integers(0, 2**32), epsilon=st.sampled_from([0.0, 0.5]))
@few
def test_ucb1_learns_rewards_with_the_global_range(seed, epsilon):
    case = Case(seed, SMOOTH)
    policy = UCB1Epsilon(case.problem(Finite(case.contexts)), epsilon=epsilon)
    lows, highs = zip(*(bounds(case.formula, y) for y in case.contexts), strict=True)
    paper = PaperDCB(case.arms, [max(highs) - min(lows)], epsilon)
    for _ in range(TRIALS):
        y = float(case.draw.choice(case.contexts))
        j = position(policy.choose(y=y))
        assert_plays(paper.indices(0), j, 0.0)
        reward = float(case.g(y, case.state(j)))
        policy.observe(f"arm-{j}", reward=reward)
        paper.update(j, reward)


def per_context(case, policy, contexts, cell, ranges):
    """Play Multi-UCB beside a UCB1 of its own for every cell; n counts within the cell."""
    papers = [PaperDCB(case.arms, [r], 0.0) for r in ranges]
    for y in contexts:
        paper = papers[cell(y)]
        j = position(policy.choose(y=y))
        assert_plays(paper.indices(0), j, 0.0)
        x = case.state(j)
        policy.observe(f"arm-{j}", y=y, x=x)
        paper.update(j, float(case.g(y, x)))


@given(seed=st.integers(0, 2**32))
@few
def test_multi_ucb_is_a_ucb1_for_every_context(seed):
    case = Case(seed, SMOOTH)
    policy = MultiUCB(case.problem(Finite(case.contexts)))
    contexts = case.draw.choice(case.contexts, TRIALS).tolist()
    ranges = [spread(case.formula, y) for y in case.contexts]
    per_context(case, policy, contexts, case.contexts.index, ranges)


def test_multi_ucb_is_a_ucb1_for_every_context_with_many_arms():
    case = Case(8, SMOOTH, arms=70, contexts=3)
    policy = MultiUCB(case.problem(Finite(case.contexts)))
    contexts = case.draw.choice(case.contexts, 3000).tolist()
    ranges = [spread(case.formula, y) for y in case.contexts]
    per_context(case, policy, contexts, case.contexts.index, ranges)


def cut(low, high, delta):
    """Return the cell of a context and the centres, as the design settles them."""
    count = math.ceil((high - low) / delta)
    width = (high - low) / count
    centres = [low + (i + 0.5) * width for i in range(count)]
    return (lambda y: min(int((y - low) / width), count - 1)), centres, width


@given(seed=st.integers(0, 2**32), delta=st.sampled_from([0.013, 0.37, 0.77, 5.0]))
@few
def test_multi_ucb_on_an_interval_is_a_ucb1_for_every_cell(seed, delta):
    case = Case(seed, ["log(1 + y * x)"])
    low, high = 0.2, 1.9
    policy = MultiUCB(case.problem(Interval(low, high)), delta=delta)
    cell, centres, width = cut(low, high, delta)
    ranges = [math.log(1 + (centre + width / 2) * TOP) for centre in centres]
    contexts = case.draw.uniform(low, high, TRIALS).tolist()
    per_context(case, policy, contexts, cell, ranges)


@given(seed=st.integers(0, 2**32), delta=st.sampled_from([0.013, 0.37, 0.77, 5.0]))
@few
def test_ccb_is_dcb_on_the_centres(seed, delta):
    case = Case(seed, SMOOTH)
    low, high = 0.2, 1.9
    policy = CCB(case.problem(Interval(low, high)), delta=delta, epsilon=0.01)
    cell, centres, _ = cut(low, high, delta)
    paper = PaperDCB(case.arms, [spread(case.formula, c) for c in centres], 0.01)
    for _ in range(TRIALS):
        y = float(case.draw.uniform(low, high))
        j = position(policy.choose(y=y))
        assert_plays(paper.indices(cell(y)), j, 0.0)
        x = case.state(j)
        policy.observe(f"arm-{j}", x=x)
        paper.update(j, case.g(np.array(centres), x))


@given(seed=st.integers(0, 2**32), growth=st.sampled_from([0.0, 0.5, 0.8, 1.0]))
@few
def test_doubling_ccb_runs_a_fresh_ccb_for_each_phase_of_two_to_the_k(seed, growth):
    case = Case(seed, SMOOTH)
    low, high = 0.0, 1.7
    policy = DoublingCCB(case.problem(Interval(low, high)), growth=growth, epsilon=0.01)
    for k in range(1, 10):
        cell, centres, _ = cut(low, high, (high - low) * (2**k) ** -(1 - growth))
        paper = PaperDCB(case.arms, [spread(case.formula, c) for c in centres], 0.01)
        for _ in range(2**k):
            assert policy.phase == k
            y = float(case.draw.uniform(low, high))
            j = position(policy.choose(y=y))
            assert_plays(paper.indices(cell(y)), j, 0.0)
            x = case.state(j)
            policy.observe(f"arm-{j}", x=x)
            paper.update(j, case.g(np.array(centres), x))


@given(seed=st.integers(0, 2**32), epsilon=st.sampled_from([0.01, 1.0]))
@few
def test_dcb_without_a_context_in_the_reward_is_ucb1(seed, epsilon):
    generator = np.random.default_rng(seed)
    problem = Problem(
        arms=list("abcd"),
        context={"y": Finite([1, 2, 3])},
        state={"x": Interval(-1, 2)},
        reward="x",
    )
    one, two = DCB(problem, epsilon=epsilon), UCB1Epsilon(problem, epsilon=epsilon)
    means = generator.uniform(0, 1, 4)
    for _ in range(TRIALS):
        y = int(generator.integers(1, 4))
        arm = one.choose(y=y)
        assert two.choose(y=y) == arm
        x = generator.uniform(-1, 1) + means["abcd".index(arm)]
        one.observe(arm, x=x)
        two.observe(arm, y=y, x=x)


@pytest.mark.parametrize("build", [DCB, UCB1, MultiUCB, Greedy])
@pytest.mark.parametrize("arms", [7, 70])
def test_first_every_arm_is_pulled_in_order_and_then_ties_go_to_the_first(build, arms):
    names = [f"arm-{j}" for j in range(arms)]
    policy = build(channels().with_arms(names))
    pulled = []
    for _ in range(2 * arms):
        pulled.append(policy.choose(bits=2))
        policy.observe(pulled[-1], bits=2, capacity=1)
    bonus = build is not Greedy
    assert pulled == (names * 2 if bonus else names + [names[0]] * arms)
