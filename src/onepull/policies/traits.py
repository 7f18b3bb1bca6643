"""Unusual properties of a policy, declared for tests and tools."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """How a policy differs from one that plays the highest index of independent estimates.

    The checks of `onepull.testing` test every property that the traits do not exclude.

    Attributes
    ----------
    randomised
        The policy may choose an arm without the highest index.
    breaks_ties_by_pulls
        The least pulled of tied arms is chosen, instead of the first.
    index_is_reward
        The index has the unit of the reward.
    order_matters
        The result depends on the order of the observations.
    arm_order_matters
        The result depends on the order of the arms.
    weighs_chances
        Estimates depend on the probabilities with which arms were pulled.
    extrapolates
        Estimates may be outside the range of the reward.
    index_depends_on_other_arms
        The index of an arm depends on observations of other arms.
    forgets
        The policy is made for arms that change over time.
    needs_no_lowest_reward
        The policy takes rewards without a lower bound, as of latencies.
    waits_to_explore
        The policy goes through all contexts to explore an arm where that is cheapest.  So it needs
        arms that do not change and answer before the next request.

    Examples
    --------
    >>> from onepull import DCB, DiscountedUCB
    >>> DCB.traits.order_matters, DiscountedUCB.traits.order_matters
    (False, True)
    """

    randomised: bool = False
    breaks_ties_by_pulls: bool = False
    index_is_reward: bool = True
    order_matters: bool = False
    arm_order_matters: bool = False
    weighs_chances: bool = False
    extrapolates: bool = False
    index_depends_on_other_arms: bool = False
    forgets: bool = False
    needs_no_lowest_reward: bool = False
    waits_to_explore: bool = False
