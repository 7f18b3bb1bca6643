"""Base classes of policies that remember about N trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from onepull.checks import constant
from onepull.index.empirical_kl import empirical_kl
from onepull.index.hoeffding import remembering
from onepull.policies.rule_policy import MeanPolicy
from onepull.policies.sharing.by_name import shared
from onepull.policies.sharing.joint import Joint
from onepull.policies.states.state_policy import StatePolicy, states_of
from onepull.policies.traits import Traits
from onepull.problem import Problem
from onepull.statistics import Forgetting


class RememberingUCB(MeanPolicy):
    """An upper confidence bound on the forgetting statistics `kept(arms=…, features=…)`."""

    traits = Traits(order_matters=True, forgets=True)
    _unseen = "nothing of it is remembered"

    def __init__(  # noqa: PLR0913 - all are keyword-only
        self,
        problem: Problem,
        kept: Callable[..., Forgetting],
        *,
        memory: float,
        sharing: str,
        delta: float | Mapping[str, float] | None,
        alpha: float,
        seed: int | np.random.Generator | None,
    ) -> None:
        self.alpha = constant("alpha", alpha, above=0.0)
        self.memory = memory
        forgetful = shared(problem, sharing, delta).keep(kept)
        super().__init__(forgetful, remembering(self.alpha, memory), seed=seed)


class RememberingKL(StatePolicy):
    """The empirical-likelihood bound on a distribution that forgets old states."""

    traits = Traits(order_matters=True, forgets=True, breaks_ties_by_pulls=True)
    _unseen = "nothing of it is remembered"

    def __init__(  # noqa: PLR0913 - all are keyword-only
        self,
        problem: Problem,
        kept: Callable[..., Forgetting],
        *,
        memory: float,
        c: float,
        knots: int | None,
        seed: int | np.random.Generator | None,
    ) -> None:
        self.c = constant("c", c, above=0.0, at_least=True)
        self.memory = memory
        sharing = Joint(states_of(problem, knots)).keep(kept)
        rule = empirical_kl(self.c, 0.0, float(memory))
        super().__init__(problem, rule, sharing=sharing, seed=seed)


def remembered_trials(discount: float) -> float:
    """Return N = 1/(1-γ), about the number of trials that a discount remembers.

    >>> remembered_trials(0.75)
    4.0
    """
    return 1.0 / (1.0 - discount)
