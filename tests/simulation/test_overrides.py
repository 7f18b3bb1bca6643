"""A policy that redefines a part of its parent is never simulated as its parent.

Every name that a policy class has is redefined, one at a time, by something that raises.  If the
library then raises while it chooses and observes, the name is on the way from a request to an arm,
and the simulator must not take a kernel that does not call it.

A constructor may also replace parts of the policy itself, of its sharing, of its statistics or of
its cells.  Either such a policy runs in the interpreter, with a note that says why, or the kernel
does what the library does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from beside import assert_identical, blocks
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
    MeanPolicy,
    MeanRule,
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
from onepull.factor import ContextTable, Grid, Histogram
from onepull.index.hoeffding import hoeffding
from onepull.policies.sharing.blind import Blind
from onepull.policies.sharing.doubling import Doubling
from onepull.policies.sharing.joint import Joint
from onepull.policies.sharing.per_context import PerContext
from onepull.policies.traits import Traits
from onepull.simulation import Simulation
from onepull.statistics import ChangeDetector, Discounted, Restarting
from onepull.statistics.arm_statistics import ListStatistics

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


def last_arm(policy, request=None):
    """Return the last arm, in place of the leader."""
    del request
    return len(policy.problem.arms) - 1


class Optimistic(ListStatistics):
    """Statistics of which every mean is half a unit too high."""

    __slots__ = ()

    def move(self, arm, features, weight):
        super().move(arm, [value + 0.5 for value in features], weight)


class Deaf(ChangeDetector):
    """A detector that finds no change."""

    def take(self, features):
        return bool(super().take(features)) and False


class Reversed(ContextTable):
    """A table in which each context is in the cell of another one."""

    def locate(self, fields):
        return self.features - 1 - super().locate(fields)


class Shifted(Grid):
    """A grid of which each context is in the first cell."""

    def locate(self, fields):
        return 0 * super().locate(fields)


class OwnHistogram(Histogram):
    """A histogram that looks the other way round."""

    def look(self, means, fields):
        estimates, low, high = super().look(means, fields)
        return -estimates, low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class Halved(MeanRule):
    """A rule with a mind of its own."""

    def aim_at(self, low, high, trial):
        return MeanRule.aim_at(self, low, high, trial) / 2


def twice(mean, root, aim):
    return mean + 2.0 * aim * root


def with_attributes(kind, environment, **attributes):
    """Return a policy whose constructor sets attributes after that of its parent."""

    def make(policy, problem):
        kind.__init__(policy, problem)
        for name, value in attributes.items():
            setattr(policy, name, value(policy) if name == "_leader" else value)

    return type(f"Own{kind.__name__}", (kind,), {"__init__": make})(environment.problem)


def bound(function):
    return lambda policy: partial(function, policy)


def on(sharing, **replaced):
    """Return a policy on a sharing of which some attributes were replaced."""
    for name, value in replaced.items():
        setattr(sharing, name, value)
    return Any_(sharing, hoeffding(2.0))


class Any_(MeanPolicy):  # noqa: N801 - any rule on any sharing
    """Any rule on any sharing."""


def of_kept(statistics, **replaced):
    for name, value in replaced.items():
        setattr(statistics, name, value)
    return statistics


def optimistic(problem, features):
    return Optimistic(len(problem.arms), features)


def restarting(problem):
    found = Restarting(len(problem.arms), 4, lows=[0.0] * 4, highs=[4.0] * 4, failure=0.01)
    found.detectors = [Deaf(*found.bounds, failure=0.01) for _ in problem.arms]
    return found


class Drawn(DCB):
    """A policy that says that it draws its arms, which its rule does not."""

    traits = Traits(randomised=True)


def paused(policy):
    policy.pause(policy.problem.arms[0])
    return policy


def announced(policy):
    policy.pulled(policy.problem.arms[0], bits=1)
    return policy


def given_up(policy):
    announced(policy).gave_up(policy.problem.arms[0], bits=1)
    return policy


RULE = replace(hoeffding(2.0), index=twice)
# How a policy is made, and what the note says; nothing if the kernel does what the library does.
REPLACED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an index": (lambda w: with_attributes(DCB, w, _index=twice), ""),
    "an aim": (lambda w: with_attributes(DCB, w, _aim=lambda *_: 0.0), ""),
    "an exploration": (lambda w: with_attributes(DCB, w, _exploration=lambda *_: 0.0), ""),
    "numbers": (lambda w: with_attributes(DCB, w, _numbers=(0.1,)), ""),
    "a rule": (lambda w: with_attributes(DCB, w, _rule=RULE), ""),
    "a name of its own": (lambda w: with_attributes(DCB, w, bonus=3, note="own"), ""),
    "a leader": (lambda w: with_attributes(DCB, w, _leader=bound(last_arm)), "OwnDCB sets _leader"),
    "arms": (lambda w: with_attributes(DCB, w, _arms=w.problem.arms[::-1]), "OwnDCB sets _arms"),
    "everyone": (lambda w: with_attributes(DCB, w, _everyone=range(2)), "OwnDCB sets _everyone"),
    "a table": (
        lambda w: with_attributes(DSEE, w, _table=[1] * 999, _until=999), "OwnDSEE sets _table"
    ),
    "another kernel": (
        lambda w: with_attributes(LinUCB, w, _leader=bound(last_arm)),
        "OwnLinUCB is not made of a rule and a sharing",
    ),
    "ties": (lambda w: Drawn(w.problem, seed=1), "it breaks ties at random"),
    "a pause": (lambda w: paused(DCB(w.problem)), "arms are paused"),
    "a pause of the default": (lambda w: paused(AdaptiveKL(w.problem)), "arms are paused"),
    "a pause of a baseline": (lambda w: paused(Random(w.problem, seed=1)), "arms are paused"),
    "a pull in flight": (lambda w: announced(DCB(w.problem)), ""),
    "a pull given up": (lambda w: given_up(DCB(w.problem)), "pulls were given up before"),
    "statistics, joint": (
        lambda w: on(Joint(ContextTable(w.problem)), statistics=optimistic(w.problem, 4)),
        "the statistics Optimistic have no kernel",
    ),
    "statistics, blind": (
        lambda w: on(Blind(w.problem), statistics=optimistic(w.problem, 1)),
        "the statistics Optimistic have no kernel",
    ),
    "statistics, per context": (
        lambda w: on(
            PerContext(ContextTable(w.problem)), _kind=lambda **_: optimistic(w.problem, 1)
        ),
        "the statistics Optimistic have no kernel",
    ),
    "unseen statistics": (
        lambda w: on(PerContext(ContextTable(w.problem)), _unseen=optimistic(w.problem, 1)),
        "the statistics Optimistic have no kernel",
    ),
    "statistics that forget, blind": (
        lambda w: on(Blind(w.problem), statistics=Discounted(3, 1, discount=0.9)),
        "forgetting is compiled only for joint sharing",
    ),
    "statistics that forget, joint": (
        lambda w: on(
            Joint(ContextTable(w.problem)), statistics=Discounted(3, 4, discount=0.9)
        ),
        "",
    ),
    "statistics within": (
        lambda w: on(
            Joint(ContextTable(w.problem)),
            statistics=of_kept(Discounted(3, 4, discount=0.9), kept=optimistic(w.problem, 4)),
        ),
        "the statistics Optimistic have no kernel",
    ),
    "detectors": (
        lambda w: on(Joint(ContextTable(w.problem)), statistics=restarting(w.problem)),
        "the statistics Deaf have no kernel",
    ),
    "cells, joint": (
        lambda w: on(Joint(Reversed(w.problem))),
        "the factorisation Reversed is neither the package's nor a direct subclass of Dense",
    ),
    "cells, per context": (
        lambda w: on(PerContext(Reversed(w.problem))), "the cells Reversed have no kernel"
    ),
    "a factorisation": (
        lambda w: on(Joint(OwnHistogram(w.problem))),
        "the factorisation OwnHistogram is neither the package's nor a direct subclass of Dense",
    ),
    "a look": (
        lambda w: on(Joint(of_kept(ContextTable(w.problem), locate=lambda _: 0))),
        "locate of its factor was replaced",
    ),
    "ranges": (
        lambda w: on(
            PerContext(ContextTable(w.problem)), ranges=([0.0] * 4, [9.0, 1.0, 0.1, 4.0])
        ),
        "",
    ),
    "a view": (
        lambda w: on(sharing := Joint(ContextTable(w.problem)), view=lambda _: sharing),
        "view of its sharing was replaced",
    ),
    "a rule's class": (
        lambda w: Any_(
            Joint(ContextTable(w.problem)),
            Halved(exploration=RULE.exploration, aim=RULE.aim, index=twice, parameters=(2.0,)),
        ),
        "its rule is of the class Halved",
    ),
}  # fmt: skip


@pytest.mark.parametrize("replaced", REPLACED)
def test_no_part_that_is_replaced_on_an_object_is_skipped(replaced):
    environment = channel_selection(3)
    make, note = REPLACED[replaced]
    simulation = Simulation(environment, {"own": make(environment)}, horizon=300)
    if note:
        assert not simulation._prepared[0].is_compiled
        assert note in simulation.notes[0]
    else:
        assert_identical(*blocks(environment, make(environment), horizon=300))


def test_a_grid_of_ones_own_in_phases_is_not_skipped():
    environment = energy_harvesting()
    sharing = Doubling(environment.problem, lambda problem, _: Shifted(problem, delta=0.25))
    simulation = Simulation(environment, {"own": on(sharing)}, horizon=50)
    assert "the cells Shifted have no kernel" in simulation.notes[0]


def test_a_policy_that_was_asked_before_is_still_compiled():
    environment = channel_selection(3)
    for policy in (DSEE(environment.problem, weight=5.0), DCB(environment.problem)):
        policy.choose(bits=1)
        policy.explain(bits=2)
        policy.pause(environment.problem.arms[0])
        policy.choose(bits=1)
        policy.resume(environment.problem.arms[0])
        assert_identical(*blocks(environment, policy, horizon=300))


def test_the_reason_is_told_with_late_feedback_too():
    late = channel_selection(3).with_late_feedback(delays=3)
    for replaced in ("a leader", "statistics, joint", "a rule's class"):
        make, note = REPLACED[replaced]
        assert note in Simulation(late, {"own": make(late)}, horizon=50).notes[0]
    slow = Simulation(late, {"own": DiscountedUCB(late.problem, discount=0.9)}, horizon=50)
    assert "its kernel for late feedback does not forget" in slow.notes[0]
    linear = Simulation(late, {"own": LinUCB(late.problem)}, horizon=50)
    assert "it has no kernel for late feedback" in linear.notes[0]
    forgetting = on(Joint(ContextTable(late.problem)), statistics=Discounted(3, 4, discount=0.9))
    assert "does not forget" in Simulation(late, {"own": forgetting}, horizon=50).notes[0]
