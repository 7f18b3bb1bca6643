"""CoarseKL: learning every context from rewards that do not determine the state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onepull.checks import constant
from onepull.index.empirical_likelihood import exploration
from onepull.index.set_likelihood import UNKNOWN_BOUND, bound_cap, leading_bound
from onepull.payoff import State
from onepull.policies.hidden_states.level_groups import bound_of_groups
from onepull.policies.hidden_states.set_counts import GroupedCounts, Sightings
from onepull.policies.hidden_states.told_sets import REMEMBERED_CONTEXTS, Readings
from onepull.policies.request import Request
from onepull.policies.revaluable import Revaluable
from onepull.policies.traits import Traits
from onepull.problem import Problem


class CoarseKL(Revaluable):
    """Empirical KL for rewards that do not determine the state.

    A met deadline only says that the delay was not longer.  A reward clipped at both ends gives
    the state only in between.  A sum does not give its parts.  This policy uses what a reward
    does say: the state is one of those that give this reward in this context.  The estimate of
    a context is the mean reward under the most likely law of the states, the self-consistent law
    of Turnbull (1976).  States that no observation distinguishes get equal shares.  Index: the
    highest mean reward of a law whose log-likelihood is within f(n) = ln N + c ln ln N of the
    highest, with N = n + head_start.  If every pull determines its state, this is `EmpiricalKL`.
    If rewards hide one end of the states, the law is the product-limit law of Kaplan and Meier
    (1958).

    The states are listed, up to 256 of any fields and with any reward, or one bounded interval in
    which the reward is monotone.  Observed states and rewards can be mixed.  States that no
    context distinguishes stay unknown, and the index takes the best of them.  The policy keeps a
    count for every set that an arm has shown.  The time of a decision grows with the cube of the
    number of distinguished states.

    Parameters
    ----------
    c
        How much is explored beyond ln N.
    head_start
        Trials to count as already done before the first one.
    knots
        The number of knots at which an interval state is cut; 17 if not given.  It is also cut
        where the rewards of listed contexts jump or become flat.  A cell counts as its middle in
        the estimate and as its best end in the index.
    seed
        Seed or generator to draw among arms with equal index and equal pulls; without it the
        first arm is taken.

    Examples
    --------
    >>> from onepull import Finite
    >>> policy = CoarseKL(Problem(
    ...     arms=["edge", "cloud"],
    ...     context={"deadline": Finite([1, 2, 4])},
    ...     state={"delay": Finite([0, 1, 2, 3, 4, 5])},
    ...     reward="delay <= deadline",
    ... ))
    >>> policy.observe_many(
    ...     ["edge"] * 4 + ["cloud"] * 4,
    ...     deadline=[1, 2, 4, 4, 1, 2, 4, 4],
    ...     reward=[1, 1, 1, 0, 0, 0, 1, 1],
    ... )
    >>> print(policy.explain(deadline=2))   # observations at 1 and 4 count here
    CoarseKL at trial 9 with deadline=2
      arm    pulls  estimate   bonus   index
    → edge       4    0.7500  0.2378  0.9878
      cloud      4    0.0000  0.8889  0.8889
    edge: highest index
    """

    traits = Traits(breaks_ties_by_pulls=True)
    _knowledge: Sightings
    guarantee = "no bound is known"

    def __init__(
        self,
        problem: Problem,
        *,
        c: float = 0.0,
        head_start: float = 0.0,
        knots: int | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.c = constant("c", c, above=0.0, at_least=True)
        self.head_start = constant("head_start", head_start, above=0.0, at_least=True)
        super().__init__(Sightings(Readings(problem, knots)), seed=seed)

    @property
    def knots(self) -> int | None:
        """Number of knots of an interval state, if the state is one."""
        return self._knowledge.readings.knots

    @property
    def sightings(self) -> Sightings:
        """The observations of every arm."""
        return self._knowledge

    def _obstacle(self) -> str:
        if self.knots is None:
            return ""
        return (
            "the cells of an interval state are cut for one reward; to change the reward "
            "later, list the values of the state: Finite([…])"
        )

    def _risk(self) -> float:
        return exploration(self._knowledge.trial + self.head_start, self.c)

    def _bound(self, arm: int, context: State, risk: float) -> float:
        """Return the index of an arm."""
        if not self._knowledge.pulls[arm]:
            outlook = self._knowledge.readings.outlook(context, self.problem.known[arm])
            low = float(outlook.highs.min())
            return self._knowledge.index_before_answer(arm, low, outlook.top, risk)
        risk = self._knowledge.risk_of(arm, risk)
        known = self._knowledge.bounds[arm]
        if context not in known or known[context][2] != risk:
            outlook = self._knowledge.readings.outlook(context, self.problem.known[arm])
            seen = self._knowledge.of_arm(arm)
            found = bound_of_groups(*seen, outlook.highs, outlook.top, risk)
            if len(known) >= REMEMBERED_CONTEXTS:  # continuous contexts may never come again
                known.clear()
            known[context] = (*found, risk)
        return known[context][0]

    def _look(self, context: Mapping[str, Any]) -> State:
        return self.problem.context.exactly(context)

    def _indices(self, request: Request) -> list[float]:
        risk = self._risk()
        return [self._bound(arm, request.view, risk) for arm in range(len(self._arms))]

    def _leader(self, request: Request) -> int:
        if request.allowed is not self._everyone:
            return super()._leader(request)
        here, risk, known = request.view, self._risk(), self._knowledge
        caps = [
            bound_cap(*bounds.get(here, UNKNOWN_BOUND), known.risk_of(arm, risk))
            for arm, bounds in enumerate(known.bounds)
        ]
        return leading_bound(np.array(caps), known.counts, self._bound, here, risk)

    def _estimates(self, request: Request) -> Sequence[float | None]:
        known = self._knowledge
        found = []
        for arm, pulls in enumerate(known.pulls):
            outlook = known.readings.outlook(request.view, self.problem.known[arm])
            low = float(outlook.highs.min())
            found.append(
                _mean(known.of_arm(arm), outlook.middles)
                if pulls
                else known.index_before_answer(arm, low, outlook.top, 0.0)
            )
        return found


def _mean(seen: GroupedCounts, values: Any) -> float:
    """Return the mean value under the most likely law; levels of a group have equal shares."""
    groups = len(seen.law)
    live = seen.group >= 0
    sizes = np.bincount(seen.group[live], minlength=groups)
    totals = np.bincount(seen.group[live], weights=values[live], minlength=groups)
    return float(seen.law @ (totals / sizes))
