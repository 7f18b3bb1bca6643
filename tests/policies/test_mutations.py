"""Save files with wrong values and an honest checksum: refused, or read as a policy that works."""

from __future__ import annotations

import json

import numpy as np
import pytest
from policies.mutations import exercise, loads_or_refuses, mutated, signed
from policy_cases import one_each
from problems import channels, harvesting
from taught import taught

from onepull import (
    DSEE,
    ILTCB,
    KLUCB,
    UCBALP,
    CoarseKL,
    ContextualZooming,
    DirichletThompson,
    DiscountedUCB,
    DoublingCCB,
    EmpiricalKL,
    LinUCB,
    MultiUCB,
    Policy,
    Random,
    RestartingUCB,
    SaveFileError,
    SlidingWindowKL,
)

MUTANTS = 12


# A mutated reward may be unbounded; its problem is then refused, or its arms are only counted.
@pytest.mark.parametrize(("build", "problem"), one_each().values(), ids=one_each())
def test_a_file_that_loads_makes_a_policy_that_works(build, problem):
    policy = taught(build(problem()), 40)
    blob = policy.to_bytes()
    given = None if policy.problem.reward.is_formula else policy.problem
    exercise(policy, np.random.default_rng(0))
    for seed in range(MUTANTS):
        rng = np.random.default_rng([seed, len(blob)])
        bad = mutated(blob, rng)
        try:
            loads_or_refuses(bad, rng, lambda text: Policy.from_bytes(text, problem=given))
        except BaseException as error:
            error.add_note(f"mutated(blob, np.random.default_rng([{seed}, {len(blob)}]))")
            raise


def test_a_mutant_without_changes_is_read():
    blob = taught(Random(channels(2), seed=1), 40).to_bytes()
    again = signed(json.loads(blob))
    assert Policy.from_bytes(again).to_bytes() == blob


def changed(policy, place, value):
    """Return a policy's file with another value at a place, such as "learned/all/pulls/0"."""
    document = json.loads(taught(policy, 40).to_bytes())
    *path, last = [int(key) if key.isdecimal() else key for key in place.split("/")]
    holder = document["saved"]
    for key in path:
        holder = holder[str(key)] if isinstance(holder, dict) else holder[key]
    holder[last] = value
    return signed(document)


def discounted():
    return DiscountedUCB(channels(3), discount=0.9)


def windowed():
    return SlidingWindowKL(channels(3), window=10, knots=5)


def restarting():
    return RestartingUCB(channels(3))


def paying():
    return UCBALP(channels(3), costs={"channel-1": 1}, budget=10, horizon=100)


def seeded(kind="PCG64"):
    return Random(channels(3), seed=np.random.Generator(getattr(np.random, kind)(1)))


@pytest.mark.parametrize(
    ("policy", "place", "value", "said"),
    [
        (KLUCB(channels(3)), "learned/all/pulls/0", 10**30, "<= 9007199254740992"),
        (KLUCB(channels(3)), "learned/all/trials", 10**400, "invalid"),
        (KLUCB(channels(3)), "learned/all/means/0/1", 9.5, "is 9.5; expected 0 to 2"),
        (KLUCB(channels(3)), "learned/all/means/0/1", -0.5, "is -0.5; expected 0 to 2"),
        (MultiUCB(channels(3)), "learned/0/means/0/0", 1.5, "is 1.5; expected 0 to 1"),
        (EmpiricalKL(channels(3)), "learned/all/means/0/2", -1e-9, "do not sum|expected 0 to 1"),
        (DirichletThompson(channels(3)), "learned/all/means/0/2", 0.9, "do not sum to 1"),
        (discounted(), "learned/all/scale", 0.0, "scale"),
        (discounted(), "learned/all/weights/0", 1e-300, "below 1e-200"),
        (windowed(), "learned/all/rows/0/0", 0.5, "do not sum to 1|are not those of"),
        (windowed(), "learned/all/rows/0", [0.0, 0.0, 0.0, 0.0, 1.0], "are not those of"),
        (windowed(), "learned/all/arms/0", -2, ">= -1"),
        (restarting(), "learned/all/detectors/0/tests", 9, "tests"),
        (restarting(), "learned/all/detectors/0/filling", [], "observations of an arm with"),
        (DoublingCCB(harvesting()), "learned/phase", 40, "6 means, not"),
        (paying(), "learned/spent", 1e300, "more than 40 trials"),
        (paying(), "learned/contexts/0", 2**50, "more than 40 trials"),
        (ILTCB(channels(3)), "learned/solution", 1000, "after the last one"),
        (ILTCB(channels(3)), "learned/history/probabilities/0", 1e-320, "probabilities"),
        (ILTCB(channels(3)), "learned/mixture/weights/0", 1e308, "weights"),
        (LinUCB(channels(3)), "learned/moments/0/0", 1e9, "impossible for the saved number"),
        (LinUCB(channels(3)), "learned/grams/0/0/0", -1.0, "positive semidefinite"),
        (ContextualZooming(harvesting()), "learned/balls/0/statistics/means/0/0", 7.0, "outside"),
        (ContextualZooming(harvesting()), "learned/balls/0/radii/0", 0.5, "first radius must be 1"),
        (CoarseKL(channels(3)), "learned/trials", 2**54, "trials"),
        (
            CoarseKL(channels(3)),
            "parameters/knots",
            10**9,
            "knots must be a whole number",
        ),
        (DSEE(channels(3)), "parameters/weight", 1e300, "weight must be"),
        (seeded(), "generator/state/inc", "2", "generator"),
        (seeded(), "generator/state", [], "generator"),
        (seeded(), "generator/uinteger", str(2**40), "too large"),
        (seeded("MT19937"), "generator/state/pos", "625", "impossible position"),
        (seeded("MT19937"), "generator/state/key", ["0"] * 624, "impossible position or key"),
        (seeded("Philox"), "generator/buffer_pos", "7", "buffer_pos"),
        (seeded("SFC64"), "generator/state/state/0", "-1", "state"),
    ],
)
def test_a_value_that_cannot_be_is_refused(policy, place, value, said):
    with pytest.raises(SaveFileError, match=said):
        Policy.from_bytes(changed(policy, place, value))


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_means_at_the_ends_of_their_range_are_read(share):
    """Rounding may put a mean next to the end of its range."""
    for kind in (KLUCB, MultiUCB):
        policy = kind(channels(2))
        for _ in range(100):
            policy.observe("channel-1", capacity=7 * share, bits=3)
        if kind is MultiUCB:
            policy.observe("channel-2", reward=3 * share + (2 * share - 1) * 1e-10, bits=3)
        twin = kind.from_bytes(policy.to_bytes())
        assert twin.to_bytes() == policy.to_bytes()
        twin.choose(bits=3)
