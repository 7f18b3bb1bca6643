"""IMED on kept states, with a memory that adapts to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from onepull.arrays import Array
from onepull.checks import flag, whole_number
from onepull.index.kept_likelihood import drifting_costs, steady_costs
from onepull.payoff import Reward
from onepull.payoff.reward import Source
from onepull.policies.kept_states.drift import POOLED, STEADY
from onepull.policies.kept_states.memory import KeptStates, View, unit_of
from onepull.policies.policy import Policy
from onepull.policies.request import Request
from onepull.policies.traits import Traits
from onepull.problem import Problem
from onepull.statistics import UNPULLED

KEPT = 512
LEAST, MOST = 16, 1 << 16  # of the states kept per arm
UNANSWERED = 1e12  # the cost of an arm that was pulled but has not answered yet


class Sight(NamedTuple):
    """What a decision is made from, with rewards multiplied by `unit`."""

    view: View
    means: Array  # of each arm; NaN if it was never observed
    unit: float


class AdaptiveIMED(Policy):
    """IMED on the observed states themselves, with a memory that adapts to change.

    The states of each arm are kept and revalued by the reward for every request.  So any reward
    will do: jumps, prices, failures, and rewards without a lower bound.  The reward and the
    attributes of arms can change at any time, exactly.

    While the arms do not change, its index is that of IMED, -(m·K(F̂, θ̂*) + ln m).  Otherwise it
    compares the means that its memory predicts by Student's t; the variance of a mean grows while
    its arm is not pulled.  What the other arms have shown about noise counts as two observations
    of each arm.

    Use it if you know little about your arms.  It stores up to `kept` states per arm.

    Parameters
    ----------
    kept
        How many states are kept per arm.  Then older ones are merged in pairs.
    adapts
        Whether the memory finds out by itself how fast the arms change.  If not, all
        observations count alike.
    seed
        Break ties at random with this seed or generator; without one the first arm wins.

    Examples
    --------
    >>> from onepull import Interval
    >>> import math
    >>> policy = AdaptiveIMED(Problem(
    ...     arms={"alpha": {"price": 1e-4}, "beta": {"price": 3e-4}},
    ...     context={"tokens": Interval(1, 4000)},
    ...     state={"seconds": Interval(0, math.inf)},
    ...     reward="-seconds - 10 * price * tokens",
    ...     failure=-30,
    ... ))
    >>> policy.observe_many(["alpha", "beta"] * 50, seconds=[2.0, 1.0] * 50)
    >>> policy.choose(tokens=10), policy.choose(tokens=4000)
    ('beta', 'alpha')
    >>> policy.set_attributes("alpha", price=5e-4)
    >>> policy.choose(tokens=4000)
    'beta'
    """

    traits = Traits(
        index_is_reward=False,
        index_depends_on_other_arms=True,
        order_matters=True,
        forgets=True,
        needs_no_lowest_reward=True,
    )
    guarantee = (
        "asymptotically optimal in a single context if the memory settles on no change and states "
        "are not merged (Honda and Takemura 2015); no bound is known otherwise"
    )
    _knowledge: KeptStates

    def __init__(
        self,
        problem: Problem,
        *,
        kept: int = KEPT,
        adapts: bool = True,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.kept = whole_number("kept", kept, least=LEAST, most=MOST)
        self.adapts = flag("adapts", adapts)
        super().__init__(KeptStates(problem, capacity=self.kept, adapts=self.adapts), seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """How many states are kept, and whether the memory adapts."""
        return {"kept": self.kept, "adapts": self.adapts}

    @property
    def half_life(self) -> float:
        """After how many trials half of a change is believed to be gone; infinite if none is.

        >>> from onepull import Interval
        >>> AdaptiveIMED(
        ...     Problem(arms=["a"], state={"x": Interval(0, 1)}, reward="x")
        ... ).half_life
        inf
        """
        drift = self._knowledge.drift
        return float("inf") if drift is None else drift.half_life

    def with_reward(self, reward: Reward | Source) -> Self:
        """Return a policy for another reward with everything that this one has seen.

        >>> from onepull import Interval
        >>> policy = AdaptiveIMED(
        ...     Problem(arms=["a", "b"], state={"delay": Interval(0, 9)}, reward="-delay")
        ... )
        >>> policy.observe_many(["a", "a", "b", "b"], delay=[0, 6, 4, 4])
        >>> policy.estimates(), policy.with_reward("delay <= 5").estimates()
        ([-3.0, -4.0], [0.5, 1.0])
        """
        twin = self._rebuilt(self.problem.with_reward(reward), self._written())
        twin._knowledge.inherit(self._knowledge)  # noqa: SLF001 - of the same class
        twin._continue(self)  # noqa: SLF001 - of the same class
        return twin

    def _look(self, context: Mapping[str, Any]) -> Sight:
        view = self._knowledge.view(self.problem.context.exactly(context))
        # To a usual size, whatever the size of rewards in this context.
        unit = unit_of(max(float(np.abs(view.rewards).max()), float(np.max(np.abs(view.tops)))))
        view = view._replace(rewards=view.rewards * unit, tops=np.multiply(view.tops, unit))
        means = np.einsum("js,js->j", view.rewards, view.weights)
        if view.weights is not view.shares:
            means = self._within(view, means)
        observed = np.array(self._knowledge.pulls) > 0
        return Sight(view, means if observed.all() else np.where(observed, means, np.nan), unit)

    @staticmethod
    def _within(view: View, means: Array) -> Array:
        """Return means within the rewards seen, which weights below 0 may leave."""
        seen = view.shares > 0.0
        low = np.where(seen, view.rewards, np.inf).min(axis=1)
        high = np.where(seen, view.rewards, -np.inf).max(axis=1)
        return np.asarray(np.minimum(np.maximum(means, low), high))

    def _estimates(self, request: Request) -> Sequence[float | None]:
        means = (request.view.means / request.view.unit).tolist()
        return [UNPULLED if mean != mean else mean for mean in means]  # noqa: PLR0124 - NaN

    def _indices(self, request: Request) -> Any:
        return self._scores(request, exact=True)

    def _leader(self, request: Request) -> int:
        scores = self._scores(request, exact=False)
        allowed = request.allowed
        if allowed is self._everyone:
            return int(np.argmax(scores))
        return allowed[int(np.argmax(scores[list(allowed)]))]

    def _scores(self, request: Request, *, exact: bool) -> Array:
        """Return the index of each arm; a lower bound of a bad one is enough if not `exact`."""
        knowledge = self._knowledge
        pulls = knowledge.pulls
        if 0 not in pulls:
            return -self._costs(request, exact=exact)
        scores = np.full(len(pulls), UNPULLED)
        flying = knowledge.in_flight
        for arm, count in enumerate(pulls):
            if count == 0 and flying[arm]:
                scores[arm] = -UNANSWERED * flying[arm]
        known = np.flatnonzero(np.array(pulls) > 0)
        if len(known):
            scores[known] = -self._costs(request, exact=exact, arms=known)
        return scores

    def _costs(self, request: Request, *, exact: bool, arms: Any = None) -> Array:
        """Return the cost of each observed arm; they are all if `arms` is not given."""
        knowledge, (view, means, _) = self._knowledge, request.view
        counts = np.array(knowledge.counts, np.float64)
        rewards, shares, tops = view.rewards, view.shares, view.tops
        allowed = np.zeros(len(counts), bool)
        allowed[list(request.allowed)] = True
        if arms is not None:
            counts, means, allowed = counts[arms], means[arms], allowed[arms]
            rewards, shares = rewards[arms], shares[arms]
            tops = tops[arms] if np.ndim(tops) else tops
        leading = means if allowed.all() or not allowed.any() else np.where(allowed, means, -np.inf)
        leader = int(np.argmax(leading))
        drift = knowledge.drift
        if drift is None or drift.chosen == STEADY:
            best = float(means[leader])
            return steady_costs(rewards, shares, counts, means, tops, best, exact)
        return self._drifting(rewards, shares, means, leader, arms)

    def _drifting(
        self, rewards: Array, shares: Array, means: Array, leader: int, arms: Any
    ) -> Array:
        knowledge = self._knowledge
        drift = knowledge.drift
        assert drift is not None  # noqa: S101 - checked by the caller
        some = slice(None) if arms is None else arms
        _, errors = drift.fading(knowledge.clock)
        number = np.array(drift.compared, np.float64)[some]
        overall = np.einsum("js,js->j", rewards, shares)
        spread = np.einsum("js,js->j", (rewards - overall[:, None]) ** 2, shares)
        pulls = np.array(knowledge.pulls, np.float64)[some]
        squares = drift.unexplained()[some] * spread * pulls
        pooled = squares.sum() / max(number.sum(), 1.0)
        freedom = POOLED + number
        noise = (POOLED * pooled + squares) / freedom
        waiting = np.array(knowledge.in_flight, np.float64)[some]
        return drifting_costs(means, errors[some], waiting, noise, freedom, leader)

    def _why(self) -> str:
        drift = self._knowledge.drift
        if drift is None or drift.chosen == STEADY:
            return "least divergence from the best"
        return f"least divergence from the best (half-life of a change: {self.half_life:g} trials)"
