"""Rules, features and laws of a user's own are compiled, and do what the library does."""

from __future__ import annotations

from dataclasses import replace
from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from beside import assert_identical, blocks

from onepull import (
    DCB,
    EmpiricalKL,
    EpsilonGreedy,
    Interval,
    MeanPolicy,
    MeanRule,
    ParameterError,
    Policy,
    Problem,
    StatePolicy,
    StateRule,
    TurnPolicy,
    TurnRule,
    UpperConfidence,
    shared,
)
from onepull.distributions import Continuous, Uniform
from onepull.environment import Environment, channel_selection
from onepull.factor import Dense
from onepull.factor.plain_psi import PlainPsi
from onepull.index.hoeffding import hoeffding
from onepull.index.schedules import epsilon_greedy
from onepull.policies.sharing.joint import Joint
from onepull.simulation import Simulation
from onepull.simulation.kernels.features import kernel_psi
from onepull.testing import FACTORISATION_CHECKS, POLICY_CHECKS

CHANNELS = channel_selection(4)


def moss_exploration(trial, horizon):
    return max(log(horizon / trial), 0.1)


def moss_aim(low, high, exploration):
    return high - low, exploration


def moss_index(mean, root, aim):
    width, exploration = aim
    return mean + width * sqrt(0.5 * exploration) * root


MOSS = MeanRule(exploration=moss_exploration, aim=moss_aim, index=moss_index, parameters=(1500.0,))


class Moss(MeanPolicy):
    """A rule of a user's own on the mean rewards."""

    def __init__(self, problem, *, seed=None):
        super().__init__(shared(problem, "joint", None), MOSS, seed=seed)


def spread_index(values, weights, pulls, mean, best, low, high, exploration):  # noqa: PLR0913, PLR0917, ARG001 - as every index
    square = 0.0
    for s in range(len(values)):
        square += weights[s] * (values[s] - mean) ** 2
    return mean + sqrt((square + 0.01) * exploration / pulls)


def tenth(trial):
    return 0.1 * trial**0.5


class Spread(StatePolicy):
    """A rule of a user's own on the states."""

    def __init__(self, problem, *, seed=None):
        rule = StateRule(exploration=tenth, index=spread_index)
        super().__init__(problem, rule, seed=seed)


def every_tenth(u, trial, arms, table):  # noqa: ARG001 - as every turn
    return (trial // 10) % arms if trial % 10 == 0 else -1


class EveryTenth(TurnPolicy):
    """Turns of a user's own."""

    def __init__(self, problem, *, seed=None):
        super().__init__(shared(problem, "joint", None), TurnRule(turn=every_tenth), seed=seed)


@pytest.mark.parametrize("kind", [Moss, Spread, EveryTenth])
def test_a_rule_of_ones_own_is_compiled_bit_for_bit(kind):
    assert_identical(*blocks(CHANNELS, kind(CHANNELS.problem)))


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
def test_it_passes_the_battery(check):
    check(Moss, CHANNELS.problem)


PARTS: dict[str, Any] = {
    "exploration": lambda trial, alpha: alpha * trial**0.25,
    "aim": lambda low, high, exploration: 0.5 * (high - low) * exploration,
    "index": lambda mean, root, aim: mean + 2.0 * aim * root * root,
    "cap": lambda mean, root, aim: mean + aim * root + 1.0,
    "breaks_ties_by_pulls": True,
}


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_a_rule_counts(part):
    """A rule with one part replaced is simulated with that part, as the library runs it."""

    class Own(MeanPolicy):
        def __init__(self, problem):
            rule = replace(hoeffding(2.0), **{part: PARTS[part]})
            super().__init__(shared(problem, "joint", None), rule)

    assert_identical(*blocks(CHANNELS, Own(CHANNELS.problem), horizon=600))


def not_compilable(mean, root, aim):
    return mean + float(str(aim)[:3]) * root + len({"any": [object()]}["any"]) - 1


def test_a_rule_that_the_compiler_does_not_take_runs_in_the_interpreter():
    class Own(MeanPolicy):
        def __init__(self, problem):
            rule = replace(MOSS, aim=hoeffding(1.0).aim, index=not_compilable)
            super().__init__(shared(problem, "joint", None), rule)

    simulation = Simulation(CHANNELS, {"own": Own(CHANNELS.problem)}, horizon=50)
    assert "its rule does not compile" in simulation.notes[0]
    assert np.all(simulation.block(0, 1).regrets >= 0)


class Rising(Continuous):
    """A law of a user's own: a density that rises to a peak at the end."""

    def __init__(self, high):
        super().__init__(high=high)
        self.bulk, self.shape = (0.0, self._stated["high"]), (self._stated["high"],)

    @staticmethod
    def quantile(u, high):
        return high * u**0.5

    def density(self, x):
        return x


def smooth_world():
    problem = Problem(
        arms=["a", "b"],
        context={"y": Interval(0, 1)},
        state={"x": Interval(0, 4)},
        reward="1 + y * x + y * y * x * x / 16",
    )
    return Environment(problem, states={"a": Rising(3.0), "b": Rising(3.6)}, contexts=Uniform(0, 1))


def powers(state, out):
    power = 1.0
    for r in range(len(out)):
        out[r] = power
        power *= state[0]


class Powers(Dense):
    """A factorisation of a user's own: powers of the state."""

    features = 3
    error = 0.0

    def __init__(self, problem):
        plain = PlainPsi(powers)
        self.problem, self.plain_psi = problem, plain
        self.psi = lambda state: plain(state, 3)

    def phi(self, context):
        return np.array([1.0, context[0], context[0] ** 2 / 16])

    def bounds(self, context):
        return 1.0, 1 + 4 * context[0] + context[0] ** 2


class OnPowers(MeanPolicy):
    """A policy on features of a user's own."""

    def __init__(self, problem, *, seed=None):
        super().__init__(Joint(Powers(problem)), hoeffding(0.6), seed=seed)


def test_features_and_laws_of_ones_own_are_compiled():
    world = smooth_world()
    for check in FACTORISATION_CHECKS:
        check(Powers, world.problem)
    assert_identical(*blocks(world, OnPowers(world.problem)))
    assert_identical(*blocks(world, EmpiricalKL(world.problem, knots=9), horizon=400))


def untyped_powers(state, out):
    powers(state, out)
    out[0] += len({"any": [object()]}["any"]) - 1


def test_features_that_the_compiler_does_not_take_run_in_the_interpreter():
    world = smooth_world()
    policy: Any = OnPowers(world.problem)
    policy.sharing.factor.plain_psi = PlainPsi(untyped_powers)
    simulation = Simulation(world, {"own": policy}, horizon=50)
    assert "its features do not compile" in simulation.notes[0]
    found = simulation.block(0, 1).regrets
    compiled = Simulation(world, {"own": OnPowers(world.problem)}, horizon=50)
    assert compiled._prepared[0].is_compiled
    assert found.tolist() == compiled.block(0, 1).regrets.tolist()


def test_a_law_of_ones_own_has_its_mean():
    """A mean of 20,000 draws is within 5 standard errors: fails once in a million seeds."""
    world = smooth_world()
    drawn = world.states["a"].sample(np.random.default_rng(2), 20_000)
    assert abs(drawn.mean() - 2.0) < 5 * drawn.std() / 20_000**0.5
    simulation = Simulation(
        world, {"DCB": UpperConfidence(world.problem, sharing="sketch(9)")}, horizon=50
    )
    assert simulation._prepared[0].is_compiled


def test_ours_keep_to_their_rules_and_a_redefined_index_is_played():
    class Last(DCB):
        """Prefers the last arm."""

        def _indices(self, request):
            return list(range(len(super()._indices(request))))

    policy = Last(CHANNELS.problem)
    assert policy.choose(bits=1) == policy.explain(bits=1).arm == CHANNELS.problem.arms[-1]
    assert Last.redefines() == ["_indices"]


def far(u, trial, arms, table):  # noqa: ARG001 - as every turn
    return trial % 10


class Far(EveryTenth):
    """Turns of arms that are not there."""

    def __init__(self, problem, *, seed=None):
        TurnPolicy.__init__(self, shared(problem, "joint", None), TurnRule(turn=far), seed=seed)


def test_the_turn_of_an_arm_that_is_not_there_is_ignored():
    assert_identical(*blocks(CHANNELS, Far(CHANNELS.problem), horizon=300))


def huge(trial):
    return sqrt(log(1 + trial**7))  # beyond 64 bits


def test_exploration_is_that_of_whole_numbers_without_end():
    class Own(MeanPolicy):
        def __init__(self, problem):
            rule = replace(hoeffding(1.0), exploration=huge, parameters=())
            super().__init__(shared(problem, "joint", None), rule)

    assert_identical(*blocks(CHANNELS, Own(CHANNELS.problem), horizon=1500))


def test_exploration_that_fails_is_told():
    class Own(MeanPolicy):
        def __init__(self, problem):
            rule = replace(MOSS, exploration=lambda trial, _: log(log(trial)))
            super().__init__(shared(problem, "joint", None), rule)

    simulation = Simulation(CHANNELS, {"own": Own(CHANNELS.problem)}, horizon=50)
    assert "exploration fails at trial 1" in simulation.notes[0]


def test_a_part_taken_from_beside_is_seen_too():
    class Mixed(Policy):
        def observe(self, arm, *nameless, **fields):
            super().observe(arm, *nameless, **fields)

    class Own(DCB, Mixed):
        pass

    assert Own.redefines() == ["observe"]


class Plain(MeanPolicy):
    """Any rule on joint learning."""


class PlainTurns(TurnPolicy):
    """Any turns on joint learning."""


def test_patience_needs_statistics_that_know_when_an_arm_was_seen():
    with pytest.raises(ParameterError, match="patience=50 needs statistics that remember"):
        Plain(shared(CHANNELS.problem, "joint", None), hoeffding(2.0, patience=50))


def test_turns_that_are_drawn_need_a_seed():
    with pytest.raises(ParameterError, match="needs a seed or a generator, given None"):
        PlainTurns(shared(CHANNELS.problem, "joint", None), epsilon_greedy(5.0, 0.5))


class Odd(Uniform):
    """Another density, and nothing to draw from."""

    def density(self, x):
        return x


def test_a_law_that_cannot_be_drawn_from_is_refused():
    world = smooth_world()
    odd = Environment(
        world.problem, states={"a": Odd(0, 3), "b": Rising(3.6)}, contexts=Uniform(0, 1)
    )
    policies = {"UCB": UpperConfidence(world.problem, sharing="sketch(9)")}
    with pytest.raises(ParameterError, match="Odd needs quantile"):
        Simulation(odd, policies, horizon=50).block(0, 1)


def test_explained_chances_are_those_of_choices_among_eligible_arms():
    """20,000 draws, within 5 standard errors: fails once in a million seeds."""
    policy = EpsilonGreedy(CHANNELS.problem, c=1.0, gap=0.2, seed=1)
    policy.observe_many(list(CHANNELS.problem.arms) * 100, capacity=[1, 2, 3, 4] * 100)
    eligible = list(CHANNELS.problem.arms[:2])
    told = {row.arm: row.chance for row in policy.explain(bits=4, eligible=eligible).arms}
    chosen = [policy.choose(bits=4, eligible=eligible) for _ in range(20_000)]
    for arm in eligible:
        chance = told[arm] or 0.0
        error = 5 * (chance * (1 - chance) / 20_000) ** 0.5
        assert abs(chosen.count(arm) / 20_000 - chance) < error


def scaled(state, out, scale=1.0):
    out[0] = scale * state[0]


def test_features_with_and_without_constants_are_two_types():
    one, two = Powers(smooth_world().problem), Powers(smooth_world().problem)
    one.plain_psi, two.plain_psi = PlainPsi(scaled), PlainPsi(scaled, (4.0,))
    assert type(kernel_psi(one)) is not type(kernel_psi(two))
    assert type(kernel_psi(one)) is type(kernel_psi(one))


def test_what_is_explained_is_chosen_though_features_err():
    """Adding the same error to two indices may round them to a tie, which they were not."""
    problem = Problem(
        arms=["a", "b", "c"],
        context={"y": Interval(0, 1)},
        state={"x": Interval(0, 1)},
        reward="x * y",
    )
    policy = UpperConfidence(problem, sharing="sketch(3)", alpha=1e-9)
    generator = np.random.default_rng(3)
    states = generator.random(30).tolist()
    for arm in problem.arms:
        for state in generator.permutation(states).tolist():
            policy.observe(arm, x=state)
    for y in generator.random(300).tolist():
        chosen = policy.choose(y=y)
        assert policy.explain(y=y).arm == chosen
        assert policy.choose(y=y, eligible=list(problem.arms)) == chosen
