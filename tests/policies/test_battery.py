"""Every built-in policy passes the shipped battery on every problem it is made for."""

from __future__ import annotations

import pytest
from policy_cases import CASES

from onepull.policies.registry import registered
from onepull.testing import POLICY_CHECKS


def test_every_policy_of_the_package_is_tried():
    tried = {type(build(problem())).__name__ for build, problem in CASES.values()}
    assert tried >= set(registered())


@pytest.mark.parametrize(("build", "problem"), CASES.values(), ids=CASES)
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
