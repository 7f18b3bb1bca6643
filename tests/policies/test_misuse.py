"""Odd values for every parameter and every call: refused with an error of onepull, or they work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from policies.misuse import CONSTRUCTORS, calls, refusals
from policy_cases import one_each
from problems import channels, harvesting

from onepull import (
    CCB,
    DCB,
    KLUCB,
    UCB1,
    UCBALP,
    CoarseKL,
    ContextualZooming,
    EmpiricalKL,
    EpochGreedy,
    Finite,
    FixedArm,
    Grid,
    Interval,
    LinUCB,
    LowRank,
    OnepullError,
    ParameterError,
    Policy,
    Problem,
    ProblemError,
    Random,
    Sketch,
)
from onepull.testing.random_data import observations

dcb: Any = DCB

# Seconds each: the limits are what they say, and not worth waiting for.
SLOW = {("for_horizon", "horizon")}


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_odd_parameters_are_refused_or_work(name):
    said = []
    for i, (parameter, value, build) in enumerate(refusals(name)):
        if i % 9 != sum(map(ord, name)) % 9 or (name, parameter) in SLOW:
            continue
        try:
            built = build()
        except OnepullError as error:
            said.append(str(error))
            continue
        except Exception as error:
            error.add_note(f"{name}({parameter}={value!r})")
            raise
        if isinstance(built, Policy):
            use(built)
    # A message does not repeat all of what was given.
    assert all(0 < len(message.strip()) < 2000 for message in said)


def use(policy):
    for pull in observations(policy.problem, 2, np.random.default_rng(1)):
        context = policy.problem.context.among(pull)
        policy.choose(**context)
        policy.observe(**pull)
        policy.explain(**context)
    given = None if policy.problem.reward.is_formula else policy.problem
    saved = policy.to_bytes()
    assert type(policy).from_bytes(saved, problem=given).to_bytes() == saved


@pytest.mark.parametrize(("build", "problem"), one_each().values(), ids=one_each())
def test_a_refused_call_changes_nothing(build, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    policy = build(problem())
    *learned, pull = observations(policy.problem, 11, np.random.default_rng(1))
    for known in learned:
        policy.observe(**known)
    arm = pull.pop("arm")
    before, arms = policy.to_bytes(), policy.problem.arms
    for i, (what, call) in enumerate(calls(policy, arm, pull)):
        if i % 7 != len(before) % 7:
            continue
        try:
            call()
        except OnepullError:
            assert policy.to_bytes() == before, f"{what} was refused and changed the policy"
        except FileNotFoundError:
            assert what.startswith("load"), what
        except Exception as error:
            error.add_note(what)
            raise
        else:
            for added in set(policy.problem.arms) - set(arms):
                policy.remove_arm(added)
            for removed in set(arms) - set(policy.problem.arms):
                policy.add_arm(removed)
            before = policy.to_bytes()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: CoarseKL(channels(2), knots=10**7), "knots must be a whole number from 2 to 256"),
        (lambda: Sketch(channels(2), knots=10**7), "10,000,000 listed states are more than"),
        (lambda: EmpiricalKL(channels(2), knots=10**12), "listed states are more than"),
        (lambda: KLUCB(channels(2), sharing="sketch(10000000)"), "listed states are more than"),
        (lambda: Grid(harvesting(), delta=1e-12), "more than 1,000,000 cells"),
        (lambda: CCB(harvesting(), delta=1e-300), "more than 1,000,000 cells"),
        (lambda: LowRank(harvesting(), most=10**9), "most must be a whole number from 1 to 724"),
        (lambda: Finite(range(2**24)), "at most 1,048,576 values"),
        (lambda: Finite(float(i) for i in range(2**60)), "at most 1,048,576 values"),
        (lambda: EpochGreedy(channels(2), c=1e12), "c must be at most 1e.09"),
        (lambda: LinUCB(channels(2), regulariser=1e-300), "0 or between 1e-100 and 1e.100"),
        (lambda: ContextualZooming(channels(2), horizon=10**400), "to 9,007,199,254,740,992"),
        (lambda: dcb(channels(2), beyond_theory="no"), "beyond_theory must be True or False"),
        (lambda: dcb(3), "problem must be a Problem, given 3"),
        (lambda: dcb(None), "problem must be a Problem, given None"),
    ],
)
def test_a_limit_is_stated_before_anything_is_made(build, said):
    with pytest.raises((ParameterError, ProblemError), match=said):
        build()


def test_text_of_numpy_is_text():
    text = np.str_
    problem = Problem(
        arms=np.array(["wifi", "lte"]),
        context={text("power"): Interval(0, 1)},
        state={text("gain"): Interval(0, 1)},
        reward="power * gain",
    )
    assert [type(arm) for arm in problem.arms] == [str, str]
    assert [type(name) for name in (*problem.context, *problem.state)] == [str, str]
    lte = text("lte")
    for policy in (
        FixedArm(problem, arm=lte),
        UCB1(problem),
        CCB(problem, delta={text("power"): 0.5}),
        KLUCB(problem, sharing=text("joint"), delta=0.5),
        EpochGreedy(problem, delta=0.5, policies=[[lte, lte], [text("wifi"), lte]]),
        LinUCB(problem, features={text("wifi"): [text("power")], lte: ["1"]}),
        UCBALP(problem, costs={lte: 1.0}, budget=5, horizon=10, delta=0.5),
    ):
        policy.observe(lte, **{text("power"): 0.5, text("gain"): 0.5})
        assert policy.choose(eligible=np.array(["lte"]), power=0.5) == "lte"
        given: Any = {text("power"): 0.5}
        policy.explain(**given)
        policy.add_arm(text("5g")) if type(policy) in (UCB1, CCB) else None
        assert type(policy).from_bytes(policy.to_bytes()).to_bytes() == policy.to_bytes()


@pytest.mark.parametrize("kind", [DCB, UCB1, EmpiricalKL, Random, LinUCB])
def test_thirty_thousand_arms(kind):
    names = [f"arm-{i}" for i in range(30_000)]
    problem = channels(1).with_arms(names)
    policy = kind(problem)
    policy.observe(names[-1], bits=1, capacity=2)
    policy.add_arm("one more")
    policy.remove_arm(names[7])
    assert policy.choose(bits=1, eligible=names[:5]) in names
    assert policy.explain(bits=1, eligible=names[:7]).trial == 2
    with pytest.raises(OnepullError, match=r"unknown arm 'x'; .*\(30,000 in all\)$"):
        policy.observe("x", bits=1, capacity=2)
    with pytest.raises(ProblemError, match="given 'arm-0' twice"):
        channels(1).with_arms([*names, "arm-0"])
