"""The checks catch policies that go by names or places, forget arms or have no index."""

from __future__ import annotations

import pytest
from problems import channels

from onepull import DCB, DSEE, FixedArm, ParameterError
from onepull.testing.policies import (
    explanation_agrees_with_choice,
    renaming_arms_changes_nothing,
    reordering_arms_reorders_indices,
    unpulled_arms_come_first,
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


class Confident(DCB):
    """Takes arms that were never pulled for bad ones."""

    def _indices(self, request):
        return [min(index, 0.0) for index in super()._indices(request)]


class Undefined(DCB):
    """Divides 0 by 0 for an arm."""

    undefined = 0

    def _indices(self, request):
        indices = super()._indices(request)
        return [float("nan") if j == self.undefined else index for j, index in enumerate(indices)]

    def _leader(self, request):
        return self._foremost(request, self._indices(request))[0]


def test_a_policy_that_does_not_try_every_arm_is_caught():
    with pytest.raises(AssertionError, match=r"channel-1 was never pulled and has the index 0\.0"):
        unpulled_arms_come_first(Confident, channels(3))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_index_that_is_no_number_is_caught_wherever_it_is(place):
    kind = type("Undefined", (Undefined,), {"undefined": place})
    with pytest.raises(ParameterError, match="an index is NaN"):
        kind(channels(3)).choose(bits=1)
    with pytest.raises(ParameterError, match="an index is NaN"):
        explanation_agrees_with_choice(kind, channels(3))


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
