"""A check that fails names the trait that would allow the behaviour."""

from __future__ import annotations

import pytest
from problems import channels

from onepull import DCB, DSEE, EmpiricalKL
from onepull.testing import policies as checks


class ByOrder(DCB):
    """Prefers the arms that were observed last."""

    def observe(self, arm, *nameless, reward=None, **fields):
        super().observe(arm, *nameless, reward=reward, **fields)
        self.__dict__.setdefault("last", {})[arm] = self.trials

    def _indices(self, request):
        last = [self.__dict__.get("last", {}).get(arm, 0) for arm in self.problem.arms]
        return [i + trial for i, trial in zip(super()._indices(request), last, strict=True)]


class ByPlace(DCB):
    """Prefers arms late in the list."""

    def _indices(self, request):
        return [index + j for j, index in enumerate(super()._indices(request))]


class EstimatesByPlace(DSEE):
    """Estimates more for arms late in the list."""

    def _estimates(self, request):
        return [float(e) + j for j, e in enumerate(request.view[1])]


class AlwaysLast(DCB):
    """Chooses the last arm, whatever its index."""

    def choose(self, *_, **__):
        return self.problem.arms[-1]


class MostPulled(EmpiricalKL):
    """Breaks ties in favour of the most pulled arm."""

    def choose(self, *_, **context):
        rows = self.explain(**context).arms
        return max(rows, key=lambda row: (row.index, row.pulls)).arm


class Extrapolating(DCB):
    """Estimates more than there is to get."""

    def _estimates(self, request):
        return [float(e) + 100.0 for e in request.view[1]]


class Squared(DCB):
    """Its index is the square of a reward."""

    def _indices(self, request):
        return [index**2 for index in super()._indices(request)]


class Pessimistic(DCB):
    """Its index lies below its estimate."""

    def _indices(self, request):
        return [index - 100.0 for index in super()._indices(request)]


class ByRank(DCB):
    """Its index falls with the number of arms."""

    def _indices(self, request):
        return [index - len(self.problem.arms) for index in super()._indices(request)]


@pytest.mark.parametrize(
    ("kind", "check", "trait"),
    [
        (ByOrder, checks.order_of_observations_does_not_matter, "order_matters=True"),
        (ByOrder, checks.merging_is_seeing_everything, "order_matters=True"),
        (ByPlace, checks.reordering_arms_reorders_indices, "arm_order_matters=True"),
        (EstimatesByPlace, checks.reordering_arms_reorders_indices, "weighs_chances=True"),
        (AlwaysLast, checks.explanation_agrees_with_choice, "randomised=True"),
        (MostPulled, checks.explanation_agrees_with_choice, "breaks_ties_by_pulls=False"),
        (Extrapolating, checks.estimates_stay_in_bounds, "extrapolates=True"),
        (Squared, checks.scaling_the_reward_scales_indices, "index_is_reward=False"),
        (Pessimistic, checks.estimates_stay_in_bounds, "index_is_reward=False"),
        (ByRank, checks.arms_come_and_go, "index_depends_on_other_arms=True"),
    ],
)
def test_a_failing_check_names_the_trait(kind, check, trait):
    with pytest.raises(AssertionError, match=f"by design, declare the trait {trait}"):
        check(kind, channels(7))
