"""Exploring where it costs least: it waits, but not for ever."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from onepull import (
    Discrete,
    EmpiricalKL,
    Environment,
    Finite,
    Interval,
    ParameterError,
    PatientKL,
    Problem,
    SaveFileError,
    simulate,
)
from onepull.distributions import Failing, Switching
from onepull.environment import channel_selection, energy_harvesting
from onepull.index.empirical_likelihood import exploration, likely_mean
from onepull.simulation import Simulation
from onepull.simulation.prepare import Interpreted


def steps() -> Problem:
    """Return two contexts in which the same shortfall costs 1 or 10."""
    return Problem(
        arms=["good", "bad"],
        context={"worth": Finite([1, 10])},
        state={"x": Finite([0, 1])},
        reward="worth * x",
    )


def taught(patience: int = 100) -> PatientKL:
    policy = PatientKL(steps(), patience=patience)
    for i in range(60):
        policy.observe("good", x=int(i % 5 > 0), worth=(1, 10)[i % 2])
    for i in range(4):
        policy.observe("bad", x=i % 2, worth=1)
    return policy


def test_an_arm_that_is_due_is_explored_where_it_costs_least():
    policy = taught()
    # Its bound leads in both contexts; the shortfall is 0.3 in one and 3 in the other.
    assert policy.choose(worth=1) == "bad"
    assert policy.choose(worth=10) == "good"
    assert policy.explain(worth=1).reason == "bad is due to be explored, and costs least here"
    assert "no arm is due" in policy.explain(worth=10).reason


def test_patience_ends():
    """The cheap context came last at trial 64, and is waited for until ten trials later."""
    policy = taught(patience=10)
    chosen = []
    for _ in range(12):
        chosen.append(policy.choose(worth=10))
        policy.observe("good", x=1, worth=10)
    assert chosen == ["good"] * 10 + ["bad"] * 2
    assert taught(patience=0).choose(worth=10) == "bad"


def histories(problem, generator):
    """Yield policies with random parameters, each with the pulls that it has seen."""
    for round_ in range(40):
        policy = PatientKL(problem, c=round_ % 2, patience=int(generator.choice([0, 3, 9])))
        pulls = []
        for _ in range(int(generator.integers(5, 90))):
            arm = int(generator.integers(5))
            x = STATES[2 * arm + int(generator.integers(2))]
            bits = int(generator.integers(1, 5))
            policy.observe(problem.arms[arm], x=x, bits=bits)
            pulls.append((arm, x, bits))
        yield policy, pulls


def test_definition_on_random_data():
    """Against a literal account of the rule, on rewards that never tie."""
    generator = np.random.default_rng(0)
    problem = Problem(
        arms=list("abcde"),
        context={"bits": Finite([1, 2, 3, 4])},
        state={"x": Finite(STATES)},
        reward="log(1 + bits * x) - 0.1 * bits",
    )
    for policy, pulls in histories(problem, generator):
        for bits in range(1, 5):
            assert policy.choose(bits=bits) == problem.arms[_literally(policy, pulls, bits)]


PRICED = {
    arm: {"price": price, "share": share}
    for arm, price, share in zip(
        "abcde", (0.3, 0.05, 0.6, 0.0, 0.2), (1, 0.9, 1.3, 0.8, 1), strict=True
    )
}


def test_definition_with_attributes():
    """The same account, with rewards that depend on the arm."""
    generator = np.random.default_rng(1)
    problem = Problem(
        arms=PRICED,
        context={"bits": Finite([1, 2, 3, 4])},
        state={"x": Finite(STATES)},
        reward="share * log(1 + bits * x) - price * bits",
    )

    def reward(bits, x, j):
        known = PRICED["abcde"[j]]
        return known["share"] * math.log(1 + bits * x) - known["price"] * bits

    for policy, pulls in histories(problem, generator):
        for bits in range(1, 5):
            expected = _literally(policy, pulls, bits, reward)
            assert policy.choose(bits=bits) == problem.arms[expected]


def test_attributes_that_are_alike_change_nothing():
    plain, priced = (
        taught(),
        PatientKL(
            Problem(
                arms={arm: {"unit": 1.0} for arm in steps().arms},
                context=steps().context,
                state=steps().state,
                reward="unit * worth * x",
            )
        ),
    )
    priced.sharing.restore(plain.sharing.state())
    for worth in (1, 10):
        assert priced.choose(worth=worth) == plain.choose(worth=worth)
        assert priced.explain(worth=worth).reason == plain.explain(worth=worth).reason


def test_a_changed_price_changes_where_an_arm_is_due():
    problem = Problem(
        arms={"good": {"price": 0.0}, "bad": {"price": 0.0}},
        context=steps().context,
        state=steps().state,
        reward="worth * x - price",
    )
    policy = PatientKL(problem)
    policy.sharing.restore(taught().sharing.state())
    assert policy.choose(worth=1) == "bad"
    policy.set_attributes("bad", price=20.0)
    assert policy.choose(worth=1) == policy.choose(worth=10) == "good"
    fresh = PatientKL(policy.problem)
    fresh.sharing.restore(policy.sharing.state())
    assert fresh.estimates(worth=10) == policy.estimates(worth=10)
    policy.add_arm("new", price=0.0)
    assert policy.choose(worth=1) == "new"
    policy.observe("new", x=1, worth=1)
    policy.remove_arm("good")
    assert policy.choose(worth=10) == "new"


STATES = np.random.default_rng(9).uniform(0, 4, 10).round(3).tolist()


def _alike(bits, x, j):
    del j
    return math.log(1 + bits * x) - 0.1 * bits


def _literally(policy, pulls, here, reward=_alike):
    arms, trial = range(5), len(pulls) + 1
    states = [[x for a, x, _ in pulls if a == j] for j in arms]
    if unpulled := [j for j in arms if not states[j]]:
        return unpulled[0]
    recent = {bits for *_, bits in pulls[max(0, trial - 1 - policy.patience) :]}

    def mean(bits, j):
        return np.mean([reward(bits, x, j) for x in states[j]])

    def bound(bits, j):
        values = [reward(bits, x, j) for x in STATES]
        weights = [np.mean([y == x for y in states[j]]) for x in STATES]
        budget = exploration(trial, policy.c) / len(states[j])
        return likely_mean(values, weights, len(values), max(values), budget)

    def shortfall(bits, j):
        return max(mean(bits, k) for k in arms) - mean(bits, j)

    def first(score):
        best = max(score(j) for j in arms)
        return next(j for j in arms if score(j) > best - 1e-9)

    for bits in range(1, 5):
        if bits in {here, *recent}:
            due = first(lambda j, b=bits: bound(b, j))
            leader = first(lambda j, b=bits: mean(b, j))
            shorts = [shortfall(b, due) for b in {here, *recent}]
            if due != leader and shortfall(here, due) < min(shorts) + 1e-9:
                return due
    return first(lambda j: mean(here, j))


def vanishing() -> Environment:
    """Return arms of which the first is best, and a cheap context that stops coming soon."""
    both, dear = Discrete([1, 10], [0.5, 0.5]), Discrete([1, 10], [0.0, 1.0])
    return Environment(
        steps(),
        states={
            "good": Discrete([0, 1], [0.2, 0.8]),
            "bad": Discrete([0, 1], [0.6, 0.4]),
        },
        contexts=Switching({0: both, 8: dear}),
    )


def test_a_context_that_stops_coming_does_not_starve_exploration():
    """A run that begins with a wrong idea must correct it without the cheap context.

    100 paired runs.  Without patience ending, about one run in ten keeps the wrong arm and loses
    4 a trial, 16,000 in all, while the others lose 100.  So the test would only fail by chance if
    there were less than two such runs, which happens once in 3,000 times.
    """
    world = vanishing()
    result = simulate(
        world,
        {
            "default": PatientKL(world.problem),
            "for ever": PatientKL(world.problem, patience=10**9),
            "at once": EmpiricalKL(world.problem),
        },
        horizon=4000,
        replications=100,
        seed=2,
    )
    means = {name: result.regret(name).mean() for name in result.policies}
    assert means["default"] < 0.5 * means["for ever"]
    assert means["default"] < 3 * means["at once"]


def test_rare_cheap_contexts_are_not_waited_for_without_end():
    """The cheap context comes once in 200 trials; 100 runs, none of them with a linear loss."""
    world = Environment(
        steps(),
        states={"good": Discrete([0, 1], [0.2, 0.8]), "bad": Discrete([0, 1], [0.6, 0.4])},
        contexts=Discrete([1, 10], [0.005, 0.995]),
    )
    result = simulate(world, [PatientKL(world.problem)], horizon=4000, replications=100, seed=3)
    # A run that stayed with the wrong arm would lose 16,000.
    assert np.quantile(result.regrets[0, :, -1], 0.99) < 2500


def test_it_saves_where_contexts_differ_in_cost():
    """The same gaps at a tenth of the cost in half of the trials; 40 paired runs.

    Exploring in the cheap context alone can save 9/10; the ratio is below 0.6 by more than
    five standard errors.
    """
    world = Environment(
        steps(),
        states={"good": Discrete([0, 1], [0.3, 0.7]), "bad": Discrete([0, 1], [0.5, 0.5])},
        contexts=Discrete([1, 10], [0.5, 0.5]),
    )
    result = simulate(
        world,
        {"patient": PatientKL(world.problem), "at once": EmpiricalKL(world.problem)},
        horizon=20_000,
        replications=40,
        seed=4,
    )
    assert result.regret("patient").mean() < 0.6 * result.regret("at once").mean()


def priced_world(rates: Finite | Interval | None = None) -> Environment:
    """Return arms with a price, whose pulls may fail."""
    problem = Problem(
        arms={"a": {"price": 0.5}, "b": {"price": 0.25}, "c": {"price": 0.1}},
        context={"size": Finite([1, 2, 3])},
        state={"rate": rates or Finite([0, 1, 2])},
        reward="size * rate - price * size",
        failure="-1 - price",
    )
    laws = {
        "a": Failing(Discrete([1, 2], [0.4, 0.6]), 0.2),
        "b": Discrete([0, 2], [0.5, 0.5]),
        "c": Failing(Discrete([0, 1], [0.5, 0.5]), 0.1),
    }
    return Environment(problem, states=laws, contexts=Discrete([1, 2, 3], [0.5, 0.3, 0.2]))


@pytest.mark.parametrize(
    ("world", "told"),
    [
        (channel_selection(7), {}),
        (channel_selection(4), {"c": 3.0, "patience": 2}),
        (energy_harvesting(), {"delta": 0.2, "knots": 9}),
        (vanishing(), {"patience": 20}),
        (priced_world(), {}),
        (priced_world(Interval(0, 2)), {"knots": 9, "patience": 10}),
    ],
)
def test_compiled_and_library_choose_alike(world, told):
    policy = PatientKL(world.problem, **told)
    compiled, library = (
        Simulation(world, {"policy": policy}, horizon=1200, seed=5) for _ in range(2)
    )
    assert compiled._prepared[0].is_compiled
    library.__dict__["_prepared"] = [Interpreted(policy)]
    assert np.mean(compiled.trace(0).arms == library.trace(0).arms) > 0.995


def test_merged_and_saved():
    one, two = taught(), taught()
    one.merge(two)
    assert [row.pulls for row in one.explain(worth=1).arms] == [120, 8]
    knowledge = one.sharing
    assert knowledge.came == [128, 124]
    state = msgspec.to_builtins(knowledge.state())
    with pytest.raises(SaveFileError, match="expected 2 trials from 1 to 128"):
        knowledge.restore({**state, "came": [1]})
    with pytest.raises(SaveFileError, match="expected 2 trials from 1 to 128"):
        knowledge.restore({**state, "came": [1, 10**6]})


def test_bad_patience():
    with pytest.raises(ParameterError, match="patience must be a whole number from 0, given -1"):
        PatientKL(steps(), patience=-1)
