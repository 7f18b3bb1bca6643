"""UCB1, UCB1(ε) and Multi-UCB: policies that see rewards but not the formula behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from onepull.checks import number
from onepull.factor import partition
from onepull.index.hoeffding import hoeffding
from onepull.policies.rule_policy import MeanPolicy
from onepull.policies.sharing.sharing import Blind, PerContext
from onepull.problem import Problem


class UCB1(MeanPolicy):
    """UCB1 (Auer, Cesa-Bianchi, Fischer 2002) on the rewards, blind to the context.

    Index: r̄ + G·√(2 ln n / m), with G the range of the reward over all contexts and states.
    In a single context its regret is O(K log n); where the best arm depends on the context
    it grows linearly.  Keeps 2 numbers an arm.

    >>> from onepull import Finite, Interval, Problem
    >>> policy = UCB1(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... ))
    >>> policy.observe("wifi", bits=2, capacity=5.0)
    >>> policy.observe("lte", reward=1.0)
    >>> policy.choose(bits=1)
    'wifi'
    """

    def __init__(self, problem: Problem, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(Blind(problem), hoeffding(2.0), seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """None."""
        return {}


class UCB1Epsilon(MeanPolicy):
    """UCB1(ε), the UCB1 of the paper's lemma 1: a little more exploration, on rewards.

    Index: r̄ + G·√((2+ε) ln n / m).  In a single context a wrong arm that has been pulled
    often enough is chosen at trial n with probability at most 2n^-(3+2ε) (lemma 1).  Keeps
    2 numbers an arm.

    >>> from onepull import Finite, Interval, Problem
    >>> policy = UCB1Epsilon(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... ), epsilon=0.5)
    >>> policy.observe_many(["wifi", "lte"], reward=[2.0, 1.0])
    >>> policy.choose(bits=1)
    'wifi'
    """

    def __init__(
        self,
        problem: Problem,
        *,
        epsilon: float = 0.01,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.epsilon = number("epsilon", epsilon, above=0.0, at_least=True)
        super().__init__(Blind(problem), hoeffding(2.0 + self.epsilon), seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """ε."""
        return {"epsilon": self.epsilon}


class MultiUCB(MeanPolicy):
    """One UCB1 for every context, each learning from its own pulls only.

    Index: r̄ + G·√(2 ln n_i / m_i), all of it counted within context i (or its cell) and
    with G the range of the reward there.  On interval contexts, cut into cells no wider
    than δ, it is the Query-ad-clustering of Lu, Pál and Pál (2010) with a free δ.  Its
    regret is logarithmic in every context and arm apart: O(MK log n).  Keeps 2 numbers
    for every context and arm.

    >>> from onepull import Finite, Interval, Problem
    >>> policy = MultiUCB(Problem(
    ...     arms=["a", "b"],
    ...     context={"power": Interval(0, 1)},
    ...     state={"gain": Interval(0, 4)},
    ...     reward="log(1 + power * gain)",
    ... ), delta=0.25)
    >>> policy.observe("a", power=0.1, gain=2.0)
    >>> policy.choose(power=0.2), policy.choose(power=0.9)
    ('b', 'a')
    """

    def __init__(
        self,
        problem: Problem,
        *,
        delta: float | Mapping[str, float] | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(PerContext(partition(problem, delta)), hoeffding(2.0), seed=seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """δ, if the contexts are cut into cells."""
        return self._cut()
