"""Mixture_Elimination: drops mixtures of policies that cannot be best under a budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepull.arms import arm_names
from onepull.arrays import Array
from onepull.checks import constant
from onepull.errors import ParameterError
from onepull.policies.budget.spender import Spender
from onepull.policies.policy_class.mixture import PolicyMixture
from onepull.policies.policy_class.policy_class import GivenPolicies, Maps, PolicyClass
from onepull.problem import Problem

MOST_MIXED_POLICIES = 500  # each decision considers all pairs
MOST_SOLVER_STEPS = 1000


class MixtureElimination(Spender):
    """Mixture_Elimination (Badanidiyuru, Langford, Slivkins 2014) on a finite policy class.

    Index: the upper confidence bound of the arm's reward in the cell.  With one budget it is
    enough to mix two policies.  The policy considers all mixtures that spend no more than the
    remaining budget over the remaining trials.  It keeps those whose upper confidence bound is
    at least the best lower bound.  It plays a mixture Q with E[Σ_a P(a|x) / Q(a|x)] ≤ 2K for each
    mixture P that is kept, and with probability q₀ = min(1/2, √(K ln(KTN) / T)) draws an arm
    uniformly at random.

    Use it if pulls cost money and you want to compete with a class of N policies.  The published
    regret against the best mixture is O((1 + OPT/B) √(KT ln(KTN))).  It stores what its sharing
    stores, one count per context and the spending.

    Our version is simpler than the published one, so that bound is not proved for it:

    - Costs are known, and the cost of a policy follows from the frequencies of the contexts.
    - Rewards are estimated per cell and not by importance weights, so that feedback may come late
      and in any order, and can be merged.
    - The confidence bounds are Hoeffding's in each cell, G·√(ln(2MT²) / 2m).  All of them hold
      with probability 1 - K/T.
    - The mixtures kept include all that are optimal for some rewards within the bounds.
    - The plan follows the remaining budget instead of a fixed rate.
    - Each decision considers all pairs, so the class is limited to 500 policies.

    Parameters
    ----------
    policies
        The class: "maps", "thresholds" or a list of policies, see `PolicyClass`.  By default all
        maps if there are at most 500, else thresholds.  The policy that always plays the first
        free arm is added.
    width
        Scale of the confidence bounds, above 0.  Below 1 the bounds are not proved, and mixtures
        are dropped sooner.
    costs, budget, horizon, sharing, delta, contexts, seed
        As for `UCBALP`.

    Examples
    --------
    >>> from onepull import Finite, Interval, Problem
    >>> policy = MixtureElimination(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 4])},
    ...     state={"capacity": Interval(0, 4)},
    ...     reward="min(bits, capacity)",
    ... ), costs={"lte": 1.0}, budget=1000, horizon=2000, sharing="joint", contexts=[0.5, 0.5])
    >>> policy.observe_many(["wifi", "lte"] * 500, capacity=[1.0, 4.0] * 500)
    >>> print(policy.explain(bits=4))
    MixtureElimination at trial 1,001 with bits=4
      arm   pulls  estimate   bonus   index  chance
      wifi    500    1.0000  0.5152  1.5152  0.0492
      lte     500    4.0000  0.0000  4.0000  0.9508
    a draw: balanced among 1 mixture that may be the best, with 0.5 to spend a trial
    """

    guarantee = (
        "O((1 + OPT/B)√(KT log(KTN))) against the best mixture of the N policies of its class as "
        "published (Badanidiyuru, Langford and Slivkins 2014); no bound is known for this simpler "
        "version"
    )

    def __init__(  # noqa: PLR0913 - all are keyword-only
        self,
        problem: Problem,
        *,
        costs: Mapping[str, float] | None = None,
        budget: float | None = None,
        horizon: int | None = None,
        policies: GivenPolicies = None,
        width: float = 1.0,
        sharing: str = "per-context",
        delta: float | Mapping[str, float] | None = None,
        contexts: Sequence[float] | None = None,
        seed: int | np.random.Generator = 0,
    ) -> None:
        super().__init__(
            problem,
            costs=costs,
            budget=budget,
            horizon=horizon,
            sharing=sharing,
            delta=delta,
            contexts=contexts,
            seed=seed,
        )
        self.width = constant("width", width, above=0.0)
        self._asked = policies
        self._set_class(self._made(problem.arms))

    def _made(self, arms: Sequence[str]) -> PolicyClass:
        """Return the requested policy class for the given arms."""
        cells = self._knowledge.cells
        made = PolicyClass(cells, arms, self._asked)
        if self._asked is None and len(made) > MOST_MIXED_POLICIES:
            made = PolicyClass(cells, arms, "thresholds")
        if len(made) > MOST_MIXED_POLICIES:
            raise ParameterError(
                f"{len(made):,} policies are more than the {MOST_MIXED_POLICIES} allowed, since "
                "each decision considers all pairs; use 'thresholds' or list the policies"
            )
        return made

    def _set_class(self, policies: PolicyClass) -> None:
        """Use a policy class from now on, with the policy that spends nothing."""
        self._policies = policies
        maps = policies.assignments
        idle = np.full(len(self._centres), self._cost_list().index(0.0))
        self._maps = maps if (maps == idle).all(axis=1).any() else np.vstack([maps, idle])

    @property
    def parameters(self) -> dict[str, Any]:
        """The costs, budget, horizon and sharing, the class if it was given, and the width."""
        told = {} if self._asked is None else {"policies": self._policies.kind}
        return super().parameters | told | {"width": self.width}

    def add_arm(  # type: ignore[override]  # a cost is no attribute
        self, arm: str, *, cost: float = 0.0, **attributes: float | str
    ) -> None:
        """Add an arm with its cost; "maps" and "thresholds" get policies that play it."""
        made = self._made(arm_names([*self._arms, arm]))
        super().add_arm(arm, cost=cost, **attributes)
        self._set_class(made)

    def remove_arm(self, arm: str) -> None:
        """Remove an arm that is not the only free one, nor played by a listed policy."""
        gone = self._find(arm)
        self._policies.keeps([a for j, a in enumerate(self._arms) if j != gone])
        super().remove_arm(arm)
        self._set_class(self._made(self._arms))

    @property
    def remaining(self) -> int:
        """The number of mixtures of one or two policies that may still be the best."""
        return int(self._candidates().kept.sum())

    @property
    def exploration(self) -> float:
        """q₀, the probability of drawing an arm uniformly at random."""
        arms, policies = len(self._arms), len(self._maps)
        return min(0.5, math.sqrt(arms * math.log(arms * self.horizon * policies) / self.horizon))

    def _confidence(self) -> tuple[float, int]:
        return 0.5 * self.width**2, 2 * len(self._centres) * self.horizon**2

    def _candidates(self) -> Candidates:
        often, maps = self._frequencies[:, None], self._maps

        def worth(table: Array) -> Array:
            return _sums(maps, often * table)

        each = np.broadcast_to(self._cost_list(), (len(often), len(self._arms)))
        return Candidates(worth(each), worth(self._bounds(-1)), worth(self._bounds(1)), self.rate)

    def _planned(self, cell: int, payable: Sequence[int]) -> Sequence[float]:
        played = balanced(
            self._candidates(), self._maps, self._frequencies, len(self._arms), self.exploration
        )
        chances = played[cell, payable]
        return (chances / chances.sum()).tolist()  # type: ignore[no-any-return]

    def _why(self) -> str:
        count = self.remaining
        return f"balanced among {count} mixture{'s' * (count > 1)} that may be the best"


class Candidates:
    """All mixtures of one or two policies within a rate of spending, and which may be best.

    Attributes
    ----------
    cheap, dear
        The numbers of the policies that cost at most the rate, and of the others.
    shares
        `shares[i, j]`, the weight of dear policy j mixed with cheap policy i.  The last column is
        0: the cheap policy alone.
    kept
        `kept[i, j]`, whether that mixture may be the best.
    """

    def __init__(self, costs: Array, lower: Array, upper: Array, rate: float) -> None:
        pays = costs <= rate
        self.cheap, self.dear = np.flatnonzero(pays), np.flatnonzero(~pays)
        saved = rate - costs[self.cheap][:, None]
        lacking = costs[self.dear] - rate
        self.shares = np.hstack([saved / (saved + lacking), np.zeros_like(saved)])
        best = float(self.mixed(lower).max())
        self.kept = self.mixed(upper) >= best - 1e-12 * max(1.0, abs(best))
        self.kept[:, :-1] &= self.shares[:, :-1] > 0  # otherwise it is the cheap policy alone

    def mixed(self, values: Array) -> Array:
        """Return `[i, j]`, the values of all mixtures, from the values of the policies."""
        cheap = values[self.cheap][:, None]
        dear = np.append(values[self.dear], 0.0)
        return cheap + self.shares * (dear - cheap)

    def weights(self, mixtures: Array) -> Array:
        """Return the weight of each policy in the weighted mixtures `[i, j]`."""
        found = np.zeros(len(self.cheap) + len(self.dear))
        found[self.cheap] = (mixtures * (1.0 - self.shares)).sum(axis=1)
        found[self.dear] = (mixtures * self.shares).sum(axis=0)[:-1]
        return found


def balanced(
    candidates: Candidates, maps: Maps, often: Array, arms: int, exploration: float
) -> Array:
    """Return `Q[cell, arm]`, a mixture of the candidates that explores each of them enough.

    For each candidate P, E[Σ_a P(a|x) / Q(a|x)] ≤ 2K.  Each step moves towards the candidate that
    is explored least, which increases E[Σ_a ln Q(a|x)].  At its maximum all these expectations
    are at most K / (1 - q₀) ≤ 2K.
    """
    kept: NDArray[np.bool_] = candidates.kept
    weights = candidates.weights(kept / kept.sum())
    mean = PolicyMixture(maps, weights).table(arms)
    for step in range(MOST_SOLVER_STEPS):
        played = (1.0 - exploration) * mean + exploration / arms
        rarity = candidates.mixed(_sums(maps, often[:, None] / played))
        worst = np.where(kept, rarity, -np.inf)
        if worst.max() <= 2 * arms:
            break
        rarest = candidates.weights(worst == worst.max())
        mean += (PolicyMixture(maps, rarest / rarest.sum()).table(arms) - mean) / (step + 2)
    return played


def _sums(maps: Maps, scores: Array) -> Array:
    """Return for each policy the sum over cells of `scores[cell, arm]` for the arm it plays."""
    total: Array = scores[np.arange(maps.shape[1]), maps].sum(axis=1)
    return total
