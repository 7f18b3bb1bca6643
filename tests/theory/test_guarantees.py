"""What is said about the regret of every policy, and where it does not hold."""

from __future__ import annotations

import inspect

import pytest

from onepull import DCB, UCB1, DiscountedUCB, ParameterError, UCB1Epsilon
from onepull.distributions import Switching
from onepull.environment import Environment, channel_selection, energy_harvesting
from onepull.policies.registry import registered
from onepull.theory import Instance, guarantee, ucb1

CHANNELS = channel_selection(4)


def built(kind, environment):
    problem = environment.problem
    given = {
        "states": environment.states,
        "arm": problem.arms[0],
        "costs": {arm: 0.25 * j for j, arm in enumerate(problem.arms) if j},
        "budget": 100.0,
        "horizon": 300,
        "delta": 0.25,
    }
    stated = inspect.signature(kind).parameters
    needed = {name for name in stated if stated[name].default is inspect.Parameter.empty}
    needed |= {"costs", "budget", "horizon"} if "budget" in stated else set()
    taken = {name: given[name] for name in needed & given.keys()}
    return kind(problem, **taken)


@pytest.mark.parametrize("kind", registered().values(), ids=registered())
def test_something_is_said_about_every_policy(kind):
    for environment in (CHANNELS, energy_harvesting()):
        try:
            policy = built(kind, environment)
        except ParameterError:
            continue  # it is for the other kind of contexts
        found = guarantee(environment, policy, 1000)
        assert found.words
        # A number has a name, and words go with it.
        assert not found.by_gaps or found.source
        return
    pytest.fail("it could not be built")


def test_what_others_wrote_is_not_spoken_for():
    class Mine(DCB):
        pass

    assert not guarantee(CHANNELS, Mine(CHANNELS.problem), 1000).words


def test_late_feedback_is_beyond_the_bounds():
    late = CHANNELS.with_late_feedback(delays=10)
    found = guarantee(late, DCB(late.problem), 1000)
    assert not found.has_bound
    assert found.words.endswith("not here, where feedback is late or lost")


def test_what_forgets_is_made_for_change():
    laws = list(CHANNELS.states.values())
    changing = Environment(
        CHANNELS.problem,
        states={
            arm: Switching({0: law, 500: other})
            for arm, law, other in zip(CHANNELS.problem.arms, laws, laws[::-1], strict=True)
        },
        contexts=CHANNELS.contexts,
    )
    problem = changing.problem
    assert "not here, where the laws change" in guarantee(changing, DCB(problem), 1000).words
    assert "not here" not in guarantee(changing, DiscountedUCB(problem), 1000).words


def test_ucb1_epsilon_pays_for_its_epsilon():
    problem = CHANNELS.problem
    bounds = [
        guarantee(CHANNELS, policy, 10**5).by_gaps or 0.0
        for policy in (
            UCB1(problem),
            UCB1Epsilon(problem, epsilon=0),
            UCB1Epsilon(problem, epsilon=2),
        )
    ]
    assert bounds[0] == bounds[1] == ucb1(Instance.of(CHANNELS), 10**5)[1]
    least = ucb1(Instance.of(CHANNELS), 10**5)[0]
    # What explores costs twice as much; one pull and the deviations of each arm stay.
    assert 1.9 * (bounds[0] - least) < bounds[2] - least < 2 * (bounds[0] - least)
