"""The compiled loop on kept states does what the library does."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from kept_worlds import WORLDS, assert_kept_alike, played

from onepull import AdaptiveKL
from onepull.environment import channel_selection
from onepull.index.highest_bound import likely_means
from onepull.index.kept_likelihood import FALL_ACCURACY
from onepull.policies.kept_states.drift import DECAYS, Drift
from onepull.policies.kept_states.merging import NEVER_MERGED, uniform
from onepull.simulation import Simulation
from onepull.simulation.kernels.kept_bounds import begin, improve, measure, no_search
from onepull.simulation.kernels.kept_drift import filters_of, learn, recount
from onepull.simulation.kernels.kept_merging import mixed
from onepull.simulation.prepare import Interpreted


def replayed(policy, trials):
    """Yield the context and the arm of each trial; then the policy observes it."""
    problem = policy.problem
    for values, arm, shown in trials:
        context = problem.context.fields(values)
        yield context, arm
        policy.observe(problem.arms[arm], **context, **problem.told(shown))


@pytest.mark.parametrize("name", WORLDS)
def test_every_choice_of_the_kernel_is_one_of_the_library(name):
    """The arms that the kernel chose have the highest index, but for rounding."""
    make, stated = WORLDS[name]
    environment = make()
    policy = AdaptiveKL(environment.problem, **stated)
    changed = 0
    horizon = 400 if name.startswith("changing") else 200
    for context, arm in replayed(policy, played(environment, policy, horizon)[1]):
        indices = np.array(policy.indices(**context))
        changed += policy.half_life < math.inf
        if np.isfinite(indices).any():
            finite = indices[np.isfinite(indices)]
            assert indices[arm] >= indices.max() - 1e-7 * max(np.ptp(finite), 1e-9)
        else:
            assert arm == 0
    assert changed > 50 or not name.startswith("changing")


@pytest.mark.parametrize("name", [name for name in WORLDS if "few" in name or "changing" in name])
def test_what_is_kept_is_what_the_library_keeps(name):
    make, stated = WORLDS[name]
    environment = make()
    policy = AdaptiveKL(environment.problem, **stated)
    kernel, trials = played(environment, policy, 400)
    assert len(list(replayed(policy, trials))) == 400
    library, memory = policy.memory, kernel.memory
    assert_kept_alike(memory, library)
    if library._counts_for is not None:
        for j, count in enumerate(library.kept):
            for mine, theirs in zip(memory.counts[j], library._counts_for, strict=True):
                assert mine[:count] == pytest.approx(theirs[j, :count], rel=1e-9, abs=1e-12)
    assert_alike(kernel.filters, library.drift)


def assert_alike(filters, drift):
    errors, levels = drift.errors, drift.levels
    pairs = [
        *(
            (getattr(filters, name), errors[:, row, :, c])
            for row, name in enumerate(["mean_error", "both_error", "deviation_error"])
            for c in range(errors.shape[3])
        ),
        (filters.means, levels[:, 0]),
        (filters.deviations, levels[:, 1]),
        *(
            (getattr(filters, name), getattr(drift, name))
            for name in ("squares", "pooled", "likelihood")
        ),
    ]
    for mine, theirs in pairs:
        assert mine.ravel() == pytest.approx(theirs.ravel(), rel=1e-12, abs=1e-12)
    assert filters.latest.tolist() == drift.latest
    assert filters.compared.tolist() == drift.compared
    assert filters.chosen[0] == drift.chosen


@pytest.mark.parametrize("scale", [1.0, 1e-70, 1e60])
def test_the_filters_are_those_of_the_library(scale):
    generator = np.random.default_rng(4)
    drift = Drift(arms=3, contexts=5)
    filters = filters_of(drift)
    trial, chosen = 0, set()
    for step in range(600):
        arm = int(generator.integers(3))
        rewards = scale * (generator.random(5) + (step // 60 % 2) * np.array([1, 2, 0, 3, 1]))
        rewards[2] = scale  # a context where nothing varies
        trial += int(generator.integers(1, 5))
        drift.learn(arm, trial, rewards)
        gains = np.transpose([drift.gains(q) for q in range(len(DECAYS))])
        learn(filters, arm, trial, rewards)
        assert filters.gains == pytest.approx(gains, rel=1e-12)
        chosen.add(drift.chosen)
    drift.levels /= scale
    for name in ("means", "deviations"):
        getattr(filters, name)[:] /= scale
    for name in ("squares", "pooled"):
        setattr(drift, name, getattr(drift, name) / scale**2)
        getattr(filters, name)[:] /= scale**2
    drift.likelihood /= 1e3
    filters.likelihood[:] /= 1e3
    assert_alike(filters, drift)
    assert len(chosen) > 1 or scale < 1


@pytest.mark.parametrize("count", [1, 2, 60, 300])
def test_states_count_as_in_the_library(count):
    problem = channel_selection(1).problem
    policy = AdaptiveKL(problem, kept=300)
    memory = policy.memory
    generator = np.random.default_rng(count)
    times = np.cumsum(generator.integers(1, 9, count)).tolist()
    for trial in times:
        memory._keep(0, [float(generator.integers(8))], trial)
    for q in range(1, len(DECAYS)):
        assert memory.drift is not None
        memory.drift.chosen = q
        counts, lefts = np.zeros((2, 300)), np.zeros(300)
        recount(q, count, NEVER_MERGED, memory.stands_for[0], memory.seen_at[0], counts, lefts)
        for mine, theirs in zip(counts, memory._recount(), strict=True):
            assert mine[:count] == pytest.approx(theirs[0, :count], rel=1e-12, abs=1e-15)


@numba.njit(error_model="numpy")
def first_bounds(search, values, weights, count, pulls):
    measure(search, 0, values, weights, count, pulls)
    begin(search, 0)


def test_the_bounds_are_those_of_the_library():
    generator = np.random.default_rng(2)
    for _ in range(300):
        count = int(generator.integers(1, 30))
        scale = 10.0 ** generator.integers(-130, 130)
        values = -scale * generator.random((1, count)) ** generator.integers(1, 9)
        values[0, : generator.integers(0, 2)] = 0.0
        weights = generator.integers(1, 6, (1, count)).astype(float)
        pulls = weights.sum()
        level = float(10.0 ** generator.uniform(-2, 1.2))
        exact = likely_means(values, weights, np.array([pulls]), [level / pulls], 0.0)[0]
        search = no_search(1)
        search.budget[0] = level / pulls
        first_bounds(search, values[0], weights[0], count, pulls)
        near = 1e-6 * scale
        while search.lower[0] < search.upper[0]:
            assert search.lower[0] - near <= exact <= search.upper[0] + near
            improve(search, 0, values[0], weights[0], count, pulls)
        # Rounding may make one of the two take a step more.
        assert search.upper[0] == pytest.approx(
            exact, rel=1e-9, abs=2 * FALL_ACCURACY * search.unit[0]
        )


@numba.njit
def compiled_uniform(key, counter):
    return mixed(key, counter)


def test_random_numbers_are_those_of_the_library():
    for key, counter in [(0, 0), (0, 5), (7, 123456), (10**6, 10**9)]:
        assert compiled_uniform(key, counter) == uniform(key, counter)


def test_runs_are_the_same_but_for_ties():
    """Short runs of the paper's channels have the same regret."""
    environment = channel_selection(4)
    policy = AdaptiveKL(environment.problem)
    found = []
    for make in (None, Interpreted):
        simulation = Simulation(environment, {"own": policy}, horizon=100, seed=1)
        if make is not None:
            simulation.__dict__["_prepared"] = [make(policy)]
        found.append(simulation.block(0, 40).regrets[0, :, -1])
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_what_has_no_kernel_says_why():
    environment = channel_selection(3)
    drawing = AdaptiveKL(environment.problem, seed=1)
    assert Simulation(environment, {"own": drawing}, horizon=40).notes != []
