"""Learning every context from rewards that tell the state only up to a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onepull.checks import number
from onepull.errors import ParameterError
from onepull.index.empirical_likelihood import exploration
from onepull.policies.hidden_states.levels import Levels
from onepull.policies.hidden_states.survival import Survival, limited_mean
from onepull.policies.policy import Policy
from onepull.problem import Problem


class CensoredKL(Policy):
    """Optimism on the product-limit law of the states, for rewards that may hide the state.

    With the reward min(bits, capacity) a request that was served in full tells only that the
    capacity was no less.  Every reward is used for what it tells: the state, or that it lay
    beyond some point.  The estimate of a context is the mean reward under the product-limit law
    of Kaplan and Meier (1958); the part of the law of which nothing is known is counted where
    that begins.  Index: the same with each share of states that go on past a level at its kl
    upper bound, f(n) = ln N + c ln ln N over the pulls at risk there, N = n + head_start, so that
    what was never told is as good as can be (product-limit optimism: Ganchev et al. 2010,
    Abernethy, Amin and Zhu 2016).

    It takes one state field with which the reward goes one way, flat at one end of the states
    at most; states may be observed too, and mixed with rewards.  What a context cannot tell has
    to be learned in others, so regret keeps growing even where every arm is best somewhere.
    `CoarseKL` loses less and takes some thirty times as long for a decision.  Keeps two numbers
    an arm for every state, or for every cell of an interval.

    Parameters
    ----------
    c
        How much is explored beyond ln N.
    head_start
        Trials that count as gone by before the first one.
    knots
        Cut an interval state into cells at so many knots; 17 if not given, and the more there
        are, the looser the bound.
    naive
        Take a state that lay beyond a point to be at that point.  This is wrong, and here
        for comparison: estimates are too low, for ever.
    seed
        Draw among arms that tie, in pulls too, with this seed or generator; the first arm wins
        without.

    Examples
    --------
    >>> from onepull import Finite
    >>> policy = CensoredKL(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2, 3, 4])},
    ...     state={"capacity": Finite([0, 1, 2, 3, 4])},
    ...     reward="min(bits, capacity)",
    ... ))
    >>> policy.observe("wifi", bits=2, reward=1.0)   # the capacity was 1
    >>> policy.observe("lte", bits=1, reward=1.0)    # it was 1 or more
    >>> policy.observe("lte", bits=4, reward=3.0)
    >>> print(policy.explain(bits=4))
    CensoredKL at trial 4 with bits=4
      arm   pulls  estimate   bonus   index
      wifi      1    1.0000  2.2500  3.2500
    → lte       2    3.0000  0.7500  3.7500
    lte: highest index
    """

    evens_out = True
    _knowledge: Survival

    def __init__(  # noqa: PLR0913 - a full statement
        self,
        problem: Problem,
        *,
        c: float = 0.0,
        head_start: float = 0.0,
        knots: int | None = None,
        naive: bool = False,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.c = number("c", c, above=0.0, at_least=True)
        self.head_start = number("head_start", head_start, above=0.0, at_least=True)
        if not isinstance(naive, bool):
            raise ParameterError(f"naive must be true or false, given {naive!r}")
        super().__init__(Survival(Levels(problem, knots), naive=naive), seed=seed)

    @property
    def survival(self) -> Survival:
        """What is known of the states of every arm."""
        return self._knowledge

    @property
    def parameters(self) -> dict[str, Any]:
        """C, the head start, the knots of an interval state, and whether it is naive."""
        knots = self._knowledge.levels.knots
        told: dict[str, Any] = {"c": self.c, "head_start": self.head_start}
        if knots is not None:
            told["knots"] = knots
        return {**told, "naive": True} if self._knowledge.naive else told

    def _means(self, context: Mapping[str, Any], risk: float) -> list[float]:
        known = self._knowledge
        here = known.levels.read(self.problem.context.exactly(context))
        rises = known.levels.arrangement.rises
        low, high = min(here.values), max(here.values)
        return [
            limited_mean(
                here.values, here.reach, known.exact[arm], known.beyond[arm], pulls,
                known.risk_of(arm, risk), rises,
            )
            if pulls
            else known.unanswered(arm, low, high, risk)
            for arm, pulls in enumerate(known.pulls)
        ]  # fmt: skip

    def _indices(self, context: Mapping[str, Any]) -> list[float]:
        budget = exploration(self._knowledge.trial + self.head_start, self.c)
        error = self._knowledge.levels.error
        return [bound + error for bound in self._means(context, budget)]

    def _estimates(self, context: Mapping[str, Any]) -> Sequence[float | None]:
        return self._means(context, 0.0)
