"""CCB(ε, δ), the paper's policy for continuous contexts, with known and unknown horizon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from onepull.checks import constant, flag
from onepull.errors import ParameterError
from onepull.factor import Cells, Grid
from onepull.policies.sharing.doubling import Doubling
from onepull.policies.sharing.joint import Joint
from onepull.policies.traits import Traits
from onepull.policies.ucb.known_reward import KnownReward
from onepull.problem import Problem, given_problem
from onepull.spaces import Interval


class CCB(KnownReward):
    """CCB(ε, δ) (Sakulkar and Krishnamachari, algorithm 2): DCB(ε) on a grid of contexts.

    Index: DCB's index at the centre of the cell that contains the context.

    Use it if contexts are continuous and you need a proof.  If you know the horizon, choose δ
    with `for_horizon`; if you do not, use `DoublingCCB`.  The grid costs at most δLT of regret
    for an L-Lipschitz reward (theorem 4).  It stores about width/δ numbers per arm.

    Parameters
    ----------
    delta
        Largest width of a cell: one number for all interval fields, or one per field by name.
    epsilon, beyond_theory, seed
        Those of `DCB`.

    Examples
    --------
    >>> from onepull import Interval, Problem
    >>> problem = Problem(
    ...     arms=["a", "b"],
    ...     context={"power": Interval(0, 1)},
    ...     state={"gain": Interval(0, 4)},
    ...     reward="log(1 + power * gain)",
    ... )
    >>> CCB(problem, epsilon=0.01, delta=0.001).storage
    2002
    """

    guarantee = (
        "at most δLT more than DCB's bound on the centres of the cells, for ε > -1/2 (Sakulkar and "
        "Krishnamachari, theorem 4, corrected)"
    )

    def __init__(
        self,
        problem: Problem,
        *,
        delta: float | Mapping[str, float],
        epsilon: float = 0.01,
        beyond_theory: bool = False,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        grid = Joint(Grid(problem, delta=delta))
        super().__init__(grid, epsilon=epsilon, beyond_theory=beyond_theory, seed=seed)

    @classmethod
    def for_horizon(  # noqa: PLR0913 - all are keyword-only
        cls,
        problem: Problem,
        *,
        horizon: int,
        growth: float = 0.5,
        epsilon: float = 0.01,
        beyond_theory: bool = False,
        seed: int | np.random.Generator | None = None,
    ) -> CCB:
        """Return CCB with δ = T^-(1-growth) times the width, for a regret of order T^growth.

        >>> from onepull import Interval, Problem
        >>> problem = Problem(
        ...     arms=["a", "b"],
        ...     context={"power": Interval(0, 1)},
        ...     state={"gain": Interval(0, 4)},
        ...     reward="log(1 + power * gain)",
        ... )
        >>> CCB.for_horizon(problem, horizon=10**6).delta
        0.001
        """
        delta = tuned_delta(problem, horizon, growth)
        return cls(problem, delta=delta, epsilon=epsilon, beyond_theory=beyond_theory, seed=seed)


class DoublingCCB(KnownReward):
    """CCB with phases of 2, 4, 8, … trials (Sakulkar and Krishnamachari), for an unknown horizon.

    Index: CCB's.  Phase k has 2^k trials and a new CCB with δ = (2^k)^-(1-growth) times the
    width, for a regret of order T^growth.

    Use it if contexts are continuous and the horizon is unknown.  If the states can be listed,
    `UpperConfidence` with the sharing "histogram" needs no grid.  The published method discards
    what earlier phases learned.  It stores about T^(1-growth) numbers per arm; a grid has at
    most a million cells.

    With `carry_over` the means on one grid are interpolated to the next, and nothing is
    discarded.  What was learned on a grid of width δ_k is wrong by at most Lδ_k/2 and has a
    weight of 2^k trials.  So the error of an estimate is at most Lδ/(2 - 2^(1-growth)), the same
    order in δ and in T as with a known horizon.

    Parameters
    ----------
    growth
        Exponent of the regret in T, between 0 and 1.
    carry_over
        Whether to keep what was learned when the grid gets finer.
    epsilon, beyond_theory, seed
        Those of `DCB`.

    Examples
    --------
    >>> from onepull import Interval, Problem
    >>> policy = DoublingCCB(Problem(
    ...     arms=["a", "b"],
    ...     context={"power": Interval(0, 1)},
    ...     state={"gain": Interval(0, 4)},
    ...     reward="log(1 + power * gain)",
    ... ), epsilon=0.01)
    >>> policy.observe("a", gain=1.0)
    >>> policy.phase, policy.choose(power=0.5)
    (1, 'b')
    >>> policy.observe("b", gain=1.0)   # the second trial ends the first phase
    >>> policy.phase, policy.choose(power=0.5)
    (2, 'a')
    """

    traits = Traits(order_matters=True)
    guarantee = (
        "of order T^growth, and at least √(T log T), without carry_over (Sakulkar and "
        "Krishnamachari); no bound is known with carry_over"
    )

    def __init__(  # noqa: PLR0913 - all are keyword-only
        self,
        problem: Problem,
        *,
        growth: float = 0.5,
        carry_over: bool = False,
        epsilon: float = 0.01,
        beyond_theory: bool = False,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.growth = _growth(growth)
        self.carry_over = flag("carry_over", carry_over)

        def tuned(problem: Problem, trials: int) -> Cells:
            return Grid.finest(problem, delta=tuned_delta(problem, trials, self.growth))

        self._knowledge: Doubling
        super().__init__(
            Doubling(problem, tuned, carry=self.carry_over),
            epsilon=epsilon,
            beyond_theory=beyond_theory,
            seed=seed,
        )

    @property
    def phase(self) -> int:
        """The current phase, from 1."""
        return self._knowledge.phase


def tuned_delta(problem: Problem, horizon: int, growth: float) -> float | dict[str, float]:
    """Return δ_T = T^-(1-growth) times each interval's width, for a regret of order T^growth.

    In the paper contexts are between 0 and 1.  Scaled by its width, a field in any unit is
    divided into T^(1-growth) cells.
    """
    trials = constant("horizon", horizon, above=1.0, at_least=True)
    share = trials ** -(1.0 - _growth(growth))
    fields = given_problem(problem).context
    widths = {n: s.extent * share for n, s in fields.items() if isinstance(s, Interval)}
    return next(iter(widths.values())) if len(widths) == 1 else widths


def _growth(growth: Any) -> float:
    value = constant("growth", growth, above=0.0, at_least=True)
    if value > 1:
        raise ParameterError(f"growth must be between 0 and 1, given {growth!r}")
    return value
