"""What sets a policy apart from the usual: a value that tests and tools read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """How a policy differs from one that plays the highest index of independent estimates.

    The checks of `onepull.testing` hold a policy to everything that its traits do not rule out.

    Attributes
    ----------
    randomised
        An arm may be chosen that has not the highest index.
    breaks_ties_by_pulls
        Of tied arms the least pulled is chosen, and not the first.
    index_is_reward
        An index is in the unit of the reward.
    order_matters
        The same observations in another order teach something else.
    arm_order_matters
        The place of an arm in the list matters.
    weighs_chances
        Estimates depend on the probabilities with which arms were pulled.
    extrapolates
        Estimates may leave the range of the reward.
    index_depends_on_other_arms
        The index of an arm depends on what others showed.
    forgets
        The policy is made for arms that change.

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
