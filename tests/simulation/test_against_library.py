"""Kernels beside the library: the same replication, step by step, gives the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from beside import SameLuck, assert_identical, blocks

from onepull import (
    CCB,
    DCB,
    DSEE,
    UCB1,
    Discrete,
    DoublingCCB,
    EpsilonGreedy,
    Finite,
    FixedArm,
    Genie,
    Greedy,
    Interval,
    MultiUCB,
    Policy,
    Problem,
    Random,
    Reward,
    UCB1Epsilon,
    UpperConfidence,
)
from onepull.distributions import (
    Beta,
    Exponential,
    Gamma,
    Independent,
    InOrder,
    Switching,
    TruncatedNormal,
    Uniform,
)
from onepull.environment import Environment, channel_selection, energy_harvesting, offloading
from onepull.simulation import Simulation
from onepull.simulation.prepare import Interpreted, _InterpretedRunner
from onepull.simulation.prepare_sharing import PreparedJoint

HORIZON = 1500
ARMS = ["a", "b", "c"]


def generic_states() -> Environment:
    """Return finite contexts and states whose values never tie."""
    generator = np.random.default_rng(7)
    problem = Problem(
        arms=ARMS,
        context={"y": Finite([0.31, 0.77, 1.9])},
        state={"x": Interval(0, 3)},
        reward="log(1 + y * x) - 0.1 * y",
    )
    laws = {a: Discrete(generator.uniform(0, 3, 5), generator.dirichlet(np.ones(5))) for a in ARMS}
    return Environment(problem, states=laws, contexts=Discrete([0.31, 0.77, 1.9], [0.2, 0.3, 0.5]))


def continuous_states() -> Environment:
    """Return finite contexts and continuous states, one arm with finitely many."""
    problem = Problem(
        arms=ARMS,
        context={"y": Finite([1, 2, 5])},
        state={"x": Interval(0, float("inf"))},
        reward="min(y, x)",
    )
    laws = {"a": Exponential(2), "b": Gamma(mean=1.5, shape=3), "c": Discrete([0, 3], [0.5, 0.5])}
    return Environment(problem, states=laws, contexts=Discrete([1, 2, 5], [0.5, 0.25, 0.25]))


def continuous_both() -> Environment:
    """Return two continuous context fields and continuous states."""
    problem = Problem(
        arms=ARMS,
        context={"y": Interval(0, 2), "z": Interval(1, 3)},
        state={"x": Interval(0, 4)},
        reward="z * sqrt(x) - y * x",
    )
    laws = {
        "a": Uniform(0, 4),
        "b": Beta(0.7, 0.5, low=0, high=3),
        "c": TruncatedNormal(1, 0.4, low=0, high=4),
    }
    fields = {"y": Uniform(0, 2), "z": Beta(2, 2, low=1, high=3)}
    return Environment(problem, states=laws, contexts=fields)


def mixed_fields() -> Environment:
    """Return finite fields beside continuous ones, in contexts and states."""
    problem = Problem(
        arms=ARMS,
        context={"weight": Finite([-1, 2]), "size": Interval(0, 3)},
        state={"speed": Finite([1, 2, 4]), "load": Interval(0, 1)},
        reward="weight * min(size, speed * (1 - load))",
    )
    laws = {
        arm: Independent(Discrete([1, 2, 4], [0.2, 0.3, 0.5]), Beta(2, 2 + j))
        for j, arm in enumerate(ARMS)
    }
    fields = {"weight": Discrete([-1, 2], [0.4, 0.6]), "size": Uniform(0, 3)}
    return Environment(problem, states=laws, contexts=fields)


def generic_harvesting() -> Environment:
    """Return one continuous context field and states that never tie."""
    generator = np.random.default_rng(9)
    problem = Problem(
        arms=ARMS,
        context={"power": Interval(0, 1)},
        state={"gain": Interval(0, 4)},
        reward="log(1 + power * gain)",
    )
    laws = {a: Discrete(generator.uniform(0, 4, 4), generator.dirichlet(np.ones(4))) for a in ARMS}
    return Environment(problem, states=laws, contexts=Uniform(0, 1))


def vector_states() -> Environment:
    """Return states of two fields that are finitely many pairs."""
    problem = Problem(
        arms=ARMS,
        context={"m": Finite([1, 4]), "w": Finite([10, 30])},
        state={"rate": Interval(1, 9), "speed": Interval(5, 50)},
        reward="-(m / rate + w / speed)",
    )
    laws = {
        "a": Independent(Discrete([1.3, 7.1], [0.5, 0.5]), Discrete([11, 37], [0.3, 0.7])),
        "b": Discrete([[3.3, 23], [8.9, 41], [1.7, 29]], [0.2, 0.3, 0.5]),
        "c": Independent(Discrete([5.1], [1.0]), Discrete([19, 31], [0.5, 0.5])),
    }
    fields = {"m": Discrete([1, 4], [0.5, 0.5]), "w": Discrete([30, 10], [0.25, 0.75])}
    return Environment(problem, states=laws, contexts=fields)


def replayed() -> Environment:
    """Return contexts and one arm's states in order, and a switch in the middle."""
    problem = generic_states().problem
    laws = {
        "a": InOrder([0.2, 2.7, 1.1]),
        "b": Switching({0: Discrete([0.9], [1.0]), 700: Uniform(0, 3)}),
        "c": Switching({0: Uniform(0, 2), 400: Discrete([0.3, 2.9], [0.6, 0.4])}),
    }
    return Environment(problem, states=laws, contexts=InOrder([0.31, 1.9, 1.9, 0.77]))


FINITE = {
    "channels": lambda: channel_selection(7),
    "generic": generic_states,
    "continuous states": continuous_states,
    "offloading": offloading,
    "vectors": vector_states,
    "replayed": replayed,
}
INTERVALS = {
    "harvesting": energy_harvesting,
    "generic": generic_harvesting,
    "continuous": continuous_both,
    "mixed fields": mixed_fields,
}
ON_FINITE: dict[str, Any] = {
    "UCB1": UCB1,
    "UCB1(0.5)": lambda p: UCB1Epsilon(p, epsilon=0.5),
    "MultiUCB": MultiUCB,
    "DCB": DCB,
    "DCB(-1.4)": lambda p: DCB(p, epsilon=-1.4, beyond_theory=True),
    "Greedy": Greedy,
    "DSEE": lambda p: DSEE(p, weight=20),
    "DSEE per context": lambda p: DSEE(p, sharing="per-context", weight=5),
    "DSEE blind": lambda p: DSEE(p, sharing="blind", weight=0.7),
    "FixedArm": lambda p: FixedArm(p, arm=p.arms[1]),
}
ON_INTERVALS: dict[str, Any] = {
    "UCB1": UCB1,
    "MultiUCB": lambda p: MultiUCB(p, delta=0.25),
    "CCB few": lambda p: CCB(p, delta=0.4),
    "Greedy": lambda p: Greedy(p, delta=0.5),
    "DSEE": lambda p: DSEE(p, delta=0.4, weight=3),
    "UpperConfidence": lambda p: UpperConfidence(p, delta=0.4, alpha=0.5),
    "DoublingCCB": lambda p: DoublingCCB(p, growth=0.7),
    "DoublingCCB carried": lambda p: DoublingCCB(p, growth=0.7, carry_over=True),
}


class AsItIs(Interpreted):
    """Runs a policy that learns nothing, and so needs no twin."""

    def begin(self, own_key):
        del own_key
        return _InterpretedRunner(self.policy)


@pytest.mark.parametrize("policy", ON_FINITE)
@pytest.mark.parametrize("world", FINITE)
def test_finite_contexts_bit_for_bit(world, policy):
    environment = FINITE[world]()
    assert_identical(*blocks(environment, ON_FINITE[policy](environment.problem)))


@pytest.mark.parametrize("sharing", ["joint", "per-context", "blind"])
@pytest.mark.parametrize("world", FINITE)
def test_drawn_arms_bit_for_bit(world, sharing):
    environment = FINITE[world]()
    policy = EpsilonGreedy(environment.problem, sharing=sharing, c=0.5, gap=0.2)
    assert_identical(*blocks(environment, policy, SameLuck))


@pytest.mark.parametrize("policy", ON_INTERVALS)
@pytest.mark.parametrize("world", INTERVALS)
def test_continuous_contexts_bit_for_bit(world, policy):
    environment = INTERVALS[world]()
    made = ON_INTERVALS[policy](environment.problem)
    assert_identical(*blocks(environment, made, horizon=700))


@pytest.mark.parametrize("delta", [0.001, 0.01])
def test_counts_of_atoms_choose_what_means_choose(delta):
    environment = generic_harvesting()
    policy = CCB(environment.problem, delta=delta)
    counting = Simulation(environment, {"CCB": policy}, horizon=HORIZON)._prepared[0]
    assert isinstance(counting, PreparedJoint)
    assert counting.counts_atoms
    assert_identical(*blocks(environment, policy))


def test_doubling_passes_from_means_to_counts():
    environment = generic_harvesting()
    # δ of phase k is 2^(-0.9k): more than 64 cells from phase 7, trial 126, on.
    assert_identical(*blocks(environment, DoublingCCB(environment.problem, growth=0.1)))


@pytest.mark.parametrize(
    ("make", "horizon"),
    [
        (generic_states, 200),
        (continuous_states, 100),
        (vector_states, 200),
        (generic_harvesting, 200),
        (continuous_both, 60),
        (offloading, 10),
    ],
)
def test_the_genie_bit_for_bit(make, horizon):
    environment = make()
    policy = Genie(environment.problem, states=environment.states)
    one, two = blocks(environment, policy, AsItIs, horizon=horizon)
    assert_identical(one, two)
    assert np.all(one.regrets == 0)


def test_long_runs_cross_stretches_bit_for_bit():
    environment = channel_selection(4)
    simulations = blocks(environment, DCB(environment.problem), horizon=20_000)
    assert_identical(*simulations)


def test_random_arms_are_even():
    environment = channel_selection(7)
    simulation = Simulation(environment, {"r": Random(environment.problem)}, horizon=70_000)
    pulls = simulation.block(0, 1).pulls[0, -1]
    # χ² with 6 degrees of freedom exceeds 40 with probability 5e-7.
    assert float(np.sum((pulls - 10_000) ** 2) / 10_000) < 40


# What has no kernel


def capped(y, x):
    return min(y, x)


def test_a_reward_in_code_over_continuous_states_runs_in_the_interpreter():
    problem = Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 2])},
        state={"x": Interval(0, 3)},
        reward=Reward(capped, low=0, high="y"),
    )
    written = Problem(
        arms=["a", "b"], context=problem.context, state=problem.state, reward="min(y, x)"
    )
    found = []
    for p in (problem, written):
        laws = {"a": Uniform(0, 1), "b": Uniform(0, 3)}
        world = Environment(p, states=laws, contexts=Discrete([1, 2], [0.5, 0.5]))
        simulation = Simulation(world, {"DCB": DCB(p), "UCB1": UCB1(p)}, horizon=400)
        assert bool(simulation.notes) == (p is problem)
        found.append(simulation.block(0, 2))
    assert np.array_equal(found[0].pulls, found[1].pulls)
    assert found[0].regrets == pytest.approx(found[1].regrets, rel=1e-7)


def test_a_reward_in_code_over_finite_states_has_a_kernel():
    problem = Problem(
        arms=["a", "b"],
        context={"y": Finite([1, 2])},
        state={"x": Finite([0, 1, 3])},
        reward=Reward(capped),
    )
    laws = {"a": Discrete([0, 1], [0.5, 0.5]), "b": Discrete([0, 3], [0.6, 0.4])}
    world = Environment(problem, states=laws, contexts=Discrete([1, 2], [0.5, 0.5]))
    for policy in (DCB(problem), MultiUCB(problem), UCB1(problem)):
        assert_identical(*blocks(world, policy))


def own(environment) -> list[Policy]:
    problem = environment.problem
    return [DCB(problem, seed=4), Greedy(problem, seed=1)]


def test_drawn_ties_run_in_the_interpreter():
    environment = channel_selection(4)
    for policy in own(environment):
        simulation = Simulation(environment, {"own": policy}, horizon=200)
        assert isinstance(simulation._prepared[0], Interpreted)
        assert "own has no compiled step" in simulation.notes[0]
        one, two = simulation.block(0, 3), simulation.block(0, 3)
        assert np.array_equal(one.regrets, two.regrets)
        assert policy.trials == 0
