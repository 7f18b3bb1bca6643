"""Base classes of policies that remember about N trials."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from onepull.checks import constant
from onepull.index.empirical_kl import empirical_kl
from onepull.index.hoeffding import remembering
from onepull.policies.rule_policy import MeanPolicy
from onepull.policies.sharing.joint import Joint
from onepull.policies.sharing.sharing import Sharing
from onepull.policies.states.state_policy import StatePolicy, states_of
from onepull.policies.traits import Traits
from onepull.problem import Problem
from onepull.statistics import Discounted, Forgetting, Window

NOT_REMEMBERED = "nothing of it is remembered"
PROVED_FOR_HOEFFDING = (  # the guarantee of `RememberingKL`
    "no bound is known; there is one for the Hoeffding width on the same means (Garivier and "
    "Moulines 2011)"
)


class Remembered(NamedTuple):
    """Which observations count: the statistics that forget the others, and about how many."""

    statistics: Callable[..., Forgetting]
    trials: float


class RememberingUCB(MeanPolicy):
    """An upper confidence bound on the means of what is remembered."""

    traits = Traits(order_matters=True, forgets=True)
    _unseen = NOT_REMEMBERED

    def __init__(
        self,
        sharing: Sharing,
        remembered: Remembered,
        alpha: float,
        seed: int | np.random.Generator | None,
    ) -> None:
        self.alpha = constant("alpha", alpha, above=0.0)
        self.memory = remembered.trials
        rule = remembering(self.alpha, self.memory)
        super().__init__(sharing.keep(remembered.statistics), rule, seed=seed)


class RememberingKL(StatePolicy):
    """The empirical-likelihood bound on the distribution of the states that are remembered."""

    traits = Traits(order_matters=True, forgets=True, breaks_ties_by_pulls=True)
    _unseen = NOT_REMEMBERED

    def __init__(
        self,
        problem: Problem,
        remembered: Remembered,
        c: float,
        knots: int | None,
        seed: int | np.random.Generator | None,
    ) -> None:
        self.c = constant("c", c, above=0.0, at_least=True)
        self.memory = remembered.trials
        sharing = Joint(states_of(problem, knots)).keep(remembered.statistics)
        rule = empirical_kl(self.c, 0.0, float(self.memory))
        super().__init__(problem, rule, sharing=sharing, seed=seed)


def discounted(discount: float) -> Remembered:
    """Return what a discount γ remembers: about the last N = 1/(1-γ) trials.

    >>> discounted(0.75).trials
    4.0
    """
    return Remembered(partial(Discounted, discount=discount), 1.0 / (1.0 - discount))


def newest(window: int) -> Remembered:
    """Return what a window remembers: its number of observations.

    >>> newest(30).trials
    30
    """
    return Remembered(partial(Window, window=window), window)
