"""Policies whose reward can be changed."""

from __future__ import annotations

from typing import Any, Self

import msgspec

from onepull.arms import WordsOfAttributes
from onepull.checks import number
from onepull.errors import ParameterError
from onepull.payoff import Reward
from onepull.payoff.reward import Source
from onepull.policies.policy import Policy


class Revaluable(Policy):
    """Base class of policies whose reward can be changed, if what they learned is enough."""

    def with_reward(
        self,
        reward: Reward | Source,
        *,
        failure: float | str | None = None,
        error: float | None = None,
        words: WordsOfAttributes | None = None,
    ) -> Self:
        """Return a policy for another reward with everything that this one has learned.

        This works for policies that store states.  A histogram is exact for every reward, and so
        is `CoarseKL` if the states are listed.  A sketch interpolates the reward between its knots.
        This is exact if the formula is linear in each number of the state.  It is as good as now if
        the new reward is the present one times a number, plus terms that do not depend on the
        state, such as a price.  `AdaptiveKL` is exact as long as only equal states were merged, and
        after that where the formulas show that the rewards differ like this.  Otherwise
        ParameterError says how far estimates may be off.

        Parameters
        ----------
        reward
            The other reward.
        failure
            The other reward of a failure; the present one by default.
        error
            Accept estimates that are off by up to this much (by merging: in 95 % of cases).
        words
            Further words of attributes that the reward compares with, as of `Problem`.

        >>> from onepull import EmpiricalKL, Finite, Problem
        >>> policy = EmpiricalKL(Problem(
        ...     arms=["near", "far"],
        ...     context={"bits": Finite([1, 4])},
        ...     state={"capacity": Finite([0, 2, 4])},
        ...     reward="min(bits, capacity)",
        ... ))
        >>> policy.observe_many(["near", "far"] * 60, capacity=[2, 4, 2, 0, 2, 0] * 20)
        >>> policy.choose(bits=4), policy.with_reward("capacity >= bits").choose(bits=4)
        ('near', 'far')
        """
        accepted = None if error is None else number("error", error, above=0.0, at_least=True)
        if obstacle := self._obstacle():
            raise ParameterError(obstacle)
        twin = self._rebuilt(self._revalued(reward, failure, words), self._written())
        twin._revalue(self._knowledge, accepted)  # noqa: SLF001 - of the same class
        twin._continue(self)  # noqa: SLF001 - of the same class
        return twin

    def _obstacle(self) -> str:
        """Return why what was learned does not tell another reward; empty if it may."""
        return ""

    def _revalue(self, learned: Any, accepted: float | None) -> None:
        """Take over what was learned with another reward; `accepted` is the error allowed."""
        del accepted
        self._knowledge.restore(msgspec.to_builtins(learned.state()))
