"""CCB(ε, δ), the paper's policy for continuous contexts, with known and unknown horizon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from onepull.checks import number
from onepull.errors import ParameterError
from onepull.factor import Cells, Grid
from onepull.policies.sharing.doubling import Doubling
from onepull.policies.sharing.joint import Joint
from onepull.policies.traits import Traits
from onepull.policies.ucb.known_reward import KnownReward
from onepull.problem import Problem
from onepull.spaces import Interval


class CCB(KnownReward):
    """CCB(ε, δ) for continuous contexts (the paper's algorithm 2): DCB(ε) on a grid.

    A context is served as the centre of its cell.  Quantisation costs at most δLT in
    regret (theorem 4), for 1/δ numbers an arm; with a known horizon T choose δ for it, see
    `for_horizon`, and with an unknown one use `DoublingCCB`.

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
        "δLT, and DCB's on the centres of the cells, for ε > -1/2 (Sakulkar and Krishnamachari, "
        "theorem 4, corrected)"
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
    def for_horizon(  # noqa: PLR0913 - a full statement
        cls,
        problem: Problem,
        *,
        horizon: int,
        growth: float = 0.5,
        epsilon: float = 0.01,
        beyond_theory: bool = False,
        seed: int | np.random.Generator | None = None,
    ) -> CCB:
        """Return the policy with δ = T^-(1-growth) of a width, for a regret of order T^growth.

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

    @property
    def parameters(self) -> dict[str, Any]:
        """δ and ε."""
        return {**self._cut(), **super().parameters}


class DoublingCCB(KnownReward):
    """CCB without a horizon: phases of 2, 4, 8, … trials, each a fresh CCB for its length.

    This is the paper's doubling trick, which gives up what earlier phases learned.  Phase
    k has 2^k trials and δ = (2^k)^-(1-growth), for a regret of order T^growth.  Keeps
    about T^(1-growth) numbers an arm; the grid stops getting finer at a million cells.

    With `carry_over` nothing is given up: the means on one grid are interpolated to the next.
    What was learned on a grid of width δ_k is off by at most Lδ_k/2 there, and weighs 2^k of
    all trials, so an estimate is off by at most Lδ/(2 - 2^(1-growth)) in all: the same order
    in δ, and as in T, as with a known horizon.  With finitely many states there is no need for a
    grid at all: see `UpperConfidence` with the sharing "histogram".

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
        "of order T^growth, and √(T log T) at least, for fresh phases (Sakulkar and "
        "Krishnamachari); with carry_over none is known"
    )

    def __init__(  # noqa: PLR0913 - a full statement
        self,
        problem: Problem,
        *,
        growth: float = 0.5,
        epsilon: float = 0.01,
        carry_over: bool = False,
        beyond_theory: bool = False,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        self.growth = _growth(growth)
        self.carry_over = carry_over

        def tuned(problem: Problem, trials: int) -> Cells:
            return Grid.finest(problem, delta=tuned_delta(problem, trials, self.growth))

        self._knowledge: Doubling
        super().__init__(
            Doubling(problem, tuned, carry=carry_over),
            epsilon=epsilon,
            beyond_theory=beyond_theory,
            seed=seed,
        )

    @property
    def phase(self) -> int:
        """The current phase, from 1."""
        return self._knowledge.phase

    @property
    def parameters(self) -> dict[str, Any]:
        """The order of growth, ε, and whether learning is carried over."""
        carried = {"carry_over": True} if self.carry_over else {}
        return {"growth": self.growth, **carried, **super().parameters}


def tuned_delta(problem: Problem, horizon: int, growth: float) -> float | dict[str, float]:
    """Return δ_T = T^-(1-growth) of each interval's width, for a regret of order T^growth.

    The paper's contexts are between 0 and 1; taken as a share of the width, a field is cut
    into T^(1-growth) cells whatever its unit.
    """
    trials = number("horizon", horizon, above=1.0, at_least=True)
    share = trials ** -(1.0 - _growth(growth))
    widths = {n: s.width * share for n, s in problem.context.items() if isinstance(s, Interval)}
    return next(iter(widths.values())) if len(widths) == 1 else widths


def _growth(growth: Any) -> float:
    value = number("growth", growth, above=0.0, at_least=True)
    if value > 1:
        raise ParameterError(f"growth must be between 0 and 1, given {growth!r}")
    return value
