"""What is remembered of contexts changes no decision."""

import copy
import gc
import math
import pickle
import weakref
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest

from onepull import AdaptiveKL, Finite, Interval, Problem, Reward
from onepull.policies.kept_states import sights
from onepull.policies.kept_states.memory import KeptStates
from onepull.policies.kept_states.sights import Sight

PROBLEMS = {
    "listed": Problem(
        arms=["a", "b", "c"],
        context={"y": Finite([1, 2, 4])},
        state={"x": Interval(0, 7)},
        reward="min(x, y)",
    ),
    "priced, with failures": Problem(
        arms={"a": {"price": 1.0}, "b": {"price": 2.0}, "c": {"price": 0.5}},
        context={"y": Finite([1, 2])},
        state={"x": Interval(0, math.inf)},
        reward="-x * y - price",
        failure=-30,
    ),
    "a jump": Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 2])},
        state={"x": Interval(0, 7), "z": Interval(0, 7)},
        reward="x + z <= 2 * y",
    ),
    "the state itself": Problem(arms=["a", "b"], state={"x": Interval(0, 7)}, reward="x"),
    "the same for every state": Problem(
        arms=["a", "b"], state={"x": Interval(0, 7)}, reward="1 + 0 * x"
    ),
    "tiny rewards": Problem(arms=["a", "b"], state={"x": Interval(0, 7)}, reward="1e-200 * x"),
    "huge rewards": Problem(arms=["a", "b"], state={"x": Interval(0, 7)}, reward="1e200 * x"),
    "a top far off": Problem(arms=["a", "b"], state={"x": Interval(0, 1e9)}, reward="x"),
    "a function whose last digits differ": Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 2])},
        state={"x": Interval(0, 7)},
        reward="1 - exp(-x * y) + x ** 0.3",
    ),
    "the same whatever is observed": Problem(
        arms={"a": {"price": 0.1}, "b": {"price": 0.7}},
        context={"y": Finite([1, 2])},
        state={"x": Interval(0, 7)},
        reward="price * y",
    ),
    "in Python": Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 2])},
        state={"x": Interval(0, 7)},
        reward=Reward(lambda y, x: min(x, y), low=0, high=2),
    ),
    "many arms": Problem(
        arms=[f"arm {j}" for j in range(20)],
        context={"y": Finite([1, 2])},
        state={"x": Interval(0, 7)},
        reward="min(x, y)",
    ),
}


def pickled(one):
    return pickle.loads(pickle.dumps(one))  # noqa: S301 - our own bytes


@cache
def served(name, changes, most):
    """Return every choice and estimate of a run, with so many remembered contexts."""
    with patch.object(sights, "MOST_SIGHTS", most):
        return _served(PROBLEMS[name], changes)


def _served(problem, changes, trials=500):
    policy = AdaptiveKL(problem, kept=32)
    draws = np.random.default_rng(3)
    found: list[object] = []
    waiting: list[str] = []
    for trial in range(trials):
        y = problem.context.get("y")
        context = {} if y is None else {"y": draws.choice(y.values)}
        arms = list(problem.arms)
        eligible = None if draws.random() < 0.8 else arms[: 1 + draws.integers(len(arms))]
        arm = policy.choose(**context, eligible=eligible)
        if trial % 10 == 0:
            found.append(policy.estimates(**context))
        found.append(arm)
        policy.pulled(arm, **context)
        waiting.append(arm)
        while waiting and draws.random() < 0.6:
            arm = waiting.pop(draws.integers(len(waiting)))
            if problem.failure is not None and draws.random() < 0.1:
                policy.observe(arm, failed=True)
                continue
            rate = 1.0 + (arms.index(arm) + (trial // 60 if changes else 0)) % len(arms)
            policy.observe(
                arm, **{name: min(draws.exponential(rate), 7.0) for name in problem.state}
            )
    return found, policy


@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_policy_that_remembers_chooses_like_one_that_does_not(name, changes):
    problem = PROBLEMS[name]
    remembering, policy = served(name, changes, 64)
    fresh, _ = served(name, changes, 0)
    assert len(remembering) == len(fresh)
    assert remembering == fresh
    assert policy.memory.merges or name == "many arms"
    assert len(policy.memory.sights) == (2 if "y" in problem.context else 1) + (name == "listed")


def test_some_runs_are_of_arms_that_are_believed_to_change():
    assert any(math.isfinite(served(name, True, 64)[1].half_life) for name in PROBLEMS)


def test_what_is_kept_up_to_date_is_what_would_be_worked_out_anew():
    problem = PROBLEMS["listed"]
    memory = AdaptiveKL(problem, kept=32, adapts=False).memory
    draws = np.random.default_rng(5)
    for x in draws.random(60):
        memory.learn(int(3 * x), {"x": 7 * x}, None)
    context = (2.0,)
    kept_up = Sight(memory, context, np.array(memory.rewards(context)))
    budgets = [0.1, 0.2, 0.05]
    kept_up.bounds(memory).explore(budgets).highest(range(3))
    for x in draws.random(200):
        memory.learn(int(3 * x), {"x": 7 * x}, None)
        kept_up.renew(memory, context)
        anew = Sight(memory, context, memory.rewards(context))
        np.testing.assert_array_equal(kept_up.rewards, anew.rewards)
        np.testing.assert_array_equal(kept_up.means(memory), anew.means(memory))
        assert kept_up.bounds(memory).means == pytest.approx(anew.bounds(memory).means, rel=1e-13)
        for sight in (kept_up, anew):
            bounds = sight.bounds(memory).explore(budgets)
            for row in range(3):
                while bounds.improve(row):
                    pass
        assert kept_up.bounds(memory).uppers == pytest.approx(anew.bounds(memory).uppers, rel=1e-11)


def test_a_change_of_attributes_is_seen_in_remembered_contexts():
    policy = AdaptiveKL(PROBLEMS["priced, with failures"])
    policy.observe_many(["a", "b", "c"] * 50, x=[1.0, 1.0, 5.0] * 50)
    assert [policy.choose(y=1) for _ in range(3)] == ["a"] * 3
    policy.set_attributes("a", price=9.0)
    assert [policy.choose(y=1) for _ in range(3)] == ["b"] * 3
    policy.remove_arm("b")
    assert policy.choose(y=1) == "c"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_copies_remember_on_their_own(copied):
    policy = AdaptiveKL(PROBLEMS["the state itself"])
    policy.observe_many(["a", "b"] * 20, x=[3.0, 2.0] * 20)
    assert [policy.choose() for _ in range(3)] == ["a"] * 3
    twin = copied(policy)
    assert len(twin.memory.sights) == 0
    twin.observe_many(["b"] * 500, x=[7.0] * 500)
    assert [twin.choose() for _ in range(3)] == ["b"] * 3
    assert policy.choose() == "a"
    assert policy.estimates() == [3.0, 2.0]


@pytest.mark.parametrize("copied", [KeptStates.copy, copy.deepcopy])
def test_copies_of_a_memory_remember_nothing(copied):
    memory = AdaptiveKL(PROBLEMS["the state itself"]).memory
    for _ in range(3):
        memory.sights.at(memory, (0.0,))
    assert (len(memory.sights), len(copied(memory).sights)) == (1, 0)


def test_estimates_of_arms_that_change_are_those_of_a_loaded_policy():
    policy = AdaptiveKL(PROBLEMS["listed"])
    draws = np.random.default_rng(8)
    changed = 0
    for trial in range(400):
        arm = int(draws.integers(3))
        level = 5.0 if (trial // 50 + arm) % 2 else 0.5
        policy.observe("abc"[arm], x=level + draws.random())
        assert policy.estimates(y=4) == pickled(policy).estimates(y=4)
        changed += math.isfinite(policy.half_life)
    assert changed > 100


def test_a_reward_that_raises_leaves_nothing_behind():
    def reward(y, x):
        if is_broken:
            raise ValueError("broken")
        return min(x, y)

    is_broken = False
    policy = AdaptiveKL(
        Problem(
            arms=["a", "b"],
            context={"y": Finite([1, 2])},
            state={"x": Interval(0, 7)},
            reward=Reward(reward, low=0, high=2),
        ),
        adapts=False,
    )
    for x in (0.5, 1.5, 2.5):
        policy.observe_many(["a", "b"], x=[x, 1.0])
        policy.choose(y=2)
    policy.observe("a", x=0.25)
    is_broken = True
    with pytest.raises(ValueError, match="broken"):
        policy.choose(y=2)
    is_broken = False
    policy.observe("a", x=0.75)
    assert policy.estimates(y=2) == pytest.approx([(0.5 + 1.5 + 2 + 0.25 + 0.75) / 5, 1.0])
    sight = policy.memory.sights.at(policy.memory, (2.0,))
    assert sight.bounds(policy.memory).means == pytest.approx([1.0, 1.0])


def test_explaining_changes_no_choice():
    problem = Problem(arms=["a", "b"], state={"x": Interval(0, 1e12)}, reward="x")
    one, other = AdaptiveKL(problem), AdaptiveKL(problem)
    for x in np.random.default_rng(4).random(300).tolist():
        other.explain()
        arm = one.choose()
        assert arm == other.choose()
        for policy in (one, other):
            policy.observe(arm, x=x)


def test_contexts_that_came_last_are_remembered(monkeypatch):
    monkeypatch.setattr(sights, "MOST_SIGHTS", 2)
    monkeypatch.setattr(sights, "MOST_ONCE", 2)
    policy = AdaptiveKL(
        Problem(
            arms=["a"], context={"y": Interval(0, 9)}, state={"x": Interval(0, 1)}, reward="x * y"
        )
    )
    remembered = policy.memory.sights
    for y in (1, 1, 2, 2, 1, 4, 4):
        policy.choose(y=y)
    assert list(remembered._latest) == [(1.0,), (4.0,)]
    for y in np.linspace(5, 9, 50):
        policy.choose(y=y)
    assert len(remembered._once) == 2


def test_a_policy_that_nobody_holds_is_gone():
    policy = AdaptiveKL(PROBLEMS["the state itself"])
    for _ in range(3):
        policy.choose()
    memory = weakref.ref(policy.memory)
    gc.disable()
    try:
        del policy
        assert memory() is None
    finally:
        gc.enable()


def test_few_contexts_are_remembered_where_states_are_many():
    policy = AdaptiveKL(
        Problem(
            arms=[str(j) for j in range(300)],
            context={"y": Interval(0, 1)},
            state={"x": Interval(0, 1)},
            reward="x * y",
        )
    )
    for place in range(512):
        policy.observe("0", x=place / 512)
    for place in range(10):
        policy.choose(y=place // 2 / 5)
    assert policy.memory.rewards((1.0,)).size > sights.MOST_REMEMBERED
    assert len(policy.memory.sights) == 0
