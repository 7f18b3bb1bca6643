"""Likelihood bounds on kept states, with a memory that adapts to change."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from onepull.arrays import Array
from onepull.checks import flag, whole_number
from onepull.index.highest_bound import likely_means
from onepull.index.kept_likelihood import (
    SAME_COST,
    drifting_cost,
    explored,
    head_start,
    relative_cost,
    share_exploring,
    shrunk,
)
from onepull.payoff.reward import NARROWEST
from onepull.policies.kept_states.compiled_search import COMPILED, as_arrays
from onepull.policies.kept_states.drift import POOLED, STEADY, Drift
from onepull.policies.kept_states.memory import KeptStates
from onepull.policies.kept_states.merging import FARTHEST, uniform
from onepull.policies.kept_states.sights import InTracked, Sight
from onepull.policies.request import Request
from onepull.policies.revaluable import Revaluable
from onepull.policies.ties import foremost, least_pulled
from onepull.policies.traits import Traits
from onepull.problem import Problem
from onepull.statistics import UNPULLED, is_tried

DEFAULT_KEPT = 512  # states per arm
FEWEST_KEPT, MOST_KEPT = 16, 1 << 16  # that a user may ask for
UNANSWERED = -math.inf  # the index of an arm that was pulled enough and has not answered yet
MEAN_ROUNDING = 1e-12  # of rewards, as a share of the largest mean
EXPLORING = 0  # key of the numbers that decide which trials these are


class AdaptiveKL(Revaluable):
    """Likelihood bounds on the observed states themselves, with a memory that adapts to change.

    The states of each arm are kept and revalued by the reward for every request.  So any reward
    will do: jumps, prices, failures, and rewards without a lower bound.  The reward and the
    attributes of arms can change at any time: exactly as long as no states were merged, and later
    where the formula shows that merging makes no difference, or with an error that you accept.

    While the arms do not change, its index is the empirical-likelihood bound of `EmpiricalKL` with
    the exploration ln(1 + (n/m + h/√m) / d).  A pull shows the same state everywhere, so it is made
    where it is cheap: d is how many times as much a pull of the arm costs in this context as where
    it costs least, up to ten.  The head start h is how much an arm is explored at first.  It
    depends on the other arms: 1,000 if one of them is best everywhere, and up to 30,000 if all of
    them are best somewhere, since then this one probably is, too.  With two arms or one context it
    is 30,000.

    If the arms change, it compares the means that its memory predicts by Student's t; the variance
    of a mean grows while its arm is not pulled.  What the other arms have shown about noise counts
    as two observations of each arm.

    With more than ten arms, trying all of them at first would cost more than it brings if there
    are few requests.  After 32 trials only three of as many requests as there are arms explore.
    The others play the best estimate, and of equal ones the most pulled.  The best of many arms
    that were pulled once or twice is mostly the luckiest one.  So the mean of all pulls counts as
    one more observation of each arm there.

    Use it if you know little about your arms.  It stores up to `kept` states per arm.

    Parameters
    ----------
    kept
        How many states are kept per arm, but at most 4 million for all arms.  Then older ones
        are merged in pairs.
    adapts
        Whether the memory finds out by itself how fast the arms change.  If not, all
        observations count alike.
    seed
        Break ties at random with this seed or generator; without one the first arm wins.

    Examples
    --------
    >>> from onepull import Interval
    >>> import math
    >>> policy = AdaptiveKL(Problem(
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
        index_depends_on_other_arms=True,
        order_matters=True,
        forgets=True,
        needs_no_lowest_reward=True,
    )
    guarantee = (
        "no bound is known; its index is at least the empirical mean, and that of KL-UCB for large "
        "n if the memory settles on no change"
    )
    _knowledge: KeptStates

    def __init__(
        self,
        problem: Problem,
        *,
        kept: int = DEFAULT_KEPT,
        adapts: bool = True,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.kept = whole_number("kept", kept, least=FEWEST_KEPT, most=MOST_KEPT)
        self.adapts = flag("adapts", adapts)
        super().__init__(KeptStates(problem, capacity=self.kept, adapts=self.adapts), seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """How many states are kept, and whether the memory adapts."""
        return {"kept": self.kept, "adapts": self.adapts}

    @property
    def memory(self) -> KeptStates:
        """The observed states of each arm."""
        return self._knowledge

    @property
    def half_life(self) -> float:
        """After how many trials half of a change is believed to be gone; infinite if none is.

        >>> from onepull import Interval
        >>> AdaptiveKL(
        ...     Problem(arms=["a"], state={"x": Interval(0, 1)}, reward="x")
        ... ).half_life
        inf
        """
        drift = self._knowledge.drift
        return float("inf") if drift is None else drift.half_life

    def _revalue(self, learned: KeptStates, accepted: float | None) -> None:
        self._knowledge = learned.revalued(self.problem, accepted)
        self._knowledge.in_flight = [0] * len(self._arms)

    def _look(self, context: Mapping[str, Any]) -> Sight:
        knowledge = self._knowledge
        return knowledge.sights.at(knowledge, self.problem.context.exactly(context))

    def _explores(self) -> bool:
        """Whether the next trial may explore: always with few arms, else only some of them."""
        trial = self._trial
        share = share_exploring(trial, len(self._arms))
        return share >= 1.0 or uniform(EXPLORING, trial) < share

    def _estimates(self, request: Request) -> Sequence[float | None]:
        means = request.view.means(self._knowledge).tolist()
        return [UNPULLED if mean != mean else mean for mean in means]  # noqa: PLR0124 - NaN

    def _estimate(self, request: Request, arm: int) -> float | None:
        if type(self)._estimates is not AdaptiveKL._estimates:  # noqa: SLF001 - of the same class
            return super()._estimate(request, arm)
        mean = float(request.view.means(self._knowledge)[arm])
        return UNPULLED if mean != mean else mean  # noqa: PLR0124 - NaN

    def _indices(self, request: Request) -> Any:
        if not self._is_exploring(request):
            return np.nan_to_num(self._shrunk_means(request), nan=-np.inf)
        unpulled = self._unpulled()
        if not unpulled:
            return self._bounds(request, slice(None))
        scores = np.full(len(self._arms), UNPULLED)
        for arm, is_due in unpulled.items():
            if not is_due:
                scores[arm] = UNANSWERED
        known = np.flatnonzero(np.array(self._knowledge.pulls) > 0)
        if len(known):
            scores[known] = self._bounds(request, known)
        return scores

    def _shrunk_means(self, request: Request) -> Array:
        """Return estimates in which all pulls count as one observation; NaN without an answer."""
        knowledge = self._knowledge
        means, pulls = request.view.means(knowledge), knowledge.divisors
        known, counts = means, pulls
        if 0 in knowledge.pulls:  # it has no mean, and its divisor is 1
            answered = np.array(knowledge.pulls) > 0
            known, counts = means[answered], pulls[answered]
        # Summed one after the other, as in compiled code, so that both round alike.
        total = np.add.accumulate(known * (counts / np.add.reduce(counts)))[-1]
        middle = min(float(total), float(np.maximum.reduce(known)))
        of_arrays: Any = shrunk
        found: Array = of_arrays(means, pulls, middle)
        return found

    def _is_exploring(self, request: Request) -> bool:
        """Whether bounds decide, and not estimates; there may be no estimate."""
        if self._explores():
            return True
        pulls = self._knowledge.pulls
        return not any(pulls[j] for j in request.allowed)

    def _unpulled(self) -> dict[int, bool]:
        """Return the arms that were never observed, and whether each is to be tried now."""
        knowledge = self._knowledge
        if 0 not in knowledge.pulls:
            return {}
        trial = self._trial
        pairs = enumerate(zip(knowledge.pulls, knowledge.in_flight, strict=True))
        return {arm: is_tried(waiting, trial) for arm, (count, waiting) in pairs if count == 0}

    def _leader(self, request: Request) -> int:
        # The search below finds only those.
        if type(self)._indices is not AdaptiveKL._indices:  # noqa: SLF001 - of the same class
            return super()._leader(request)
        knowledge, sight, allowed = self._knowledge, request.view, request.allowed
        is_exploring = self._is_exploring(request)
        if not is_exploring and 0 not in knowledge.pulls:
            means = self._shrunk_means(request)
            best = int(means.argmax())
            if best in allowed and np.count_nonzero(means == means[best]) == 1:
                return best
        if not (is_exploring and knowledge.is_steady):
            return self._foremost(request, self._indices(request).tolist())[0]
        unpulled = self._unpulled()
        if unpulled:
            known = [j for j in allowed if j not in unpulled]
            due = [j for j in allowed if unpulled.get(j)]
            if due or not known:
                return least_pulled(due or allowed, knowledge.counts)
            allowed = known
        counts = knowledge.counts
        search = COMPILED.leader  # another thread may take it away
        if search is not None:
            rewards, pulled, tops, some = as_arrays(sight.rewards, counts, sight.tops, allowed)
            return search(
                rewards, knowledge.stands_for, knowledge.divisors, pulled, self._trial, tops, some,
                knowledge.means, knowledge.unit,
            )  # fmt: skip
        return self._leader_of_steady_arms(sight, allowed, counts)

    def _leader_of_steady_arms(
        self, sight: Sight, allowed: Sequence[int], counts: Sequence[int]
    ) -> int:
        """Return the arm with the highest bound of those that were observed, in numpy."""
        bounds = sight.bounds(self._knowledge)
        elsewhere = self._elsewhere(allowed)
        heads = elsewhere.heads
        relative = sight.relative if len(allowed) == len(counts) else None
        if relative is None:
            budgets, means, is_new = self._budgets(counts, heads), bounds.means, bounds.is_new
            # An arm is explored less where it is costly.  The arm with the best mean costs nothing,
            # so if it leads without that, it leads.  To search for the first time takes longer than
            # to work out what arms cost; after that it is quicker.
            if not (is_new and bounds.looks_close(budgets, allowed)):
                bounds.explore(budgets)
                found = bounds.may_lead(allowed) if is_new else bounds.highest(allowed)
                best = least_pulled(found, counts)
                is_known = len(found) == 1 or not is_new
                if is_known and means[best] >= max([means[j] for j in allowed]):
                    return best
            relative = self._relative_costs(means, allowed, elsewhere)
            if len(allowed) == len(counts):
                sight.relative = relative
        bounds.explore(self._budgets(counts, heads, relative))
        return least_pulled(bounds.highest(allowed), counts)

    def _foremost(self, request: Request, indices: Any) -> list[int]:
        """Return the arms that tie: the least pulled to explore, else the most pulled."""
        sign = 1 if self._is_exploring(request) else -1
        counts = [sign * count for count in self._knowledge.counts]
        return foremost(indices, request.allowed, counts)

    @property
    def _trial(self) -> int:
        """The number of observations and of pulls in flight."""
        return self._knowledge.clock + sum(self._knowledge.in_flight)

    def _budgets(
        self,
        counts: Sequence[int],
        heads: Sequence[float],
        relative: Sequence[float] | None = None,
    ) -> list[float]:
        """Return how much each arm is explored, for each of its pulls.

        `counts` are the pulls of each arm with those in flight, `heads` are the head starts, and
        `relative` are the relative costs here.
        """
        trial = self._trial
        each = zip(counts, relative or [1.0] * len(counts), heads, strict=True)
        return [
            explored(trial, count or 1, times, head) / (count or 1) for count, times, head in each
        ]

    def _elsewhere(self, allowed: Sequence[int]) -> InTracked:
        """Return what the allowed arms cost in the tracked contexts, and who leads there."""
        knowledge = self._knowledge
        is_of_all = len(allowed) == len(knowledge.pulls)
        if is_of_all and (found := knowledge.sights.elsewhere(knowledge.clock)) is not None:
            return found
        means = knowledge.means
        among = means if is_of_all else means[list(allowed)]
        lead = np.maximum.reduce(among, 0)
        cheapest: list[float] = np.minimum.reduce(lead - means, 1).tolist()
        rounding = SAME_COST * max(map(abs, lead.tolist()))
        leading = [least <= rounding for least in cheapest]
        many = sum(leading) if is_of_all else sum([leading[j] for j in allowed])
        able = min(len(allowed) - 1, means.shape[1])
        # An arm that leads does not count among the others.
        of_others, of_leading = head_start(many, able), head_start(many - 1, able)
        heads = [of_leading if leads else of_others for leads in leading]
        found = InTracked(cheapest, heads, among)
        if is_of_all:
            knowledge.sights.note_elsewhere(knowledge.clock, found)
        return found

    def _relative_costs(
        self, means: Sequence[float], allowed: Sequence[int], elsewhere: InTracked
    ) -> list[float]:
        """Return the cost of each arm here, relative to the tracked context where it costs least.

        `means` are the estimates here, of which the allowed ones count.
        """
        unit = self._knowledge.unit
        here = [min(max(mean * unit, -FARTHEST), FARTHEST) for mean in means]
        some = here if len(allowed) == len(means) else [here[j] for j in allowed]
        best, among = max(some), elsewhere.means
        highest, lowest = np.maximum.reduce(among, None), np.minimum.reduce(among, None)
        size = max(best, -min(some), float(highest), -float(lowest))
        return [
            relative_cost(best - mean, min(best - mean, least), size)
            for mean, least in zip(here, elsewhere.cheapest, strict=True)
        ]

    def _bounds(self, request: Request, arms: Any) -> Array:
        """Return the indices of arms that were observed."""
        knowledge, sight = self._knowledge, request.view
        drift = knowledge.drift
        if drift is not None and drift.chosen != STEADY:
            return self._drifting(request, drift, arms)
        means, pulls = sight.means(knowledge).tolist(), knowledge.pulls
        allowed = [j for j in request.allowed if pulls[j]]
        elsewhere = self._elsewhere(allowed or range(len(pulls)))
        relative = self._relative_costs(means, allowed, elsewhere) if allowed else None
        every = self._budgets(knowledge.counts, elsewhere.heads, relative)
        budgets = np.array(every)[arms].tolist()
        tops = sight.tops[arms] if np.ndim(sight.tops) else sight.tops
        place = {int(j): row for row, j in enumerate(np.arange(len(pulls))[arms])}
        return likely_means(
            sight.rewards[arms], knowledge.stands_for[arms], knowledge.divisors[arms], budgets,
            tops, [place[j] for j in allowed],
        )  # fmt: skip

    def _drifting(self, request: Request, drift: Drift, arms: Any) -> Array:
        """Return the indices of arms that change."""
        knowledge, sight = self._knowledge, request.view
        all_means = sight.means(knowledge)
        means = all_means[arms]
        among = means
        if len(request.allowed) < len(all_means):
            allowed = np.zeros(len(all_means), bool)
            allowed[list(request.allowed)] = True
            if allowed[arms].any():
                among = np.where(allowed[arms], means, -np.inf)
        lead = int(among.argmax())
        rewards, stands_for = sight.rewards[arms], knowledge.stands_for[arms]
        overall = np.vecdot(rewards, stands_for) / knowledge.divisors[arms]
        apart = np.where(stands_for > 0.0, rewards - overall[:, None], 0.0)
        each: list[float] = means.tolist()
        low, high = min(each), max(each)
        # In units of the largest deviation, so that no square overflows.
        least = MEAN_ROUNDING * max(-low, high)
        unit = max(float(np.maximum.reduce(np.abs(apart), None)), high - low, least, NARROWEST)
        apart /= unit
        squares = np.vecdot(apart * stands_for, apart)
        squares *= drift.unexplained()[arms]
        numbers = np.array(drift.compared, np.float64)[arms].tolist()
        pooled = float(np.add.reduce(squares)) / max(sum(numbers), 1.0)
        columns = (
            each,
            knowledge.faded()[1][arms].tolist(),
            np.array(knowledge.in_flight, np.float64)[arms].tolist(),
            squares.tolist(),
            numbers,
        )
        best, count = columns[0][lead], len(numbers)
        cheapest = drifting_cost(0.0, columns[1][lead], columns[2][lead], 1.0, 1.0, count)
        per_cost = sqrt(pooled) * unit
        scores = []
        for mean, error, waiting, square, compared in zip(*columns, strict=True):
            freedom = POOLED + compared
            noise = (POOLED * pooled + square) / freedom
            cost = drifting_cost((best - mean) / unit, error, waiting, noise, freedom, count)
            # In units of the reward: the leader has its estimate, and what costs less has more.
            scores.append(max(best + per_cost * (cheapest - cost), mean))
        return np.array(scores)

    def _why(self) -> str:
        drift = self._knowledge.drift
        if drift is None or drift.chosen == STEADY:
            return "highest index"
        return f"least divergence from the best (half-life of a change: {self.half_life:g} trials)"
