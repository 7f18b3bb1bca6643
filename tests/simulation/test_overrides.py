"""A policy that redefines a part of its parent is never simulated as its parent.

Every name that a policy class has is redefined, one at a time, by something that raises.  If the
library then raises while it chooses and observes, the name is on the way from a request to an arm,
and the simulator must not take a kernel that does not call it.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from problems import channels

from onepull import (
    CCB,
    DCB,
    DSEE,
    IMED,
    KLUCB,
    UCB1,
    AdaptiveKL,
    CoarseKL,
    ContextualZooming,
    DirichletThompson,
    DiscountedKL,
    DiscountedUCB,
    DoublingCCB,
    EmpiricalBernstein,
    EmpiricalKL,
    EpsilonGreedy,
    FixedArm,
    Genie,
    Greedy,
    LinearThompson,
    LinUCB,
    MultiUCB,
    PatientKL,
    Policy,
    Random,
    RestartingUCB,
    SlidingWindowKL,
    SlidingWindowUCB,
    UCB1Epsilon,
    UpperConfidence,
)
from onepull.environment import channel_selection, energy_harvesting
from onepull.simulation import Simulation

CHANNELS, HARVESTING = channel_selection(3), energy_harvesting()
COMPILED: dict[type[Policy], tuple[Any, dict[str, Any]]] = {
    **dict.fromkeys(
        (
            DCB, UCB1, UCB1Epsilon, MultiUCB, UpperConfidence, KLUCB, Greedy, EmpiricalKL, IMED,
            EmpiricalBernstein, DirichletThompson, PatientKL, CoarseKL, EpsilonGreedy, DSEE,
            DiscountedUCB, SlidingWindowUCB, RestartingUCB, DiscountedKL, SlidingWindowKL,
            LinUCB, LinearThompson, Random, AdaptiveKL,
        ),
        (CHANNELS, {}),
    ),
    ContextualZooming: (HARVESTING, {}),
    CCB: (HARVESTING, {"delta": 0.25}),
    DoublingCCB: (HARVESTING, {}),
    FixedArm: (CHANNELS, {"arm": "channel 2"}),
    Genie: (CHANNELS, {"states": CHANNELS.states}),
}  # fmt: skip
LEFT_ALONE = {"__init__", "__new__", "__class__", "__init_subclass__", "__subclasshook__"}


class Overridden(Exception):  # noqa: N818 - not an error of anything
    """What a redefined part raises."""


def raising(*_, **__):
    raise Overridden


def parts(kind):
    """Return every name of a policy class that a subclass may redefine."""
    ours = [base for base in kind.__mro__ if base.__module__.startswith("onepull.")]
    names = {name for base in ours for name, value in vars(base).items() if is_part(value)}
    # Parts that rules once were made of, and that somebody may still look for.
    return sorted(names - LEFT_ALONE | {"_index", "_rate", "_turn", "_risk", "_aim", "_laws"})


def is_part(value):
    return inspect.isfunction(value) or isinstance(value, (property, classmethod, staticmethod))


def redefined(kind, name):
    old = inspect.getattr_static(kind, name, None)
    new = property(raising) if isinstance(old, property) else raising
    return type(f"Own{kind.__name__}", (kind,), {name: new})


def library_calls_it(kind, environment, parameters):
    """Whether the library meets the redefined part while it chooses and observes."""
    problem = environment.problem
    generator = np.random.default_rng(1)
    law = next(iter(environment.states.values()))
    contexts = environment.contexts.sample(generator, 40).tolist()
    states = law.sample(generator, 40).tolist()
    try:
        policy = kind(problem, **parameters)
        for context, state in zip(contexts, states, strict=True):
            told = dict(zip(problem.context, context, strict=True))
            arm = policy.choose(**told)
            policy.observe(arm, **told, **dict(zip(problem.state, state, strict=True)))
    except Overridden:
        return True
    return False


@pytest.mark.parametrize("kind", COMPILED, ids=lambda kind: kind.__name__)
def test_no_part_of_a_policy_is_skipped(kind):
    environment, parameters = COMPILED[kind]
    usual = Simulation(environment, {"own": kind(environment.problem, **parameters)}, horizon=40)
    assert usual._prepared[0].is_compiled
    called: list[str] = []
    for name in parts(kind):
        try:
            own = redefined(kind, name)
            policy = own(environment.problem, **parameters)
            simulation = Simulation(environment, {"own": policy}, horizon=40)
            compiled = simulation._prepared[0].is_compiled
        except Overridden:  # it cannot even be made, or asked how it is to be run
            continue
        # What is not compiled skips nothing; one that is called shows that the test can find them.
        if (compiled or not called) and library_calls_it(own, environment, parameters):
            called.append(name)
            assert not compiled, f"{kind.__name__}.{name} is redefined and the kernel skips it"
    assert called or not kind(environment.problem, **parameters).learns


def test_the_notes_say_that_it_runs_in_the_interpreter():
    class Own(DCB):
        def _leader(self, request):
            return super()._leader(request)

    problem = channels(3)
    assert isinstance(Own(problem), Policy)
    environment = channel_selection(3)
    simulation = Simulation(environment, {"own": Own(environment.problem)}, horizon=40)
    assert simulation.notes[0].startswith("own has no compiled step")
