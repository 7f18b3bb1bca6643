"""Checks that every policy, every factorisation and every store must pass.

They ship with the package, so you can run them on your own classes::

    import pytest
    from onepull.testing import POLICY_CHECKS

    @pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
    def test_my_policy(check):
        check(lambda problem: MyPolicy(problem, temper=0.5), my_problem)

A check takes a function that builds the policy for a problem, and a problem.  It raises
`AssertionError` with what it found; where a trait of the policy would allow the behaviour, the
message names the trait to declare.  Random data is seeded, so results are repeatable.

A check of `STORE_CHECKS` takes a function that opens a log.  The log is empty at first, and every
call opens the same one.
"""

from onepull.testing.factorisations import FACTORISATION_CHECKS
from onepull.testing.policies import POLICY_CHECKS
from onepull.testing.stores import STORE_CHECKS

__all__ = ["FACTORISATION_CHECKS", "POLICY_CHECKS", "STORE_CHECKS"]
