"""Kernels of histograms, sketches and low rank beside the library: the same arms each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from beside import SameLuck, assert_identical, blocks

from onepull import (
    DSEE,
    KLUCB,
    Discrete,
    EpsilonGreedy,
    Finite,
    Interval,
    Problem,
    Reward,
    UpperConfidence,
)
from onepull.distributions import Beta, Independent, Switching, TruncatedNormal, Uniform
from onepull.environment import Environment
from onepull.simulation import Simulation
from onepull.simulation.prepare import Interpreted
from onepull.simulation.prepare_sharing import PreparedDense

ARMS = ["a", "b", "c"]
HORIZON = 700
SHARINGS = ["histogram", "sketch(17)", "low-rank(1e-6)"]


def weights(seed, many):
    generator = np.random.default_rng(seed)
    return {arm: generator.dirichlet(np.ones(many)) for arm in ARMS}


def listed() -> Environment:
    """Return finite contexts and finite states, some rewards below 0."""
    values = [0.2, 0.9, 1.7, 2.6, 3.0]
    problem = Problem(
        arms=ARMS,
        context={"y": Finite([0.31, 0.77, 1.9])},
        state={"x": Finite(values)},
        reward="log(1 + y * x) - 0.3 * y * y",
    )
    laws = {arm: Discrete(values, w) for arm, w in weights(7, 5).items()}
    return Environment(problem, states=laws, contexts=Discrete([0.31, 0.77, 1.9], [0.2, 0.3, 0.5]))


def listed_states() -> Environment:
    """Return continuous contexts of two fields, and states of two that are finite."""
    problem = Problem(
        arms=ARMS,
        context={"y": Interval(0, 2), "z": Finite([1, 3])},
        state={"x": Finite([0.3, 1.1, 2.7]), "w": Finite([0, 1.3])},
        reward="z * sqrt(x) - y * x * w",
    )
    rows = [[x, w] for x in (0.3, 1.1, 2.7) for w in (0, 1.3)]
    laws = {arm: Discrete(rows, w) for arm, w in weights(8, 6).items()}
    fields = {"y": Uniform(0, 2), "z": Discrete([1, 3], [0.5, 0.5])}
    return Environment(problem, states=laws, contexts=fields)


def continuous() -> Environment:
    """Return contexts and states of one and two continuous fields."""
    problem = Problem(
        arms=ARMS,
        context={"m": Interval(1, 9), "w": Interval(10, 30)},
        state={"rate": Interval(1, 9)},
        reward="-(m / rate + w / (5 + rate))",
    )
    laws = {
        "a": Uniform(1, 9),
        "b": Beta(0.7, 0.5, low=1, high=8),
        "c": TruncatedNormal(4, 1, low=1, high=9),
    }
    return Environment(problem, states=laws, contexts={"m": Uniform(1, 9), "w": Uniform(10, 30)})


def vectors() -> Environment:
    """Return finite contexts and states of two continuous fields, one arm switching."""
    problem = Problem(
        arms=ARMS,
        context={"m": Finite([1.5, 4]), "w": Finite([11, 30])},
        state={"rate": Interval(1, 9), "speed": Interval(5, 50)},
        reward="-(m / rate + w / speed)",
    )
    laws = {
        "a": Independent(Uniform(1, 9), Uniform(20, 50)),
        "b": Independent(Uniform(2, 7), Beta(2, 2, low=5, high=50)),
        "c": Switching(
            {
                0: Independent(Uniform(1, 3), Uniform(5, 9)),
                300: Independent(Uniform(6, 9), Uniform(30, 50)),
            }
        ),
    }
    fields = {"m": Discrete([1.5, 4], [0.5, 0.5]), "w": Discrete([11, 30], [0.7, 0.3])}
    return Environment(problem, states=laws, contexts=fields)


def mixed() -> Environment:
    """Return a finite and a continuous field on both sides, of states that are listed."""
    problem = Problem(
        arms=ARMS,
        context={"weight": Finite([-1, 2]), "size": Interval(0, 3)},
        state={"speed": Finite([1, 2, 4]), "load": Interval(0, 1)},
        reward="weight * size * speed / (1 + load) - load",
    )
    rows = [[s, load] for s in (1, 2, 4) for load in (0.13, 0.78)]
    laws = {arm: Discrete(rows, w) for arm, w in weights(9, 6).items()}
    fields = {"weight": Discrete([-1, 2], [0.4, 0.6]), "size": Uniform(0, 3)}
    return Environment(problem, states=laws, contexts=fields)


WORLDS = {
    "listed": (listed, SHARINGS),
    "listed states": (listed_states, SHARINGS),
    "continuous": (continuous, SHARINGS[1:]),
    "vectors": (vectors, SHARINGS[1:]),
    "mixed": (mixed, SHARINGS[1:]),
}
CASES = [
    pytest.param(make, sharing, id=f"{name}-{sharing}")
    for name, (make, sharings) in WORLDS.items()
    for sharing in sharings
]
POLICIES: dict[str, Any] = {
    "UpperConfidence": lambda p, s: UpperConfidence(p, sharing=s, alpha=0.5),
    "DSEE": lambda p, s: DSEE(p, sharing=s, weight=5),
    "KLUCB": lambda p, s: KLUCB(p, sharing=s),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("make", "sharing"), CASES)
def test_the_kernel_does_what_the_library_does(make, sharing, policy):
    environment = make()
    assert_identical(
        *blocks(environment, POLICIES[policy](environment.problem, sharing), horizon=HORIZON)
    )


@pytest.mark.parametrize(("make", "sharing"), CASES)
def test_drawn_arms_too(make, sharing):
    environment = make()
    policy = EpsilonGreedy(environment.problem, sharing=sharing, c=0.5, gap=0.3)
    assert_identical(*blocks(environment, policy, SameLuck, horizon=HORIZON))


def test_a_long_stretch_is_cut_where_weights_are_many(monkeypatch):
    environment = continuous()
    policy = UpperConfidence(environment.problem, sharing="sketch(17)")
    whole = Simulation(environment, {"p": policy}, horizon=2000).block(0, 2)
    monkeypatch.setattr("onepull.simulation.prepare_sharing.MOST_WEIGHTS", 17 * 300)
    assert_identical(whole, Simulation(environment, {"p": policy}, horizon=2000).block(0, 2))


def test_a_histogram_and_a_table_learn_the_same():
    environment = listed()
    policies = {
        "table": UpperConfidence(environment.problem, alpha=2.01),
        "histogram": UpperConfidence(environment.problem, sharing="histogram", alpha=2.01),
    }
    pulls = Simulation(environment, policies, horizon=5000).block(0, 4).pulls
    assert np.array_equal(pulls[0], pulls[1])


def fitting(y, x):
    return y * x if x >= y else -0.1 * x


def test_a_reward_in_code_has_a_kernel_over_listed_states():
    problem = Problem(
        arms=ARMS,
        context={"y": Interval(0, 3)},
        state={"x": Finite([0.5, 1.5, 2.5])},
        reward=Reward(fitting, low=-0.25, high=7.5),
    )
    laws = {arm: Discrete([0.5, 1.5, 2.5], w) for arm, w in weights(4, 3).items()}
    environment = Environment(problem, states=laws, contexts=Uniform(0, 3))
    policy = UpperConfidence(problem, sharing="histogram")
    assert_identical(*blocks(environment, policy, horizon=HORIZON))


@pytest.mark.parametrize("limit", [1 << 24, 1])
def test_what_does_not_fit_into_a_table_runs_in_the_interpreter(limit, monkeypatch):
    for place in ("compilable", "world"):
        monkeypatch.setattr(f"onepull.simulation.{place}.LARGEST_TABLE", limit)
    environment = listed()
    found = {
        sharing: Simulation(
            environment,
            {"p": UpperConfidence(environment.problem, sharing=sharing)},
            horizon=300,
        )
        for sharing in SHARINGS
    }
    kinds = {sharing: type(made._prepared[0]) for sharing, made in found.items()}
    table = PreparedDense if limit > 1 else Interpreted
    assert kinds == {"histogram": table, "sketch(17)": table, "low-rank(1e-6)": PreparedDense}
    if limit == 1:
        told = found["histogram"].notes[0]
        assert "the features of Histogram are too many for a table of all states" in told
    for made in found.values():
        made.block(0, 1)


def test_a_sketch_of_finite_fields_beside_continuous_ones_runs_in_the_interpreter():
    environment = mixed()
    laws = {arm: Independent(Discrete([1, 2], [0.5, 0.5]), Uniform(0, 1)) for arm in ARMS}
    environment = Environment(environment.problem, states=laws, contexts=environment.contexts)
    policy = UpperConfidence(environment.problem, sharing="sketch(5)")
    made = Simulation(environment, {"p": policy}, horizon=100)
    assert isinstance(made._prepared[0], Interpreted)
    assert "Sketch has no compiled features for continuous states" in made.notes[0]
    low_rank = UpperConfidence(environment.problem, sharing="low-rank(1e-6)")
    assert_identical(*blocks(environment, low_rank, horizon=HORIZON))


def test_a_single_feature():
    """An array with one row is of another type to the compiler than one with several."""
    environment = mixed()
    problem = environment.problem.with_reward("weight * size * speed / (1 + load)")
    environment = Environment(problem, states=environment.states, contexts=environment.contexts)
    policy = UpperConfidence(problem, sharing="low-rank(1e-6)")
    assert policy.storage == len(ARMS) * 2  # a count and one mean for each
    assert_identical(*blocks(environment, policy, horizon=HORIZON))
