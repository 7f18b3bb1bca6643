"""The checks on names and places of arms catch a policy that goes by either."""

from __future__ import annotations

import pytest
from problems import channels

from onepull import DCB, DSEE, FixedArm
from onepull.testing.policies import (
    renaming_arms_changes_nothing,
    reordering_arms_reorders_indices,
)


class ByName(DCB):
    """Prefers arms with short names."""

    def _indices(self, request):
        indices = super()._indices(request)
        return [i - len(arm) for i, arm in zip(indices, self.problem.arms, strict=True)]


class ByPlace(DCB):
    """Prefers arms that stand late."""

    def _indices(self, request):
        return [index + j for j, index in enumerate(super()._indices(request))]


class BiasedByPlace(DSEE):
    """Takes turns, as it may, and estimates by place, as it may not."""

    def _estimates(self, request):
        return [None if e is None else e + j for j, e in enumerate(super()._estimates(request))]


def test_a_policy_that_goes_by_names_is_caught():
    with pytest.raises(AssertionError, match="renamed channel-1"):
        renaming_arms_changes_nothing(ByName, channels(3))
    reordering_arms_reorders_indices(ByName, channels(3))


@pytest.mark.parametrize("kind", [ByPlace, BiasedByPlace])
def test_a_policy_that_goes_by_places_is_caught(kind):
    with pytest.raises(AssertionError, match="against"):
        reordering_arms_reorders_indices(kind, channels(3))
    renaming_arms_changes_nothing(kind, channels(3))


def test_a_policy_that_is_built_from_names_has_no_other():
    renaming_arms_changes_nothing(lambda p: FixedArm(p, arm="channel-1"), channels(3))
