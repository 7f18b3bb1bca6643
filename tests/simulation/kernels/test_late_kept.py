"""Late feedback on kept states: the compiled loop does what the library does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from kept_worlds import EVEN, KEY, WORLDS, assert_kept_alike, played, world

from onepull import AdaptiveKL, Discrete, Finite
from onepull.distributions import Exponential
from onepull.environment import channel_selection
from onepull.simulation import Simulation, prepare
from onepull.simulation.feedback_queue import comes_at, post_of
from onepull.simulation.prepare_late import PreparedLateKept

SETTINGS: dict[str, Any] = {
    "late and lost": lambda _: {"delays": Exponential(12), "losses": 0.15},
    "long": lambda _: {"delays": 40},
    "one is silent": lambda arms: {"delays": 3, "losses": {arms[0]: 1.0}},
}
# Who does not count pulls in flight waits for a silent arm for ever.
CASES = [
    (name, setting, announced)
    for name in WORLDS
    for setting in SETTINGS
    for announced in ([True] if setting == "one is silent" else [False, True])
]


def replayed(environment, policy, trials, *, announced):
    """Yield the context and the arm of each trial, after what arrives before it."""
    problem, post = policy.problem, post_of(environment)
    under_way: dict[int, list[Any]] = {}
    for t, (values, arm, shown) in enumerate(trials):
        for name, told in under_way.pop(t, ()):
            policy.observe(name, **told)
        context = problem.context.fields(values)
        yield context, arm
        name = problem.arms[arm]
        if announced:
            policy.pulled(name, **context)
        when = comes_at(post, KEY, t, arm, np.zeros(1))
        under_way.setdefault(when, []).append((name, context | problem.told(shown)))


@pytest.mark.parametrize(("name", "setting", "announced"), CASES)
def test_every_choice_of_the_kernel_is_one_of_the_library(name, setting, announced):
    """The arms that the kernel chose have the highest index, but for rounding."""
    make, stated = WORLDS[name]
    prompt = make()
    environment = prompt.with_late_feedback(**SETTINGS[setting](prompt.problem.arms))
    policy = AdaptiveKL(environment.problem, **stated)
    told = ["own"] if announced else []
    horizon, changed = 400 if name.startswith("changing") else 250, 0
    runner, trials = played(environment, policy, horizon, announced=told)
    for context, arm in replayed(environment, policy, trials, announced=announced):
        indices = np.array(policy.indices(**context))
        changed += policy.half_life < math.inf
        if math.isfinite(indices.max()):
            finite = indices[np.isfinite(indices)]
            assert indices[arm] >= indices.max() - 1e-7 * max(np.ptp(finite), 1e-9)
        else:
            best = np.flatnonzero(indices == indices.max()).tolist()
            assert arm == min(best, key=policy.memory.counts.__getitem__)
    assert changed > 50 or not name.startswith("changing")
    assert_kept_alike(runner.memory, policy.memory)


def tied():
    """Twelve arms that mostly earn 1, so that many estimates are equal."""
    laws = [Discrete([0, 1, 2], [0.05, 0.05 + 0.02 * j, 0.9 - 0.02 * j]) for j in range(12)]
    context, state = {"y": Finite([1, 2])}, {"x": Finite([0, 1, 2])}
    names = [f"a{j}" for j in range(12)]
    return world(names, EVEN, laws, context=context, state=state, reward="x >= y")


@pytest.mark.parametrize("announced", [False, True])
@pytest.mark.parametrize("make", [lambda: channel_selection(4), tied])
@pytest.mark.parametrize("setting", ["late and lost", "one is silent"])
def test_runs_are_those_of_the_interpreter(make, setting, announced, monkeypatch):
    prompt = make()
    environment = prompt.with_late_feedback(**SETTINGS[setting](prompt.problem.arms))
    policies = {"own": AdaptiveKL(environment.problem)}

    def arms():
        told = list(policies) if announced else []
        simulation = Simulation(environment, policies, horizon=500, seed=3, announced=told)
        return simulation._prepared[0].is_compiled, simulation.trace(1).arms.tolist()

    quick = arms()
    monkeypatch.setattr(prepare, "prepare_late", lambda *_, **__: None)
    assert [quick, arms()] == [(True, quick[1]), (False, quick[1])]


def test_an_arm_that_never_answers_is_tried_about_ln_n_times():
    environment = channel_selection(4).with_late_feedback(losses={"channel 3": 1.0})
    policy = AdaptiveKL(environment.problem)
    _, trials = played(environment, policy, 2000, announced=["own"])
    tried = sum(arm == 2 for _, arm, _ in trials)
    assert tried == math.ceil(math.log(2000))


def test_where_all_feedback_is_lost_the_arms_take_turns():
    environment = channel_selection(4).with_late_feedback(losses=1.0)
    policy = AdaptiveKL(environment.problem)
    _, counted = played(environment, policy, 100, announced=["own"])
    assert [arm for _, arm, _ in counted] == [t % 4 for t in range(100)]
    _, waiting = played(environment, policy, 100)
    assert not any(arm for _, arm, _ in waiting)


def test_laws_that_switch_are_compiled_too():
    make, stated = WORLDS["changing"]
    environment = make().with_late_feedback(delays=20)
    policy = AdaptiveKL(environment.problem, **stated)
    simulation = Simulation(environment, {"own": policy}, horizon=40)
    assert isinstance(simulation._prepared[0], PreparedLateKept)
