"""Every built-in policy passes the shipped battery on every problem it is made for."""

from __future__ import annotations

import re

import pytest
from policy_cases import CASES, GROUPS, enough
from problems import endless

from onepull.errors import ParameterError
from onepull.policies.registry import registered
from onepull.testing import POLICY_CHECKS

SETTINGS = {name: build for group in GROUPS for name, build in group.items()}


def test_every_policy_of_the_package_is_tried():
    tried = {type(build(problem())).__name__ for build, problem in CASES.values()}
    assert tried >= set(registered())


def test_every_policy_is_tried_with_attributes_and_failures():
    tried = {
        type(build(problem())).__name__
        for build, problem in CASES.values()
        if problem().attributes and problem().failure is not None
    }
    assert tried == set(registered())


def test_without_bounds_a_policy_works_or_says_what_does():
    works, problem = set(), endless()
    for name, build in SETTINGS.items():
        try:
            works.add(type(build(problem)).__name__)
        except ParameterError as error:
            told = str(error)
            assert "recommended(problem)" in told or UNFIT.search(told), (name, told)
    assert works == {
        "AdaptiveKL", "DSEE", "EpsilonGreedy", "FixedArm", "Genie", "Random", "RegressionUCB",
    }  # fmt: skip


# Reasons that have nothing to do with bounds.
UNFIT = re.compile("a grid needs an interval context|must list the values of each")


@pytest.mark.parametrize(("build", "problem"), enough().values(), ids=enough())
def test_policy(build, problem):
    """All checks are run, whichever fail: a test for each would take a third more time."""
    failures = []
    for check in POLICY_CHECKS:
        try:
            check(build, problem())
        except Exception as failure:  # noqa: BLE001 - raised below, with the name of its check
            failure.add_note(f"in the check {check.__name__}")
            failures.append(failure)
    if failures:
        raise ExceptionGroup("checks that fail", failures)
