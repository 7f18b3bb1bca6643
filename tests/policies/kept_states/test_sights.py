"""What is remembered of contexts changes no decision."""

import copy
import math
import pickle

import numpy as np
import pytest

from onepull import AdaptiveKL, Finite, Interval, Problem
from onepull.policies.kept_states import sights
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
    "many arms": Problem(
        arms=[f"arm {j}" for j in range(20)],
        context={"y": Finite([1, 2])},
        state={"x": Interval(0, 7)},
        reward="min(x, y)",
    ),
}


def served(problem, changes, *, most, monkeypatch, trials=500):
    """Return every choice and estimate of a run, with so many remembered contexts."""
    monkeypatch.setattr(sights, "MOST_SIGHTS", most)
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
def test_a_policy_that_remembers_chooses_like_one_that_does_not(name, changes, monkeypatch):
    problem = PROBLEMS[name]
    remembering, policy = served(problem, changes, most=64, monkeypatch=monkeypatch)
    fresh, _ = served(problem, changes, most=0, monkeypatch=monkeypatch)
    assert len(remembering) == len(fresh)
    assert remembering == fresh
    assert policy.memory.merges or name == "many arms"


def test_some_runs_are_of_arms_that_are_believed_to_change(monkeypatch):
    policies = [
        served(problem, True, most=64, monkeypatch=monkeypatch)[1] for problem in PROBLEMS.values()
    ]
    assert sum(math.isfinite(policy.half_life) for policy in policies) >= 2


def test_what_is_kept_up_to_date_is_what_would_be_worked_out_anew():
    problem = PROBLEMS["listed"]
    memory = AdaptiveKL(problem, kept=32, adapts=False).memory
    draws = np.random.default_rng(5)
    for x in draws.random(60):
        memory.learn(int(3 * x), {"x": 7 * x}, None)
    context = (2.0,)
    kept_up = Sight(memory, context, np.array(memory.rewards(context)))
    budgets = [0.1, 0.2, 0.05]
    kept_up.bounds.explore(budgets).highest(range(3))
    for x in draws.random(200):
        memory.learn(int(3 * x), {"x": 7 * x}, None)
        kept_up.renew()
        anew = Sight(memory, context, memory.rewards(context))
        np.testing.assert_array_equal(kept_up.rewards, anew.rewards)
        np.testing.assert_array_equal(kept_up.means, anew.means)
        assert kept_up.bounds.means == pytest.approx(anew.bounds.means, rel=1e-13)
        for sight in (kept_up, anew):
            bounds = sight.bounds.explore(budgets)
            for row in range(3):
                while bounds.improve(row):
                    pass
        assert kept_up.bounds.uppers == pytest.approx(anew.bounds.uppers, rel=1e-11)


def test_a_change_of_attributes_is_seen_in_remembered_contexts():
    policy = AdaptiveKL(PROBLEMS["priced, with failures"])
    policy.observe_many(["a", "b", "c"] * 50, x=[1.0, 1.0, 5.0] * 50)
    assert policy.choose(y=1) == "a"
    policy.set_attributes("a", price=9.0)
    assert policy.choose(y=1) == "b"
    policy.remove_arm("b")
    assert policy.choose(y=1) == "c"


def pickled(policy):
    return pickle.loads(pickle.dumps(policy))  # noqa: S301 - our own bytes


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_copies_remember_on_their_own(copied):
    policy = AdaptiveKL(PROBLEMS["the state itself"])
    policy.observe_many(["a", "b"] * 20, x=[3.0, 2.0] * 20)
    assert policy.choose() == "a"
    twin = copied(policy)
    twin.observe_many(["b"] * 500, x=[7.0] * 500)
    assert (policy.choose(), twin.choose()) == ("a", "b")
    assert policy.estimates() == [3.0, 2.0]


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
