"""UCB1 and UCB1(ε), which ignore the context."""

from __future__ import annotations

import numpy as np

from onepull.checks import constant
from onepull.index.hoeffding import hoeffding
from onepull.policies.rule_policy import MeanPolicy
from onepull.policies.sharing.blind import Blind
from onepull.problem import Problem


class UCB1(MeanPolicy):
    """UCB1 (Auer, Cesa-Bianchi, Fischer 2002) on rewards; it ignores the context.

    Index: r̄ + G·√(2 ln n / m), with G the range of the reward over all contexts and states.

    Use it for comparison.  Its regret is O(K log n) in a single context, and linear if the best
    arm depends on the context.  It stores 2 numbers per arm.

    Parameters
    ----------
    seed
        Break ties at random with this seed or generator; without one the first arm wins.

    Examples
    --------
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

    guarantee = (
        "O(K log n) in a single context (Auer, Cesa-Bianchi and Fischer 2002); linear if the best "
        "arm depends on the context"
    )

    def __init__(self, problem: Problem, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(Blind(problem), hoeffding(2.0), seed=seed)


class UCB1Epsilon(MeanPolicy):
    """UCB1(ε) (Sakulkar and Krishnamachari, lemma 1): UCB1 with slightly more exploration.

    Index: r̄ + G·√((2+ε) ln n / m).

    Use it for comparison: it ignores the context.  In a single context a wrong arm that has
    been pulled often enough is chosen at trial n with probability at most 2n^-(3+2ε) (lemma 1).
    It stores 2 numbers per arm.

    Parameters
    ----------
    epsilon
        ε ≥ 0: exploration beyond UCB1's.
    seed
        Break ties at random with this seed or generator; without one the first arm wins.

    Examples
    --------
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

    guarantee = (
        "UCB1's bound with 2+ε in place of 2 (Auer, Cesa-Bianchi and Fischer 2002): O(K log n) in "
        "a single context, linear if the best arm depends on the context"
    )

    def __init__(
        self,
        problem: Problem,
        *,
        epsilon: float = 0.01,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.epsilon = constant("epsilon", epsilon, above=0.0, at_least=True)
        super().__init__(Blind(problem), hoeffding(2.0 + self.epsilon), seed=seed)
