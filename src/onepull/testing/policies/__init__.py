"""The checks for policies.

A trait of the policy relaxes some checks.  A check that fails names the trait to declare if the
behaviour is intended.
"""

from __future__ import annotations

from collections.abc import Callable

from onepull.problem import Problem
from onepull.testing.policies.choosing import (
    choosing_changes_nothing,
    explanation_agrees_with_choice,
    only_eligible_arms_are_chosen,
    unpulled_arms_come_first,
)
from onepull.testing.policies.invariance import (
    arms_come_and_go,
    estimates_stay_in_bounds,
    renaming_arms_changes_nothing,
    reordering_arms_reorders_indices,
    scaling_the_reward_scales_indices,
)
from onepull.testing.policies.learning import (
    bad_input_changes_nothing,
    batches_equal_single_observations,
    feedback_may_be_late_or_missing,
    merging_is_seeing_everything,
    order_of_observations_does_not_matter,
    pulls_in_flight_count_until_they_land,
    saving_and_loading_keeps_everything,
)
from onepull.testing.policies.taught import BuildPolicy

__all__ = [
    "POLICY_CHECKS",
    "Build",
    "arms_come_and_go",
    "bad_input_changes_nothing",
    "batches_equal_single_observations",
    "choosing_changes_nothing",
    "estimates_stay_in_bounds",
    "explanation_agrees_with_choice",
    "feedback_may_be_late_or_missing",
    "merging_is_seeing_everything",
    "only_eligible_arms_are_chosen",
    "order_of_observations_does_not_matter",
    "pulls_in_flight_count_until_they_land",
    "renaming_arms_changes_nothing",
    "reordering_arms_reorders_indices",
    "saving_and_loading_keeps_everything",
    "scaling_the_reward_scales_indices",
    "unpulled_arms_come_first",
]

POLICY_CHECKS: list[Callable[[BuildPolicy, Problem], None]] = [
    choosing_changes_nothing,
    explanation_agrees_with_choice,
    unpulled_arms_come_first,
    only_eligible_arms_are_chosen,
    order_of_observations_does_not_matter,
    batches_equal_single_observations,
    saving_and_loading_keeps_everything,
    merging_is_seeing_everything,
    renaming_arms_changes_nothing,
    reordering_arms_reorders_indices,
    scaling_the_reward_scales_indices,
    estimates_stay_in_bounds,
    arms_come_and_go,
    feedback_may_be_late_or_missing,
    pulls_in_flight_count_until_they_land,
    bad_input_changes_nothing,
]
