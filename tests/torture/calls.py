"""Odd values for every parameter of every constructor, and for every method of every policy."""

from __future__ import annotations

import contextlib
import tempfile
from functools import cache
from typing import Any

import numpy as np
from policies.misuse import CONSTRUCTORS, calls, refusals
from policy_cases import CASES

from onepull import Policy
from onepull.errors import OnepullError
from onepull.testing.random_data import observations
from torture.area import Area


@cache
def constructor_calls() -> list[Any]:
    """Return every constructor with every odd value of every parameter."""
    return [call for name in CONSTRUCTORS for _, _, call in refusals(name)]


def constructor_case(seed: int) -> bool:
    """Call a constructor with two odd values."""
    generator = np.random.default_rng(seed)
    tried = constructor_calls()
    first = tried[seed % len(tried)]
    if seed < len(tried):
        return succeeds(first)
    alike = [call for call in tried if call.func is first.func]
    other = alike[int(generator.integers(len(alike)))]
    changed = {
        key: value for key, value in other.keywords.items() if first.keywords.get(key) is not value
    }
    return succeeds(lambda: first.func(**{**first.keywords, **changed}))


def method_case(seed: int) -> bool:
    """Call methods of a policy with odd values; a refused call changes nothing."""
    generator = np.random.default_rng(seed)
    name = list(CASES)[int(generator.integers(len(CASES)))]
    build, problem = CASES[name]
    policy: Policy = build(problem())
    for pull in observations(problem(), 6, generator):
        policy.observe(**pull)
    arm = pull.pop("arm")
    saves = problem().reward.is_formula
    before = policy.to_bytes() if saves else b""
    tried = list(calls(policy, arm, pull))
    accepted = False
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for place in generator.integers(len(tried), size=8):
            what, call = tried[place]
            worked = succeeds(call)
            after = policy.to_bytes() if saves else b""
            assert worked or after == before, f"changed by a refused call: {what}"
            accepted, before = accepted or worked, after
    policy.choose(**problem().context.among(pull))
    return accepted


def succeeds(call: Any) -> bool:
    """Return whether a call works; errors of ours are refusals, and so is a missing file."""
    try:
        call()
    except (OnepullError, FileNotFoundError) as error:
        if not str(error):
            raise AssertionError("an error without a message") from error
        return False
    return True


CONSTRUCTIONS = Area(
    name="constructors",
    tries="a public constructor is called with one or two odd values",
    case=constructor_case,
    in_tests=400,
    fixed=(
        "`CoarseKL(knots=10**7)` took 60 s and 4.5 GB",
        "`Problem(arms=3)` and `Problem(context=[1])` raised a bare `TypeError`",
        "30,000 arms took 6 s",
        "arms of type `numpy.str_` worked until the policy was saved",
    ),
)
METHODS = Area(
    name="calls",
    tries="methods of a policy are called with odd values; a refused call changes nothing",
    case=method_case,
    in_tests=30,
    fixed=("`eligible=0` raised a bare `TypeError`",),
)
